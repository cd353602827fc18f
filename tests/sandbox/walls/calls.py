"""Asks the kernel for what a sandbox does not give, and prints what it gets."""

import ctypes
import os
import platform
import socket
import sys

NEW_USER = 0x10000000
X32 = 0x40000000
NUMBERS = {
    "x86_64": {"unshare": 272, "userfaultfd": 323, "bpf": 321, "io_uring_setup": 425, "getpid": 39},
    "aarch64": {"unshare": 97, "userfaultfd": 282, "bpf": 280, "io_uring_setup": 425, "getpid": 172},
}[platform.machine()]
NO_SUCH_CALL = 38

libc = ctypes.CDLL(None, use_errno=True)


def refused(number: int, *arguments: object) -> bool:
    """Whether a call is said not to exist."""
    ctypes.set_errno(0)
    return libc.syscall(number, *arguments) == -1 and ctypes.get_errno() == NO_SUCH_CALL


def gets_socket(family: int) -> bool:
    """Whether there is such a socket."""
    try:
        socket.socket(family, socket.SOCK_STREAM if family == socket.AF_VSOCK else socket.SOCK_SEQPACKET).close()
    except OSError:
        return False
    return True


parameters = ctypes.create_string_buffer(256)
got = [] if refused(NUMBERS["unshare"], NEW_USER) else ["unshare"]
got += [] if refused(NUMBERS["userfaultfd"], 1) else ["userfaultfd"]
got += [] if refused(NUMBERS["bpf"], 0, parameters, 128) else ["bpf"]
got += [] if refused(NUMBERS["io_uring_setup"], 4, parameters) else ["io_uring_setup"]
if platform.machine() == "x86_64":
    # Most kernels are built without it, and refuse it themselves.
    got += [] if refused(NUMBERS["getpid"] | X32) else ["x32"]
got += [name for name in ("AF_VSOCK", "AF_ALG") if gets_socket(getattr(socket, name))]
print(sorted(got), os.getpid() > 0, file=sys.stdout)
