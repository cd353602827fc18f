"""Tries to reach what its arguments name, and prints for each whether something answered."""

import socket
import struct
import sys
import urllib.request

SECONDS = 1.5
IP_PKTINFO, IP_UNICAST_IF = 8, 50


def stream(family, address, *options):
    connection = socket.socket(family, socket.SOCK_STREAM)
    connection.settimeout(SECONDS)
    for option in options:
        connection.setsockopt(*option)
    connection.connect(address)
    connection.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
    return connection.recv(100).endswith(b"here")


def datagram(family, address, about=()):
    connection = socket.socket(family, socket.SOCK_DGRAM)
    connection.settimeout(SECONDS)
    connection.sendmsg([b"here"], about, 0, address)
    return connection.recvfrom(100)[0] == b"here"


def attempt(words):
    how, _, what = words.partition(" ")
    host, _, port = what.rpartition(" ")
    index = socket.if_nametoindex("eth0")
    if how == "abstract":
        return stream(socket.AF_UNIX, "\0" + what)
    if how == "url":
        return urllib.request.urlopen(what, timeout=SECONDS).read() == b"here"
    if how == "name":
        with socket.create_connection((host, int(port)), SECONDS) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            return connection.recv(100).endswith(b"here")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    address = (host, int(port), 0, index) if host.startswith("fe80") else (host, int(port))
    if how == "tcp":
        return stream(family, address)
    if how == "udp":
        return datagram(family, address)
    if how == "bound":
        return stream(family, address, (socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"eth0"))
    if how == "steered":
        return stream(family, address, (socket.IPPROTO_IP, IP_UNICAST_IF, struct.pack("!I", index)))
    if how == "told":
        return datagram(family, address, [(socket.IPPROTO_IP, IP_PKTINFO, struct.pack("I4s4s", index, b"", b""))])
    raise SystemExit(f"unknown: {how}")


for words in sys.argv[1:]:
    try:
        print(f"{words}: {'answers' if attempt(words) else 'something else answers'}")
    except OSError:
        print(f"{words}: nothing")
