"""Runs commands one after another and streams what each came to. What it says is told to a model and decides nothing."""

from __future__ import annotations

import json
import os
import sys
from time import monotonic, time

_CHANNEL = 3
_OUTPUT_BYTES = 64 * 1024


def main() -> None:
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import commands

    # The commands shall not write here.
    os.set_inheritable(_CHANNEL, False)
    job = json.loads(_line())
    for command in job["commands"]:
        left = job["deadline"] - monotonic()
        if left <= 0:
            sys.exit("It ended because its time was over.")
        _send({"startedAt": time()})
        seconds = min(command.get("seconds", left), left)
        limits = {"timeoutSeconds": seconds, "outputBytes": _OUTPUT_BYTES}
        done = commands.run(command["script"], os.getcwd(), job["env"], limits, job["python"])
        _send(_result(done))


def _result(done: dict) -> dict[str, object]:
    output = done["output"]
    if "omitted" in done:
        omitted = done["omitted"]
        output += f"\n[... {omitted['bytes']} bytes in {omitted['lines']} lines left out ...]\n{done['tail']}"
    timed_out = done["end"] == "timedOut"
    return {
        "exit": 124 if timed_out else done["end"]["exited"],
        "output": output,
        "bytes": done["bytes"],
        "seconds": done["seconds"],
        "timedOut": timed_out,
    }


def _line() -> bytes:
    line = bytearray()
    while not line.endswith(b"\n"):
        part = os.read(_CHANNEL, 1 << 16)
        if not part:
            sys.exit("the commands ended before their line did")
        line += part
    return bytes(line)


def _send(result: dict[str, object]) -> None:
    view = memoryview(json.dumps(result).encode() + b"\n")
    while view:
        view = view[os.write(_CHANNEL, view) :]


if __name__ == "__main__":
    main()
