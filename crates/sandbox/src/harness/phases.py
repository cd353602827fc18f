"""The two kinds of phase: a pytest session and a run of the program. Both are run by the environment's interpreter, which this is not."""

from __future__ import annotations

import os
import socket
from binascii import hexlify
from collections.abc import Callable

from files import OUTPUTS, WORK, changed_sources, clean, empty, fresh_folders, lay_out_inputs, make_readable, not_writable, read_outputs
from hash_seed import hash_seed
from processes import Ended, Limits, run
from session_report import assemble
from watch import INPUTS

HARNESS = os.path.dirname(os.path.abspath(__file__))
_MOST_MESSAGE_BYTES = 32 * 1024 * 1024

_DEFAULTS = {
    "HOME": "/tmp",
    "LANG": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
}
# A job's own variables may replace the defaults, but not steer the test runner.
_RUNNER = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTEST_DISABLE_PLUGIN_AUTOLOAD")


def run_tests(
    phase: dict, python: str, env: dict[str, str], limits: Limits, gate: Callable[[], None]
) -> tuple[dict[str, object], bool]:
    """Run a pytest session; its report, and whether further phases may follow.

    The session starts at once, with its token, and loads nothing of the job before `gate` returns: it waits for a second message.
    """
    sources = {"solution.py": phase["solution"], **phase["tests"]}
    if not fresh_folders(sources):
        return _not_started(phase, tests=assemble(b"", ""))
    token = hexlify(os.urandom(16)).decode()
    ours, theirs = (end.detach() for end in socket.socketpair())
    # Nothing of the environment is loaded at the start (`-S`): the session does that when it has its token.
    argv = [python, "-S", f"{HARNESS}/{phase.get('session', 'pytest_session.py')}", *sorted(phase["tests"])]

    def let_in() -> None:
        try:
            os.write(ours, token.encode())
            gate()
            os.write(ours, b"\n")
        except BrokenPipeError:
            # It has ended already; its wait status tells how.
            pass

    ended = run(argv, WORK, test_environment(python, env), limits, (theirs, ours, _MOST_MESSAGE_BYTES), let_in)
    tests = assemble(ended.messages, token)
    if changed := changed_sources(sources):
        # What pytest saw may not be what was asked for: such a session proves nothing.
        tests["sessionExit"] = None
        ended.stderr += f"\nchanged while the tests ran: {', '.join(changed)}\n"
    return report_of(phase, ended, tests=tests), may_go_on(ended)


def run_program(
    phase: dict, python: str, env: dict[str, str], limits: Limits, gate: Callable[[], None]
) -> tuple[dict[str, object], bool]:
    """Run the program once `gate` returns; its report with the outputs, and whether further phases may follow."""
    gate()
    on_disk = phase.get("diskBytes")
    if on_disk is not None and (why := not_writable(OUTPUTS)):
        report, _ = _not_started(phase)
        return {**report, "notWritable": why}, False
    if not fresh_folders({"solution.py": phase["solution"]}):
        return _not_started(phase)
    try:
        lay_out_inputs(phase.get("files", ()))
    except (OSError, ValueError) as error:
        # Of this phase alone: the next one begins with empty folders.
        report, _ = _not_started(phase, why=f"the sandbox could not lay out the inputs of this run: {error}\n")
        return report, True
    argv = [python, "solution.py", *phase["args"]]
    seed = hash_seed(phase["args"], lambda value: value.startswith(f"{INPUTS}/"))
    ended = run(argv, WORK, environment(python, env, seed), limits, disk_bytes=on_disk)
    if on_disk is not None:
        # It outlives the sandbox: what nobody takes shall not lie there, and others shall be able to read the rest.
        if ended.end != {"exited": 0}:
            empty(OUTPUTS)
        make_readable(OUTPUTS)
    outputs = read_outputs(phase["outputs"], phase["maxOutputBytes"], on_disk is not None)
    return report_of(phase, ended, outputs=outputs), may_go_on(ended)


def environment(python: str, env: dict[str, str], seed: str = "0") -> dict[str, str]:
    """The variables of a program: they say nothing of tests. What is no run of it has the seed 0."""
    path = f"{os.path.dirname(python)}:/usr/local/bin:/usr/bin:/bin"
    variables = {"PATH": path, **_DEFAULTS, "PYTHONHASHSEED": seed, **env}
    return {name: value for name, value in variables.items() if name not in _RUNNER}


def test_environment(python: str, env: dict[str, str]) -> dict[str, str]:
    """The variables of a pytest session."""
    return {**environment(python, env), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def may_go_on(ended: Ended) -> bool:
    """A program that hangs would take as long each time."""
    return ended.end != "timedOut"


def report_of(phase: dict, ended: Ended, tests: object = None, outputs: object = ()) -> dict[str, object]:
    cut = {"cut": list(ended.cut)} if ended.cut else {}
    return {
        "name": phase["name"],
        "end": ended.end,
        "seconds": ended.seconds,
        "stdout": ended.stdout,
        "stderr": ended.stderr,
        **cut,
        "tests": tests,
        "outputs": list(outputs),
    }


def _not_started(
    phase: dict,
    tests: object = None,
    why: str = "the sandbox could not empty its folders after the phase before this one\n",
) -> tuple[dict[str, object], bool]:
    """A phase in which nothing ran: mostly one whose folders the phase before it left in a state that cannot be cleared."""
    ended = Ended({"exited": 126}, 0.0, "", clean(why), b"")
    return report_of(phase, ended, tests=tests), False
