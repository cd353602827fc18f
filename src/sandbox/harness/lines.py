"""`read`: a line of a stream, and its fields."""

from __future__ import annotations

import os

BLANKS = " \t\n"


def take(stream: int, end: bytes, raw: bool) -> tuple[str, bool]:
    """A line without its end, and whether it had one. Nothing after it is taken, since what follows may be for others."""
    line = bytearray()
    while part := os.read(stream, 1):
        if part != end:
            line += part.replace(b"\0", b"")
        elif raw or not _is_escaped(line):
            return _text(line), True
        elif end == b"\n":
            del line[-1:]
        else:
            line += part
    return _text(line), False


def _is_escaped(line: bytearray) -> bool:
    return (len(line) - len(line.rstrip(b"\\"))) % 2 == 1


def _text(line: bytearray) -> str:
    return bytes(line).decode("utf-8", "surrogateescape")


def split(line: str, separators: str, count: int, raw: bool) -> list[str]:
    """So many fields of a line: the last is what is left of it."""
    characters = _characters(line, raw)
    at = _after_blanks(characters, 0, separators)
    values = []
    for _ in range(count - 1):
        value, at = _field(characters, at, separators)
        values.append(value)
    value, after = _field(characters, at, separators)
    if after < len(characters):
        left = characters[at:]
        while left and _is_blank(left[-1], separators):
            left.pop()
        value = "".join(c for c, _ in left)
    return [*values, value]


def _characters(line: str, raw: bool) -> list[tuple[str, bool]]:
    """Characters, and whether each has a backslash before it."""
    characters, escapes = [], False
    for c in line:
        if c == "\\" and not raw and not escapes:
            escapes = True
            continue
        characters.append((c, escapes))
        escapes = False
    return characters


def _field(characters: list[tuple[str, bool]], at: int, separators: str) -> tuple[str, int]:
    """The text to the next separator, and where the next field begins."""
    end = at
    while end < len(characters) and not _separates(characters[end], separators):
        end += 1
    after = _after_blanks(characters, end, separators)
    if after < len(characters) and _separates(characters[after], separators):
        after = _after_blanks(characters, after + 1, separators)
    return "".join(c for c, _ in characters[at:end]), after


def _after_blanks(characters: list[tuple[str, bool]], at: int, separators: str) -> int:
    while at < len(characters) and _is_blank(characters[at], separators):
        at += 1
    return at


def _separates(character: tuple[str, bool], separators: str) -> bool:
    c, is_escaped = character
    return not is_escaped and c in separators


def _is_blank(character: tuple[str, bool], separators: str) -> bool:
    return character[0] in BLANKS and _separates(character, separators)
