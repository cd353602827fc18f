"""How the parts of a word become fields, as bash splits what is not quoted."""

from __future__ import annotations

import fnmatch
import re

TEXT, SIGN, SPLIT = "text", "sign", "split"
"""A part that stands for itself, a sign of a pattern, and one that is split and may be a pattern."""

_BLANKS = " \t\n"


def split(parts: list[tuple[str, str]]) -> list[list[tuple[str, bool]]]:
    """The fields of a word; of each its texts, and whether each may be a pattern."""
    fields: list[list[tuple[str, bool]]] = []
    current: list[tuple[str, bool]] | None = None
    for text, kind in parts:
        if kind != SPLIT:
            current = [*(current or []), (text, kind == SIGN)]
            continue
        words = [word for word in re.split(f"[{_BLANKS}]+", text) if word]
        if current is not None and text.startswith(tuple(_BLANKS)):
            fields.append(current)
            current = None
        for index, word in enumerate(words):
            if index and current is not None:
                fields.append(current)
                current = None
            current = [*(current or []), (word, True)]
        if words and current is not None and text.endswith(tuple(_BLANKS)):
            fields.append(current)
            current = None
    return fields if current is None else [*fields, current]


def fits(pattern: list[tuple[str, bool]], text: str) -> bool:
    """Whether a text as a whole matches a pattern, of texts that stand for themselves and signs."""
    translated = ""
    for part, is_sign in pattern:
        for c in part:
            translated += signed(c, translated) if is_sign else literal(c)
    return re.fullmatch(fnmatch.translate(translated), text) is not None


def signed(c: str, before: str) -> str:
    """A sign as the translation has it: of the two that bash has for a set that is excluded, it has one."""
    return "!" if c == "^" and before.endswith("[") else c


def literal(c: str) -> str:
    """A character that stands for itself, as the translation has it."""
    return f"[{c}]" if c in "*?[" else c


def is_pattern(field: list[tuple[str, bool]]) -> bool:
    """Whether a field matches files."""
    return any(may_match and set(text) & set("*?[") for text, may_match in field)
