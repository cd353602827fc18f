"""How programs are started: with their words, streams and time, and without a shell."""

from __future__ import annotations

import os

from confined import Confined, Refused
from expansion import Expansion, exit_status, first_of
from times import wait_at_most

NOT_STARTED = 126
"""The status of what could not be started."""

_NOT_FOUND = 127


def complain(what: str) -> None:
    """Say on stderr what bash would say."""
    try:
        os.write(2, f"bash: {what}\n".encode("utf-8", "surrogateescape"))
    except OSError:
        pass


class Programs(Expansion):
    """What programs get of the script."""

    def __init__(self, env: dict[str, str], python: str, confined: Confined, folder: str) -> None:
        super().__init__(confined, folder)
        self._env = env
        self._python = python

    def _program(self, program: dict, redirections: list[dict]) -> int:
        pid = os.fork()
        if not pid:
            try:
                if "timeout" in program:
                    os.setpgid(0, 0)
                self._become(program, redirections)
            except BaseException as error:  # noqa: BLE001 - nothing may return into a copy of the parent
                complain(f"{program['program']['name']}: {error}")
            os._exit(NOT_STARTED)
        if "timeout" not in program:
            return exit_status(os.waitpid(pid, 0)[1])
        return wait_at_most(pid, program["timeout"] / 1000)

    def _become(self, program: dict, redirections: list[dict]) -> None:
        """Replace this process by a program; where that fails, end with the status that bash has for it."""
        name = program["program"]["name"]
        try:
            # Words come before redirections: their patterns do not match what those make.
            arguments = self._checked_arguments(program)
            given = {variable: self._text(value) for variable, value in program.get("environment", [])}
            self._redirect(redirections)
        except Refused as refused:
            complain(str(refused))
            os._exit(1)
        paths = program["program"]["paths"]
        path = first_of(paths) if paths else self._python
        if path is None:
            complain(f"{name}: command not found")
            os._exit(_NOT_FOUND)
        # An interpreter finds its packages by the path that it is started with.
        own_name = name if paths else os.path.join(os.path.dirname(path), name)
        os.execve(path, [own_name, *arguments], {**self._env, "PWD": self._folder, **given})

    def _redirect(self, redirections: list[dict]) -> None:
        for redirection in redirections:
            ((kind, target),) = redirection["to"].items()
            if kind == "duplicate":
                source = os.dup(target)
            elif kind == "data":
                source = _stored(self._text(target).encode("utf-8", "surrogateescape"))
            elif kind == "process":
                source = self._process(target)
            else:
                source = self._confined.open_file(self._folder, self._text(target), kind)
            os.dup2(source, redirection["stream"])
            os.close(source)


def _stored(content: bytes) -> int:
    stored = os.memfd_create("data")
    view = memoryview(content)
    while view:
        view = view[os.write(stored, view) :]
    os.lseek(stored, 0, os.SEEK_SET)
    return stored
