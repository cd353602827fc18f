"""A made-up machine in namespaces of its own, in which a command runs: `machine.py root|user WORLD_PY COMMAND...`.

Whoever starts it has put it into a network and a mount namespace (`unshare --net --mount`).
"""

import ctypes
import os
import socket
import subprocess
import sys
import threading

who, world, *command = sys.argv[1:]


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def serve(server):
    while True:
        with server.accept()[0] as connection:
            connection.recv(4096)
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\nhere")


ip("link", "set", "lo", "up")
ip("link", "add", "lan0", "type", "veth", "peer", "name", "world0")
ip("addr", "add", "192.168.77.2/24", "dev", "lan0")
ip("addr", "add", "2001:db8:77::2/64", "dev", "lan0", "nodad")
ip("link", "set", "lan0", "up")

beyond = subprocess.Popen(
    [
        "unshare", "--net", "--kill-child", "--fork", "sh", "-c", 'echo $$; read _; exec "$0" "$@"',
        sys.executable, world, "world0",
        "192.168.77.1/24", "192.168.77.7/24", "2001:db8:77::1/64", "2001:db8:77::7/64",
        "--",
        "203.0.113.9/32", "169.254.169.254/32", "169.254.1.1/32", "10.1.2.3/32", "100.64.0.1/32", "168.63.129.16/32", "198.18.0.1/32",
        "2001:db8:99::9/128", "fd00:ec2::254/128", "64:ff9b::a01:203/128", "2002:a01:203::1/128",
    ],
    stdin=subprocess.PIPE,
    stdout=subprocess.PIPE,
    text=True,
)
ip("link", "set", "world0", "netns", beyond.stdout.readline().strip())
beyond.stdin.write("go\n")
beyond.stdin.flush()
if beyond.stdout.readline().strip() != "ready":
    sys.exit("there is no world")
ip("route", "add", "default", "via", "192.168.77.1")
ip("-6", "route", "add", "default", "via", "2001:db8:77::1")

# What resolvers and `pasta` find here, for this mount namespace alone.
libc = ctypes.CDLL(None, use_errno=True)
folder = b"/mnt"
if libc.mount(b"none", folder, b"tmpfs", 0, None):
    sys.exit("cannot mount")
with open("/mnt/resolv.conf", "w") as file:
    file.write("nameserver 192.168.77.1\n")
os.mknod("/mnt/tun", 0o020666, os.makedev(10, 200))
os.chmod("/mnt/tun", 0o666)
for source, target in ((b"/mnt/resolv.conf", b"/etc/resolv.conf"), (b"/mnt/tun", b"/dev/net/tun")):
    if libc.mount(source, target, None, 4096, None):
        sys.exit(f"cannot bind {target}")

for address in ("127.0.0.1", "192.168.77.2"):
    threading.Thread(target=serve, args=(socket.create_server((address, 4000)),), daemon=True).start()
threading.Thread(target=serve, args=(socket.create_server(("::", 4001), family=socket.AF_INET6),), daemon=True).start()
abstract = socket.socket(socket.AF_UNIX)
abstract.bind("\0codegen-tests")
abstract.listen(16)
threading.Thread(target=serve, args=(abstract,), daemon=True).start()

if who == "user":
    command = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", *command]
status = subprocess.run(command).returncode
beyond.kill()
sys.exit(status)
