"""Brackets that match."""

from enum import Enum

PAIRS = {")": "(", "]": "[", "}": "{"}


class Result(Enum):
    """What is known of a text."""

    BALANCED = "balanced"
    OPEN = "open"
    WRONG = "wrong"


def check(text):
    """Whether the brackets of a text match."""
    stack = []
    for character in text:
        if character in PAIRS.values():
            stack.append(character)
        elif character in PAIRS:
            if not stack or stack.pop() != PAIRS[character]:
                return Result.WRONG
    return Result.OPEN if stack else Result.BALANCED


def main():
    print(check("()").value)


if __name__ == "__main__":
    main()
