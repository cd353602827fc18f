"""One interpreter for many sessions of pytest: it loads packages, begins a session, and forks before anything of the job is loaded.

Each fork goes on with the session, for the program and the suite that lie there by then. What is known of such a session is whether
it passed (see `mutants`): code under test could say so too soon, but no more than in a session of its own.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import site
import socket
import sys
from types import ModuleType
from typing import NoReturn

_CHANNEL = 3
_LOADED_LATE = ("getpass", "pwd", "termios", "inspect", "tempfile")
"""What pytest itself loads only when a test runs."""


def main() -> None:
    """Begin a session and fork it for each channel that comes; the argument says which files and modules, as JSON."""
    asked = json.loads(sys.argv[1])
    here = os.path.dirname(os.path.abspath(__file__))
    import pytest_session

    # Neither the harness nor yet the work folder is a place to import from.
    del sys.path[0]
    control = socket.socket(fileno=_CHANNEL)
    token = control.recv(32).decode()
    # What a start without `-S` does: from here on, packages run.
    site.main()
    import pytest

    plugins = pytest_session.plugins_of_packages()
    for module in (*_LOADED_LATE, *asked["preload"]):
        try:
            importlib.import_module(module)
        except BaseException:  # noqa: BLE001 - a session will say what it lacks
            pass
    sys.argv = ["pytest"]
    arguments = [
        "--quiet",
        "--tb=no",
        "-x",
        "--noconftest",
        f"--rootdir={os.getcwd()}",
        f"--config-file={here}/pytest.ini",
        "-p",
        "no:cacheprovider",
        *plugins,
        *asked["files"],
    ]
    pytest.main(arguments, plugins=[_plugin(control, token)])


def _plugin(control: socket.socket, token: str) -> object:
    import pytest

    dumps, write, leave, current = json.dumps, os.write, os._exit, os.getpid
    session_process = 0

    class Plugin:
        """Holds the session where it would collect, and says how each fork of it ends."""

        @pytest.hookimpl(tryfirst=True)
        def pytest_collection(self) -> None:
            nonlocal session_process
            _fork_for_each(control)
            session_process = current()

        @pytest.hookimpl(trylast=True)
        def pytest_sessionfinish(self, exitstatus: int) -> None:
            # A test may have forked, and its child come back to pytest.
            if current() == session_process:
                message = {"token": token, "number": 0, "kind": "finished", "body": int(exitstatus)}
                write(_CHANNEL, dumps(message).encode() + b"\n")
            leave(0)

    return Plugin()


def _fork_for_each(control: socket.socket) -> None:
    """Fork for each channel that comes; returns in the forks alone."""
    # Ended sessions are nobody's to wait for.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.collect()
    # What is there by now need not be looked at, and so not be copied, in every session.
    gc.freeze()
    while True:
        _, channels, _, _ = socket.recv_fds(control, 1, 1)
        if not channels:
            _leave()
        if os.fork() == 0:
            break
        os.close(channels[0])
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    control.close()
    os.dup2(channels[0], _CHANNEL, inheritable=False)
    if channels[0] != _CHANNEL:
        os.close(channels[0])
    # The folder was empty when it was last looked at.
    importlib.invalidate_caches()
    sys.path.insert(0, os.getcwd())
    sys.modules["__main__"] = ModuleType("__main__")


def _leave() -> NoReturn:
    os._exit(0)


if __name__ == "__main__":
    main()
