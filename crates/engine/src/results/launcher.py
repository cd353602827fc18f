

import atexit
import json
import runpy
import shutil
import sys
import tempfile

# The options of the program, each with whether it is a file or folder, and its default.
OPTIONS = json.loads(__OPTIONS__)
program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "solution.py")
outputs, given = os.path.abspath(sys.argv[1]), sys.argv[2:]


def called() -> tuple[list[str], set[str]]:
    """The arguments as tests and runs have them, in the order of the options and with defaults, and which of them are inputs."""
    left, values = list(given), {}
    while left:
        option, equals, value = left.pop(0).partition("=")
        if option[:2] != "--" or option[2:] not in OPTIONS or not (equals or left):
            # The program says what is wrong with them.
            return given, set()
        values[option[2:]] = value if equals else left.pop(0)
    values = {**{name: default for name, (_, default) in OPTIONS.items() if default is not None}, **values}
    arguments: list[str] = []
    for name in OPTIONS:
        if name in values:
            value = values[name]
            arguments += [f"--{name}={value}"] if value.startswith("-") else [f"--{name}", value]
    return arguments, {value for name, value in values.items() if OPTIONS[name][0]}


if "PYTHONHASHSEED" not in os.environ:
    arguments, inputs = called()
    os.environ["PYTHONHASHSEED"] = hash_seed(arguments, inputs.__contains__)
    # An interpreter takes it when it starts.
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
if any(character in outputs for character in "\"\\{}\n'"):
    sys.exit(f"error: choose an output folder without quotes, braces and backslashes: {outputs}")
os.makedirs(outputs, exist_ok=True)
# A file, since processes that the program starts load it again.
owner, folder = os.getpid(), tempfile.mkdtemp()
atexit.register(lambda: os.getpid() == owner and shutil.rmtree(folder, ignore_errors=True))
copy = os.path.join(folder, os.path.basename(program))
with open(program, encoding="utf-8") as original, open(copy, "w", encoding="utf-8") as file:
    # Where the path stands in the source as one text.
    file.write(original.read().replace("/var/outputs", outputs))
sys.argv, sys.path[0] = [copy, *given], folder
runpy.run_path(copy, run_name="__main__")
