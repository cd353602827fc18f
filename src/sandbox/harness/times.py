"""How long a program takes: told, and bounded."""

from __future__ import annotations

import os
import select
import signal
from time import monotonic

from expansion import exit_status

_KILL_AFTER = 2.0
_TIMED_OUT = 124
_INTERVAL = 0.005


def wait_at_most(pid: int, seconds: float) -> int:
    """The status of a process that is ended after a time, as `timeout` ends it."""
    for send, until in ((signal.SIGTERM, monotonic() + seconds), (signal.SIGKILL, monotonic() + seconds + _KILL_AFTER)):
        while monotonic() < until:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                return _TIMED_OUT if send == signal.SIGKILL else exit_status(status)
            select.select((), (), (), _INTERVAL)
        try:
            os.killpg(pid, send)
        except ProcessLookupError:
            os.kill(pid, send)
    os.waitpid(pid, 0)
    return _TIMED_OUT


def print_times(seconds: float, before: os.times_result, after: os.times_result) -> None:
    """Print on stderr what `time` prints."""
    user, system = after[2] - before[2], after[3] - before[3]
    for name, time in (("\nreal", seconds), ("user", user), ("sys", system)):
        os.write(2, f"{name}\t{int(time // 60)}m{time % 60:.3f}s\n".encode())
