"""Patterns as bash has them: `*`, `?`, and sets with ranges and classes. They are of signs, and of texts that stand for themselves."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

_GRAPH = r"[^\s\x00-\x1f\x7f-\x9f]"
_NOTHING = "(?!)"

_CLASSES = {
    "alnum": r"[^\W_]",
    "alpha": r"[^\W_0-9]",
    "ascii": r"[\x00-\x7f]",
    "blank": r"[ \t]",
    "cntrl": r"[\x00-\x1f\x7f-\x9f]",
    "digit": "[0-9]",
    "graph": _GRAPH,
    "print": r"[^\x00-\x1f\x7f-\x9f]",
    "punct": rf"(?![^\W_]){_GRAPH}",
    "space": r"\s",
    "word": r"\w",
    "xdigit": "[0-9A-Fa-f]",
}
_CASED: dict[str, Callable[[str], bool]] = {"lower": str.islower, "upper": str.isupper}
_LAST_CASED = 0x1F000
"""No character from here on is a capital or a small one."""

Characters = list[tuple[str, bool]]
"""Characters, and whether each is a sign."""


def has_signs(pattern: list[tuple[str, bool]]) -> bool:
    """Whether it may match something else than its text."""
    return any(is_sign and set(text) & set("*?[") for text, is_sign in pattern)


def fits(pattern: list[tuple[str, bool]], text: str) -> bool:
    """Whether a text as a whole matches a pattern."""
    return expression(pattern).match(text) is not None


def expression(pattern: list[tuple[str, bool]]) -> re.Pattern[str]:
    """What matches a text as a whole where the pattern does."""
    characters = [(c, is_sign) for text, is_sign in pattern for c in text]
    # Between stars. What the first match of each leaves is never too little for the next.
    pieces, at = [""], 0
    while at < len(characters):
        found = _set(characters, at)
        if found:
            piece, at = found
        else:
            piece = {"*": "", "?": "."}.get(characters[at][0]) if characters[at][1] else None
            piece = re.escape(characters[at][0]) if piece is None else piece
            at += 1
        if piece:
            pieces[-1] += piece
        else:
            pieces.append("")
    first, *middle = pieces
    last = f".*{middle.pop()}" if middle else ""
    steps = [f"(?=(?P<g{index}>.*?{piece}))(?P=g{index})" for index, piece in enumerate(middle) if piece]
    return re.compile(f"(?s:{first}{''.join(steps)}{last})\\Z")


def _set(characters: Characters, at: int) -> tuple[str, int] | None:
    """The set that begins here, and where it ends; nothing where none does or it is not closed."""
    if characters[at] != ("[", True):
        return None
    at += 1
    excludes = characters[at : at + 1] in ([("!", True)], [("^", True)])
    first = at = at + excludes
    choices = []
    while at < len(characters):
        if characters[at] == ("]", True) and at > first:
            choice = "|".join(choices)
            return (f"(?!{choice})." if excludes else f"(?:{choice})"), at + 1
        choice, at = _named(characters, at) or _range(characters, at)
        choices.append(choice)
    return None


def _range(characters: Characters, at: int) -> tuple[str, int]:
    """One character of a set or several in a row, and where the next begins."""
    low, *rest = characters[at : at + 3]
    if len(rest) < 2 or rest[0] != ("-", True) or rest[1] == ("]", True):
        return re.escape(low[0]), at + 1
    high = rest[1][0]
    return (f"[{re.escape(low[0])}-{re.escape(high)}]" if low[0] <= high else _NOTHING), at + 3


def _named(characters: Characters, at: int) -> tuple[str, int] | None:
    """`[:alpha:]`, `[=a=]` or `[.a.]` in a set, and where the next begins."""
    kind = "".join(c for c, _ in characters[at + 1 : at + 2])
    if characters[at] != ("[", True) or kind not in (":", "=", "."):
        return None
    for end in range(at + 2, len(characters) - 1):
        if characters[end][0] == kind and characters[end + 1] == ("]", True):
            name = "".join(c for c, _ in characters[at + 2 : end])
            return (_class(name) if kind == ":" else re.escape(name) if len(name) == 1 else _NOTHING), end + 2
    return None


def _class(name: str) -> str:
    if name in _CASED:
        return _cased(name)
    return _CLASSES.get(name, _NOTHING)


@functools.cache
def _cased(name: str) -> str:
    is_cased = _CASED[name]
    return f"[{''.join(c for c in map(chr, range(_LAST_CASED)) if is_cased(c))}]"
