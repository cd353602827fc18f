"""What a name stands for in a Pod: a name server of a cluster in which somebody has a Service `pypi` in a namespace `org`."""

import socket
import struct
import sys
import threading

PUBLIC, THEIRS = "203.0.113.7", "10.0.0.6"
KNOWN = {"pypi.org": PUBLIC, "pypi.org.svc.cluster.local": THEIRS}


def answer(question: bytes) -> bytes:
    labels, at = [], 12
    while length := question[at]:
        labels.append(question[at + 1 : at + 1 + length].decode())
        at += 1 + length
    asked = question[12 : at + 5]
    address = KNOWN.get(".".join(labels).lower())
    # Not there, or there.
    flags = 0x8183 if address is None else 0x8180
    head = question[:2] + struct.pack("!5H", flags, 1, int(address is not None), 0, 0)
    if address is None:
        return head + asked
    return head + asked + struct.pack("!3HIH", 0xC00C, 1, 1, 60, 4) + socket.inet_aton(address)


def serve(server: socket.socket) -> None:
    while True:
        question, asker = server.recvfrom(512)
        server.sendto(answer(question), asker)


server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
threading.Thread(target=serve, args=[server], daemon=True).start()
print({PUBLIC: "public", THEIRS: "theirs"}[socket.gethostbyname(sys.argv[1])])
