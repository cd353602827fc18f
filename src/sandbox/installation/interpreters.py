"""Whether an installation left the interpreters as they were.

Arguments: `before` or `after`, the folder of the environment, and the file that keeps what was there before. Nothing of the
environment runs for it. What a wheel puts in the place of an interpreter would be started with every program.
"""

import csv
import encodings
import glob
import hashlib
import json
import os
import re
import sys

# Programs that are started as Python, and files beside them that say where Python finds its own modules.
NAMES = re.compile(r"python[0-9.]*t?(\._pth)?|pyvenv\.cfg|pybuilddir\.txt")


def state(environment):
    """Every file that decides which interpreter starts: path and what lies there."""
    folder = os.path.join(environment, "bin")
    found = [os.path.join(folder, name) for name in os.listdir(folder) if NAMES.fullmatch(name)]
    base = os.path.realpath(sys.executable)
    library = os.path.dirname(os.__file__)
    own = [base, encodings.__file__, os.__file__, os.path.join(library, "site.py")]
    return {path: content(path) for path in [*found, os.path.join(environment, "pyvenv.cfg"), *own]}


def content(path):
    """Where a link leads, and the digest of the file."""
    link = os.readlink(path) if os.path.islink(path) else ""
    try:
        with open(path, "rb") as file:
            return f"{link} {hashlib.sha256(file.read()).hexdigest()}"
    except OSError as error:
        return f"{link} {error.strerror}"


def owners(environment, changed):
    """Packages whose own lists name these files, with the names of the files."""
    found = {}
    for record in sorted(glob.glob(glob.escape(environment) + "/lib/python3*/site-packages/*.dist-info/RECORD")):
        packages, package = os.path.dirname(os.path.dirname(record)), os.path.basename(os.path.dirname(record))
        name = re.sub(r"[^\w.+-]", "?", package[: -len(".dist-info")])
        with open(record, encoding="utf-8", errors="replace", newline="") as file:
            listed = {os.path.normpath(os.path.join(packages, row[0])) for row in csv.reader(file) if row}
        if named := sorted(path for path in changed if path in listed):
            found["==".join(name.split("-", 1))] = [os.path.relpath(path, environment) for path in named]
    return found


def main(when, environment, file):
    environment = os.path.abspath(environment)
    now = state(environment)
    if when == "before":
        with open(file, "w", encoding="utf-8") as kept:
            json.dump(now, kept)
        return
    with open(file, encoding="utf-8") as kept:
        then = json.load(kept)
    changed = [path for path in {**then, **now} if then.get(path) != now.get(path)]
    if not changed:
        return
    found = owners(environment, changed) or {"?": [os.path.relpath(path, environment) for path in changed]}
    for package, paths in found.items():
        print(f"replaced-interpreter: {package} {' '.join(sorted(paths))}")
    sys.exit(3)


main(*sys.argv[1:])
