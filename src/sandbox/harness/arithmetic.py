"""The value of an arithmetic expression that the policy read: whole numbers of 64 bits, as bash has them. Nothing in a variable is evaluated."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping

from confined import Refused

_NUMBER = re.compile(r"([-+]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)")
_MOST_DIGITS = 4000
_UNARY: dict[str, Callable[[int], int]] = {
    "+": operator.pos,
    "-": operator.neg,
    "~": operator.invert,
    "!": lambda a: int(not a),
}
_BINARY: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda a, b: _quotient(a, b),
    "%": lambda a, b: a - b * _quotient(a, b),
    "**": lambda a, b: _power(a, b),
    "<<": lambda a, b: a << (b & 63),
    ">>": lambda a, b: a >> (b & 63),
    "<": lambda a, b: int(a < b),
    "<=": lambda a, b: int(a <= b),
    ">": lambda a, b: int(a > b),
    ">=": lambda a, b: int(a >= b),
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "&": operator.and_,
    "^": operator.xor,
    "|": operator.or_,
    ",": lambda a, b: b,
}


def evaluate(expression: dict, variables: Mapping[str, str]) -> int:
    """Its value, with the values of variables as they are now."""
    ((kind, body),) = expression.items()
    if kind == "number":
        return _wrapped(body)
    if kind == "variable":
        return number(variables.get(body, ""))
    sign, operands = body
    # What does not count is not evaluated: it may divide by zero.
    first = evaluate(operands[0], variables)
    if sign == "?":
        return evaluate(operands[1 if first else 2], variables)
    if len(operands) == 1:
        return _wrapped(_UNARY[sign](first))
    if sign in ("&&", "||"):
        is_settled = not first if sign == "&&" else first
        return int(bool(first if is_settled else evaluate(operands[1], variables)))
    return _wrapped(_BINARY[sign](first, evaluate(operands[1], variables)))


def number(text: str) -> int:
    """The number that a text is; an empty one is 0."""
    found = _NUMBER.fullmatch(text.strip(" \t\n") or "0")
    if not found:
        raise Refused(f"{text}: arithmetic syntax error: not a whole number")
    sign, digits = found.groups()
    base = 16 if digits[:2] in ("0x", "0X") else 8 if digits[0] == "0" else 10
    if base == 10 and len(digits) > _MOST_DIGITS:
        raise Refused(f"{text[:_MOST_DIGITS]}...: arithmetic syntax error: number too large")
    value = int(digits, base)
    return _wrapped(-value if sign == "-" else value)


def _wrapped(value: int) -> int:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def _quotient(dividend: int, divisor: int) -> int:
    """Rounded towards zero."""
    if not divisor:
        raise Refused("division by 0")
    size = abs(dividend) // abs(divisor)
    return size if (dividend < 0) == (divisor < 0) else -size


def _power(base: int, exponent: int) -> int:
    if exponent < 0:
        raise Refused("exponent less than 0")
    return pow(base, exponent, 1 << 64)
