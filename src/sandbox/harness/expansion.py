"""What the words of a script stand for: texts, values of variables, what commands print, paths that match."""

from __future__ import annotations

import os
import re

import arithmetic
import fields
import patterns
from confined import Confined, Refused

_LINES = re.compile("[0-9,~+$!; {}pdq=]+")
"""A script of sed that only prints or leaves out lines by their number."""


class Expansion:
    """The state that words depend on, and their values."""

    def __init__(self, confined: Confined, folder: str) -> None:
        self._confined = confined
        self._folder = folder
        self._status = 0
        self._statuses: list[int] = [0]
        self._variables: dict[str, str] = {}
        self._output_status: int | None = None
        self._processes: list[int] = []
        self._readers: list[int] = []

    def _run_to_end(self, statements: list[dict]) -> None:
        """End this process, which is one for a substitution, with commands."""
        raise NotImplementedError

    def _checked_arguments(self, program: dict) -> list[str]:
        """Its arguments, where those that were not settled before are what they must be."""
        checks = {check["argument"]: check["is"] for check in program.get("checks", [])}
        arguments = []
        for index, word in enumerate(program["arguments"]):
            values = self._arguments(word)
            if index in checks:
                self._check(word, values, checks[index])
            arguments += values
        return arguments

    def _check(self, word: str | list, values: list[str], requirement: str) -> None:
        parts = [part for part in word if isinstance(part, dict)]
        is_split = any("fields" in part for part in parts)
        if len(values) != 1 and (is_split or not any("pattern" in part for part in parts)):
            raise Refused(f"{' '.join(values)}: is not one word: quote it")
        for value in values:
            if requirement == "lines":
                if not _LINES.fullmatch(value):
                    raise Refused(f"{value}: is no script of line numbers for sed")
                continue
            # What is written out is judged already.
            if not isinstance(word, str) and (not value or value[0] in "-+(!,)"):
                raise Refused(f"{value}: is no file, but an option or an expression")
            if requirement != "operand" and not self._confined.is_writable(
                self._folder, value, requirement == "below"
            ):
                raise Refused(f"{value}: Permission denied")

    def _arguments(self, word: str | list) -> list[str]:
        """What an argument stands for: itself, its fields, or the paths that match it."""
        if isinstance(word, str):
            return [word]
        arguments = []
        for field in fields.split([self._piece(part) for part in word]):
            if patterns.has_signs(field):
                arguments += self._confined.matches(self._folder, field)
            else:
                arguments.append("".join(text for text, _ in field))
        return arguments

    def _fits(self, word: str | list, text: str) -> bool:
        """Whether a text as a whole matches a pattern."""
        if isinstance(word, str):
            return word == text
        pieces = [self._piece(part) for part in word]
        return patterns.fits([(part, kind != fields.TEXT) for part, kind in pieces], text)

    def _piece(self, part: str | dict) -> tuple[str, str]:
        if isinstance(part, dict) and "pattern" in part:
            return part["pattern"], fields.SIGN
        return self._part(part), fields.SPLIT if isinstance(part, dict) and "fields" in part else fields.TEXT

    def _text(self, word: str | list) -> str:
        return word if isinstance(word, str) else "".join(map(self._part, word))

    def _part(self, part: str | dict) -> str:
        if part == "status":
            return str(self._status)
        if part == "folder":
            return self._folder
        ((kind, value),) = part.items()
        if kind == "variable":
            return self._variables.get(value, "")
        if kind == "pipeStatus":
            return str(self._statuses[value]) if value < len(self._statuses) else ""
        if kind == "program":
            return first_of(value) or value[0]
        if kind == "fields":
            return self._part(value)
        if kind == "arithmetic":
            return str(arithmetic.evaluate(value, self._variables))
        if kind == "output":
            return self._output(value)
        if kind == "process":
            reading = self._process(value)
            os.set_inheritable(reading, True)
            self._readers.append(reading)
            return f"/dev/fd/{reading}"
        return value

    def _output(self, statements: list[dict]) -> str:
        """What commands print, without the line ends after it; their status is the last one."""
        with open(self._process(statements), "rb") as printed:
            content = printed.read()
        self._output_status = self._status = exit_status(os.waitpid(self._processes.pop(), 0)[1])
        return content.replace(b"\0", b"").rstrip(b"\n").decode("utf-8", "surrogateescape")

    def _process(self, statements: list[dict]) -> int:
        """Starts commands in a process of their own; where it is read what they print."""
        reading, writing = os.pipe()
        pid = os.fork()
        if not pid:
            os.dup2(writing, 1)
            for other in (reading, writing, *self._readers):
                os.close(other)
            self._readers = []
            self._run_to_end(statements)
        os.close(writing)
        self._processes.append(pid)
        return reading


def first_of(paths: list[str]) -> str | None:
    """The first path at which there is a file."""
    return next((path for path in paths if os.path.isfile(path)), None)


def exit_status(status: int) -> int:
    """The status of bash for one of a process."""
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
