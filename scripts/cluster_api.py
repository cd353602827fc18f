"""The API server, for the scripts that measure on a test cluster: requests, watches, kubectl."""

from __future__ import annotations

import base64
import http.client
import json
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

DEADLINE = 180.0
IDLE = 30.0
Json = dict[str, Any]


class Api:
    """The API server, over one connection a thread. Clocks are those of this machine, as in the audit log."""

    def __init__(self, folder: Path) -> None:
        config = kubectl_json("config", "view", "--raw", "--minify")
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.server, self.authority = cluster["server"], cluster["certificate-authority-data"]
        self._address = urlsplit(self.server)
        files = {}
        for name, data in (
            ("ca", self.authority),
            ("crt", user["client-certificate-data"]),
            ("key", user["client-key-data"]),
        ):
            files[name] = folder / f"client.{name}"
            files[name].touch(mode=0o600)
            files[name].write_bytes(base64.b64decode(data))
        self._tls = ssl.create_default_context(cafile=str(files["ca"]))
        self._tls.load_cert_chain(files["crt"], files["key"])
        self._local = threading.local()

    def connection(self, timeout: float | None = DEADLINE) -> http.client.HTTPSConnection:
        host, port = self._address.hostname or "", self._address.port or 443
        return http.client.HTTPSConnection(host, port, context=self._tls, timeout=timeout)

    def call(self, method: str, path: str, body: Json | None = None, content: str = "application/json") -> Json:
        reply: Json = json.loads(self.read(method, path, body, content))
        return reply

    def read(self, method: str, path: str, body: Json | None = None, content: str = "application/json") -> bytes:
        # The API server closes connections that nobody uses.
        if time.monotonic() > getattr(self._local, "used", float("-inf")) + IDLE:
            self._local.connection = self.connection()
        headers = {"Content-Type": content, "Accept": "application/json"}
        self._local.connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        response = self._local.connection.getresponse()
        reply = response.read()
        self._local.used = time.monotonic()
        # A second section finds what the first one copied.
        if response.status >= 300 and b'"AlreadyExists"' not in reply:
            sys.exit(f"{method} {path}: {response.status} {reply.decode(errors='replace')[:500]}")
        return reply


class Watch(threading.Thread):
    """Every change of a collection from now on, with the moment at which this process saw it."""

    def __init__(self, api: Api, path: str, patience: float = DEADLINE) -> None:
        super().__init__(daemon=True)
        self._patience = patience
        self.seen: list[tuple[float, str, Json]] = []
        self._changed = threading.Condition()
        self._api, self._path = api, path
        self._version = api.call("GET", f"{path}?limit=1")["metadata"]["resourceVersion"]
        self._ends = False
        self._connect()
        self.start()

    def _connect(self) -> None:
        self._connection = self._api.connection(timeout=None)
        self._connection.request("GET", f"{self._path}?watch=1&resourceVersion={self._version}")
        self._response = self._connection.getresponse()

    def run(self) -> None:
        """The API server ends watches when a definition changes: they go on where they were."""
        while not self._ends:
            try:
                while line := self._response.readline():
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        raise ConnectionError(f"{self._path}: {event['object'].get('message')}")
                    self._version = event["object"]["metadata"]["resourceVersion"]
                    self.note(time.time(), event)
                if not self._ends:
                    self._connect()
            except (OSError, ValueError, AttributeError, http.client.HTTPException):
                if not self._ends:
                    raise

    def note(self, moment: float, event: Json) -> None:
        """Keeps a change; whoever wants something else to be done with it says so here."""
        with self._changed:
            self.seen.append((moment, event["type"], event["object"]))
            self._changed.notify_all()

    def first(self, matches: Callable[[Json], bool], name: str | None = None, start: int = 0) -> tuple[float, Json]:
        """The first change that matches, of the object with that name: those that came already count."""
        end = time.monotonic() + self._patience
        with self._changed:
            while True:
                while start < len(self.seen):
                    moment, _, found = self.seen[start]
                    if name in (None, found["metadata"]["name"]) and matches(found):
                        return moment, found
                    start += 1
                if not self._changed.wait(max(0.0, end - time.monotonic())):
                    sys.exit(f"what was waited for did not come within {self._patience:.0f} s")

    def stop(self) -> None:
        self._ends = True
        if self._connection.sock:
            self._connection.sock.shutdown(socket.SHUT_RDWR)
        self.join()


def kubectl(*arguments: str, stdin: str | None = None) -> str:
    done = subprocess.run(["kubectl", *arguments], input=stdin, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"kubectl {' '.join(arguments[:4])}: {done.stderr.strip()}")
    return done.stdout


def kubectl_json(*arguments: str, stdin: str | None = None) -> Json:
    found: Json = json.loads(kubectl(*arguments, "-o", "json", stdin=stdin))
    return found


def yaml_to_json(text: str) -> Json:
    """kubectl knows YAML, the standard library of Python does not."""
    wrapped = f"apiVersion: bench/v1\nkind: Text\nmetadata: {{name: text}}\n{text}"
    found = kubectl_json("annotate", "--local", "-f", "-", "a=b", stdin=wrapped)
    return {name: value for name, value in found.items() if name not in ("apiVersion", "kind", "metadata")}
