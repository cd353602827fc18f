"""Commands of an agent: a script of argument vectors, pipes and redirections, as the policy settled it. No shell reads anything."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from time import monotonic

from confined import Confined
from expansion import exit_status
from interpreter import Interpreter
from programs import NOT_STARTED, complain

KEPT_BYTES = 1 << 20
"""How much of the output is kept: a quarter from its start, the rest from its end."""

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
    _kill_session(pid)
    timed_out = status is None
    if timed_out:
        _, status = os.waitpid(pid, 0)
    # What is left in the pipe; whoever still holds its other end is not waited for.
    os.set_blocking(reading, False)
    while _take(reading, kept):
        pass
    os.close(reading)
    end: object = "timedOut" if timed_out else {"exited": exit_status(status)}
    return {"end": end, "seconds": monotonic() - started, **kept.report()}


def _kill_session(session: int) -> None:
    """End what is left of a script. Programs that have a time of their own are groups of their own, in the same session."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.getsid(int(name)) == session:
                os.kill(int(name), signal.SIGKILL)
        except OSError:
            # It has ended meanwhile, or is not ours.
            pass


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
    status = NOT_STARTED
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
        complain(f"the command could not be run: {error!r}")
    os._exit(status)


def main() -> None:
    """Run the job on stdin: `script`, `cwd`, `env`, `limits`, `python`; its report goes to stdout."""
    job = json.load(sys.stdin)
    folders = job.get("folders")
    confined = Confined(tuple(folders["writable"]), tuple(folders["readable"])) if folders else None
    json.dump(run(job["script"], job["cwd"], job["env"], job["limits"], job["python"], confined), sys.stdout)


if __name__ == "__main__":
    main()
