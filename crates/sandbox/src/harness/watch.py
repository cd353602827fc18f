"""The limits of a process tree: read from its control group where there is one, else summed over `/proc`."""

from __future__ import annotations

import os
import signal
import stat
import sys
from time import monotonic

OUTPUTS = "/var/outputs"
INPUTS = "/var/inputs"
SCRATCH = ("/tmp", "/sandbox", OUTPUTS, "/dev/shm", *([INPUTS] if os.access(INPUTS, os.W_OK) else []))
"""Writable folders; in memory, so they count as memory of the tree. The inputs are one of them where phases have their own."""

MESSAGE = "/dev/termination-log"
"""A container's last words, in a Pod: the only file on the node's disk that a program can write, and counted by no limit of the Pod."""

_message: int | None = None
"""The open file of the last words, where there is one."""

_MOST_MESSAGE_BYTES = 1024 * 1024
_MEMORY_EVENTS = (
    "/run/limits/memory",
    "/sys/fs/cgroup/memory.events",
    "/sys/fs/cgroup/memory/memory.oom_control",
)
_PROCESS_EVENTS = ("/run/limits/processes",)
# A container's group counts processes; what it refuses is the node's limit, not the job's.
_PROCESS_COUNTS = ("/sys/fs/cgroup/pids.current", "/sys/fs/cgroup/pids/pids.current")
_PROCESS_PEAKS = ("/sys/fs/cgroup/pids.peak", "/sys/fs/cgroup/pids/pids.peak")
_MOST_LOOKED_AT = 1000
_MOST_ON_DISK = 20_000
_REFUSED_FORKS = 100
"""So many refused forks are no program that copes with a few less."""


def watch_message() -> None:
    """In a Pod: keep the file of the last words in sight. Elsewhere what lies there is no such file."""
    global _message
    _message = os.open(MESSAGE, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(_message).st_mode):
        sys.exit(f"{MESSAGE} is not a file")


def empty_message() -> None:
    """Take back what a program has written as last words."""
    if _message is not None:
        os.truncate(_message, 0)


class Watch:
    """Watches one run of a program."""

    def __init__(self, memory_bytes: int, processes: int, file_bytes: int, disk_bytes: int | None = None) -> None:
        """`disk_bytes` is what the outputs may take where they lie on a disk, not in memory."""
        self._memory_bytes = memory_bytes
        self._processes = processes
        self._file_bytes = file_bytes
        self._disk_bytes = disk_bytes
        self._measured_again = 0.0
        self._in_memory = SCRATCH if disk_bytes is None else tuple(set(SCRATCH) - {OUTPUTS})
        self._memory_events = _first(_MEMORY_EVENTS)
        self._process_events = _first(_PROCESS_EVENTS)
        self._process_count = _first(_PROCESS_COUNTS)
        self._process_peak = _first(_PROCESS_PEAKS)
        self._kills = _count(self._memory_events, "oom_kill")
        self._refused = _count(self._process_events, "max")
        self._peak = _number(self._process_peak)
        self.grouped = self._memory_events is not None
        """Whether a control group holds the tree to its limits of memory and CPU time."""
        self.counts_processes = bool(self._process_events or self._process_count)
        """Whether a control group counts the processes of the tree, and those that it refuses where it has a limit."""
        self.interval = 0.05 if self.grouped else 0.01
        """Seconds between two looks."""

    def exceeded(self) -> object | None:
        """The limit that the tree has met while it still runs, if one."""
        if _fills_the_node():
            return {"limitHit": "fileSize"}
        if self._fills_the_disk(monotonic()):
            return {"limitHit": "disk"}
        if _count(self._process_events, "max") - self._refused >= _REFUSED_FORKS:
            return {"limitHit": "processes"}
        if _count(self._memory_events, "oom_kill") > self._kills:
            # The kernel ended one process; what is left of the tree is no fair run of the program.
            return {"limitHit": "memory"}
        if _number(self._process_count) >= self._processes:
            return {"limitHit": "processes"}
        if self.grouped and self.counts_processes:
            return None
        resident, tasks = _sum_tree()
        if tasks >= self._processes - 1:
            return {"limitHit": "processes"}
        if self.grouped:
            return None
        scratch = _scratch_bytes(self._in_memory)
        if resident + scratch > self._memory_bytes and _shared_once(scratch) > self._memory_bytes:
            return {"limitHit": "memory"}
        return None

    def explain(self, status: int) -> object:
        """How the program ended, from its wait status and the limits that the tree met."""
        if _count(self._memory_events, "oom_kill") > self._kills:
            return {"limitHit": "memory"}
        if _fills_the_node():
            return {"limitHit": "fileSize"}
        if self._fills_the_disk(None):
            return {"limitHit": "disk"}
        if status == 0:
            return {"exited": 0}
        if _count(self._process_events, "max") > self._refused:
            return {"limitHit": "processes"}
        if self._peak < self._processes <= _number(self._process_peak):
            return {"limitHit": "processes"}
        # Python ignores the signal of this limit: the write fails at the last byte that was allowed.
        if _holds_file_of(self._file_bytes):
            return {"limitHit": "fileSize"}
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            if number == signal.SIGXCPU:
                return {"limitHit": "cpu"}
            if number == signal.SIGXFSZ:
                return {"limitHit": "fileSize"}
            return {"signaled": number}
        return {"exited": os.WEXITSTATUS(status)}


    def _fills_the_disk(self, now: float | None) -> bool:
        """Whether the outputs take more than they may. A look costs time with every file, so there are seldom any; without `now` there is one."""
        if self._disk_bytes is None or (now is not None and now < self._measured_again):
            return False
        fills = not _fits(OUTPUTS, self._disk_bytes)
        if now is not None:
            self._measured_again = monotonic() + max(1.0, 20 * (monotonic() - now))
        return fills


