"""Writes down what an environment holds as a requirements file: versions, digests of the archives, and who requires it.

Arguments: the folder of the environment, pip's report of what it has just installed, and the file to write, of which the digests
of what was installed before are kept. Nothing of the environment is imported.
"""

import glob
import importlib.metadata
import json
import os
import platform
import re
import sys

LINE = re.compile(r"(\S+)==(\S+) --hash=sha256:([0-9a-f]{64})\b")


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def recorded(path):
    """Digests by name and version, as an earlier build of this image wrote them down."""
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return {(normal(found[1]), found[2]): found[3] for found in map(LINE.match, file) if found}


def installed(path):
    """The same of what pip reports; it has compared the archives with them, or calculated them itself."""
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    for entry in report["install"]:
        archive = entry["download_info"].get("archive_info", {})
        digest = archive.get("hashes", {}).get("sha256") or archive.get("hash", "").partition("sha256=")[2]
        yield (normal(entry["metadata"]["name"]), entry["metadata"]["version"]), digest


def main(environment, report, target):
    digests = recorded(target)
    digests.update(installed(report))
    found = importlib.metadata.distributions(path=glob.glob(environment + "/lib/python3*/site-packages"))
    distributions = {normal(one.metadata["Name"]): one for one in found}
    requirers = {}
    for one in distributions.values():
        for requirement in one.requires or ():
            name = re.match(r"[\w.-]*", requirement)[0]
            if not re.search(r"\bextra\s*==", requirement):
                requirers.setdefault(normal(name), set()).add(one.metadata["Name"])
    lines = [f"# Python {platform.python_version()} on {platform.machine()}"]
    for name, one in sorted(distributions.items()):
        line = one.metadata["Name"] + "==" + one.version
        if digests.get((name, one.version)):
            line += " --hash=sha256:" + digests[name, one.version]
        if requirers.get(name):
            line += "  # via " + ", ".join(sorted(requirers[name]))
        lines.append(line)
    with open(target, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


main(*sys.argv[1:])
