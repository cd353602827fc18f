"""What tests the suite: it is run against the program without bodies and against mutants, in forks of one prepared interpreter.

What comes out says something of the suite alone, and comes last. A session that ends in any other way than as one that passes has
noticed the mutant, so nothing of it needs to be believed but that it passed.
"""

from __future__ import annotations

from time import monotonic

from phases import report_of
from prepared import Sessions
from processes import Ended, Limits

_MOST_SECONDS = 20.0
"""All sessions against mutants together take no longer."""
_LONGEST = 5.0
"""So many times the session of the program itself may that of a mutant take, and a second more."""


def sessions_for(phase: dict, python: str, env: dict[str, str], limits: Limits) -> Sessions:
    """The sessions that a phase of mutants and one before it with the same suite share."""
    return Sessions(sorted(phase["tests"]), phase["preload"], python, env, limits)


def run_vacuity(phase: dict, sessions: Sessions, limits: Limits) -> tuple[dict[str, object], bool] | None:
    """Run the suite against the program without bodies; the report, and whether further phases may follow.

    `None` where it cannot be run in this way.
    """
    session = sessions.run({"solution.py": phase["solution"], **phase["tests"]}, limits.deadline, to_the_first=False)
    if session is None:
        sessions.end()
        return None
    ended = Ended(session.end, session.seconds, "", "", b"")
    return report_of(phase, ended, tests=session.tests), session.end != "timedOut"


def run_mutants(phase: dict, sessions: Sessions, limits: Limits, before: list[dict]) -> tuple[dict[str, object], bool]:
    """Run the suite against mutants, if it has passed `before`; the report, and whether further phases may follow."""
    started = monotonic()
    until = min(limits.deadline, started + _MOST_SECONDS)
    wanted = min(phase["most"], len(phase["mutants"])) if _passed(before) else 0
    results = _results(phase, wanted, sessions, until) if wanted else []
    ended = Ended({"exited": 0}, monotonic() - started, "", "", b"")
    report = report_of({"name": "mutants"}, ended)
    return {**report, "mutants": {"results": results, "notRun": wanted - len(results)}}, monotonic() < limits.deadline


def _passed(before: list[dict]) -> bool:
    """Whether the suite has passed: of what fails the mutants say nothing more. One test of ours must fail."""
    suites = [report["tests"] for report in before if report["name"] == "tests" and report["tests"]]
    return any(
        suite["sessionExit"] == 1 and sum(result["outcome"] != "passed" for result in suite["results"]) == 1
        for suite in suites
    )


def _results(phase: dict, wanted: int, sessions: Sessions, until: float) -> list[dict[str, str]]:
    """What became of each mutant that was run: functions in turn, those first of which none was noticed yet."""
    source = phase["solution"].encode()

    def outcome(program: bytes, limit: float) -> str | None:
        session = sessions.run({"solution.py": program.decode(), **phase["tests"]}, limit, to_the_first=True)
        if session is None:
            return None
        if session.end == "timedOut":
            return "timedOut"
        return "survived" if session.end == {"exited": 0} and session.tests["sessionExit"] == 0 else "caught"

    control_started = monotonic()
    if outcome(source, until) != "survived":
        # The suite does not pass twice, or not in this way: mutants would show nothing.
        return []
    longest = 1.0 + _LONGEST * (monotonic() - control_started)
    waiting: dict[str, list[dict]] = {}
    for mutant in phase["mutants"]:
        waiting.setdefault(mutant["function"], []).append(mutant)
    run, noticed = dict.fromkeys(waiting, 0), set()
    results: list[dict[str, str]] = []
    while len(results) < wanted and any(waiting.values()):
        function = min((name for name in waiting if waiting[name]), key=lambda name: (name in noticed, run[name]))
        mutant = waiting[function].pop(0)
        limit = min(until, monotonic() + longest)
        became = outcome(_changed(source, mutant), limit)
        if became is None or (became == "timedOut" and limit == until):
            # The time of all is over, not its own.
            break
        run[function] += 1
        if became != "survived":
            noticed.add(function)
        results.append({"id": mutant["id"], "outcome": became})
    return results


def _changed(source: bytes, mutant: dict) -> bytes:
    return source[: mutant["start"]] + mutant["replacement"].encode() + source[mutant["end"] :]
