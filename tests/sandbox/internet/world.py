"""What lies beyond a made-up machine: its LAN, the internet, a metadata service, and a name server. All in a network namespace of its own.

Arguments: the device, then addresses of the link with their prefixes, then after `--` addresses that are reached through it.
"""

import socket
import subprocess
import sys
import threading

NAMES = {
    "internet.test": ("A", "203.0.113.9"),
    "internet6.test": ("AAAA", "2001:db8:99::9"),
    "lan.test": ("A", "192.168.77.7"),
    "metadata.test": ("A", "169.254.169.254"),
    "loopback.test": ("A", "127.0.0.1"),
    "mapped.test": ("AAAA", "::ffff:192.168.77.7"),
}


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def names():
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("192.168.77.1", 53))
    while True:
        query, whom = server.recvfrom(512)
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1 : at + 1 + query[at]].decode())
            at += query[at] + 1
        question = query[12 : at + 5]
        kind, address = NAMES.get(".".join(labels).lower(), ("", ""))
        wanted = int.from_bytes(query[at + 1 : at + 3], "big")
        answer = b""
        if (kind, wanted) in (("A", 1), ("AAAA", 28)):
            packed = socket.inet_pton(socket.AF_INET if kind == "A" else socket.AF_INET6, address)
            answer = b"\xc0\x0c" + query[at + 1 : at + 5] + (60).to_bytes(4, "big") + len(packed).to_bytes(2, "big") + packed
        count = b"\x00\x01" if answer else b"\x00\x00"
        server.sendto(query[:2] + b"\x81\x80\x00\x01" + count + b"\x00\x00\x00\x00" + question + answer, whom)


def answer(connection):
    with connection:
        request = connection.recv(4096)
        if b"/to-lan" in request:
            connection.sendall(b"HTTP/1.1 302 Found\r\nlocation: http://192.168.77.7/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            return
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\nhere")


def datagrams():
    server = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
    server.bind(("::", 81))
    while True:
        data, about, _, whom = server.recvmsg(512, 512)
        server.sendmsg([data], [about[0]], 0, whom)


device, *words = sys.argv[1:]
cut = words.index("--")
ip("link", "set", "lo", "up")
ip("link", "set", device, "up")
for address in words[:cut]:
    ip("addr", "add", address, "dev", device, *(["nodad"] if ":" in address else []))
for address in words[cut + 1 :]:
    ip("addr", "add", address, "dev", "lo", *(["nodad"] if ":" in address else []))
server = socket.create_server(("::", 80), family=socket.AF_INET6, dualstack_ipv6=True, backlog=64)
for served in (names, datagrams):
    threading.Thread(target=served, daemon=True).start()
print("ready", flush=True)
while True:
    threading.Thread(target=answer, args=(server.accept()[0],), daemon=True).start()
