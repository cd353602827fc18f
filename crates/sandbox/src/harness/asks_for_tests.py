"""A plugin of pytest in the sandbox of commands: whoever starts pytest there asks for the task's own tests, and the command ends."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

_ASKED = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "asked")
_RUNS_NOTHING = ("help", "version", "collectonly", "showfixtures", "show_fixtures_per_test", "markers", "cacheshow")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: Any) -> None:
    """Note it, and wait for the end of the command: what stands after pytest in it shall not run."""
    if any(getattr(config.option, name, None) for name in _RUNS_NOTHING):
        return
    with open(_ASKED, "a", encoding="utf-8"):
        pass
    while True:
        signal.pause()
