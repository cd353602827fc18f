"""The phase that tests the suite: it is run against mutants of the program, each a fork of one prepared interpreter.

What comes out says something of the suite alone, and comes last. A session that ends in any other way than as one that passes has
noticed the mutant, so nothing of it needs to be believed but that it passed.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
from binascii import hexlify
from collections.abc import Callable
from time import monotonic, sleep

import processes
from files import WORK, fresh_folders
from phases import environment
from processes import Limits, kill_everything, remove_shared_objects
from session_report import assemble
from watch import Watch

_HARNESS = os.path.dirname(os.path.abspath(__file__))
_MOST_SECONDS = 20.0
"""All sessions together take no longer."""
_LONGEST = 5.0
"""So many times the session of the program itself may that of a mutant take, and a second more."""
_MOST_MESSAGE_BYTES = 64 * 1024
_END_SECONDS = 1.0
_LIFELINE = 0


def run_mutants(
    phase: dict, python: str, env: dict[str, str], limits: Limits, gate: Callable[[], None], before: list[dict]
) -> tuple[dict[str, object], bool]:
    """Run the suite against mutants, if it has passed `before`; the report, and whether further phases may follow."""
    started = monotonic()
    gate()
    until = min(limits.deadline, started + _MOST_SECONDS)
    results: list[dict[str, str]] = []
    wanted = min(phase["most"], len(phase["mutants"])) if _passed(before) else 0
    if wanted:
        sessions = _Sessions(phase, python, env, limits)
        try:
            results = _results(phase, wanted, sessions, until)
        finally:
            sessions.end()
    return {
        "name": "mutants",
        "end": {"exited": 0},
        "seconds": monotonic() - started,
        "stdout": "",
        "stderr": "",
        "tests": None,
        "outputs": [],
        "mutants": {"results": results, "notRun": wanted - len(results)},
    }, monotonic() < limits.deadline


def _passed(before: list[dict]) -> bool:
    """Whether the suite has passed: of what fails the mutants say nothing more. One test of ours must fail."""
    suites = [report["tests"] for report in before if report["name"] == "tests" and report["tests"]]
    return any(
        suite["sessionExit"] == 1 and sum(result["outcome"] != "passed" for result in suite["results"]) == 1
        for suite in suites
    )


def _results(phase: dict, wanted: int, sessions: _Sessions, until: float) -> list[dict[str, str]]:
    """What became of each mutant that was run: functions in turn, those first of which none was noticed yet."""
    source = phase["solution"].encode()
    control_started = monotonic()
    if sessions.outcome(source, until) != "survived":
        # The suite does not pass twice, or not in this way: mutants would show nothing.
        return []
    longest = 1.0 + _LONGEST * (monotonic() - control_started)
    waiting: dict[str, list[dict]] = {}
    for mutant in phase["mutants"]:
        waiting.setdefault(mutant["function"], []).append(mutant)
    run, noticed = dict.fromkeys(waiting, 0), set()
    results: list[dict[str, str]] = []
    while len(results) < wanted and any(waiting.values()):
        function = min(
            (name for name in waiting if waiting[name]), key=lambda name: (name in noticed, run[name])
        )
        mutant = waiting[function].pop(0)
        limit = min(until, monotonic() + longest)
        outcome = sessions.outcome(_changed(source, mutant), limit)
        if outcome is None or (outcome == "timedOut" and limit == until):
            # The time of all is over, not its own.
            break
        run[function] += 1
        if outcome != "survived":
            noticed.add(function)
        results.append({"id": mutant["id"], "outcome": outcome})
    return results


def _changed(source: bytes, mutant: dict) -> bytes:
    return source[: mutant["start"]] + mutant["replacement"].encode() + source[mutant["end"] :]


class _Sessions:
    """Sessions of one suite against different programs."""

    def __init__(self, phase: dict, python: str, env: dict[str, str], limits: Limits) -> None:
        self._tests = phase["tests"]
        self._env = environment(python, env)
        self._limits = limits
        self._argv = [
            python,
            # Nothing of the environment is loaded at the start: that is done with the token in hand.
            "-S",
            f"{_HARNESS}/prepared_session.py",
            json.dumps({"files": sorted(phase["tests"]), "preload": phase["preload"]}),
        ]
        self._prepared: int | None = None
        self._control: socket.socket | None = None
        self._token = ""

    def outcome(self, program: bytes, until: float) -> str | None:
        """What the suite makes of a program; `None` when it cannot be run."""
        if monotonic() >= until or not fresh_folders({"solution.py": program.decode(), **self._tests}):
            return None
        if self._prepared is None:
            self._prepare()
        ours, theirs = socket.socketpair()
        try:
            socket.send_fds(self._control, [b"s"], [theirs.fileno()])
        except OSError:
            ours.close()
            return None
        finally:
            theirs.close()
        with ours:
            messages, in_time = self._listen(ours, until)
        self._clear()
        if not in_time:
            return "timedOut"
        return "survived" if assemble(messages, self._token)["sessionExit"] == 0 else "caught"

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
        streams = [silent, silent, theirs.fileno()]
        self._prepared = processes.spawn(self._argv, WORK, self._env, streams, self._limits, self._watch())
        os.close(silent)
        theirs.close()
        self._control.sendall(self._token.encode())

    def _watch(self) -> Watch:
        return Watch(self._limits.memory_bytes, self._limits.processes, self._limits.file_bytes)

    def _listen(self, channel: socket.socket, until: float) -> tuple[bytes, bool]:
        """What a session says until it has said all, and whether it did not take too long."""
        watch = self._watch()
        poller = select.poll()
        poller.register(channel, select.POLLIN)
        poller.register(_LIFELINE, 0)
        messages = bytearray()
        while b"\n" not in messages and len(messages) < _MOST_MESSAGE_BYTES:
            left = until - monotonic()
            if left <= 0:
                return bytes(messages), False
            for stream, _ in poller.poll(min(watch.interval, left) * 1000):
                if stream == _LIFELINE:
                    os._exit(1)
                try:
                    part = channel.recv(1 << 16)
                except ConnectionResetError:
                    part = b""
                if not part:
                    return bytes(messages), True
                messages += part
            if watch.exceeded() is not None:
                return b"", True
        return bytes(messages), True

    def _clear(self) -> None:
        """End what a session has left behind, the prepared interpreter alone stays; where that does not go at once, it ends too."""
        until = monotonic() + _END_SECONDS
        while self._prepared is not None and monotonic() < until:
            others = [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) not in (1, self._prepared)]
            for pid in others:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self._reap()
            if not others:
                remove_shared_objects()
                return
            sleep(0.0002)
        self.end()

    def _reap(self) -> None:
        """Collect what has ended; without the prepared interpreter the next session starts another."""
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
