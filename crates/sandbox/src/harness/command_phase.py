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

_MOST_LEFT_OUT = 20
"""So many names of what is left out are told."""

_SPARE_SECONDS = 1.0
"""Before the sandbox ends, so that a command whose time is over is told what it wrote until then."""

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
    # By the same clock in every process.
    deadline = limits.deadline - min(_SPARE_SECONDS, limits.seconds / 10)
    job = json.dumps(
        {"commands": phase["commands"], "denied": phase["denied"], "python": python, "env": variables, "deadline": deadline}
    )

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
            if content.startswith(b"#!"):
                # A workspace has no permissions: what says by whom it is run may be run by its name.
                os.fchmod(file.fileno(), 0o755)


def _results(messages: bytes) -> list[dict[str, object]]:
    """What each command came to. One that began and did not end is the last, and was interrupted."""
    results: list[dict[str, object]] = []
    started: dict[str, object] | None = None
    # What is cut off is of a command that did not end.
    for line in messages.split(b"\n")[:-1]:
        try:
            message = json.loads(line)
            if "exit" in message:
                results.append({**(started or {}), **message})
                started = None
            else:
                started = {"startedAt": float(message["startedAt"])}
        except (ValueError, KeyError, TypeError):
            break
    if started is not None:
        results.append({**started, "interrupted": True})
    return results


def _changes(before: dict[str, bytes], most_files: int, most_bytes: int) -> tuple[dict[str, str | None], list[str]]:
    """Each file that is new, other or gone, and what cannot be taken: of that, what was there before stays as it was."""
    found = _Found(most_bytes)
    gone = [path for path in before if path not in found.files and not found.may_hold(path)]
    changes: dict[str, str | None] = dict.fromkeys(gone)
    staying = {path: content for path, content in before.items() if path not in changes}
    room, count = most_bytes - sum(map(len, staying.values())), len(staying)
    left_out = [f"{path}: {why}{_STAYS if path in staying else ''}" for path, why in found.others()]
    if not found.is_whole():
        left_out.append(f"what follows after {_MOST_ENTRIES} entries")
    new = {path: content for path, content in found.files.items() if path not in staying}
    renamed = _renamed([before[path] for path in gone], new)

    def growth(path: str) -> tuple[bool, bool, int, str]:
        """A file under another name has the room of the one that is gone; then what makes room, and what was there before what is new."""
        is_new = path not in staying
        return path not in renamed, is_new, 0 if is_new else len(found.files[path]) - len(staying[path]), path

    for path in sorted(found.files, key=growth):
        content, earlier = found.files[path], staying.get(path)
        if content == earlier:
            continue
        grown = len(content) - len(earlier or b"")
        if grown > room or (earlier is None and count >= most_files):
            left_out.append(f"{path} ({len(content)} bytes): there is no room for it{'' if earlier is None else _STAYS}")
            continue
        count += earlier is None
        room -= grown
        changes[path] = _base64(content)
    return changes, _listed(left_out)


_STAYS = "; in the workspace it stays as it was"


def _renamed(gone: list[bytes], new: dict[str, bytes]) -> set[str]:
    """Paths of new files that have the content of one that is gone, each of these once."""
    left, renamed = list(gone), set()
    for path in sorted(new):
        if new[path] in left:
            left.remove(new[path])
            renamed.add(path)
    return renamed


def _listed(left_out: list[str]) -> list[str]:
    more = len(left_out) - _MOST_LEFT_OUT
    return [clean(line) for line in left_out[:_MOST_LEFT_OUT]] + ([f"and {more} more"] if more > 0 else [])


class _Found:
    """What lies in the workspace, by descriptors so that no link on the way is followed."""

    def __init__(self, most_bytes: int) -> None:
        """Look at all of it, as far as it has bounds."""
        self.files: dict[str, bytes] = {}
        self._unread: dict[str, str] = {}
        """What is no file or cannot be read, and why."""
        self._empty: list[str] = []
        """Folders with nothing in them."""
        self._seen = 0
        pending = [""]
        while pending and self.is_whole():
            inner = pending.pop()
            here = os.path.join(WORK, inner) if inner else WORK
            try:
                folder = os.open(here, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            except OSError as error:
                self._unread[inner] = str(error.strerror)
                continue
            try:
                pending.extend(self._look_into(folder, inner, most_bytes))
            finally:
                os.close(folder)

    def _look_into(self, folder: int, inner: str, most_bytes: int) -> list[str]:
        """Take what lies in a folder; the folders in it."""
        folders = []
        names = sorted(os.listdir(folder))
        if inner and not names:
            self._empty.append(inner)
        for name in names:
            self._seen += 1
            if not self.is_whole():
                break
            relative = os.path.join(inner, name)
            if clean(relative) != relative:
                self._unread[relative] = "its name is not text (UTF-8)"
                continue
            content = read_file(folder, name, most_bytes)
            if isinstance(content, bytes):
                self.files[relative] = content
            elif content == {"notAFile": "a folder"}:
                if name not in _CACHES:
                    folders.append(relative)
            elif content != "missing":
                self._unread[relative] = _why(content)
        return folders

    def is_whole(self) -> bool:
        """Whether that is all that lies there."""
        return self._seen <= _MOST_ENTRIES

    def others(self) -> list[tuple[str, str]]:
        """What is not taken, and why."""
        return [*self._unread.items(), *((path, "it is an empty folder") for path in self._empty)]

    def may_hold(self, path: str) -> bool:
        """Whether a file that was not found may be there all the same. Below an empty folder there is none."""
        parts = path.split("/")
        if any("/".join(parts[:end]) in self._unread for end in range(1, len(parts) + 1)):
            return True
        return not self.is_whole() and os.path.lexists(os.path.join(WORK, path))


def _why(content: object) -> str:
    if isinstance(content, dict) and "tooLarge" in content:
        return f"it has {content['tooLarge']} bytes"
    return f"it is {content['notAFile']}" if isinstance(content, dict) else "it cannot be read"


def _base64(content: bytes) -> str:
    return b2a_base64(content, newline=False).decode()
