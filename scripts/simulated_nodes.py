"""Nodes that kwok simulates, and what is played on them: sandbox Pods that end with a signed report.

kwok keeps the nodes ready and sets Pods to running. A report is signed with a key that stands in its Pod and names tests
that are drawn for each task, so kwok cannot give one: a player does, in the shape of one that a real container gave. It
also answers the API server's requests for logs, as a kubelet would.

Run as a program, this file is the player.
"""

from __future__ import annotations

import argparse
import base64
import datetime
import hashlib
import hmac
import json
import os
import ssl
import subprocess
import sys
import tempfile
import threading
import traceback
import zlib
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from cluster_api import Api, Json, Watch, kubectl

LABEL = "codegen-operator.dev/simulated"
PORT = 10350
NODES = 5
MARKER = "played"
MERGE = "application/merge-patch+json"
LINE = 7 * 1024
RUNS = 1.0
"""Seconds from running to terminated."""


def label(thing: Json, name: str) -> str | None:
    return thing["metadata"].get("labels", {}).get(f"codegen-operator.dev/{name}")


def is_sandbox(pod: Json) -> bool:
    return label(pod, "component") == "sandbox"


def has_terminated(pod: Json) -> bool:
    states = pod.get("status", {}).get("containerStatuses", [])
    return bool(states) and all("terminated" in state["state"] for state in states)


def is_running(pod: Json) -> bool:
    states = pod.get("status", {}).get("containerStatuses", [])
    return bool(states) and all("running" in state["state"] for state in states)


def recorded_run(api: Api, namespace: str, pod: Json) -> str:
    """Runs a copy of a task's sandbox Pod on a real node. Gives its report."""
    path = f"/api/v1/namespaces/{namespace}/pods"
    pods = Watch(api, path)
    api.call("POST", path, pod | {"metadata": pod["metadata"] | {"name": "recorded"}})
    _, ended = pods.first(has_terminated, "recorded")
    pods.stop()
    log = api.read("GET", f"{path}/recorded/log").decode()
    message = ended["status"]["containerStatuses"][0]["state"]["terminated"]["message"]
    marker = json.loads(message.split("\n", 1)[1])["report"]["marker"]
    lines = [line.removeprefix(f"{marker} ") for line in log.splitlines() if line.startswith(f"{marker} ")]
    report = zlib.decompress(base64.b64decode("".join(lines))).decode()
    api.call("DELETE", f"{path}/recorded?gracePeriodSeconds=0")
    return report


