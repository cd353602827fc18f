"""The session of acceptance tests: the fixture `program`, and `subprocess` where it would start the program.

What a call gives is in the results that the harness laid out. A call without a result is noted for the harness and ends its test.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import shlex
import subprocess
import sys
from base64 import b64decode, b64encode
from typing import Any, Callable

import pytest_session

_RESULTS = "/tmp/program-results.json"
_REQUESTS = "/tmp/program-requests.json"
_OUTPUTS = "/var/outputs"
_INPUTS = "/var/inputs"
_FLAGS = frozenset("bBEIOPqsSuvx")


class NotRunYet(BaseException):
    """A call of the program whose result is not there in this session. No `except Exception` of a test takes it for a failure."""


class Result:
    """What a run of the program came to."""

    def __init__(self, exit_code: int, stdout: str, stderr: str, outputs: dict[str, Any]) -> None:
        """`outputs` has bytes by the name of each output that was written; of a folder, bytes by path."""
        self.exit_code = exit_code
        self.stdout = stdout
        self.stderr = stderr
        self.outputs = outputs

    @property
    def returncode(self) -> int:
        """The exit code, as `subprocess` calls it."""
        return self.exit_code

    def text(self, name: str) -> str:
        """An output as text without surrounding white space."""
        return self._file(name).decode("utf-8-sig").strip()

    def json(self, name: str) -> Any:
        """An output that holds JSON."""
        return json.loads(self._file(name))

    def rows(self, name: str, **kwargs: Any) -> list[dict[str, str]]:
        """The rows of an output that holds CSV with a header; arguments as those of `csv.DictReader`."""
        return list(csv.DictReader(io.StringIO(self._file(name).decode("utf-8-sig"), newline=""), **kwargs))

    def _file(self, name: str) -> bytes:
        if name not in self.outputs:
            raise AssertionError(
                f"the program wrote no output {name!r} (exit code {self.exit_code}; it wrote {sorted(self.outputs)})\n{self.stderr}"
            )
        if not isinstance(self.outputs[name], bytes):
            raise AssertionError(f"the output {name!r} is a folder")
        return self.outputs[name]

    def __repr__(self) -> str:
        return f"Result(exit_code={self.exit_code}, outputs={sorted(self.outputs)}, stdout={self.stdout!r}, stderr={self.stderr!r})"


class Program:
    """The program, as its tests see it."""

    def __init__(self, results: dict[str, dict[str, Any]]) -> None:
        """`results` are those that are there, by the key of their request."""
        self._results = results
        self._requests: dict[str, dict[str, Any]] = {}
        self._calls: dict[tuple[str, str], int] = {}

    def __call__(self, inputs: dict[str, Any] | None = None, files: dict[str, Any] | None = None, timeout: float | None = None) -> Result:
        """Run the program with inputs by the names of its options, and files by the options that they are given to."""
        arguments: list[str] = []
        for name, value in (inputs or {}).items():
            text = str(value).lower() if isinstance(value, bool) else os.fspath(value) if hasattr(value, "__fspath__") else str(value)
            arguments += _option(name, text)
        laid_out: list[tuple[str, bytes]] = []
        for name, content in (files or {}).items():
            option = name.partition(".")[0]
            if not option or "/" in name:
                raise ValueError(f"{name!r} is not the name of an option, with or without an ending")
            laid_out.append((name, content.encode() if isinstance(content, str) else bytes(content)))
            arguments += _option(option, f"{_INPUTS}/given/{name}")
        given = [{"path": f"given/{name}", "content": b64encode(content).decode()} for name, content in laid_out]
        return self.run(arguments, given, {}, timeout)

    def run(self, arguments: list[str], given: list[dict[str, str]], env: dict[str, str], timeout: float | None) -> Result:
        """One run; files that the arguments name go along by their content."""
        files = list(given)
        sent = [_sent(argument, number, files) for number, argument in enumerate(arguments)]
        request = {"args": sent, "files": files, "env": env, "timeout": timeout}
        text = json.dumps(request, sort_keys=True)
        test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
        # A test that calls twice gets two runs; two tests that call alike share one.
        number = self._calls[test, text] = self._calls.get((test, text), 0) + 1
        key = hashlib.sha256(f"{number} {text}".encode()).hexdigest()
        result = self._results.get(key)
        if result is None:
            self._requests[key] = request
            with open(_REQUESTS, "w", encoding="utf-8") as file:
                json.dump(self._requests, file)
            raise NotRunYet(
                "the program has not run for this call; where this is the end, calls differ from one session to the next"
            )
        return _result(result, ["solution.py", *arguments], timeout)


def _option(name: str, value: str) -> list[str]:
    """An option with its value, as every run has them: argparse takes a value that begins with a dash for an option of its own."""
    return [f"--{name}={value}"] if value.startswith("-") else [f"--{name}", value]


def _sent(argument: str, number: int, files: list[dict[str, str]]) -> str:
    """An argument as the program gets it: a path of the test's own becomes that of a copy."""
    option, equals, path = argument.partition("=") if argument.startswith("-") else ("", "", argument)
    whole = os.path.abspath(path) if path else ""
    is_given = not path or whole.startswith((_INPUTS + "/", _OUTPUTS + "/")) or whole in (_INPUTS, _OUTPUTS)
    if is_given or not os.path.exists(whole):
        return argument
    name = os.path.basename(whole)
    if os.path.isfile(whole):
        target = f"{number}/{name}"
        files.append({"path": target, "content": _content(whole)})
    elif os.path.isdir(whole):
        target = f"{number}-{name}"
        for entry in sorted(os.scandir(whole), key=lambda entry: entry.name):
            if not entry.is_file():
                raise ValueError(f"{entry.path} is no file: a folder that a test gives to the program holds files alone")
            files.append({"path": f"{target}/{entry.name}", "content": _content(entry.path)})
    else:
        raise ValueError(f"{whole} is neither a file nor a folder")
    return f"{option}{equals}{_INPUTS}/{target}"


