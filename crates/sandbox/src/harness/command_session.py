"""Runs commands one after another, each in a shell, and streams what each came to. What it says is told to a model and decides nothing."""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import sys
from time import monotonic, time

_HARNESS = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, _HARNESS)

from command_shims import Shims  # noqa: E402 - an isolated interpreter does not find it by itself

_CHANNEL = 3
_OUTPUT_BYTES = 64 * 1024
"""How much of an output is kept: a quarter from its start, the rest from its end."""
_INTERVAL, _INTERVAL_AT_THE_END = 0.02, 0.002
_NOT_STARTED = 126
_SUBREAPER = 36
_SHELLS = ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/bin/sh")


def main() -> None:
    if os.getppid() != 1:
        # After each command every process that can be seen is killed: outside a PID namespace that is the user's session.
        sys.exit("commands are run by the harness in a sandbox alone")
    # The commands shall not write here. Their orphans are ours, to be waited for.
    os.set_inheritable(_CHANNEL, False)
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    job = json.loads(_line())
    shims = Shims(_HARNESS, job["python"], job["denied"])
    env = shims.environment(job["env"])
    for command in job["commands"]:
        left = job["deadline"] - monotonic()
        if left <= 0:
            sys.exit("It ended because its time was over.")
        _send({"startedAt": time()})
        result = _run(command["command"], env, min(command.get("seconds", left), left), shims)
        _send(result)
        if result["asksForTests"]:
            # What follows it may need what they came to.
            break


def _run(command: str, env: dict[str, str], seconds: float, shims: Shims) -> dict[str, object]:
    """Run a command to its end, its time limit or its call of pytest; how it ended, and what it wrote on both streams, in order."""
    started = monotonic()
    shims.forget()
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        _become(command, env, writing)
    os.close(writing)
    kept = _Kept(_OUTPUT_BYTES)
    status = _drain(pid, reading, started + seconds, kept, shims)
    killed = _end_what_is_left(pid)
    timed_out = status is None and not shims.asks_for_tests()
    # What is left in the pipe; nobody is left to write.
    while _take(reading, kept):
        pass
    os.close(reading)
    return {
        "exit": 124 if timed_out else _exit_status(killed if status is None else status),
        "output": kept.text(),
        "bytes": kept.bytes,
        "seconds": monotonic() - started,
        "timedOut": timed_out,
        "asksForTests": shims.asks_for_tests(),
        "denied": shims.denied(),
    }


def _become(command: str, env: dict[str, str], writing: int) -> None:
    """Replace this process by a shell with streams and a session of its own; never returns."""
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(writing, 1)
        os.dup2(writing, 2)
        for handled in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGCHLD, signal.SIGTERM):
            signal.signal(handled, signal.SIG_DFL)
        shell = next(filter(os.path.exists, _SHELLS))
        os.execve(shell, [os.path.basename(shell), "-c", command], env)
    except BaseException as error:  # noqa: BLE001 - nothing may return into the loop of the parent
        os.write(2, f"the command could not be run: {error} (a long text is written with the tool Write)\n".encode())
    os._exit(_NOT_STARTED)


def _drain(pid: int, reading: int, deadline: float, kept: _Kept, shims: Shims) -> int | None:
    """Take what is written until the shell has ended: its wait status; `None` when its time is over or it asks for tests."""
    poller = select.poll()
    poller.register(reading, select.POLLIN)
    interval = _INTERVAL
    while (left := deadline - monotonic()) > 0 and not shims.asks_for_tests():
        for _, event in poller.poll(min(left, interval) * 1000):
            if (event & ~select.POLLIN and not event & select.POLLIN) or not _take(reading, kept):
                # Nobody writes any more: mostly it is about to end.
                poller.unregister(reading)
                interval = _INTERVAL_AT_THE_END
        if (status := _reap(pid, os.WNOHANG)) is not None:
            return status
    return None


def _end_what_is_left(shell: int) -> int | None:
    """End every process but the harness and this one, whatever session it has made for itself, and wait until none is left."""
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        pass
    status = _reap(shell, 0)
    # The shell may have ended before others.
    _reap(shell, 0)
    return status


def _reap(shell: int, options: int) -> int | None:
    """Collect children that have ended, orphans too; the wait status of the shell as soon as it is among them."""
    while True:
        try:
            pid, status = os.waitpid(-1, options)
        except ChildProcessError:
            return None
        if pid == shell:
            return status
        if pid == 0:
            return None


def _exit_status(status: int) -> int:
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _take(reading: int, kept: _Kept) -> bool:
    part = os.read(reading, 1 << 16)
    kept.add(part)
    return bool(part)


class _Kept:
    """The start and the end of an output."""

    def __init__(self, most: int) -> None:
        self._most_head = most // 4
        self._most_tail = most - self._most_head
        self._head, self._tail = bytearray(), bytearray()
        self.bytes = self._omitted_bytes = self._omitted_lines = 0

    def add(self, part: bytes) -> None:
        self.bytes += len(part)
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

    def text(self) -> str:
        self._cut()
        if not self._omitted_bytes:
            return _text(self._head + self._tail)
        omitted = f"[... {self._omitted_bytes} bytes in {self._omitted_lines} lines left out ...]"
        return f"{_text(self._head)}\n{omitted}\n{_text(self._tail)}"


def _text(content: bytes | bytearray) -> str:
    return bytes(content).decode("utf-8", "replace")


def _line() -> bytes:
    line = bytearray()
    while not line.endswith(b"\n"):
        part = os.read(_CHANNEL, 1 << 16)
        if not part:
            sys.exit("the commands ended before their line did")
        line += part
    return bytes(line)


def _send(result: dict[str, object]) -> None:
    view = memoryview(json.dumps(result).encode() + b"\n")
    while view:
        view = view[os.write(_CHANNEL, view) :]


if __name__ == "__main__":
    main()
