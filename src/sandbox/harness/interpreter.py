"""A script of argument vectors, pipes and redirections, as the policy settled it. No shell reads anything."""

from __future__ import annotations

import os
from collections.abc import Callable
from time import monotonic

import lines
import utilities
from confined import Confined, Refused
from expansion import exit_status
from loops import Break, Continue, Loops
from programs import NOT_STARTED, complain
from times import print_times


class _Exit(Exception):
    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Interpreter(Loops):
    """What bash would do with the script, and nothing else: the state is folder, last status, two switches, and variables."""

    def __init__(self, env: dict[str, str], python: str, confined: Confined, folder: str) -> None:
        super().__init__(env, python, confined, folder)
        self._switches: set[str] = set()
        os.chdir(folder)

    def script(self, script: dict) -> int:
        """The status with which it ends."""
        try:
            self._list(script["statements"], False)
        except _Exit as end:
            return end.status
        return self._status

    def _list(self, statements: list[dict], is_checked: bool) -> None:
        """`is_checked`: somebody looks at the status, so `set -e` does not."""
        for statement in statements:
            rest = statement.get("rest", [])
            self._pipeline(statement["first"], is_checked or bool(rest))
            for index, following in enumerate(rest):
                if (self._status == 0) == (following["after"] == "success"):
                    self._pipeline(following["pipeline"], is_checked or index + 1 < len(rest))

    def _pipeline(self, pipeline: dict, is_checked: bool) -> None:
        started, used = monotonic(), os.times()
        negated = pipeline.get("negated", False)
        commands = pipeline["commands"]
        if len(commands) == 1:
            self._status = self._command(commands[0], is_checked or negated)
            self._statuses = [self._status]
        else:
            self._statuses = self._piped(commands, is_checked or negated)
            failed = [status for status in self._statuses if status]
            self._status = failed[-1] if failed and "pipefail" in self._switches else self._statuses[-1]
        if pipeline.get("timed"):
            print_times(monotonic() - started, used, os.times())
        if negated:
            self._status = int(self._status == 0)
        elif self._status and "errexit" in self._switches and not is_checked and not _is_compound(commands):
            raise _Exit(self._status)

    def _piped(self, commands: list[dict], is_checked: bool) -> list[int]:
        """Each command in a process of its own; their statuses."""
        pids, source = [], None
        for index, command in enumerate(commands):
            is_last = index + 1 == len(commands)
            reading, writing = (None, None) if is_last else os.pipe()
            pid = os.fork()
            if not pid:
                for end, stream in ((source, 0), (writing, 1)):
                    if end is not None:
                        os.dup2(end, stream)
                        os.close(end)
                if reading is not None:
                    os.close(reading)
                self._end_with(command, is_checked)
            pids.append(pid)
            for end in (source, writing):
                if end is not None:
                    os.close(end)
            source = reading
        return [exit_status(os.waitpid(pid, 0)[1]) for pid in pids]

    def _run_to_end(self, statements: list[dict]) -> None:
        # As bash has it in a substitution.
        self._switches.discard("errexit")
        self._end_with({"run": {"group": statements}}, False)

    def _end_with(self, command: dict, is_checked: bool) -> None:
        """End this process with a command."""
        # Processes of the one that this is a copy of.
        self._processes = []
        status = NOT_STARTED
        try:
            program = command["run"].get("program")
            if program and "timeout" not in program:
                self._become(program, command.get("redirections", []))
            status = self._command(command, is_checked)
        except _Exit as end:
            status = end.status
        except BaseException as error:  # noqa: BLE001 - nothing may return into a copy of the parent
            complain(f"the command could not be run: {error!r}")
        os._exit(status)

    def _command(self, command: dict, is_checked: bool) -> int:
        redirections = command.get("redirections", [])
        ((kind, body),) = command["run"].items()
        if kind == "program":
            return self._program(body, redirections)
        if kind == "subshell":
            return self._subshell(body, redirections, is_checked)
        if kind == "shell":
            return self._shell(body, redirections)
        if kind == "builtin":
            return self._builtin(body, redirections)
        if kind == "assign":
            # As in bash, variables are set before streams are.
            status = self._assign(body)
            return self._redirected(redirections, lambda: status)
        return self._redirected(redirections, lambda: self._inside(kind, body, is_checked))

    def _redirected(self, redirections: list[dict], run: Callable[[], int]) -> int:
        """The status of what runs in this process, with streams of its own."""
        saved = [(stream, os.dup(stream)) for stream in (0, 1, 2)] if redirections else []
        try:
            self._redirect(redirections)
            return run()
        except Refused as refused:
            complain(str(refused))
            return 1
        finally:
            for stream, copy in saved:
                os.dup2(copy, stream)
                os.close(copy)
            self._processes = [pid for pid in self._processes if not os.waitpid(pid, os.WNOHANG)[0]]

    def _inside(self, kind: str, body: object, is_checked: bool) -> int:
        """What runs in this process."""
        if kind == "group":
            self._status = 0 if not body else self._status
            self._list(body, is_checked)
        elif kind == "test":
            self._list(body, True)
        elif kind == "if":
            self._if(body, is_checked)
        elif kind == "for":
            self._for(body, is_checked)
        elif kind == "while":
            self._while(body, is_checked)
        elif kind == "case":
            self._case(body, is_checked)
        else:
            return self._read(body)
        return self._status

    def _case(self, body: dict, is_checked: bool) -> None:
        value = self._text(body["value"])
        for item in body["items"]:
            if any(self._fits(pattern, value) for pattern in item["patterns"]):
                self._status = self._status if item["body"] else 0
                self._list(item["body"], is_checked)
                return
        self._status = 0

    def _read(self, call: dict) -> int:
        raw = call.get("raw", False)
        end = call.get("end", "\n").encode() or b"\0"
        line, has_end = lines.take(0, end, raw)
        names = call["variables"]
        values = lines.split(line, call.get("separators", lines.BLANKS), len(names), raw)
        self._variables.update(zip(names, values, strict=True))
        return 0 if has_end else 1

    def _assign(self, assigned: list[list]) -> int:
        """The status is that of the last commands in a value."""
        self._output_status = None
        try:
            for name, value in assigned:
                self._variables[name] = self._text(value)
        except Refused as refused:
            # As in bash, nothing goes on with a variable that is not what it was to be.
            complain(str(refused))
            raise _Exit(1) from None
        return self._output_status or 0

    def _if(self, body: dict, is_checked: bool) -> None:
        for branch in body["branches"]:
            self._list(branch["condition"], True)
            if self._status == 0:
                self._list(branch["body"], is_checked)
                return
        self._status = 0
        self._list(body.get("otherwise", []), is_checked)

    def _subshell(self, body: list[dict], redirections: list[dict], is_checked: bool) -> int:
        pid = os.fork()
        if not pid:
            self._end_with({"run": {"group": body}, "redirections": redirections}, is_checked)
        return exit_status(os.waitpid(pid, 0)[1])

    def _shell(self, body: list[dict], redirections: list[dict]) -> int:
        """A shell of its own: it has no switch and no variable of this one, and whoever looks at its status is outside of it."""
        pid = os.fork()
        if not pid:
            self._switches, self._variables, self._status, self._statuses = set(), {}, 0, [0]
            self._end_with({"run": {"group": body}, "redirections": redirections}, False)
        return exit_status(os.waitpid(pid, 0)[1])

    def _builtin(self, call: dict, redirections: list[dict]) -> int:
        readers = len(self._readers)
        try:
            # Words come before redirections, as those of programs do.
            arguments = [value for word in call.get("arguments", []) for value in self._arguments(word)]
            return self._redirected(redirections, lambda: self._run_builtin(call["name"], arguments))
        except Refused as refused:
            complain(str(refused))
            return 1
        finally:
            while len(self._readers) > readers:
                os.close(self._readers.pop())

    def _run_builtin(self, name: str, arguments: list[str]) -> int:
        if name in utilities.NAMES:
            return utilities.run(name, arguments)
        if name == "cd":
            return self._cd(arguments[0])
        if name == "exit":
            raise _Exit(_status(arguments[0]) if arguments else self._status)
        if name in ("break", "continue"):
            loops = int(arguments[0]) if arguments else 1
            raise (Break if name == "break" else Continue)(loops)
        if name == "set":
            for switch in arguments:
                (self._switches.add if switch[0] == "-" else self._switches.discard)(switch[1:])
        elif name == "pwd":
            os.write(1, f"{self._folder}\n".encode("utf-8", "surrogateescape"))
        return int(name == "false")

    def _cd(self, path: str) -> int:
        try:
            folder = self._confined.open_folder(self._folder, path)
        except Refused as refused:
            complain(f"cd: {refused}")
            return 1
        os.fchdir(folder)
        os.close(folder)
        self._folder = os.path.normpath(os.path.join(self._folder, path))
        return 0


def _is_compound(commands: list[dict]) -> bool:
    """Whether its status is one of its body, which was looked at there."""
    kinds = ("group", "if", "for", "while", "case")
    return len(commands) == 1 and any(kind in commands[0]["run"] for kind in kinds)


def _status(text: str) -> int:
    try:
        return int(text) & 0xFF
    except ValueError:
        complain(f"exit: {text}: numeric argument required")
        return 2
