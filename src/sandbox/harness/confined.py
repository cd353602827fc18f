"""Files below a few folders: opened step by step so that no link leads out of them, and matched by patterns."""

from __future__ import annotations

import errno
import os
import re
import stat

import patterns

WRITABLE = ("/sandbox", "/var/outputs", "/tmp")
READABLE = (*WRITABLE, "/var/inputs")
_NOWHERE = "/dev/null"

_FLAGS = {
    "read": os.O_RDONLY,
    "write": os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
    "append": os.O_WRONLY | os.O_CREAT | os.O_APPEND,
}
_STEP = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_SIGNS = ("-", "+", "(", ")", "!", ",")
"""What an option or an expression begins with."""

_STREAMS = ("/dev/null", "/dev/stdout", "/dev/stderr")
_MOST_MATCHES = 10_000


class Refused(Exception):
    """Why a file is not opened, as bash says it."""


class Confined:
    """The folders that redirections and patterns stay in."""

    def __init__(self, writable: tuple[str, ...] = WRITABLE, readable: tuple[str, ...] = READABLE) -> None:
        self._writable = writable
        self._readable = readable

    def open_file(self, folder: str, path: str, kind: str) -> int:
        """A descriptor of a regular file, or of what takes everything."""
        if path == _NOWHERE:
            return os.open(_NOWHERE, os.O_RDWR | os.O_CLOEXEC)
        roots = self._readable if kind == "read" else self._writable
        parent, name = self._parent(folder, path, roots)
        try:
            flags = _FLAGS[kind] | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            # What is no file is not emptied, so it is seen before.
            opened = os.open(name, flags & ~os.O_TRUNC, 0o666, dir_fd=parent)
        except OSError as error:
            raise Refused(f"{path}: {_said(error)}") from None
        finally:
            os.close(parent)
        found = os.fstat(opened).st_mode
        if stat.S_ISDIR(found) or not stat.S_ISREG(found):
            os.close(opened)
            raise Refused(f"{path}: {'Is a directory' if stat.S_ISDIR(found) else 'Not a file'}")
        if kind == "write":
            os.ftruncate(opened, 0)
        os.set_blocking(opened, True)
        return opened

    def open_folder(self, folder: str, path: str) -> int:
        """A descriptor of a folder."""
        parent, name = self._parent(folder, path, self._readable)
        try:
            return os.open(name, _STEP, dir_fd=parent) if name != "." else os.dup(parent)
        except OSError as error:
            raise Refused(f"{path}: {_said(error)}") from None
        finally:
            os.close(parent)

    def _parent(self, folder: str, path: str, roots: tuple[str, ...]) -> tuple[int, str]:
        """The folder that something lies in, and its name there."""
        root, names = self._below(folder, path, roots)
        here = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for name in names[:-1]:
            try:
                inner = os.open(name, _STEP, dir_fd=here)
            except OSError as error:
                raise Refused(f"{path}: {_said(error)}") from None
            finally:
                os.close(here)
            here = inner
        return here, names[-1] if names else "."

    def is_writable(self, folder: str, path: str, is_below: bool) -> bool:
        """Whether a path is one of the writable folders or below one, also where links on the way lead. `is_below`: it is removed itself."""
        if path in _STREAMS:
            return not is_below
        whole = os.path.normpath(os.path.join(folder, path))
        parent, name = os.path.split(whole)
        real = os.path.join(os.path.realpath(parent), name) if is_below else os.path.realpath(whole)
        roots = {os.path.realpath(root) for root in self._writable}
        return any(real.startswith(root + "/") or real == root and not is_below for root in roots)

    @staticmethod
    def _below(folder: str, path: str, roots: tuple[str, ...]) -> tuple[str, list[str]]:
        whole = os.path.normpath(os.path.join(folder, path))
        for root in roots:
            if whole == root or whole.startswith(root + "/"):
                return root, [name for name in whole[len(root) :].split("/") if name]
        raise Refused(f"{path}: Permission denied")

    def matches(self, folder: str, pattern: list[tuple[str, bool]]) -> list[str]:
        """The paths that match a pattern, of text and signs; the pattern itself where there are none.

        None of them can be an option.
        """
        literal = "".join(text for text, _ in pattern)
        names = _names(pattern)
        is_absolute = literal.startswith("/")
        found = [("/" if is_absolute else "", "/" if is_absolute else folder)]
        for index, (text, expression) in enumerate(names):
            is_last = index + 1 == len(names)
            found = [next_ for shown, real in found for next_ in self._step(shown, real, text, expression, is_last)]
            if len(found) > _MOST_MATCHES:
                raise Refused(f"{literal}: Argument list too long")
        if literal.endswith("/"):
            found = [(f"{shown}/", real) for shown, real in found if os.path.isdir(real)]
        paths = sorted(shown for shown, _ in found)
        return [f"./{path}" if path.startswith(_SIGNS) else path for path in paths] or [literal]

    def _step(
        self, shown: str, real: str, text: str, expression: re.Pattern[str] | None, is_last: bool
    ) -> list[tuple[str, str]]:
        """What one name of a pattern leads to in a folder."""
        if expression is None:
            real = os.path.normpath(os.path.join(real, text))
            is_there = os.path.lexists(real) if is_last else self._is_entered(real)
            return [(f"{shown}{text}" + ("" if is_last else "/"), real)] if is_there else []
        if not self._is_inside(real):
            return []
        try:
            names = sorted(os.listdir(real))
        except OSError:
            return []
        hidden = text.startswith(".")
        fitting = [name for name in names if (hidden or not name.startswith(".")) and expression.match(name)]
        if is_last:
            return [(shown + name, f"{real}/{name}") for name in fitting]
        return [(f"{shown}{name}/", f"{real}/{name}") for name in fitting if self._is_entered(f"{real}/{name}")]

    def _is_inside(self, path: str) -> bool:
        return any(path == root or path.startswith(root + "/") for root in self._readable)

    def _is_entered(self, path: str) -> bool:
        """Whether a pattern goes on in a folder: on the way to the folders that it stays in, or in one of them and no link."""
        is_above = path == "/" or any(root == path or root.startswith(path + "/") for root in self._readable)
        return is_above or (self._is_inside(path) and os.path.isdir(path) and not os.path.islink(path))


def _names(pattern: list[tuple[str, bool]]) -> list[tuple[str, re.Pattern[str] | None]]:
    """The names of a pattern between its slashes: the text, and the expression where it is one."""
    names: list[list[tuple[str, bool]]] = [[]]
    for text, is_sign in pattern:
        for c in text:
            if c == "/":
                names.append([])
            else:
                names[-1].append((c, is_sign))
    return [
        ("".join(c for c, _ in name), patterns.expression(name) if patterns.has_signs(name) else None)
        for name in names
        if name
    ]


def _said(error: OSError) -> str:
    # A link that is not followed is none for whoever reads this.
    return "Not a file" if error.errno == errno.ELOOP else os.strerror(error.errno or 0)
