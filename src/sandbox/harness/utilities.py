"""What bash has built in and that only prints or tests: it runs in this process, so that its arguments may be of any length."""

from __future__ import annotations

import os

import conditions
import printing
from programs import complain

NAMES = ("echo", "printf", "test", "[", "compare")

_USAGE = b"printf: usage: printf [-v var] format [arguments]\n"
_MISUSED = 2


def run(name: str, words: list[str]) -> int:
    """The status with which it ends."""
    if name == "compare":
        return int(not conditions.compare(*words))
    if name in ("test", "["):
        try:
            return int(not conditions.test(name, words))
        except conditions.Unreadable as why:
            complain(f"{name}: {why}")
            return _MISUSED
    encoded = [word.encode("utf-8", "surrogateescape") for word in words]
    return _print(name, printing.echo(encoded)) if name == "echo" else _printf(encoded)


def _printf(words: list[bytes]) -> int:
    if words and words[0].startswith(b"-") and len(words[0]) > 1:
        if words[0] != b"--":
            _complain_of(words[0][:2] + b": invalid option")
            os.write(2, _USAGE)
            return _MISUSED
        words = words[1:]
    if not words:
        os.write(2, _USAGE)
        return _MISUSED
    try:
        printed, complaints = printing.printf(words[0], words[1:])
    except (MemoryError, OverflowError):
        complain("printf: a width is too large")
        return 1
    for complaint in complaints:
        _complain_of(complaint)
    is_wrong = any(not complaint.startswith(b"warning: ") for complaint in complaints)
    return _print("printf", printed) or int(is_wrong)


def _complain_of(complaint: bytes) -> None:
    complain(f"printf: {complaint.decode('utf-8', 'surrogateescape')}")


def _print(name: str, printed: bytes) -> int:
    view = memoryview(printed)
    try:
        while view:
            view = view[os.write(1, view) :]
    except OSError as error:
        complain(f"{name}: write error: {os.strerror(error.errno or 0)}")
        return 1
    return 0
