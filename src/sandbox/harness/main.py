"""Entry point of the harness: reads a job, runs its phases one after another, writes the report.

The harness is PID 1 of the sandbox and the only process that talks to the outside. What it runs gets pipes of its own and
never sees these two streams; this file is the one place that knows how job and report travel.
"""

from __future__ import annotations

import json
import os
import sys
from time import monotonic

from phases import run_program, run_tests
from processes import Limits, protect_self


def main(user: int | None = None) -> None:
    """Run one job, as `user` when one is given: one line of JSON on stdin, the report as JSON on stdout."""
    if os.getpid() != 1:
        # Between phases every process that can be seen is killed: outside a PID namespace that is the user's session.
        sys.exit("the harness must be PID 1 of a sandbox")
    started = monotonic()
    protect_self(user)
    # The writer keeps stdin open while it lives; its end is the sign to stop (see `processes.run`).
    job = json.loads(_read_line(0))
    limits = Limits(job["limits"], started)
    reports: list[dict[str, object]] = []
    for phase in job["phases"]:
        (kind, body), = phase.items()
        run = run_tests if kind == "tests" else run_program
        report, go_on = run(body, job["env"], limits)
        reports.append(report)
        if not go_on:
            break
    report = {"phases": reports, "seconds": monotonic() - started}
    _write_all(1, json.dumps(report).encode())


def _read_line(stream: int) -> bytes:
    line = bytearray()
    while not line.endswith(b"\n"):
        part = os.read(stream, 1 << 20)
        if not part:
            sys.exit("the job ended before its line did")
        line += part
    return bytes(line)


def _write_all(stream: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(stream, view) :]
