"""Programs that stand first on the path of a command: what has no use in the sandbox is refused with what to do instead, and pytest asks for
the task's own tests.

A command may walk past all of it, or write the notes itself. Nothing here is a wall, and nothing that it says decides anything: a verdict
comes from the task's own run.
"""

from __future__ import annotations

import os

_FOLDER = "/tmp/.codegen"
_PROGRAMS = f"{_FOLDER}/bin"
_MODULES = f"{_FOLDER}/modules"
_REFUSALS = f"{_FOLDER}/refused"
"""Names of what was started in vain, one a line; a command that starts more is told of the first."""

_MOST_BYTES = 4096
_ASKED = f"{_FOLDER}/asked"
"""Is there once pytest was started."""

_PLUGIN = "asks_for_tests"
_REFUSED = {
    "nothing is installed from here: write the package into packages.txt, one requirement a line, and it is there at the next test run; the "
    "standard library's importlib.metadata lists what is installed": (
        *("pip", "pip3", "pipx", "uv", "uvx", "conda", "mamba", "micromamba", "poetry", "pdm", "easy_install"),
        *("apt", "apt-get", "aptitude", "apk", "yum", "dnf"),
    ),
    "the sandbox has no network: the task's data lies in /var/inputs": (
        *("curl", "wget", "nc", "ncat", "netcat", "ssh", "scp", "sftp", "ftp", "telnet", "socat", "ping"),
        *("gh", "aws", "gcloud", "kubectl", "helm"),
    ),
    "the workspace is no repository: compare files with diff, and copy one with cp before you change it": ("git", "hg", "svn"),
    "a command has the rights that there are: write it without sudo": ("sudo",),
}
_DENIED = "the administrator of this cluster has denied it: do it in another way, in Python for instance"

_REFUSAL = """#!/bin/sh
echo {name} >> {refusals}
echo "{line}" >&2
exit 126
"""
_PIP = f"""import os
if __name__ == "__main__":
    os.execv("{_PROGRAMS}/pip", ["pip"])
"""
"""`python -m pip`, in any spelling."""


class Shims:
    """The programs and modules, and what they note."""

    def __init__(self, harness: str, python: str, denied: list[str]) -> None:
        """Lay them out: one for each program that is refused, `denied` ones included, and those that lead to pytest."""
        reasons = {name: why for why, names in _REFUSED.items() for name in names} | dict.fromkeys(denied, _DENIED)
        self._lines = {name: f"{name} is not run: {why}" for name, why in reasons.items()}
        scripts = {name: _REFUSAL.format(name=name, refusals=_REFUSALS, line=line) for name, line in self._lines.items()}
        # Whatever a command sets, the interpreter finds the plugin.
        path = f'PYTHONPATH="{_MODULES}${{PYTHONPATH:+:$PYTHONPATH}}"'
        scripts |= dict.fromkeys(("python", "python3"), f'#!/bin/sh\n{path} exec {python} "$@"\n')
        scripts |= dict.fromkeys(("pytest", "pytest-3", "py.test"), f'#!/bin/sh\nexec {_PROGRAMS}/python -m pytest "$@"\n')
        for folder in (_PROGRAMS, _MODULES):
            os.makedirs(folder)
        for name, script in scripts.items():
            _write(f"{_PROGRAMS}/{name}", script, 0o755)
        _write(f"{_MODULES}/pip.py", _PIP, 0o644)
        os.symlink(f"{harness}/{_PLUGIN}.py", f"{_MODULES}/{_PLUGIN}.py")

    @staticmethod
    def environment(env: dict[str, str]) -> dict[str, str]:
        """The variables of a command."""
        modules = [_MODULES, *filter(None, [env.get("PYTHONPATH")])]
        return {**env, "PATH": f"{_PROGRAMS}:{env['PATH']}", "PYTHONPATH": ":".join(modules), "PYTEST_PLUGINS": _PLUGIN}

    @staticmethod
    def forget() -> None:
        """Remove what an earlier command left noted."""
        for path in (_REFUSALS, _ASKED):
            try:
                os.unlink(path)
            except OSError:
                # None, or a command has put something else there: then nothing is noted.
                pass

    @staticmethod
    def asks_for_tests() -> bool:
        """Whether the command has started pytest."""
        return os.path.lexists(_ASKED)

    def denied(self) -> list[str]:
        """What was refused, each with what to do instead, once."""
        return [self._lines[name] for name in dict.fromkeys(_refused()) if name in self._lines]


def _refused() -> list[str]:
    try:
        # Whatever a command has put there.
        notes = os.open(_REFUSALS, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        return os.read(notes, _MOST_BYTES).decode("utf-8", "replace").split()
    except OSError:
        return []
    finally:
        os.close(notes)


def _write(path: str, text: str, mode: int) -> None:
    with open(path, "x", encoding="utf-8") as file:
        file.write(text)
        os.fchmod(file.fileno(), mode)
