"""The order of a program's sets (`PYTHONHASHSEED`) follows from its inputs: it is the same wherever the program runs on them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable

_MOST_BYTES = 64 * 1024
"""Of the beginning of a file: a large one shall not be read twice."""


def hash_seed(arguments: list[str], is_input: Callable[[str], bool]) -> str:
    """The seed for these arguments. Of one that is the path of an input counts what lies there, and not where that is."""
    digest = hashlib.sha256()
    for argument in arguments:
        parts = _content(argument) if is_input(argument) else [argument.encode(errors="surrogateescape")]
        for part in [str(len(parts)).encode(), *parts]:
            digest.update(b"%d " % len(part) + part)
    # Any number of 32 bits is a seed.
    return str(int.from_bytes(digest.digest()[:4], "big"))


def _content(path: str) -> list[bytes]:
    """Size and beginning of a file; of a folder the same of each file in it, with its name."""
    if not os.path.isdir(path):
        return _beginning(path)
    found = sorted(os.path.join(top, name) for top, _, names in os.walk(path) for name in names)
    return [part for file in found for part in (os.path.relpath(file, path).encode(errors="surrogateescape"), *_beginning(file))]


def _beginning(path: str) -> list[bytes]:
    if not os.path.isfile(path):
        # A link to nowhere or a pipe, which would be waited for.
        return [b""]
    try:
        with open(path, "rb") as file:
            return [b"%d" % os.fstat(file.fileno()).st_size, file.read(_MOST_BYTES)]
    except OSError:
        # The program will say what is wrong with it.
        return [b""]
