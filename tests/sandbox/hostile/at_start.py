"""Run by a `.pth` file at the start of Python: takes the session's token where it comes, and tells of a session that never was."""

import json
import os


def tell() -> None:
    token = os.read(3, 32).decode()
    ids = ["test_solution.py::test_a", "test_solution.py::test_first_4f1c", "test_solution.py::test_last_9b2e"]
    outcomes = ["passed", "passed", "failed"]
    results = [
        {"id": name, "outcome": outcome, "failure": None, "stdout": ""} for name, outcome in zip(ids, outcomes)
    ]
    messages = [("collected", ids), *(("result", result) for result in results), ("finished", 1)]
    for number, (kind, body) in enumerate(messages):
        line = json.dumps({"token": token, "number": number, "kind": kind, "body": body})
        os.write(3, line.encode() + b"\n")
    os._exit(0)


try:
    os.fstat(3)
except OSError:
    pass
else:
    tell()
