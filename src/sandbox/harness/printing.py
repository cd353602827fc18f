"""`echo` and `printf` as bash has them: of bytes, as widths are."""

from __future__ import annotations

import re

_OTHERS = rb"\\x[0-9A-Fa-f]{1,2}|\\u[0-9A-Fa-f]{1,4}|\\U[0-9A-Fa-f]{1,8}|\\."
_OF_ECHO = re.compile(rb"(\\0[0-7]{0,3})|" + _OTHERS, re.S)
_OF_VALUE = re.compile(rb"(\\0[0-7]{0,3}|\\[1-7][0-7]{0,2})|" + _OTHERS, re.S)
_OF_FORMAT = re.compile(rb"(\\[0-7]{1,3})|" + _OTHERS, re.S)
_LETTERS = dict(zip(b"abeEfnrtv\\", b"\a\b\x1b\x1b\f\n\r\t\v\\", strict=True))
_QUOTES = dict(zip(b"\"'?", b"\"'?", strict=True))

_CONVERSION = re.compile(rb"%([-+ #0]*)(\*|[0-9]{0,9})(?:\.(\*|[0-9]{0,9}))?([sbcdiouxX%])")
_WHOLE = re.compile(rb"(?:[ \t\n\v\f\r]*([-+]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*))?")
_MOST_DIGITS = 100
"""More are out of range, as these are."""


def echo(words: list[bytes]) -> bytes:
    """What `echo` prints."""
    options = b""
    while words and re.fullmatch(b"-[neE]+", words[0]):
        options += words[0][1:]
        words = words[1:]
    text, is_whole = b" ".join(words), True
    if options.rfind(b"e") > options.rfind(b"E"):
        text, is_whole = _up_to_end(text, _OF_ECHO)
    return text + b"\n" if is_whole and b"n" not in options else text


def printf(form: bytes, arguments: list[bytes]) -> tuple[bytes, list[bytes]]:
    """What `printf` prints of texts and whole numbers, and what it complains of."""
    printer = _Printer(arguments)
    printer.print_all(form)
    return bytes(printer.printed), printer.complaints


def _up_to_end(text: bytes, escapes: re.Pattern[bytes]) -> tuple[bytes, bool]:
    """A text with what its escapes stand for, up to `\\c`, and whether there is none."""
    end = next((found.start() for found in escapes.finditer(text) if found[0] == b"\\c"), None)
    return _unescaped(text[:end], escapes, _LETTERS), end is None


def _unescaped(text: bytes, escapes: re.Pattern[bytes], letters: dict[int, int]) -> bytes:
    def meaning(found: re.Match[bytes]) -> bytes:
        kind, digits = found[0][1], found[0][2:]
        if found[1]:
            return bytes([int(found[1][1:], 8) & 0xFF])
        if kind == ord("x") and digits:
            return bytes([int(digits, 16)])
        if kind in b"uU" and digits:
            code = int(digits, 16)
            return chr(code).encode("utf-8", "surrogatepass") if code < 0x110000 else b""
        return bytes([letters[kind]]) if kind in letters else found[0]

    return escapes.sub(meaning, text)


class _Printer:
    """A format, again as long as it takes arguments and there are some."""

    def __init__(self, arguments: list[bytes]) -> None:
        self._arguments = arguments
        self._at = 0
        self.printed = bytearray()
        self.complaints: list[bytes] = []

    def print_all(self, form: bytes) -> None:
        while self._pass(form) and 0 < self._at < len(self._arguments):
            pass

    def _pass(self, form: bytes) -> bool:
        """Whether no argument ended it."""
        at = 0
        for found in _CONVERSION.finditer(form):
            self.printed += _unescaped(form[at : found.start()], _OF_FORMAT, {**_LETTERS, **_QUOTES})
            at = found.end()
            if not self._convert(*found.groups()):
                return False
        self.printed += _unescaped(form[at:], _OF_FORMAT, {**_LETTERS, **_QUOTES})
        return True

    def _convert(self, flags: bytes, width: bytes, precision: bytes | None, kind: bytes) -> bool:
        if kind == b"%":
            self.printed += kind
            return True
        columns = self._size(width)
        most = None if precision is None else self._size(precision)
        most = None if most is not None and most < 0 else most
        is_whole = True
        if kind in b"sbc":
            text = self._next()
            if kind == b"b":
                text, is_whole = _up_to_end(text, _OF_VALUE)
            text = (text[:1] or b"\0") if kind == b"c" else text[:most]
        else:
            digits = _digits(self._number(kind in b"di"), flags, most, kind)
            is_filled = b"0" in flags and b"-" not in flags and most is None
            text = _filled(digits, columns) if is_filled else digits
        is_left = b"-" in flags or columns < 0
        self.printed += text.ljust(abs(columns)) if is_left else text.rjust(columns)
        return is_whole

    def _next(self) -> bytes:
        self._at += 1
        return self._arguments[self._at - 1] if self._at <= len(self._arguments) else b""

    def _size(self, text: bytes) -> int:
        return self._number(True) if text == b"*" else int(text or b"0")

    def _number(self, is_signed: bool) -> int:
        text = self._next()
        if text[:1] in (b"'", b'"'):
            code = ord(text.decode("utf-8", "surrogateescape")[1:2] or "\0")
            return code & 0xFF if 0xDC80 <= code <= 0xDCFF else code
        found = _WHOLE.match(text)
        sign, digits = (found[1] or b"", found[2] or b"0") if found else (b"", b"0")
        base = 16 if digits[:2] in (b"0x", b"0X") else 8 if digits[:1] == b"0" else 10
        value = int(digits if base != 10 else digits[:_MOST_DIGITS], base)
        value = -value if sign == b"-" else value
        if found is None or found.end() < len(text):
            of_base = b"hex " if text[:2] in (b"0x", b"0X") else b"octal " if re.match(b"0[0-9]", text) else b""
            self.complaints.append(text + b": invalid " + of_base + b"number")
        least, most = (-(1 << 63), (1 << 63) - 1) if is_signed else (-(1 << 64) + 1, (1 << 64) - 1)
        if not least <= value <= most:
            self.complaints.append(b"warning: " + text + b": Numerical result out of range")
        return min(max(value, least), most) if is_signed or least <= value <= most else most


def _digits(value: int, flags: bytes, least: int | None, kind: bytes) -> bytes:
    """A number with its sign, and at least so many digits."""
    if kind in b"di":
        sign = "-" if value < 0 else "+" if b"+" in flags else " " if b" " in flags else ""
        digits = str(abs(value))
    else:
        value %= 1 << 64
        digits = format(value, kind.decode().replace("u", "d"))
        sign = f"0{kind.decode()}" if b"#" in flags and kind in b"xX" and value else ""
    digits = "" if least == 0 and not value else digits.zfill(least or 0)
    if kind == b"o" and b"#" in flags and not digits.startswith("0"):
        digits = f"0{digits}"
    return f"{sign}{digits}".encode()


def _filled(digits: bytes, columns: int) -> bytes:
    """With zeros after the sign."""
    found = re.match(rb"[-+ ]|0[xX]|", digits)
    sign = found[0] if found else b""
    return sign + digits[len(sign) :].rjust(columns - len(sign), b"0")
