"""`test` and `[` as bash reads them, and the comparison of numbers of `[[ ]]`."""

from __future__ import annotations

import operator
import os
import re
import stat
from collections.abc import Callable

import arithmetic

_NUMBER = re.compile(r"[ \t\n\v\f\r]*([-+]?[0-9]{1,4000})[ \t]*")

_NUMBERS: dict[str, Callable[[int, int], bool]] = {
    "-eq": operator.eq,
    "-ne": operator.ne,
    "-lt": operator.lt,
    "-le": operator.le,
    "-gt": operator.gt,
    "-ge": operator.ge,
}
_TEXTS: dict[str, Callable[[bytes, bytes], bool]] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
_FILES: dict[str, Callable[[os.stat_result | None, os.stat_result | None], bool]] = {
    "-nt": lambda a, b: a is not None and (b is None or a.st_mtime_ns > b.st_mtime_ns),
    "-ot": lambda a, b: b is not None and (a is None or a.st_mtime_ns < b.st_mtime_ns),
    "-ef": lambda a, b: a is not None and b is not None and os.path.samestat(a, b),
}
_BINARY = {*_NUMBERS, *_TEXTS, *_FILES}

_OF_FILE: dict[str, Callable[[os.stat_result], bool]] = {
    "a": lambda found: True,
    "b": lambda found: stat.S_ISBLK(found.st_mode),
    "c": lambda found: stat.S_ISCHR(found.st_mode),
    "d": lambda found: stat.S_ISDIR(found.st_mode),
    "e": lambda found: True,
    "f": lambda found: stat.S_ISREG(found.st_mode),
    "g": lambda found: bool(found.st_mode & stat.S_ISGID),
    "k": lambda found: bool(found.st_mode & stat.S_ISVTX),
    "p": lambda found: stat.S_ISFIFO(found.st_mode),
    "s": lambda found: found.st_size > 0,
    "u": lambda found: bool(found.st_mode & stat.S_ISUID),
    "G": lambda found: found.st_gid == os.getegid(),
    "N": lambda found: found.st_mtime_ns > found.st_atime_ns,
    "O": lambda found: found.st_uid == os.geteuid(),
    "S": lambda found: stat.S_ISSOCK(found.st_mode),
}
_ACCESS = {"r": os.R_OK, "w": os.W_OK, "x": os.X_OK}
_UNARY = {f"-{letter}" for letter in (*_OF_FILE, *_ACCESS, *"hLntz")}


class Unreadable(Exception):
    """Why an expression is none, as bash says it."""


def compare(left: str, sign: str, right: str) -> bool:
    """What `[[ LEFT -eq RIGHT ]]` is, and its like: an empty text is 0."""
    return _NUMBERS[sign](arithmetic.number(left), arithmetic.number(right))


def test(name: str, words: list[str]) -> bool:
    """What `test` or `[` says of its arguments."""
    if name == "[":
        if words[-1:] != ["]"]:
            raise Unreadable("missing `]'")
        words = words[:-1]
    reader = _Reader(words, "]" if name == "[" else None)
    try:
        value = reader.whole()
    except RecursionError:
        raise Unreadable("too many parentheses") from None
    for word in reader.rest(1):
        raise Unreadable(f"syntax error: `{word}' unexpected" if word.startswith("-") else "too many arguments")
    return value


class _Reader:
    """An expression that is read from its start. Up to four arguments mean what POSIX says, more what precedence says."""

    def __init__(self, words: list[str], end: str | None) -> None:
        self._words = words
        self._at = 0
        self._end = end

    def rest(self, most: int) -> list[str]:
        """What is still to be read, so many at most."""
        return self._words[self._at : self._at + most]

    def _take(self, count: int) -> list[str]:
        taken = self.rest(count)
        self._at += len(taken)
        return taken

    def whole(self) -> bool:
        count = len(self._words)
        if count == 0:
            return False
        if count == 1:
            return bool(self._take(1)[0])
        if count == 2:
            return self._two(self._take(2))
        if count == 3:
            return self._three(self._take(3))
        if count == 4 and self._words[0] == "!":
            return not self._three(self._take(4)[1:])
        if count == 4 and (self._words[0], self._words[3]) == ("(", ")"):
            return self._two(self._take(4)[1:3])
        return self._or()

    def _two(self, words: list[str]) -> bool:
        first, second = words
        if first == "!":
            return not second
        if first not in _UNARY:
            raise Unreadable(f"{first}: unary operator expected")
        return _unary(first[1], second)

    def _three(self, words: list[str]) -> bool:
        first, second, third = words
        if second in _BINARY:
            return _binary(first, second, third)
        if second in ("-a", "-o"):
            return bool(first and third) if second == "-a" else bool(first or third)
        if first == "!":
            return not self._two([second, third])
        if (first, third) == ("(", ")"):
            return bool(second)
        raise Unreadable(f"{second}: binary operator expected")

    def _or(self) -> bool:
        value = self._and()
        while self.rest(1) == ["-o"]:
            self._take(1)
            value = self._and() or value
        return value

    def _and(self) -> bool:
        value = self._term()
        while self.rest(1) == ["-a"]:
            self._take(1)
            value = self._term() and value
        return value

    def _term(self) -> bool:
        is_negated = False
        while self.rest(1) == ["!"]:
            self._take(1)
            is_negated = not is_negated
        return self._operand() != is_negated

    def _operand(self) -> bool:
        following = self.rest(3)
        if not following:
            raise Unreadable("argument expected")
        if following[0] == "(":
            self._take(1)
            value = self._or()
            if self._take(1) != [")"]:
                raise Unreadable("`)' expected" + (f", found {self._end}" if self._end else ""))
            return value
        if len(following) == 3 and following[1] in _BINARY:
            return _binary(*self._take(3))
        if len(following) >= 2 and following[0] in _UNARY:
            sign, word = self._take(2)
            return _unary(sign[1], word)
        return bool(self._take(1)[0])


def _unary(letter: str, word: str) -> bool:
    if letter in "nz":
        return bool(word) == (letter == "n")
    if letter == "t":
        found = _NUMBER.fullmatch(word)
        return found is not None and 0 <= int(found[1]) < 1 << 31 and os.isatty(int(found[1]))
    if letter in _ACCESS:
        return "\0" not in word and os.access(word, _ACCESS[letter], effective_ids=True)
    if letter in "hL":
        return os.path.islink(word)
    found = _stat(word)
    return found is not None and _OF_FILE[letter](found)


def _binary(left: str, sign: str, right: str) -> bool:
    if sign in _NUMBERS:
        return _NUMBERS[sign](_whole(left), _whole(right))
    if sign in _FILES:
        return _FILES[sign](_stat(left), _stat(right))
    return _TEXTS[sign](_bytes(left), _bytes(right))


def _whole(text: str) -> int:
    found = _NUMBER.fullmatch(text)
    value = int(found[1]) if found else 1 << 63
    if not -(1 << 63) <= value < 1 << 63:
        raise Unreadable(f"{text}: integer expression expected")
    return value


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (OSError, ValueError):
        return None


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