class SimulatedNodes:
    """Nodes, kwok and a player; all of it goes at the end. `run` is the folder of the test cluster."""

    placement = {
        "nodeSelector": {LABEL: "true"},
        "tolerations": [{"key": LABEL, "operator": "Exists"}],
        # Isolation is shown on the real node: there is no network on the others.
        "isolation": {"nodePools": [{"name": "default"}]},
    }

    def __init__(self, api: Api, folder: Path, run: Path, namespace: str, report: str) -> None:
        self._api, self._folder, self._run, self._namespace = api, folder, run, namespace
        self._report = folder / "report.json"
        self._report.write_text(report)
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> SimulatedNodes:
        try:
            for number in range(NODES):
                self._add_node(f"simulated-{number}")
            selected = f"--manage-nodes-with-label-selector={LABEL}=true"
            self._start("kwok", "kwok", f"--kubeconfig={os.environ['KUBECONFIG']}", "--manage-all-nodes=false", selected)
            self._start("player", *self._player())
            kubectl("wait", "nodes", "-l", f"{LABEL}=true", "--for=condition=Ready", "--timeout=60s")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.terminate()
            process.wait()
        kubectl("delete", "nodes", "-l", f"{LABEL}=true", "--ignore-not-found")

    def _add_node(self, name: str) -> None:
        """Logs are asked for where the player listens; all else is kwok's to say."""
        spec = {"taints": [{"key": LABEL, "effect": "NoSchedule"}]}
        labels = {LABEL: "true", "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux"}
        self._api.call("POST", "/api/v1/nodes", {"metadata": {"name": name, "labels": labels}, "spec": spec})
        room = {"cpu": "1000", "memory": "10Ti", "ephemeral-storage": "10Ti", "pods": "10000"}
        status = {
            "allocatable": room,
            "capacity": room,
            "addresses": [{"type": "InternalIP", "address": self._address()}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": PORT}},
        }
        self._api.call("PATCH", f"/api/v1/nodes/{name}/status", {"status": status}, MERGE)

    def _address(self) -> str:
        """That of the real node, whose certificate the player shows."""
        nodes = self._api.call("GET", "/api/v1/nodes")["items"]
        real = next(node for node in nodes if LABEL not in node["metadata"]["labels"])
        return next(one["address"] for one in real["status"]["addresses"] if one["type"] == "InternalIP")

    def _player(self) -> list[str]:
        """In the network namespace of the node, where that address is."""
        certificates = self._run / "certificates"
        pid = (self._run / "node.pid").read_text().strip()
        options = {
            "listen": self._address(),
            "certificate": f"{certificates}/kubelet.crt",
            "key": f"{certificates}/kubelet.key",
            "namespace": self._namespace,
            "report": str(self._report),
        }
        player = [sys.executable, str(Path(__file__).resolve())]
        return ["nsenter", "--target", pid, "--net", "--", *player, *(f"--{name}={value}" for name, value in options.items())]

    def _start(self, name: str, *command: str) -> None:
        with (self._folder / f"{name}.log").open("wb") as log:
            self._processes.append(subprocess.Popen(command, stdout=log, stderr=log))


class Player(Watch):
    """Ends the containers of sandbox Pods on simulated nodes."""

    def __init__(self, api: Api, namespace: str, report: str) -> None:
        self._path_of_pods = f"/api/v1/namespaces/{namespace}/pods"
        self._report = report.encode()
        self._begun: set[str] = set()
        self._pool = ThreadPoolExecutor(16)
        self.logs: dict[str, bytes] = {}
        super().__init__(api, self._path_of_pods)

    def note(self, moment: float, event: Json) -> None:
        pod, uid = event["object"], event["object"]["metadata"]["uid"]
        if event["type"] == "DELETED":
            self.logs.pop(pod["metadata"]["name"], None)
        elif uid not in self._begun and is_sandbox(pod) and LABEL in pod["spec"].get("nodeSelector", {}) and is_running(pod):
            self._begun.add(uid)
            threading.Timer(RUNS, self._pool.submit, (self._end, pod)).start()

    def _end(self, pod: Json) -> None:
        """The log is there before the message that announces it."""
        try:
            name = pod["metadata"]["name"]
            message, self.logs[name] = self._played(pod)
            self._api.call("PATCH", f"{self._path_of_pods}/{name}/status", ended(pod, message), MERGE)
        except BaseException:
            traceback.print_exc()
            raise

    def _played(self, pod: Json) -> tuple[str, bytes]:
        """Message and log of a container that ran this Pod's job with the same results as the recorded one."""
        report = self._report
        packed = base64.b64encode(zlib.compress(report, 1)).decode()
        lines = [packed[at : at + LINE] for at in range(0, len(packed), LINE)]
        digest = hashlib.sha256(report).hexdigest()
        about = {"marker": MARKER, "lines": len(lines), "length": len(report), "sha256": digest}
        signed = json.dumps({"report": about}, separators=(",", ":"))
        variables = {one["name"]: one.get("value", "") for one in pod["spec"]["containers"][0]["env"]}
        signature = hmac.digest(bytes.fromhex(variables["CODEGEN_NONCE"]), signed.encode(), "sha256").hex()
        return f"{signature}\n{signed}", "".join(f"{MARKER} {line}\n" for line in lines).encode()


def ended(pod: Json, message: str) -> Json:
    state = pod["status"]["containerStatuses"][0]
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    terminated = {"exitCode": 0, "reason": "Completed", "message": message, "finishedAt": now}
    terminated["startedAt"] = state["state"]["running"]["startedAt"]
    return {"status": {"phase": "Succeeded", "containerStatuses": [state | {"ready": False, "state": {"terminated": terminated}}]}}


def handler_of(player: Player) -> type[BaseHTTPRequestHandler]:
    class Logs(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:  # noqa: N802
            """`/containerLogs/NAMESPACE/POD/CONTAINER`, which is all that is asked for."""
            parts = urlsplit(self.path).path.split("/")
            log = player.logs.get(parts[3], b"") if len(parts) > 3 else b""
            self.send_response(200)
            self.send_header("Content-Length", str(len(log)))
            self.end_headers()
            self.wfile.write(log)

        def log_message(self, *_: object) -> None:
            pass

    return Logs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("listen", "certificate", "key", "namespace", "report"):
        parser.add_argument(f"--{name}", required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="codegen-player-") as folder:
        player = Player(Api(Path(folder)), arguments.namespace, Path(arguments.report).read_text())
        server = ThreadingHTTPServer((arguments.listen, PORT), handler_of(player))
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(arguments.certificate, arguments.key)
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        server.serve_forever()


if __name__ == "__main__":
    main()
