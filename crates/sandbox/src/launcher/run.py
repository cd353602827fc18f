"""Entry point of a published program: checks the options that the task declares, and calls the program as its tests did."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Callable

from hash_seed import hash_seed

_HERE = os.path.dirname(os.path.abspath(__file__))
_VALUES = {
    "Int": ("INT", re.compile(r"[+-]?[0-9]+"), "a whole number like 2"),
    "Float": ("FLOAT", re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"), "a decimal number like 0.5"),
    "Bool": ("true|false", re.compile(r"true|false"), "true or false"),
    "String": ("TEXT", re.compile(r".*", re.DOTALL), "a text"),
}


def main(arguments: list[str], inputs: str = "/var/inputs", outputs: str = "/var/outputs") -> None:
    """Run the program with these options; does not return where it can be called as it is."""
    with open(os.path.join(_HERE, "program.json"), encoding="utf-8") as file:
        program = json.load(file)
    parser = _parser(program, inputs, outputs)
    given = vars(parser.parse_args(arguments))
    faults: list[str] = []
    options, files = [], []
    for option in program["inputs"]:
        value = given[f"input {option['name']}"]
        if option["type"] in ("File", "Dir"):
            value = _content(option, value, inputs, faults)
            files.append(value)
        elif value is None:
            value = option.get("default")
            if value is None:
                faults.append(f"give --{option['name']}, {_VALUES[option['type']][2]}")
                continue
        options += _option(option["name"], value)
    for variable in program["variables"]:
        if variable not in os.environ:
            faults.append(f"set the environment variable {variable}, which the program was tested with")
    folder = os.path.abspath(given["output folder"])
    faults += _unusable(folder)
    if faults:
        parser.error("; ".join(faults))
    seed = hash_seed(options, files.__contains__)
    _call(options, folder, outputs, seed)


def _option(name: str, value: str) -> list[str]:
    """An option with its value, as in the sandbox: argparse takes a value that begins with a dash for an option of its own."""
    return [f"--{name}={value}"] if value.startswith("-") else [f"--{name}", value]


def _parser(program: dict, inputs: str, outputs: str) -> argparse.ArgumentParser:
    lines = ["outputs:"]
    for output in program["outputs"]:
        kind = " ".join(filter(None, (output["type"], output.get("format"))))
        about = f": {output['description']}" if output.get("description") else ""
        lines.append(f"  {output['name']} ({kind}){about}")
    if not program["outputs"]:
        lines = []
    if program["variables"]:
        lines.append(f"environment variables: {', '.join(program['variables'])}")
    parser = argparse.ArgumentParser(
        prog="program",
        description="Runs a tested program. Its options are those that its task declares.",
        epilog="\n".join(lines).replace("%", "%%"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    for option in program["inputs"]:
        name, kind = option["name"], option["type"]
        about = [option.get("description") or ""]
        if kind in ("File", "Dir"):
            word, check = ("FILE" if kind == "File" else "FOLDER"), str
            about.append(f"(default: {inputs}/{name}{'.*' if kind == 'File' else '/'})")
        else:
            word, check = _VALUES[kind][0], _checked(kind)
            default = option.get("default")
            about.append("(required)" if default is None else f"(default: {default})")
        text = " ".join(filter(None, about)).replace("%", "%%")
        parser.add_argument(f"--{name}", dest=f"input {name}", metavar=word, type=check, help=text)
    parser.add_argument(
        "--output-dir",
        dest="output folder",
        metavar="FOLDER",
        default=outputs,
        help=f"where the outputs go (default: {outputs})",
    )
    return parser


def _checked(kind: str) -> Callable[[str], str]:
    _, pattern, what = _VALUES[kind]

    def check(text: str) -> str:
        if not pattern.fullmatch(text):
            raise argparse.ArgumentTypeError(f"{text!r} is not {what}")
        return text

    return check


def _content(option: dict, given: str | None, inputs: str, faults: list[str]) -> str:
    """Path of a file or folder: the one that is given, else what is mounted under the input's name."""
    name, is_dir = option["name"], option["type"] == "Dir"
    is_there = os.path.isdir if is_dir else os.path.isfile
    if given is not None:
        if not is_there(given):
            faults.append(f"--{name}: there is no {'folder' if is_dir else 'file'} {given}")
        return os.path.abspath(given)
    names = os.listdir(inputs) if os.path.isdir(inputs) else []
    mounted = [entry for entry in names if entry == name or (not is_dir and entry.startswith(f"{name}."))]
    found = sorted(path for entry in mounted if is_there(path := os.path.join(inputs, entry)))
    if len(found) > 1:
        faults.append(f"--{name}: give one of {', '.join(found)}")
    elif not found:
        where = f"a folder as {inputs}/{name}/" if is_dir else f"a file as {inputs}/{name}, with the ending of its format"
        faults.append(f"give --{name}, or mount {where}")
    return found[0] if found else ""


def _unusable(folder: str) -> list[str]:
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        return [f"cannot make the output folder {folder} ({error.strerror}): mount a volume there, or give --output-dir"]
    if not os.access(folder, os.W_OK | os.X_OK):
        return [f"user {os.getuid()} may not write to {folder}: mount a volume there that it may write to, or give --output-dir"]
    return []


def _call(options: list[str], folder: str, outputs: str, seed: str) -> None:
    path = os.path.join(_HERE, "solution.py")
    sys.stdout.flush()
    # What the task or the user says goes before it.
    is_seeded = "PYTHONHASHSEED" in os.environ
    os.environ.setdefault("PYTHONHASHSEED", seed)
    if folder == outputs:
        os.execv(sys.executable, [sys.executable, path, *options])
    if any(character in folder for character in "\"'\\{}\n"):
        sys.exit(f"error: choose an output folder without quotes, braces and backslashes: {folder}")
    if not is_seeded:
        # An interpreter takes it when it starts.
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
    with open(path, encoding="utf-8") as file:
        # Every output path stands in the source.
        source = file.read().replace(outputs, folder)
    sys.argv = [path, *options]
    exec(compile(source, path, "exec"), {"__name__": "__main__", "__file__": path})


if __name__ == "__main__":
    main(sys.argv[1:])
