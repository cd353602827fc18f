"""Acceptance tests that see the program through a channel alone.

Tests and program have one user and one set of folders, so they are never there at the same time. A session of the tests runs
without the program; a call whose result is not known ends its test there, and leaves a request. When the session is over and all of
it is gone, the program runs once for each new request, as any run of a program: alone, in empty folders, in an environment that says
nothing of tests. Then the tests run again with the results, until no call is without one. The last session counts.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable
from time import monotonic

from files import clean
from phases import run_program, run_tests

RESULTS = "/tmp/program-results.json"
REQUESTS = "/tmp/program-requests.json"

_MOST_ROUNDS = 20
_MOST_RUNS = 200
_MOST_BYTES = 64 * 1024 * 1024
"""Of all results together, and of the requests of a round."""

_PLACEHOLDER = '''"""Stands where acceptance tests look for the program, which is never there while they are."""

APART = "the program runs apart from its acceptance tests: use the fixture `program`, or run solution.py with subprocess.run"


def __getattr__(name):
    raise AttributeError(f"{name}: {APART}")


if __name__ != "solution":
    raise ImportError(APART)
'''


def run_acceptance(phase: dict, *settings: object) -> tuple[dict[str, object], bool]:
    """Run acceptance tests to the session in which every call has its result; arguments as those of `run_tests`."""
    *settings, gate = settings
    results: dict[str, dict[str, object]] = {}
    for _ in range(_MOST_ROUNDS):
        report, may_go_on = _session(phase, settings, gate, results)
        requests = _requests(results) if may_go_on else {}
        if not requests:
            return report, may_go_on
        if len(results) + len(requests) > _MOST_RUNS:
            return _given_up(report, f"the acceptance tests ask for more than {_MOST_RUNS} runs of the program"), may_go_on
        for key, request in requests.items():
            results[key], may_go_on = _run(phase, request, settings, gate)
            if not may_go_on:
                why = "the time of the job ran out before the program had run for every call"
                return {**_given_up(report, why), "end": "timedOut"}, False
    why = "the calls of the acceptance tests differ from one session to the next: give the program the same arguments and files each time"
    return _given_up(report, why), True


def _session(
    phase: dict, settings: list, gate: Callable[[], None], results: dict[str, dict[str, object]]
) -> tuple[dict[str, object], bool]:
    def lay_out() -> None:
        # The folders are fresh and no test has been loaded.
        with open(RESULTS, "w", encoding="utf-8") as file:
            json.dump(results, file)
        gate()

    asked = {**phase, "solution": _PLACEHOLDER, "session": "acceptance_session.py"}
    return run_tests(asked, *settings, lay_out)


def _requests(results: dict[str, dict[str, object]]) -> dict[str, dict[str, object]]:
    """What the session asked for that has no result yet. Nothing runs any more, and of the program's nothing ever did."""
    try:
        if os.lstat(REQUESTS).st_size > _MOST_BYTES:
            return {}
        with open(REQUESTS, encoding="utf-8") as file:
            requests = json.load(file)
    except (OSError, ValueError):
        return {}
    return {key: request for key, request in requests.items() if key not in results}


def _run(phase: dict, request: dict, settings: list, gate: Callable[[], None]) -> tuple[dict[str, object], bool]:
    """One run of the program; what the tests may know of it."""
    *before, env, limits = settings
    own = limits
    if request["timeout"] is not None:
        own = copy.copy(limits)
        own.deadline = min(limits.deadline, monotonic() + request["timeout"])
    run = {
        "name": phase["name"],
        "solution": phase["solution"],
        "args": request["args"],
        "files": request["files"],
        "outputs": phase["channel"]["outputs"],
        "maxOutputBytes": phase["channel"]["maxOutputBytes"],
    }
    report, _ = run_program(run, *before, {**env, **request["env"]}, own, gate)
    result = {key: report[key] for key in ("end", "stdout", "stderr", "outputs")}
    return result, monotonic() < limits.deadline


def _given_up(report: dict[str, object], why: str) -> dict[str, object]:
    """A session that is not the last one proves nothing."""
    return {**report, "tests": {**report["tests"], "sessionExit": None}, "stderr": clean(f"{report['stderr']}\n{why}\n")}
