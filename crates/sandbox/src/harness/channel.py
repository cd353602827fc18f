"""How a report leaves a Pod: the report in the log, and a signed message about it when the container ends.

Code under test can write to the message's file. It cannot sign: the nonce is in this process alone, which nothing of the job
can look into.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import zlib
from binascii import b2a_base64, hexlify
from collections.abc import Callable

from watch import MESSAGE

_LINE_CHARACTERS = 7 * 1024
_MOST_LOG_CHARACTERS = 7 * 1024 * 1024
"""Below what a node keeps of a log before it starts a new file."""
_MOST_REPORT_BYTES = 32 * 1024 * 1024
_MOST_IN_MESSAGE = 3000
"""Characters of a report in the message itself, which has 4,096 bytes with the signature and what is said of the report."""

Write = Callable[[int, bytes], None]


def send_report(report: dict, nonce: bytes, write: Write, in_message: bool = False) -> None:
    """Write the report to the log, then the message; a small one that may be `in_message` is there as well."""
    for shorten in (lambda report: report, _without_words, _without_results):
        shortened = shorten(report)
        text = json.dumps(shortened).encode()
        encoded = b2a_base64(zlib.compress(text, 1), newline=False)
        if len(text) <= _MOST_REPORT_BYTES and len(encoded) <= _MOST_LOG_CHARACTERS:
            break
    marker = hexlify(os.urandom(8)).decode()
    lines = range(0, len(encoded), _LINE_CHARACTERS)
    write(1, b"".join(b"%s %s\n" % (marker.encode(), encoded[at : at + _LINE_CHARACTERS]) for at in lines))
    digest = hashlib.sha256(text).hexdigest()
    about = {"marker": marker, "lines": len(lines), "length": len(text), "sha256": digest}
    phases = shortened["phases"]
    if in_message and len(encoded) <= _MOST_IN_MESSAGE:
        about["packed"] = encoded.decode()
    _send({"report": about, "phases": [_summary(phase) for phase in phases]}, nonce, write)


def send_not_isolated(address: str, nonce: bytes, write: Write) -> None:
    """Write the message that nothing was run, because this address answers."""
    _send({"notIsolated": address}, nonce, write)


def _send(body: dict, nonce: bytes, write: Write) -> None:
    signed = json.dumps(body, separators=(",", ":")).encode()
    signature = hmac.digest(nonce, signed, "sha256").hex().encode()
    file = os.open(MESSAGE, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC)
    write(file, signature + b"\n" + signed)
    os.close(file)


def _summary(phase: dict) -> dict:
    summary = {"name": phase["name"], "end": phase["end"]}
    if tests := phase["tests"]:
        outcomes: dict[str, int] = {}
        for result in tests["results"]:
            outcome = str(result.get("outcome"))[:16]
            if outcome in outcomes or len(outcomes) < 8:
                outcomes[outcome] = outcomes.get(outcome, 0) + 1
        summary["tests"] = {
            "collected": len(tests["collected"]),
            "collectionErrors": len(tests["collectionErrors"]),
            "outcomes": outcomes,
            "sessionExit": tests["sessionExit"],
        }
    return summary


def _without_words(report: dict) -> dict:
    """What tests printed and pytest's own texts are left out."""
    phases = []
    for phase in report["phases"]:
        if tests := phase["tests"]:
            results = [{**result, "stdout": "", "failure": _short(result["failure"])} for result in tests["results"]]
            errors = [_short(error) for error in tests["collectionErrors"]]
            phase = {**phase, "tests": {**tests, "results": results, "collectionErrors": errors}}
        phases.append(phase)
    return {**report, "phases": phases}


def _short(failure: dict | None) -> dict | None:
    return failure and {**failure, "text": ""}


def _without_results(report: dict) -> dict:
    """A session without results proves nothing, an output without its bytes is too large."""
    phases = []
    for phase in report["phases"]:
        tests = phase["tests"] and {"collected": [], "collectionErrors": [], "results": [], "sessionExit": None}
        outputs = [{**output, "content": _without_bytes(output["content"])} for output in phase["outputs"]]
        phases.append({**phase, "tests": tests, "outputs": outputs})
    return {**report, "phases": phases}


def _without_bytes(content: object) -> object:
    if isinstance(content, dict) and "file" in content:
        return {"tooLarge": len(content["file"])}
    if isinstance(content, dict) and "dir" in content:
        return {"tooLarge": sum(len(file) for _, file in content["dir"])}
    return content
