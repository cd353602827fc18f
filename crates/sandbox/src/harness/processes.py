"""Processes: starting one, watching its tree, ending all of it."""

from __future__ import annotations

import ctypes
import fcntl
import math
import os
import resource
import select
import signal
from collections.abc import Callable
from time import monotonic

from watch import Watch

CAPTURED_BYTES = 64 * 1024
"""How much of the end of each output stream is kept."""

_SPARE_PROCESSES = 16
_DEATH_SIGNAL, _DUMPABLE = 1, 4
_LIFELINE = 0


class Limits:
    """What a whole process tree may use. (No dataclass: importing that module would take longer than starting Python.)"""

    def __init__(self, limits: dict[str, float], started: float) -> None:
        """The limits of a job whose first phase started at `started` (monotonic seconds)."""
        self.seconds = seconds = limits["timeoutSeconds"]
        self.deadline = started + seconds
        self.cpus = limits["cpus"]
        # One process cannot use more than this within the wall time, unless it dodges the CPU quota.
        self.cpu_seconds = max(1, int(seconds * max(1.0, self.cpus)) + 1)
        self.memory_bytes = int(limits["memoryBytes"])
        self.processes = int(limits["processes"])
        self.file_bytes = int(limits["fileBytes"])


    def begin(self) -> None:
        """Give the next phase its time."""
        self.deadline = monotonic() + self.seconds


class Ended:
    """How a process ended and what it wrote; `messages` is what came over its channel, `cut` which streams lost their start."""

    def __init__(
        self, end: object, seconds: float, stdout: str, stderr: str, messages: bytes, cut: tuple[str, ...] = ()
    ) -> None:
        self.end = end
        self.seconds = seconds
        self.stdout = stdout
        self.stderr = stderr
        self.messages = messages
        self.cut = cut


class Tail:
    """The last bytes of a stream."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._bytes = bytearray()
        self._seen = 0

    def add(self, part: bytes) -> None:
        """Append, and forget what is too old."""
        self._bytes += part
        self._seen += len(part)
        if len(self._bytes) > 2 * self._keep:
            del self._bytes[: -self._keep]

    def is_cut(self) -> bool:
        """Whether there was more than is kept."""
        return self._seen > self._keep

    def text(self) -> str:
        """The tail, lossily decoded."""
        return bytes(self._bytes[-self._keep :]).decode("utf-8", "replace")


_libc = ctypes.CDLL(None, use_errno=True)
_prctl = _libc.prctl


def become(user: int) -> None:
    """Become an unprivileged user: a limit of processes does not bind root."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def protect_self() -> None:
    """Keep children away from this process."""
    if os.getuid() == 0:
        raise PermissionError("the harness runs nothing as root")
    if _prctl(_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "could not make the harness non-dumpable")
    # PID 1 receives only signals it handles; Python's handler of SIGINT would be a way to end it from inside.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def end_with_starter() -> None:
    """Die with the process that started the sandbox: a change of user clears what bubblewrap has set."""
    _prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)


def close_inherited() -> None:
    """Close what the process that started the sandbox had open, whatever that was: programs would inherit it."""
    for number in map(int, os.listdir("/proc/self/fd")):
        if number > 2:
            try:
                os.close(number)
            except OSError:
                # The listing's own.
                pass


def run(
    argv: list[str],
    cwd: str,
    env: dict[str, str],
    limits: Limits,
    channel: tuple[int, int, int] | None = None,
    let_in: Callable[[], None] | None = None,
    disk_bytes: int | None = None,
) -> Ended:
    """Run a program to its end or a limit's, then end everything it left behind.

    `channel` is the child's end, our end, and how many bytes we take from it at most; `let_in` is called once the program
    has started; `disk_bytes` is what its outputs may take where they lie on a disk.
    """
    started = monotonic()
    watch = Watch(limits.memory_bytes, limits.processes, limits.file_bytes, disk_bytes)
    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe()
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    # A handler must exist for the wake-up descriptor to be written.
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    child_ends = [out_write, err_write] + ([channel[0]] if channel else [])
    pid = spawn(argv, cwd, env, child_ends, limits, watch)
    for end in child_ends:
        os.close(end)
    if let_in is not None:
        let_in()

    tails = {out_read: Tail(CAPTURED_BYTES), err_read: Tail(CAPTURED_BYTES)}
    messages, room = bytearray(), channel[2] if channel else 0
    poller = select.poll()
    for stream in (*tails, wake_read, *((channel[1],) if channel else ())):
        poller.register(stream, select.POLLIN)
    poller.register(_LIFELINE, 0)

    def take(stream: int) -> bool:
        """Read what is there; false at the stream's end."""
        nonlocal room
        try:
            part = os.read(stream, 1 << 16)
        except ConnectionResetError:
            part = b""
        if stream in tails:
            tails[stream].add(part)
        elif stream != wake_read:
            messages.extend(part[:room])
            room -= len(part[:room])
        return bool(part)

    status, end = None, None
    while status is None and end is None:
        wait = min(watch.interval, max(0.0, limits.deadline - monotonic()))
        for stream, event in poller.poll(wait * 1000):
            if stream == _LIFELINE:
                os._exit(1)
            if (event & ~select.POLLIN and not event & select.POLLIN) or not take(stream):
                poller.unregister(stream)
        status = _reap(pid)
        if status is None:
            end = "timedOut" if monotonic() >= limits.deadline else watch.exceeded()

    seconds = monotonic() - started
    signal.set_wakeup_fd(-1)
    kill_everything()
    remove_shared_objects()
    for stream in (*tails, *((channel[1],) if channel else ())):
        # Nobody is left to write, so this ends.
        while take(stream):
            pass
    for stream in (out_read, err_read, wake_read, wake_write, *((channel[1],) if channel else ())):
        os.close(stream)
    if end is None:
        assert status is not None
        end = watch.explain(status)
    out, err = tails[out_read], tails[err_read]
    cut = tuple(name for name, tail in (("stdout", out), ("stderr", err)) if tail.is_cut())
    return Ended(end, seconds, out.text(), err.text(), bytes(messages), cut)