def _fits(folder: str, most_bytes: int) -> bool:
    """Whether what lies below a folder takes at most so many bytes; what cannot be measured does not fit."""
    pending, files, used = [folder], 0, 0
    while pending:
        here = pending.pop()
        try:
            for entry in _entries(here):
                files += 1
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                else:
                    used += entry.stat(follow_symlinks=False).st_blocks * 512
                if used > most_bytes or files > _MOST_ON_DISK:
                    return False
        except FileNotFoundError:
            continue
        except OSError:
            return False
    return True


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """What lies in a folder of the job's, also where it has taken its own permission to look."""
    try:
        return list(os.scandir(folder))
    except PermissionError:
        os.chmod(folder, 0o700)
        return list(os.scandir(folder))


def _first(paths: tuple[str, ...]) -> str | None:
    return next(filter(os.path.exists, paths), None)


def _fills_the_node() -> bool:
    return _message is not None and os.stat(_message).st_size > _MOST_MESSAGE_BYTES


def _number(path: str | None) -> int:
    """The number that a file of a control group holds."""
    if path is None:
        return 0
    with open(path) as file:
        return int(file.read())


def _count(path: str | None, key: str) -> int:
    """One counter of an events file (lines of `key value`)."""
    if path is None:
        return 0
    with open(path) as events:
        for line in events:
            name, _, value = line.partition(" ")
            if name == key:
                return int(value)
    return 0


def _holds_file_of(size: int) -> bool:
    """Whether a scratch folder holds a file of exactly that size; looks at a bounded number of them."""
    pending, seen = list(SCRATCH), 0
    while pending and seen < _MOST_LOOKED_AT:
        try:
            entries = list(os.scandir(pending.pop()))
        except OSError:
            continue
        for entry in entries:
            seen += 1
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
            elif entry.stat(follow_symlinks=False).st_size == size:
                return True
    return False


def _others() -> list[str]:
    return [name for name in os.listdir("/proc") if name.isdigit() and name != "1"]


def _sum_tree() -> tuple[int, int]:
    """Resident bytes (shared pages counted in each process) and threads of every process but this one."""
    resident = tasks = 0
    for pid in _others():
        try:
            with open(f"/proc/{pid}/stat", "rb") as stat:
                # The name may hold spaces and brackets: fields are counted from the last bracket.
                fields = stat.read().rpartition(b")")[2].split()
        except OSError:
            continue
        tasks += int(fields[17])
        resident += int(fields[21])
    return resident * os.sysconf("SC_PAGE_SIZE"), tasks


def _shared_once(scratch: int) -> int:
    """Bytes of the tree with shared pages counted once. Slower: asked only when the plain sum is too high."""
    private = shared = 0
    for pid in _others():
        fields: dict[bytes, int] = {}
        try:
            with open(f"/proc/{pid}/smaps_rollup", "rb") as rollup:
                for line in rollup:
                    name, _, rest = line.partition(b":")
                    if name.startswith(b"Pss_") or name == b"Pss":
                        fields[name] = int(rest.split()[0]) * 1024
        except OSError:
            # Non-dumpable, like us: what it holds resident is then all its own.
            try:
                with open(f"/proc/{pid}/statm", "rb") as statm:
                    private += int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
            except (OSError, IndexError):
                pass
            continue
        private += fields.get(b"Pss_Anon", fields.get(b"Pss", 0))
        shared += fields.get(b"Pss_Shmem", 0)
    # Files of the scratch folders that are mapped are in both figures.
    return private + max(shared, scratch)


def _scratch_bytes(folders: tuple[str, ...]) -> int:
    total = 0
    for folder in folders:
        stat = os.statvfs(folder)
        total += (stat.f_blocks - stat.f_bfree) * stat.f_frsize
    return total
