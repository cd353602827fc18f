"""Everything by which a program could find out where it runs, as JSON on standard output."""

import json
import os
import resource
import stat
import sys


def listing(path):
    try:
        return sorted(os.listdir(path))
    except OSError as error:
        return error.strerror


def about(path):
    found = os.lstat(path)
    owner = "own" if found.st_uid == os.getuid() else found.st_uid
    text = open(path).read() if stat.S_ISREG(found.st_mode) else listing(path)
    names = os.listxattr(path)
    return [oct(found.st_mode), owner, found.st_nlink, found.st_size if stat.S_ISREG(found.st_mode) else 0, os.access(path, os.W_OK), names, text]


def below(top):
    return {os.path.join(folder, name): about(os.path.join(folder, name)) for folder, folders, files in os.walk(top) for name in folders + files}


def mounts():
    with open("/proc/self/mountinfo") as lines:
        for line in lines:
            before, _, after = line.partition(" - ")
            fields = before.split()
            # Without numbers, and without what a sandbox has to itself while it lives: its folder, and its control group.
            root = "" if fields[4].startswith("/run/limits/") else "/".join("*" if part.startswith("codegen-sandbox-") else part for part in fields[3].split("/"))
            yield [root, fields[4], fields[5], after.split()[0]]


mask = os.umask(0)
os.umask(mask)
print(json.dumps({
    "environ": dict(os.environ),
    "cwd": os.getcwd(),
    "argv": sys.argv,
    "orig_argv": sys.orig_argv,
    "path": sys.path,
    "flags": str(sys.flags),
    "order": list({"a", "b", "c", "d", "e", "f"}),
    "umask": mask,
    "listings": {path: listing(path) for path in ("/", "/tmp", "/sandbox", "/var", "/var/inputs", "/var/outputs", "/dev", "/dev/shm", "/run", "/run/limits", "/etc", "/harness", "/job")},
    "inputs": {"/var/inputs": about("/var/inputs"), **below("/var/inputs")},
    "work": [oct(os.stat(path).st_mode) for path in ("/sandbox", "/sandbox/solution.py", "/tmp", "/var/outputs")],
    "limits": {name: resource.getrlimit(getattr(resource, name)) for name in sorted(dir(resource)) if name.startswith("RLIMIT_")},
    "descriptors": {fd: os.readlink(f"/proc/self/fd/{fd}").partition(":")[0] for fd in sorted(os.listdir("/proc/self/fd")) if os.path.exists(f"/proc/self/fd/{fd}")},
    "parent": [os.getppid(), os.getsid(0) == os.getpid(), os.getpgid(0) == os.getpid()],
    "parents": [pid for pid in sorted(os.listdir("/proc")) if pid.isdigit() and int(pid) < os.getpid()],
    "affinity": len(os.sched_getaffinity(0)),
    "nice": os.nice(0),
    "groups": len(os.getgroups()),
    "host": os.uname().nodename,
    "mounts": sorted(mounts()),
}))
