"""Commands of an agent as a phase: the workspace is laid out, the commands run in a process of their own, what they changed is read."""

from __future__ import annotations

import json
import os
import socket
import sys
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable

from files import WORK, clean, fresh_folders, read_file
from phases import HARNESS, environment, may_go_on, report_of
from processes import Ended, Limits, run

_MOST_MESSAGE_BYTES = 16 * 1024 * 1024
_MOST_ENTRIES = 10_000

_CACHES = ("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache")
"""Folders that tools make for themselves."""


def run_commands(
    phase: dict, python: str, env: dict[str, str], limits: Limits, gate: Callable[[], None]
) -> tuple[dict[str, object], bool]:
    """Run the commands once `gate` returns; their report with what changed in the workspace, and whether further phases may follow."""
    gate()
    before = {file["path"]: a2b_base64(file["content"]) for file in phase["files"]}
    try:
        if not fresh_folders({}):
            raise OSError("its folders cannot be emptied")
        _lay_out(before)
    except OSError as error:
        why = f"the sandbox could not lay out the workspace: {error}\n"
        return report_of(phase, Ended({"exited": 126}, 0.0, "", clean(why), b"")), False
    ours, theirs = (end.detach() for end in socket.socketpair())
    variables = environment(python, env)
    job = json.dumps({"commands": phase["commands"], "python": python, "env": variables, "seconds": limits.seconds})

    def let_in() -> None:
        view = memoryview(job.encode() + b"\n")
        try:
            while view:
                view = view[os.write(ours, view) :]
        except BrokenPipeError:
            # It has ended already; its wait status tells how.
            pass

    argv = [sys.executable, "-I", "-S", f"{HARNESS}/command_session.py"]
    ended = run(argv, WORK, variables, limits, (theirs, ours, _MOST_MESSAGE_BYTES), let_in)
    results = _results(ended.messages)
    # Nothing of the commands runs any more.
    changes, left_out = _changes(before, phase["mostFiles"], phase["mostBytes"])
    commands = {"results": results, "changes": changes, "leftOut": left_out}
    return {**report_of(phase, ended), "commands": commands}, may_go_on(ended)


def _lay_out(files: dict[str, bytes]) -> None:
    for path, content in files.items():
        parts = path.split("/")
        if any(part in ("", ".", "..") for part in parts):
            raise OSError(f"{path!r} is no path of a file")
        os.makedirs(os.path.join(WORK, *parts[:-1]), exist_ok=True)
        with open(os.path.join(WORK, *parts), "xb") as file:
            file.write(content)


def _results(messages: bytes) -> list[dict[str, object]]:
    results = []
    # What is cut off is of a command that did not end.
    for line in messages.split(b"\n")[:-1]:
        try:
            results.append(json.loads(line))
        except ValueError:
            break
    return results


def _changes(before: dict[str, bytes], most_files: int, most_bytes: int) -> tuple[dict[str, str | None], list[str]]:
    """Each file that is new, other or gone, and what cannot be taken."""
    found, left_out = _found(most_bytes)
    changes: dict[str, str | None] = {path: None for path in before if path not in found}
    room = most_bytes - sum(len(content) for path, content in found.items() if path in before)
    count = sum(path in before for path in found)
    for path, content in sorted(found.items()):
        if path in before:
            if content != before[path]:
                changes[path] = _base64(content)
            continue
        if count >= most_files or len(content) > room:
            left_out.append(clean(f"{path} ({len(content)} bytes): there is no room for it"))
            continue
        count += 1
        room -= len(content)
        changes[path] = _base64(content)
    return changes, left_out[:20]


def _found(most_bytes: int) -> tuple[dict[str, bytes], list[str]]:
    """Every file below the workspace, by descriptors so that no link on the way is followed; and what is none."""
    files: dict[str, bytes] = {}
    others: list[str] = []
    pending = [""]
    seen = 0
    while pending:
        inner = pending.pop()
        here = os.path.join(WORK, inner) if inner else WORK
        try:
            folder = os.open(here, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            others.append(clean(f"{inner}: {error.strerror}"))
            continue
        try:
            for name in sorted(os.listdir(folder)):
                seen += 1
                if seen > _MOST_ENTRIES:
                    return files, [*others, f"what follows after {_MOST_ENTRIES} entries"]
                relative = os.path.join(inner, name)
                content = read_file(folder, name, most_bytes)
                if isinstance(content, bytes):
                    files[clean(relative)] = content
                elif content == {"notAFile": "a folder"}:
                    if name not in _CACHES:
                        pending.append(relative)
                elif content != "missing":
                    others.append(clean(f"{relative}: {_why(content)}"))
        finally:
            os.close(folder)
    return files, others


def _why(content: object) -> str:
    if isinstance(content, dict) and "tooLarge" in content:
        return f"it has {content['tooLarge']} bytes"
    return f"it is {content['notAFile']}" if isinstance(content, dict) else "it cannot be read"


def _base64(content: bytes) -> str:
    return b2a_base64(content, newline=False).decode()
