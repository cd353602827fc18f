"""One interpreter for many sessions of pytest: it loads packages, begins a session, and forks before anything of the job is loaded.

Each fork goes on with the session, for the program and the suite that lie there by then. As in `pytest_session`, nothing here is
beyond the reach of code under test; its sessions are about the suite alone (see `mutants`).
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import site
import socket
import struct
import sys
from collections.abc import Callable
from types import ModuleType

import pytest_session

_CHANNEL = 3
_LOADED_LATE = ("getpass", "pwd", "termios", "inspect", "tempfile")
"""What pytest itself loads only when a test runs."""


def main() -> None:
    """Begin a session and fork it for each channel that comes; the argument says which files and modules, as JSON."""
    asked = json.loads(sys.argv[1])
    here = os.path.dirname(os.path.abspath(__file__))
    # Neither the harness nor yet the work folder is a place to import from.
    del sys.path[0]
    control = socket.socket(fileno=_CHANNEL)
    begin, send = _sender(control.recv(32).decode())
    # What a start without `-S` does: from here on, packages run.
    site.main()
    import pytest

    for module in (*_LOADED_LATE, *asked["preload"]):
        try:
            importlib.import_module(module)
        except BaseException:  # noqa: BLE001 - a session will say what it lacks
            pass
    sys.argv = ["pytest"]
    arguments = [
        "--quiet",
        "--tb=no",
        "-rN",
        "--noconftest",
        f"--rootdir={os.getcwd()}",
        f"--config-file={here}/pytest.ini",
        "-p",
        "no:cacheprovider",
        *pytest_session.plugins_of_packages(),
        *asked["files"],
    ]
    # What reports the results is nothing that code under test can import and replace.
    sys.modules["__main__"] = ModuleType("__main__")
    del sys.modules["pytest_session"]
    pytest.main(arguments, plugins=[_holding(control, begin), pytest_session.plugin(send, os.getcwd())])


def _sender(token: str) -> tuple[Callable[[], None], pytest_session.Report]:
    """A function for a fork to begin with, and one that sends one message of it and ends its process after the last."""
    write, dumps, leave, current = os.write, json.dumps, os._exit, os.getpid
    process = sent = 0

    def begin() -> None:
        nonlocal process
        process = current()

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
        if kind == "finished":
            leave(0)

    return begin, send


def _holding(control: socket.socket, begin: Callable[[], None]) -> object:
    import pytest

    class Plugin:
        """Holds the session where it would collect: only forks of it go on."""

        @pytest.hookimpl(tryfirst=True)
        def pytest_collection(self, session: pytest.Session) -> None:
            to_the_first = _fork_for_each(control)
            begin()
            session.config.option.maxfail = int(to_the_first)
            session.config.option.continue_on_collection_errors = not to_the_first
            # The folder was empty when it was last looked at.
            importlib.invalidate_caches()
            sys.path.insert(0, os.getcwd())

    return Plugin()


def _fork_for_each(control: socket.socket) -> bool:
    """Fork for each channel that comes and say how it ended; returns in the forks alone, whether they end at the first failure."""
    gc.collect()
    # What is there by now need not be looked at, and so not be copied, in every session.
    gc.freeze()
    while True:
        which, channels, _, _ = socket.recv_fds(control, 1, 1)
        if not channels:
            os._exit(0)
        session = os.fork()
        if session == 0:
            break
        os.close(channels[0])
        _, status = os.waitpid(session, 0)
        control.sendall(struct.pack("i", status))
    control.close()
    os.dup2(channels[0], _CHANNEL, inheritable=False)
    if channels[0] != _CHANNEL:
        os.close(channels[0])
    return which == b"x"


if __name__ == "__main__":
    main()
