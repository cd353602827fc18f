"""Commands of an agent: a script of argument vectors, pipes and redirections, as the policy settled it. No shell reads anything."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from time import monotonic

from confined import Confined, Refused

KEPT_BYTES = 1 << 20
"""How much of the output is kept: a quarter from its start, the rest from its end."""

_KILL_AFTER = 2.0
_TIMED_OUT, _NOT_FOUND, _NOT_STARTED = 124, 127, 126
_INTERVAL = 0.005


def run(
    script: dict, cwd: str, env: dict[str, str], limits: dict, python: str, confined: Confined | None = None
) -> dict[str, object]:
    """Run a script to its end or its time limit; how it ended, and what it wrote on both streams, in order."""
    started = monotonic()
    deadline = started + limits["timeoutSeconds"]
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        _child(script, cwd, env, python, confined or Confined(), writing)
    os.close(writing)
    kept = _Kept(limits.get("outputBytes", KEPT_BYTES))
    status = _drain(pid, reading, deadline, kept)
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    timed_out = status is None
    if timed_out:
        _, status = os.waitpid(pid, 0)
    # What is left in the pipe; whoever still holds its other end is not waited for.
    os.set_blocking(reading, False)
    while _take(reading, kept):
        pass
    os.close(reading)
    end: object = "timedOut" if timed_out else {"exited": _exit_status(status)}
    return {"end": end, "seconds": monotonic() - started, **kept.report()}


def _drain(pid: int, reading: int, deadline: float, kept: _Kept) -> int | None:
    """Take what is written until the script has ended; `None` when its time is over."""
    poller = select.poll()
    poller.register(reading, select.POLLIN)
    is_open = True
    while (left := deadline - monotonic()) > 0:
        if is_open:
            for _ in poller.poll(min(left, 0.02) * 1000):
                if not _take(reading, kept):
                    poller.unregister(reading)
                    is_open = False
        ended, status = os.waitpid(pid, 0 if not is_open and left > 60 else os.WNOHANG)
        if ended:
            return status
        if not is_open:
            select.select((), (), (), min(left, _INTERVAL))
    return None


def _take(reading: int, kept: _Kept) -> bool:
    try:
        part = os.read(reading, 1 << 16)
    except BlockingIOError:
        return False
    kept.add(part)
    return bool(part)


class _Kept:
    """The start and the end of an output."""

    def __init__(self, most: int) -> None:
        self._most_head = most // 4
        self._most_tail = most - self._most_head
        self._head, self._tail = bytearray(), bytearray()
        self._bytes = self._omitted_bytes = self._omitted_lines = 0

    def add(self, part: bytes) -> None:
        self._bytes += len(part)
        room = self._most_head - len(self._head)
        self._head += part[:room]
        self._tail += part[room:] if room > 0 else part
        if len(self._tail) > 2 * self._most_tail:
            self._cut()

    def _cut(self) -> None:
        over = max(0, len(self._tail) - self._most_tail)
        self._omitted_bytes += over
        self._omitted_lines += self._tail.count(b"\n", 0, over)
        del self._tail[:over]

    def report(self) -> dict[str, object]:
        self._cut()
        if not self._omitted_bytes:
            return {"output": _text(self._head + self._tail), "bytes": self._bytes}
        omitted = {"bytes": self._omitted_bytes, "lines": self._omitted_lines}
        return {"output": _text(self._head), "omitted": omitted, "tail": _text(self._tail), "bytes": self._bytes}


def _text(content: bytes | bytearray) -> str:
    return bytes(content).decode("utf-8", "replace")


def _child(script: dict, cwd: str, env: dict[str, str], python: str, confined: Confined, writing: int) -> None:
    """Run the script in a process of its own, with streams of its own; never returns."""
    status = _NOT_STARTED
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(writing, 1)
        os.dup2(writing, 2)
        os.close(writing)
        for handled in (signal.SIGPIPE, signal.SIGINT, signal.SIGCHLD, signal.SIGTERM):
            signal.signal(handled, signal.SIG_DFL)
        interpreter = Interpreter(env, python, confined, cwd)
        status = interpreter.script(script)
    except BaseException as error:  # noqa: BLE001 - nothing may return into the loop of the parent
        _complain(f"the command could not be run: {error!r}")
    os._exit(status)


def _complain(what: str) -> None:
    try:
        os.write(2, f"bash: {what}\n".encode("utf-8", "surrogateescape"))
    except OSError:
        pass


def _exit_status(status: int) -> int:
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


class _Exit(Exception):
    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Interpreter:
    """What bash would do with the script, and nothing else: the state is folder, last status, two switches, and variables of loops."""

    def __init__(self, env: dict[str, str], python: str, confined: Confined, folder: str) -> None:
        self._env = env
        self._python = python
        self._confined = confined
        self._folder = folder
        os.chdir(folder)
        self._status = 0
        self._statuses: list[int] = [0]
        self._variables: dict[str, str] = {}
        self._switches: set[str] = set()

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
            self._statuses = self._piped(commands)
            failed = [status for status in self._statuses if status]
            self._status = failed[-1] if failed and "pipefail" in self._switches else self._statuses[-1]
        if pipeline.get("timed"):
            _print_times(monotonic() - started, used, os.times())
        if negated:
            self._status = int(self._status == 0)
        elif self._status and "errexit" in self._switches and not is_checked:
            raise _Exit(self._status)

    def _piped(self, commands: list[dict]) -> list[int]:
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
                self._end_with(command)
            pids.append(pid)
            for end in (source, writing):
                if end is not None:
                    os.close(end)
            source = reading
        return [_exit_status(os.waitpid(pid, 0)[1]) for pid in pids]

    def _end_with(self, command: dict) -> None:
        """End this process with a command."""
        status = _NOT_STARTED
        try:
            program = command["run"].get("program")
            if program and "timeout" not in program:
                self._become(program, command.get("redirections", []))
            status = self._command(command, False)
        except _Exit as end:
            status = end.status
        except BaseException as error:  # noqa: BLE001 - nothing may return into a copy of the parent
            _complain(f"the command could not be run: {error!r}")
        os._exit(status)

    def _command(self, command: dict, is_checked: bool) -> int:
        redirections = command.get("redirections", [])
        ((kind, body),) = command["run"].items()
        if kind == "program":
            return self._program(body, redirections)
        if kind == "subshell":
            return self._subshell(body, redirections)
        saved = [(stream, os.dup(stream)) for stream in (0, 1, 2)] if redirections else []
        try:
            self._redirect(redirections)
            return self._inside(kind, body, is_checked)
        except Refused as refused:
            _complain(str(refused))
            return 1
        finally:
            for stream, copy in saved:
                os.dup2(copy, stream)
                os.close(copy)

    def _inside(self, kind: str, body: object, is_checked: bool) -> int:
        """What runs in this process."""
        if kind == "builtin":
            return self._builtin(body)
        if kind == "group":
            self._status = 0 if not body else self._status
            self._list(body, is_checked)
        elif kind == "if":
            self._if(body, is_checked)
        else:
            values = [value for word in body["words"] for value in self._arguments(word)]
            self._status = 0 if not values else self._status
            for value in values:
                self._variables[body["variable"]] = value
                self._list(body["body"], is_checked)
        return self._status

    def _if(self, body: dict, is_checked: bool) -> None:
        for branch in body["branches"]:
            self._list(branch["condition"], True)
            if self._status == 0:
                self._list(branch["body"], is_checked)
                return
        self._status = 0
        self._list(body.get("otherwise", []), is_checked)

    def _subshell(self, body: list[dict], redirections: list[dict]) -> int:
        pid = os.fork()
        if not pid:
            self._end_with({"run": {"group": body}, "redirections": redirections})
        return _exit_status(os.waitpid(pid, 0)[1])

    def _builtin(self, call: dict) -> int:
        arguments = [value for word in call.get("arguments", []) for value in self._arguments(word)]
        name = call["name"]
        if name == "cd":
            return self._cd(arguments[0])
        if name == "exit":
            raise _Exit(int(arguments[0]) if arguments else self._status)
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
            _complain(f"cd: {refused}")
            return 1
        os.fchdir(folder)
        os.close(folder)
        self._folder = os.path.normpath(os.path.join(self._folder, path))
        return 0

    def _program(self, program: dict, redirections: list[dict]) -> int:
        pid = os.fork()
        if not pid:
            try:
                if "timeout" in program:
                    os.setpgid(0, 0)
                self._become(program, redirections)
            except BaseException as error:  # noqa: BLE001 - nothing may return into a copy of the parent
                _complain(f"{program['program']['name']}: {error}")
            os._exit(_NOT_STARTED)
        if "timeout" not in program:
            return _exit_status(os.waitpid(pid, 0)[1])
        return _wait_at_most(pid, program["timeout"] / 1000)

    def _become(self, program: dict, redirections: list[dict]) -> None:
        """Replace this process by a program; where that fails, end with the status that bash has for it."""
        name = program["program"]["name"]
        try:
            # Words come before redirections: their patterns do not match what those make.
            arguments = [value for word in program["arguments"] for value in self._arguments(word)]
            self._redirect(redirections)
        except Refused as refused:
            _complain(str(refused))
            os._exit(1)
        paths = program["program"]["paths"]
        path = _first(paths) if paths else self._python
        if path is None:
            _complain(f"{name}: command not found")
            os._exit(_NOT_FOUND)
        given = {variable: self._text(value) for variable, value in program.get("environment", [])}
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
            else:
                source = self._confined.open_file(self._folder, self._text(target), kind)
            os.dup2(source, redirection["stream"])
            os.close(source)

    def _arguments(self, word: str | list) -> list[str]:
        """What an argument stands for: itself, or the paths that match it."""
        if isinstance(word, str):
            return [word]
        if not any("pattern" in part for part in word if isinstance(part, dict)):
            return [self._text(word)]
        pattern = [
            (part["pattern"], True) if isinstance(part, dict) and "pattern" in part else (self._part(part), False)
            for part in word
        ]
        return self._confined.matches(self._folder, pattern)

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
            return _first(value) or value[0]
        return value


def _first(paths: list[str]) -> str | None:
    return next((path for path in paths if os.path.isfile(path)), None)


def _stored(content: bytes) -> int:
    stored = os.memfd_create("data")
    view = memoryview(content)
    while view:
        view = view[os.write(stored, view) :]
    os.lseek(stored, 0, os.SEEK_SET)
    return stored


def _wait_at_most(pid: int, seconds: float) -> int:
    """The status of a process that is ended after a time, as `timeout` ends it."""
    for send, until in ((signal.SIGTERM, monotonic() + seconds), (signal.SIGKILL, monotonic() + seconds + _KILL_AFTER)):
        while monotonic() < until:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                return _TIMED_OUT if send == signal.SIGKILL else _exit_status(status)
            select.select((), (), (), _INTERVAL)
        try:
            os.killpg(pid, send)
        except ProcessLookupError:
            os.kill(pid, send)
    os.waitpid(pid, 0)
    return _TIMED_OUT


def _print_times(seconds: float, before: os.times_result, after: os.times_result) -> None:
    user, system = after[2] - before[2], after[3] - before[3]
    for name, time in (("\nreal", seconds), ("user", user), ("sys", system)):
        os.write(2, f"{name}\t{int(time // 60)}m{time % 60:.3f}s\n".encode())


def main() -> None:
    """Run the job on stdin: `script`, `cwd`, `env`, `limits`, `python`; its report goes to stdout."""
    job = json.load(sys.stdin)
    folders = job.get("folders")
    confined = Confined(tuple(folders["writable"]), tuple(folders["readable"])) if folders else None
    json.dump(run(job["script"], job["cwd"], job["env"], job["limits"], job["python"], confined), sys.stdout)


if __name__ == "__main__":
    main()
