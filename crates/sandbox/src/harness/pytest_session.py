"""Runs pytest with a plugin of ours that streams what happens to the harness.

This file runs in the process of the code under test, so nothing here is beyond its reach. What the plugin does: a line
written to the channel without the session's token is not believed, and the token is held in a closure alone, read before anything
of the environment is loaded, whatever packages brought that a start of Python runs (`.pth`, `sitecustomize`). What it cannot do: stop
code that searches this process's memory or replaces pytest's own functions. So what it reports finds faults, and is no proof.
"""

from __future__ import annotations

import importlib.util
import json
import os
import site
import sys
from types import ModuleType
from typing import Any, Callable

_CHANNEL = 3
_MESSAGE_CHARACTERS = 2 * 1024
_TEXT_CHARACTERS = 8 * 1024
_STDOUT_CHARACTERS = 4 * 1024
_MOST_FRAMES = 50

Report = Callable[[str, object], None]


def open_channel() -> Report:
    """A function that sends one message; the token never leaves it."""
    token = os.read(_CHANNEL, 32).decode()
    os.set_inheritable(_CHANNEL, False)
    process, write, dumps, current = os.getpid(), os.write, json.dumps, os.getpid
    sent = 0

    def send(kind: str, body: object) -> None:
        nonlocal sent
        if current() != process:
            # A test forked, and its child came back to pytest.
            return
        line = dumps({"token": token, "number": sent, "kind": kind, "body": body}).encode() + b"\n"
        sent += 1
        view = memoryview(line)
        while view:
            view = view[write(_CHANNEL, view) :]

    return send


def main() -> int:
    """Run the session: arguments are the files in order."""
    files = sys.argv[1:]
    here = os.path.dirname(os.path.abspath(__file__))
    # Neither the harness nor yet the work folder is a place to import from.
    del sys.path[0]
    send = open_channel()
    # What a start without `-S` does: from here on, packages run.
    site.main()
    import pytest

    # The job may run once this comes; loading pytest takes longer than that.
    os.read(_CHANNEL, 1)
    sys.path.insert(0, os.getcwd())
    sys.argv = ["pytest"]
    # What reports the results is nothing that code under test can import and replace.
    sys.modules["__main__"] = ModuleType("__main__")
    arguments = [
        "--quiet",
        "--color=no",
        "--tb=short",
        # No summary: it repeats what stands above it and cuts messages short, secrets among them, so that they are no longer known.
        "-rN",
        "--noconftest",
        "--continue-on-collection-errors",
        f"--rootdir={os.getcwd()}",
        f"--config-file={here}/pytest.ini",
        "-p",
        "no:cacheprovider",
        *plugins_of_packages(),
        *files,
    ]
    return int(pytest.main(arguments, plugins=[plugin(send, os.getcwd())]))


def plugins_of_packages() -> list[str]:
    """Plugins are loaded by name, not by what an installed package announces."""
    arguments: list[str] = []
    for package, module in (("pytest_mock", "pytest_mock"), ("anyio", "anyio.pytest_plugin")):
        if importlib.util.find_spec(package):
            arguments += ["-p", module]
    if importlib.util.find_spec("pytest_asyncio"):
        arguments += ["-p", "pytest_asyncio.plugin", "--override-ini=asyncio_mode=auto"]
        # Its default, said aloud: some versions warn when it is not.
        arguments += ["--override-ini=asyncio_default_fixture_loop_scope=function"]
    return arguments


def plugin(send: Report, work: str) -> object:
    import pytest

    class Plugin:
        """Streams collection, results and the session's end as they happen."""

        def __init__(self) -> None:
            self._phases: dict[str, list[tuple[Any, Any]]] = {}
            self._is_taken_over = False

        def pytest_plugin_registered(self, plugin: Any) -> None:
            # A file of the job that makes itself a plugin decides what tests report.
            self._is_taken_over |= _is_of_job(plugin, work)

        def pytest_collection_finish(self, session: Any) -> None:
            send("collected", [item.nodeid for item in session.items])

        def pytest_exception_interact(self, node: Any, call: Any, report: Any) -> None:
            if isinstance(report, pytest.CollectReport):
                error = call.excinfo.value
                # pytest wraps errors of an import; the cause is what happened.
                if isinstance(error, node.CollectError) and error.__cause__ is not None:
                    error = error.__cause__
                send("collectionError", _failure(report, error, work))

        @pytest.hookimpl(hookwrapper=True)
        def pytest_runtest_makereport(self, item: Any, call: Any) -> Any:
            outcome = yield
            error = call.excinfo.value if call.excinfo else None
            self._phases.setdefault(item.nodeid, []).append((outcome.get_result(), error))

        @pytest.hookimpl(trylast=True)
        def pytest_runtest_logfinish(self, nodeid: str) -> None:
            if phases := self._phases.pop(nodeid, []):
                send("result", _result(nodeid, phases, work))

        @pytest.hookimpl(trylast=True)
        def pytest_sessionfinish(self, exitstatus: int) -> None:
            if not self._is_taken_over:
                send("finished", int(exitstatus))

    return Plugin()


def _is_of_job(plugin: Any, work: str) -> bool:
    module = plugin if hasattr(plugin, "__file__") else sys.modules.get(type(plugin).__module__)
    return str(getattr(module, "__file__", None) or "").startswith(work + os.sep)


def _result(nodeid: str, phases: list[tuple[Any, Any]], work: str) -> dict[str, object]:
    """One test from its setup, call and teardown; the first phase that went wrong decides."""
    outcome, failure = "passed", None
    for report, error in phases:
        if report.failed:
            outcome = "failed" if report.when == "call" else "error"
            failure = _failure(report, error, work)
            break
        if report.skipped:
            outcome = "xFailed" if hasattr(report, "wasxfail") else "skipped"
        elif hasattr(report, "wasxfail"):
            outcome = "xPassed"
    if phases[-1][0].when != "teardown":
        # pytest left before the test was over.
        outcome, failure = "error", failure or {"id": nodeid, "message": "the test did not end"}
    printed = phases[-1][0].capstdout[:_STDOUT_CHARACTERS]
    return {"id": nodeid, "outcome": outcome, "failure": failure, "stdout": printed}


def _failure(report: Any, error: BaseException | None, work: str) -> dict[str, object]:
    text = report.longreprtext
    return {
        "id": report.nodeid,
        "exception": type(error).__name__ if error else "",
        "message": (_message(error) if error else text)[:_MESSAGE_CHARACTERS],
        "frames": _frames(error, work) if error else [],
        # The end of a traceback tells more than its beginning.
        "text": text[-_TEXT_CHARACTERS:],
    }


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as second:  # noqa: BLE001 - a message is code under test
        return f"<the message could not be made: {type(second).__name__}>"


def _frames(error: BaseException, work: str) -> list[dict[str, object]]:
    """Frames in the files of the job, outermost first."""
    frames: list[dict[str, object]] = []
    traceback = error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        path = os.path.normpath(os.path.join(work, code.co_filename))
        if path.startswith(work + os.sep) and not code.co_filename.startswith("<"):
            name = os.path.relpath(path, work)
            frames.append({"file": name, "line": traceback.tb_lineno or 1, "function": code.co_name})
        traceback = traceback.tb_next
    if isinstance(error, SyntaxError) and error.filename and error.filename.startswith(work + os.sep):
        name = os.path.relpath(error.filename, work)
        frames.append({"file": name, "line": error.lineno or 1, "function": "<module>"})
    return frames[-_MOST_FRAMES:]


if __name__ == "__main__":
    sys.exit(main())
