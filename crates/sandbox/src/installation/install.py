"""Makes an environment and installs into it with uv: what was recorded, or what uv chooses, which is written down first.

Started as `python -I -S -B` by the interpreter that the environment is for; the argument is a file that says what to do, and a second one
says to do a part of it: `environment` or `packages`. Wheels alone, and nothing of theirs runs: the environment's interpreter starts once,
before anything is in it.
"""

import glob
import json
import os
import platform
import re
import shutil
import subprocess
import sys

# One package of what uv resolved. It names the one archive of each that is for this interpreter.
RESOLVED = re.compile(r'\[\[packages\]\]\nname = "([^"]+)"\nversion = "([^"]+)"\n((?:(?!\[\[).*\n?)*)')
DIGEST = re.compile(r'\bwheels = \[\{.*\bsha256 = "([0-9a-f]{64})"')
# Who requires a package, as uv says it beside the version.
REQUIRERS = re.compile(r"(?m)^([^\s=\[]+)\S*==\S+ .*# via (.*)$")


class Uv:
    def __init__(self, job):
        self.job = job
        given = job.get("settings")
        if given is None:
            sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
            from settings import settings

            given = settings(dict(os.environ), job["days"])
            for name in given["leftOut"]:
                print(f"pip's setting {name} is not taken: uv has none like it", file=sys.stderr)
        self.options = given["options"]
        self.env = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": job["work"],
            "TMPDIR": job["work"],
            **given["env"],
            # What lies in folders above is no matter of this installation.
            "UV_NO_CONFIG": "true",
            "UV_CACHE_DIR": job["cache"],
            # Copies, where they lie on different mounts.
            "UV_LINK_MODE": "hardlink",
            "UV_NO_PROGRESS": "true",
            "UV_PYTHON_DOWNLOADS": "never",
            "NO_COLOR": "1",
        }

    def run(self, *arguments):
        ended = subprocess.run([self.job["uv"], "--quiet", *arguments], env=self.env, stdin=subprocess.DEVNULL, cwd=self.job["work"])
        if ended.returncode:
            sys.exit(1)

    def pip(self, command, python, *arguments):
        # What is built from source runs code of its own choice.
        self.run("pip", command, *self.options, "--only-binary", ":all:", "--python", python, *arguments)


def main(file, part=""):
    with open(file, encoding="utf-8") as text:
        job = json.load(text)
    # Whatever this user's mask, the sandbox's user must be able to read it.
    os.umask(0o022)
    uv = Uv(job)
    if part != "packages":
        make(uv, job)
    if part != "environment":
        install(uv, job)
    for name in (".lock", ".gitignore", "CACHEDIR.TAG"):
        # What uv leaves for itself; anybody may write to the first.
        if os.path.lexists(left := os.path.join(job["environment"], name)):
            os.remove(left)


def make(uv, job):
    """Makes the environment, with nothing in it."""
    # By its path alone uv would take the interpreter of another environment for this one.
    for seen in glob.glob(os.path.join(glob.escape(job["cache"]), "interpreter-*")):
        shutil.rmtree(seen, ignore_errors=True)
    uv.run("venv", "--no-project", "--python", sys.executable, job["environment"])
    if job.get("link"):
        # What starts by it is what started this.
        os.symlink(os.path.realpath(sys.executable), job["link"])


def install(uv, job):
    """Installs into the environment what was recorded, else what uv chooses."""
    environment, requirements = job["environment"], os.path.join(job["work"], "requirements.txt")
    settings = content(environment)
    if job.get("locked"):
        shutil.copyfile(job["locked"], requirements)
    else:
        resolve(uv, job, requirements)
    uv.pip("install", f"{environment}/bin/python", "--no-deps", "--require-hashes", "--requirement", requirements)
    if content(environment) != settings:
        sys.exit("replaced: pyvenv.cfg")
    if job.get("link"):
        # For whoever reads the image.
        shutil.copyfile(requirements, os.path.join(environment, "requirements.txt"))
    compile_all(environment)


def resolve(uv, job, requirements):
    """Writes down what uv chooses."""
    work = job["work"]
    wanted, resolved, via = (os.path.join(work, name) for name in ("requirements.in", "pylock.toml", "via.txt"))
    with open(wanted, "w", encoding="utf-8") as file:
        file.writelines(f"{name}\n" for name in job["requirements"])
    options = ["--no-header", "--refresh"]
    if job["days"]:
        options += ["--exclude-newer", f"P{job['days']}D"]
    uv.pip("compile", sys.executable, *options, "--format", "pylock.toml", "--output-file", resolved, wanted)
    # The same once more, from the cache, since only this form says who requires what.
    uv.pip("compile", sys.executable, *options[:1], *options[2:], "--annotation-style", "line", "--output-file", via, wanted)
    with open(resolved, encoding="utf-8") as file:
        packages = RESOLVED.findall(file.read())
    with open(via, encoding="utf-8") as file:
        requirers = dict(REQUIRERS.findall(file.read()))
    with open(requirements, "w", encoding="utf-8") as file:
        file.write(f"# Python {platform.python_version()} on {platform.machine()}\n")
        for name, version, rest in packages:
            digest = DIGEST.search(rest)
            if not digest:
                sys.exit(f"uv gives no digest of {name}=={version}")
            names = [one for one in requirers.get(name, "").split(", ") if one and " " not in one]
            comment = f"  # via {', '.join(names)}" if names else ""
            file.write(f"{name}=={version} --hash=sha256:{digest[1]}{comment}\n")


def content(environment):
    with open(os.path.join(environment, "pyvenv.cfg"), encoding="utf-8") as file:
        return file.read()


def compile_all(environment):
    """Bytecode for an environment that nobody can write to: the sources are read, and none is run. Tests of packages go without."""
    command = [sys.executable, "-I", "-S", "-B", "-m", "compileall", "-qq", "-j", "0", "-x", "[/]tests?[/]", os.path.join(environment, "lib")]
    # A file of another Python's syntax does not compile; that takes nothing from the others.
    subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


main(*sys.argv[1:])
