"""How the parts of a word become fields, as bash splits what is not quoted."""

from __future__ import annotations

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
