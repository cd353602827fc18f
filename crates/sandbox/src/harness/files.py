"""Files of a phase: fresh folders before it, outputs after it."""

from __future__ import annotations

import os
import stat
from binascii import a2b_base64, b2a_base64

from watch import INPUTS, OUTPUTS, SCRATCH, empty_message

WORK = "/sandbox"

_TERMINALS = ("/dev/pts", "/dev/pts/ptmx")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")


def _attributes(path: str) -> list[str]:
    try:
        return os.listxattr(path)
    except OSError:
        # A file system without any.
        return []


def _found(paths: tuple[str, ...]) -> dict[str, tuple[int, list[str]]]:
    return {path: (stat.S_IMODE(os.stat(path).st_mode), _attributes(path)) for path in paths if os.path.exists(path)}


_AT_FIRST = _found((*SCRATCH, *_TERMINALS, *_DEVICES))
"""Permissions and attributes of what stays from phase to phase, before anything of the job ran."""

_MOST_FILES = 1000
_MOST_ENTRIES = 1_000_000


def fresh_folders(sources: dict[str, str]) -> bool:
    """Empty all that can be written and lay out the sources; false when a folder could not be emptied."""
    empty_message()
    _permit()
    if not all(empty(folder) for folder in SCRATCH):
        return False
    if not all(_forget(path) for path in _AT_FIRST):
        return False
    for name, text in sources.items():
        if "/" in name or not name.endswith(".py"):
            raise ValueError(f"{name!r} is not the name of a Python file")
        with open(f"{WORK}/{name}", "x", encoding="utf-8", newline="") as file:
            file.write(text)
    return True


def _permit() -> None:
    """Give back permissions that a program has changed; of what is not ours it could not."""
    for path, (mode, _) in _AT_FIRST.items():
        if os.stat(path).st_uid == os.getuid():
            os.chmod(path, mode)


def _forget(path: str) -> bool:
    """Take away attributes and times that a program has set; false when one stays."""
    _, at_first = _AT_FIRST[path]
    for name in _attributes(path):
        if name not in at_first:
            try:
                os.removexattr(path, name)
            except OSError:
                return False
    try:
        os.utime(path)
    except OSError:
        # Neither ours nor writable: nobody could set them.
        pass
    return True


def lay_out_inputs(files: list[dict[str, str]]) -> None:
    """Write the input files of a phase, which the program may read and not write."""
    for file in files:
        *folders, name = file["path"].split("/")
        if len(folders) > 1 or any(part in ("", ".", "..") for part in (*folders, name)):
            raise ValueError(f"{file['path']!r} is not a name, nor a folder and a name")
        folder = os.path.join(INPUTS, *folders)
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, name)
        for place in (path, *(os.path.join(folder, other) for other in file.get("also", ()))):
            with open(place, "xb") as opened:
                opened.write(a2b_base64(file["content"]))
            os.chmod(place, 0o444)


def changed_sources(sources: dict[str, str]) -> list[str]:
    """Names of sources that are no longer what was laid out."""
    changed = []
    for name, text in sources.items():
        expected = text.encode()
        content = read_file(None, f"{WORK}/{name}", len(expected) + 1)
        if not isinstance(content, bytes) or content != expected:
            changed.append(name)
    return changed


def empty(folder: str) -> bool:
    """Remove all that is in a folder, however deep: folders are moved up to the top one by one, never walked into.

    What is mounted there stays: no program can mount anything.
    """
    moved = seen = 0
    try:
        device = os.stat(folder).st_dev
        while names := [name for name in os.listdir(folder) if os.lstat(os.path.join(folder, name)).st_dev == device]:
            for name in names:
                seen += 1
                if seen > _MOST_ENTRIES:
                    return False
                path = os.path.join(folder, name)
                if not stat.S_ISDIR(os.lstat(path).st_mode):
                    os.unlink(path)
                    continue
                os.chmod(path, 0o700)
                for inner in os.scandir(path):
                    if inner.is_dir(follow_symlinks=False):
                        # A folder moves only when its own `..` may be written.
                        os.chmod(inner.path, 0o700)
                        os.rename(inner.path, os.path.join(folder, f".emptied-{moved}"))
                        moved += 1
                    else:
                        os.unlink(inner.path)
                os.rmdir(path)
    except OSError:
        return False
    return True


def not_writable(folder: str) -> str:
    """Why nothing can be written to a folder, in the system's words; empty where it can."""
    probe = os.path.join(folder, f".{os.urandom(8).hex()}")
    try:
        os.mkdir(probe)
        os.rmdir(probe)
    except OSError as error:
        return error.strerror or str(error)
    return ""