def _content(path: str) -> str:
    with open(path, "rb") as file:
        return b64encode(file.read()).decode()


def _result(result: dict[str, Any], command: list[str], timeout: float | None) -> Result:
    end, stderr = result["end"], result["stderr"]
    if end == "timedOut":
        raise subprocess.TimeoutExpired(command, timeout or 0, result["stdout"], stderr)
    if "exited" in end:
        code = end["exited"]
    elif "signaled" in end:
        code = -end["signaled"]
    else:
        code, stderr = -9, f"{stderr}\nthe program met its limit: {end['limitHit']}\n"
    outputs = {}
    for output in result["outputs"]:
        content, path = output["content"], os.path.join(_OUTPUTS, output["name"])
        _remove(path)
        if not isinstance(content, dict):
            continue
        if "file" in content:
            outputs[output["name"]] = _write(path, content["file"])
        elif "dir" in content:
            os.makedirs(path)
            outputs[output["name"]] = {name: _write(os.path.join(path, name), file) for name, file in content["dir"]}
    return Result(code, result["stdout"], stderr, outputs)


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        for folder, folders, files in os.walk(path, topdown=False):
            for name in files:
                os.unlink(os.path.join(folder, name))
            for name in folders:
                os.rmdir(os.path.join(folder, name))
        os.rmdir(path)
    elif os.path.lexists(path):
        os.unlink(path)


def _write(path: str, content: str) -> bytes:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    data = b64decode(content)
    with open(path, "wb") as file:
        file.write(data)
    return data


def program_arguments(command: Any) -> list[str] | None:
    """What a command gives to the program; `None` where it starts something else."""
    if isinstance(command, (str, bytes)):
        try:
            words = shlex.split(os.fsdecode(command))
        except ValueError:
            return None
    else:
        try:
            words = [os.fsdecode(word) for word in command]
        except TypeError:
            return None
    if words and os.path.basename(words[0]).startswith("python"):
        words = words[1:]
        while words and len(words[0]) > 1 and words[0][0] == "-" and set(words[0][1:]) <= _FLAGS:
            words = words[1:]
        if words[:2] == ["-m", "solution"]:
            return words[2:]
    if words and os.path.basename(words[0]) == "solution.py":
        return words[1:]
    return None


