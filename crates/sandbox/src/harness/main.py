"""Entry points of the harness: read a job, run its phases one after another, hand over the report.

The harness is PID 1 of the sandbox and the only process that talks to the outside. What it runs gets pipes of its own and
never sees these streams; this file is the one place that knows how job and report travel. It runs on the interpreter behind the
environment, isolated; `python` is the environment's, for what it starts.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from time import monotonic

from phases import run_program, run_tests
from processes import Limits, become, close_inherited, end_with_starter, protect_self

_JOB = "/job/job.json"


def main(python: str, user: int | None = None, closed: str | None = None) -> None:
    """Run one job, as `user` when one is given: one line of JSON on stdin, the report as JSON on stdout.

    Nothing of it runs where the address `closed` answers.
    """
    started = _start()
    if closed:
        from probe import Probe

        probe = Probe(closed)
        if not probe.is_closed():
            sys.exit(f"not isolated: {closed} answers")
    if user is not None:
        become(user)
    protect_self()
    end_with_starter()
    close_inherited()
    # The writer keeps stdin open while it lives; its end is the sign to stop (see `processes.run`).
    job = json.loads(_read_line(0))
    report = _run(job, python, started, lambda: None)
    if closed and probe.has_answered():
        sys.exit(f"not isolated: {closed} answers")
    _write_all(1, json.dumps(report).encode())


def main_in_pod(python: str) -> None:
    """Run the job that is mounted; the report goes to the log, a signed message ends the container."""
    from probe import Probe
    from watch import watch_message

    watch_message()
    started = _start()
    nonce = bytes.fromhex(os.environ.pop("CODEGEN_NONCE"))
    address = os.environ.pop("CODEGEN_PROBE", None) or _api_server()
    # An administrator may let code run in a namespace whose network is open.
    probe = Probe(address) if address != "none" else None
    protect_self()
    job = read_job()

    is_closed = False

    def refuse() -> None:
        import channel

        channel.send_not_isolated(address, nonce, _write_all)
        # As PID 1: whatever has been started is gone with it.
        os._exit(0)

    def wait_until_closed() -> None:
        nonlocal is_closed
        # Loaded while the first session loads pytest.
        import channel  # noqa: F401

        if probe and not is_closed and not probe.is_closed():
            refuse()
        is_closed = True

    report = _run(job, python, started, wait_until_closed)
    if probe and probe.has_answered():
        refuse()
    import channel

    bodies = [body for phase in job["phases"] for body in phase.values()]
    channel.send_report(report, nonce, _write_all, all(body.get("inMessage") for body in bodies))


def read_job() -> dict:
    """The job that is mounted. Programs can read its file as well: it is encrypted, with a key that is in this process alone."""
    import hashlib

    key, digest = (os.environ.pop(name) for name in ("CODEGEN_JOB_KEY", "CODEGEN_JOB_SHA256"))
    with open(_JOB, "rb") as file:
        encrypted = file.read()
    text = _decrypted(encrypted, key)
    if hashlib.sha256(text).hexdigest() != digest:
        sys.exit(f"{_JOB} is not what the operator wrote: somebody has replaced the object that is mounted there")
    return json.loads(text)


def _decrypted(encrypted: bytes, key: str) -> bytes:
    import hashlib

    length = len(encrypted)
    stream = hashlib.shake_256(bytes.fromhex(key)).digest(length)
    # As numbers: byte by byte it would take a hundred times as long.
    return (int.from_bytes(encrypted, "little") ^ int.from_bytes(stream, "little")).to_bytes(length, "little")


def _start() -> float:
    if os.getpid() != 1:
        # Between phases every process that can be seen is killed: outside a PID namespace that is the user's session.
        sys.exit("the harness must be PID 1 of a sandbox")
    return monotonic()


def _api_server() -> str:
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _run(job: dict, python: str, started: float, gate: Callable[[], None]) -> dict[str, object]:
    """The report of a job; nothing of the job runs before `gate` returns."""
    limits = Limits(job["limits"], started)
    reports: list[dict[str, object]] = []
    for index, phase in enumerate(job["phases"]):
        (kind, body), = phase.items()
        if index:
            limits.begin()
        run = run_tests if kind == "tests" else run_program
        if kind == "commands":
            from command_phase import run_commands as run
        if body.get("channel"):
            from acceptance import run_acceptance as run
        report, go_on = run(body, python, job["env"], limits, gate)
        reports.append(report)
        # What a session without the bodies comes to says nothing of what follows.
        if not go_on and body["name"] != "vacuity":
            break
    return {"phases": reports, "seconds": monotonic() - started}


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