def make_readable(top: str) -> None:
    """Let every user read what lies below a folder; links are left alone. Nothing of the job runs any more."""
    pending = [top]
    while pending:
        folder = pending.pop()
        try:
            if folder != top:
                os.chmod(folder, 0o755)
            for entry in os.scandir(folder):
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    os.chmod(entry.path, stat.S_IMODE(entry.stat(follow_symlinks=False).st_mode) | 0o444)
        except OSError:
            # It stays as it is: whoever reads it says what is wrong.
            continue


def read_outputs(names: list[str], most_bytes: int, on_disk: bool = False) -> list[dict[str, object]]:
    """What lies at the declared outputs; no link is followed, no more than four times `most_bytes` is read in all.

    What stays `on_disk` may have more files than are brought back.
    """
    left = 4 * most_bytes
    reports: list[dict[str, object]] = []
    for name in names:
        try:
            content, read = _read_output(name, min(most_bytes, left), on_disk)
        except (OSError, ValueError) as error:
            content, read = {"notAFile": clean(f"something that cannot be read ({error})")}, 0
        left -= read
        reports.append({"name": name, "content": content})
    return reports


def _read_output(name: str, most: int, on_disk: bool) -> tuple[object, int]:
    if not name or "/" in name or name in (".", ".."):
        return {"notAFile": "a name with a slash"}, 0
    content = read_file(None, f"{OUTPUTS}/{name}", most)
    if isinstance(content, bytes):
        return {"file": _base64(content)}, len(content)
    if content == {"notAFile": "a folder"}:
        return _read_folder(f"{OUTPUTS}/{name}", most, on_disk)
    return content, 0


def read_file(folder: int | None, path: str, most: int) -> bytes | object:
    """A regular file's bytes, or the `OutputContent` that says why not."""
    try:
        found = os.lstat(path, dir_fd=folder)
        if not stat.S_ISREG(found.st_mode):
            return {"notAFile": _kind(found.st_mode)}
        if found.st_size > most:
            return {"tooLarge": found.st_size}
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except (FileNotFoundError, NotADirectoryError):
        return "missing"
    except PermissionError:
        return {"notAFile": "a file without permission to read it"}
    except OSError as error:
        return {"notAFile": f"a file that cannot be opened ({error.strerror})"}
    with open(file, "rb") as opened:
        return opened.read(most)


def _read_folder(path: str, most: int, on_disk: bool) -> tuple[object, int]:
    """Every file below a folder, by descriptors so that no link on the way is followed."""
    files: list[tuple[str, bytes]] = []
    total = 0
    pending = [""]
    while pending:
        inner = pending.pop()
        here = os.path.join(path, inner) if inner else path
        try:
            folder = os.open(here, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            return {"notAFile": f"a folder that cannot be opened ({error.strerror})"}, 0
        try:
            for name in os.listdir(folder):
                if clean(name) != name:
                    # Its digest would be that of another name, and two such names may be one as text.
                    return {"notAFile": "a folder with a name that is not UTF-8 in it"}, 0
                relative = os.path.join(inner, name)
                content = read_file(folder, name, most)
                if content == {"notAFile": "a folder"}:
                    pending.append(relative)
                elif isinstance(content, bytes):
                    files.append((relative, content))
                    total += len(content)
                    if total > most:
                        return {"tooLarge": total}, 0
                elif isinstance(content, dict) and "tooLarge" in content:
                    return {"tooLarge": total + content["tooLarge"]}, 0
                else:
                    kind = content["notAFile"] if isinstance(content, dict) else "a file that vanished"
                    return {"notAFile": f"a folder with {kind} in it"}, 0
                if len(files) + len(pending) > _MOST_FILES:
                    if on_disk:
                        return {"tooLarge": total}, 0
                    return {"notAFile": f"a folder with more than {_MOST_FILES} entries"}, 0
        finally:
            os.close(folder)
    files.sort()
    return {"dir": [[name, _base64(content)] for name, content in files]}, total


def _kind(mode: int) -> str:
    for test, kind in (
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISLNK, "a link"),
        (stat.S_ISFIFO, "a named pipe"),
        (stat.S_ISSOCK, "a socket"),
    ):
        if test(mode):
            return kind
    return "a device"


def _base64(content: bytes) -> str:
    return b2a_base64(content, newline=False).decode()


def clean(text: str) -> str:
    """Text that is valid Unicode: what cannot be encoded (lone surrogates) becomes a question mark."""
    return text.encode("utf-8", "replace").decode()
