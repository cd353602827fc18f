"""Looks for a word of the job that is not meant for it, and prints where it found it.

Its argument is the word backwards: no place to find it at. Everything that a program of the harness's own user can try to read is read.
"""

import hashlib
import json
import os
import re
import sys
from base64 import b64decode

FOLDERS = ("/sandbox", "/tmp", "/var", "/dev", "/job", "/harness", "/etc", "/home", "/root", "/run", "/mnt", "/opt", "/srv")
KEY = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
BASE64 = re.compile(rb"[A-Za-z0-9+/]{24,}={0,2}")


def main():
    word = sys.argv[1][::-1].encode()
    seen = dict(everything())
    found = [place for place, content in seen.items() if mentions(content, word)]
    sealed = seen.get("/job/job.json", b"")
    for place, content in seen.items():
        for key in set(KEY.findall(content)):
            if mentions(opened(sealed, key), word):
                found.append(f"/job/job.json with the key in {place}")
    print(json.dumps(sorted(found)))


def mentions(content, word):
    """Whether the word is there, as it is or in base64."""
    packed = (match.rstrip(b"=") for match in BASE64.findall(content))
    return word in content or any(word in b64decode(text[: len(text) // 4 * 4]) for text in packed)


def opened(sealed, key):
    stream = hashlib.shake_256(bytes.fromhex(key.decode())).digest(len(sealed))
    return bytes(one ^ other for one, other in zip(sealed, stream))


def everything():
    """What can be read, by its place: files, and all that the kernel tells of other processes."""
    paths = [os.path.join(folder, name) for top in FOLDERS for folder, _, names in os.walk(top) for name in names]
    paths = [path for path in paths if not path.startswith(sys.base_prefix)]
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) == os.getpid():
            continue
        paths += [f"/proc/{pid}/{name}" for name in ("environ", "cmdline", "auxv", "mountinfo", "limits")]
        try:
            paths += [f"/proc/{pid}/fd/{name}" for name in os.listdir(f"/proc/{pid}/fd")]
        except OSError:
            pass
        yield f"/proc/{pid}/mem", b"".join(memory(pid))
    # What it has inherited itself.
    paths += [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd") if int(name) > 2]
    yield "its own variables", json.dumps(dict(os.environ)).encode()
    for path in paths:
        try:
            # A pipe that nobody writes to shall not hold it.
            with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
                yield path, file.read(1 << 22) or b""
        except OSError:
            pass


def memory(pid):
    """What of a process's memory can be read."""
    try:
        with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as file:
            for line in maps:
                ends = re.match(r"(\w+)-(\w+) rw", line)
                if ends:
                    begin, end = (int(number, 16) for number in ends.groups())
                    try:
                        file.seek(begin)
                        yield file.read(end - begin)
                    except (OSError, OverflowError):
                        pass
    except OSError:
        pass


main()
