"""Assembles what pytest said from the lines that the plugin streamed."""

from __future__ import annotations

import json

from files import clean


def assemble(messages: bytes, token: str) -> dict[str, object]:
    """The test report. Only lines with the session's token and the next number count.

    A line that is missing, repeated or forged ends the trust in the session: what came before it stays, `sessionExit` is `None`.
    """
    report: dict[str, object] = {"collected": [], "collectionErrors": [], "results": [], "sessionExit": None}
    collection_errors: list[object] = []
    results: list[object] = []
    for number, line in enumerate(messages.split(b"\n")[:-1]):
        try:
            message = json.loads(line)
            if message["token"] != token or message["number"] != number:
                break
            kind, body = message["kind"], _clean(message["body"])
        except (ValueError, KeyError, TypeError, RecursionError):
            break
        if kind == "collected":
            report["collected"] = body
        elif kind == "collectionError":
            collection_errors.append(body)
        elif kind == "result":
            results.append(body)
        elif kind == "finished":
            report["sessionExit"] = body
    else:
        return {**report, "collectionErrors": collection_errors, "results": results}
    return {**report, "collectionErrors": collection_errors, "results": results, "sessionExit": None}


def _clean(value: object) -> object:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {clean(key): _clean(item) for key, item in value.items()}
    return value