def route(program: Program) -> None:
    """Let `subprocess` give what starts the program to the channel; all else goes its way."""
    start, run, call = subprocess.Popen, subprocess.run, subprocess.call

    class Popen(start):  # type: ignore[misc,valid-type]
        def __init__(self, args: Any, *more: Any, **kwargs: Any) -> None:
            if program_arguments(args) is not None:
                raise NotImplementedError("start the program with subprocess.run or with the fixture `program`")
            super().__init__(args, *more, **kwargs)

    def routed_run(*popenargs: Any, input: Any = None, capture_output: bool = False, timeout: float | None = None, check: bool = False, **kwargs: Any) -> Any:
        command = popenargs[0] if popenargs else kwargs.get("args")
        arguments = program_arguments(command)
        if arguments is None:
            return run(*popenargs, input=input, capture_output=capture_output, timeout=timeout, check=check, **kwargs)
        if input or kwargs.get("stdin") not in (None, subprocess.DEVNULL, subprocess.PIPE):
            raise NotImplementedError("the program of a task reads no standard input: give it options and files")
        if kwargs.get("cwd"):
            arguments = [os.path.join(kwargs["cwd"], word) if os.path.exists(os.path.join(kwargs["cwd"], word)) else word for word in arguments]
        wanted = subprocess.PIPE if capture_output else None
        result = program.run(arguments, [], _own(kwargs.get("env")), timeout)
        is_text = any(kwargs.get(key) for key in ("text", "universal_newlines", "encoding", "errors"))
        stderr_to = kwargs.get("stderr", wanted)
        joined = result.stdout + result.stderr if stderr_to == subprocess.STDOUT else result.stdout
        stdout = _stream(joined, kwargs.get("stdout", wanted), is_text, sys.stdout)
        stderr = None if stderr_to == subprocess.STDOUT else _stream(result.stderr, stderr_to, is_text, sys.stderr)
        if check and result.exit_code:
            raise subprocess.CalledProcessError(result.exit_code, command, stdout, stderr)
        return subprocess.CompletedProcess(command, result.exit_code, stdout, stderr)

    def routed_call(*popenargs: Any, timeout: float | None = None, **kwargs: Any) -> int:
        command = popenargs[0] if popenargs else kwargs.get("args")
        if program_arguments(command) is None:
            return call(*popenargs, timeout=timeout, **kwargs)
        return routed_run(*popenargs, timeout=timeout, **kwargs).returncode

    subprocess.Popen, subprocess.run, subprocess.call = Popen, routed_run, routed_call  # type: ignore[misc]


def _own(env: Any) -> dict[str, str]:
    """The variables that a test adds."""
    added = {os.fsdecode(name): os.fsdecode(value) for name, value in (env or {}).items()}
    return {name: value for name, value in added.items() if os.environ.get(name) != value and not name.startswith("PYTEST_")}


def _stream(text: str, wanted: Any, is_text: bool, own: Any) -> Any:
    if wanted == subprocess.PIPE:
        return text if is_text else text.encode()
    if wanted is None:
        own.write(text)
    elif hasattr(wanted, "write"):
        try:
            wanted.write(text)
        except TypeError:
            wanted.write(text.encode())
    return None


def with_program(plugin: Callable[..., Any]) -> Callable[..., Any]:
    """The plugin of a session, with the fixture."""

    def made(*arguments: Any) -> Any:
        import pytest

        with open(_RESULTS, encoding="utf-8") as file:
            program = Program(json.load(file))
        os.unlink(_RESULTS)
        route(program)
        reports = plugin(*arguments)

        def fixture(_: Any) -> Program:
            """The program: call it with inputs and files."""
            return program

        type(reports).program = pytest.fixture(scope="session", name="program")(fixture)
        return reports

    return made


if __name__ == "__main__":
    pytest_session.plugin = with_program(pytest_session.plugin)
    sys.exit(pytest_session.main())