def kill_everything() -> None:
    """End every process of the sandbox but this one, and wait until none is left."""
    while True:
        try:
            # As PID 1: every other process of the namespace. The kernel lets no fork slip through.
            os.kill(-1, signal.SIGKILL)
        except ProcessLookupError:
            pass
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def remove_shared_objects() -> None:
    """Remove what programs share by number (System V) and leave behind: it outlives them, and counts as memory of whoever comes after."""
    remove = 0
    for kind, arguments in (("shm", (remove, None)), ("msg", (remove, None)), ("sem", (0, remove))):
        if not os.path.exists(f"/proc/sysvipc/{kind}"):
            # A kernel without them.
            continue
        with open(f"/proc/sysvipc/{kind}") as objects:
            numbers = [int(line.split()[1]) for line in list(objects)[1:]]
        for number in numbers:
            getattr(_libc, f"{kind}ctl")(number, *arguments)


def _reap(main: int) -> int | None:
    """Collect ended children (orphans are ours too); the wait status of `main` once it ended."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return None
        if pid == main:
            return status
        if pid == 0:
            return None


def spawn(
    argv: list[str], cwd: str, env: dict[str, str], streams: list[int], limits: Limits, watch: Watch
) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        # Away from the low numbers first, so that no stream overwrites another.
        sources = [os.open(os.devnull, os.O_RDONLY), *streams]
        moved = [_move_up(source) for source in sources]
        for target, source in enumerate(moved):
            os.dup2(source, target)
        os.chdir(cwd)
        for handled in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD, signal.SIGINT):
            signal.signal(handled, signal.SIG_DFL)
        # Where a control group counts, its word comes first; a user's count holds more than the tree (a Pod's other container).
        _limit_self(limits, limits.processes + (_SPARE_PROCESSES if watch.counts_processes else 0))
        if not watch.grouped:
            _pin_to_cpus(limits.cpus)
        os.execve(argv[0], argv, env)
    except BaseException as error:  # noqa: BLE001 - nothing may return into the harness's own loop
        os.write(2, f"the sandbox could not start {argv[0]}: {error}\n".encode())
    os._exit(127)


def _move_up(stream: int) -> int:
    return fcntl.fcntl(stream, fcntl.F_DUPFD_CLOEXEC, 64)


def _limit_self(limits: Limits, processes: int) -> None:
    for what, amount in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_CPU, limits.cpu_seconds),
        (resource.RLIMIT_NPROC, processes),
        # Queues outlive their makers, and nobody could list them.
        (resource.RLIMIT_MSGQUEUE, 0),
    ):
        _, hard = resource.getrlimit(what)
        if hard != resource.RLIM_INFINITY:
            amount = min(amount, hard)
        resource.setrlimit(what, (amount, amount))
    try:
        # When memory runs out, the kernel shall end the program, not the harness that reports it. Only a dumpable process
        # may write this; nothing of the job runs yet that could look into it.
        _prctl(_DUMPABLE, 1, 0, 0, 0)
        with open("/proc/self/oom_score_adj", "w") as adjust:
            adjust.write("1000")
    except OSError:
        pass


def _pin_to_cpus(cpus: float) -> None:
    """Without a control group nothing shares out CPU time: keep the tree on as many CPUs as it may use."""
    allowed = sorted(os.sched_getaffinity(0))
    count = max(1, math.ceil(cpus))
    if count < len(allowed):
        start = os.urandom(1)[0] % len(allowed)
        os.sched_setaffinity(0, [allowed[(start + step) % len(allowed)] for step in range(count)])
