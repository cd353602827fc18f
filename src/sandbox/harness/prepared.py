"""Sessions of one suite against different programs, each a fork of one interpreter that has loaded packages and nothing of the job."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import struct
from binascii import hexlify
from time import monotonic, sleep

from files import WORK, changed_sources, fresh_folders
from phases import HARNESS, test_environment
from processes import Limits, kill_everything, remove_shared_objects, spawn
from session_report import assemble
from watch import Watch

_MOST_MESSAGE_BYTES = 32 * 1024 * 1024
_FINISHED = b'"kind": "finished"'
"""No text of a message holds this: quotes within texts are escaped."""
_END_SECONDS = 1.0
_LIFELINE = 0


class Session:
    """How a session ended, as the end of a phase, and what it reported."""

    def __init__(self, end: object, seconds: float, tests: dict[str, object]) -> None:
        self.end = end
        self.seconds = seconds
        self.tests = tests


class Sessions:
    """Starts the interpreter when it is needed first, and again when something has ended it."""

    def __init__(self, files: list[str], preload: list[str], python: str, env: dict[str, str], limits: Limits) -> None:
        self._env = test_environment(python, env)
        self._limits = limits
        asked = json.dumps({"files": files, "preload": preload})
        # Nothing of the environment is loaded at the start (`-S`): that is done with the token in hand.
        self._argv = [python, "-S", f"{HARNESS}/prepared_session.py", asked]
        self._prepared: int | None = None
        self._control: socket.socket | None = None
        self._token = ""

    def run(self, sources: dict[str, str], until: float, to_the_first: bool) -> Session | None:
        """A session for these files, `to_the_first` failure or to its end; `None` when there can be none."""
        started = monotonic()
        if started >= until or not fresh_folders(sources):
            return None
        if self._prepared is None:
            self._prepare()
        ours, theirs = socket.socketpair()
        with ours, theirs:
            try:
                socket.send_fds(self._control, [b"x" if to_the_first else b"a"], [theirs.fileno()])
            except OSError:
                return None
            theirs.close()
            messages, end = self._listen(ours, until)
        seconds = monotonic() - started
        tests = assemble(messages, self._token)
        if changed_sources(sources):
            # What pytest saw may not be what was asked for: such a session proves nothing.
            tests["sessionExit"] = None
        status = self._clear()
        if end is None:
            code = tests["sessionExit"]
            end = {"exited": code} if isinstance(code, int) else _ended(status)
        return Session(end, seconds, tests)

    def end(self) -> None:
        """End everything."""
        kill_everything()
        remove_shared_objects()
        if self._control is not None:
            self._control.close()
        self._prepared = self._control = None

    def _prepare(self) -> None:
        self._token = hexlify(os.urandom(16)).decode()
        self._control, theirs = socket.socketpair()
        silent = os.open(os.devnull, os.O_WRONLY)
        with theirs:
            streams = [silent, silent, theirs.fileno()]
            self._prepared = spawn(self._argv, WORK, self._env, streams, self._limits, self._watch())
        os.close(silent)
        self._control.sendall(self._token.encode())
        self._control.settimeout(_END_SECONDS)

    def _watch(self) -> Watch:
        return Watch(self._limits.memory_bytes, self._limits.processes, self._limits.file_bytes)

    def _listen(self, channel: socket.socket, until: float) -> tuple[bytes, object | None]:
        """What a session says until it has said all, and what ended it where that was not itself."""
        watch = self._watch()
        poller = select.poll()
        poller.register(channel, select.POLLIN)
        poller.register(_LIFELINE, 0)
        messages = bytearray()
        last = 0
        while len(messages) < _MOST_MESSAGE_BYTES:
            left = until - monotonic()
            if left <= 0:
                return bytes(messages), "timedOut"
            for stream, _ in poller.poll(min(watch.interval, left) * 1000):
                if stream == _LIFELINE:
                    os._exit(1)
                try:
                    part = channel.recv(1 << 16)
                except ConnectionResetError:
                    part = b""
                messages += part
                if not part or (messages.endswith(b"\n") and messages.find(_FINISHED, last) >= 0):
                    return bytes(messages), None
                last = max(0, len(messages) - len(_FINISHED))
            if (met := watch.exceeded()) is not None:
                return bytes(messages), met
        return bytes(messages), {"limitHit": "memory"}

    def _clear(self) -> int | None:
        """End what a session has left behind, the prepared interpreter alone stays; the session's wait status if it is known.

        Where that does not go at once, the interpreter ends too, and the next session starts another.
        """
        until = monotonic() + _END_SECONDS
        while self._prepared is not None and monotonic() < until:
            others = [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) not in (1, self._prepared)]
            for pid in others:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self._reap()
            if not others and self._prepared is not None:
                remove_shared_objects()
                if (status := self._status()) is not None:
                    return status
                break
            sleep(0.0002)
        self.end()
        return None

    def _status(self) -> int | None:
        try:
            told = self._control.recv(4) if self._control else b""
        except OSError:
            return None
        return struct.unpack("i", told)[0] if len(told) == 4 else None

    def _reap(self) -> None:
        """Collect what has ended."""
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self._prepared = None
                return
            if pid == self._prepared:
                self._prepared = None
            if pid == 0:
                return


def _ended(status: int | None) -> object:
    """The end of a session that did not say how it ends; of one that took its parent along, a kill."""
    if status is None:
        return {"signaled": int(signal.SIGKILL)}
    if os.WIFSIGNALED(status):
        return {"signaled": os.WTERMSIG(status)}
    return {"exited": os.WEXITSTATUS(status)}
