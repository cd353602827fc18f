"""Leaves a word in keyrings of the kernel, or prints which words lie there: of an earlier run, and of who started the sandbox."""

import ctypes
import platform
import sys

ADD_KEY, KEYCTL = {"x86_64": (248, 250), "aarch64": (217, 219)}[platform.machine()]
RINGS = (-3, -4)
"""The session's, the user's."""
SEARCH, READ = 10, 11
DESCRIPTIONS = (b"codegen-tests-left", b"codegen-tests-own")

libc = ctypes.CDLL(None, use_errno=True)


def leave() -> None:
    """Add a key to each keyring."""
    for ring in RINGS:
        libc.syscall(ADD_KEY, b"user", DESCRIPTIONS[0], b"left", 4, ring)


def found() -> list[str]:
    """The words of all keys that can be read."""
    words = set()
    for ring in RINGS:
        for description in DESCRIPTIONS:
            key = libc.syscall(KEYCTL, SEARCH, ring, b"user", description, 0)
            room = ctypes.create_string_buffer(100)
            size = libc.syscall(KEYCTL, READ, key, room, 100) if key > 0 else 0
            if size > 0:
                words.add(room.raw[:size].decode())
    return sorted(words)


if sys.argv[1] == "leave":
    leave()
else:
    print(found())
