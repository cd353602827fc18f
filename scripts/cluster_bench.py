"""What the sections of `bench-cluster` share: words, namespaces, the operator as a process, bare Pods."""

from __future__ import annotations

import argparse
import datetime
import http.client
import json
import os
import platform
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

from cluster_api import DEADLINE, Api, Json, Watch, kubectl, kubectl_json, yaml_to_json
from simulated_nodes import has_terminated, is_sandbox

REPOSITORY = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"))
RUN = Path(os.environ.get("CODEGEN_E2E_DIR", "/tmp/codegen-e2e"))
SYSTEM = "codegen-system"
RELEASE = "codegen-operator"
TASKS, BARE, FINISHED = "bench-tasks", "bench-bare", "bench-finished"
# The operator's own: the admission policies of the chart go by it.
IDENTITY = f"system:serviceaccount:{SYSTEM}:{RELEASE}"
# The log has these of the operator's account too.
READS = ("get", "list", "watch")
GROUP = "/apis/codegen-operator.dev/v1alpha1"
MIB = 1024 * 1024


def replies_address() -> str:
    """Of the model of recorded replies, whose name this machine cannot look up."""
    return kubectl("-n", "codegen-e2e", "get", "service", "replies", "-o", "jsonpath={.spec.clusterIP}")


def machine() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "unknown")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3
    return f"{os.cpu_count()} x {model}, {memory:.0f} GiB, Linux {platform.release()}"


def now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")


def show(name: str, value: str) -> None:
    print(f"  {name:<58} {value}", flush=True)


def spread(values: list[float], unit: str = "s", scale: float = 1.0, digits: int = 2) -> str:
    ordered = sorted(value * scale for value in values)
    low, middle, high = (f"{value:.{digits}f}" for value in (ordered[0], median(ordered), ordered[-1]))
    return f"{middle} {unit} (from {low} to {high}, n={len(ordered)})"


def percentile(values: list[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def size(value: object) -> int:
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())


def has_ended(task: Json) -> bool:
    return task.get("status", {}).get("stage") in ("Succeeded", "Failed")


class Ends(Watch):
    """Keeps the ends of tasks alone: a thousand tasks change many thousand times."""

    def note(self, moment: float, event: Json) -> None:
        if has_ended(event["object"]):
            super().note(moment, event)


class Audit:
    """The writes that the API server logged after this was made, in the order of their coming."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._log = Path(bench.environment["CODEGEN_E2E_AUDIT_LOG"])
        self._offset = self._log.stat().st_size

    def entries(self) -> list[Json]:
        """The log is written in batches: a write of our own says when all before it is there."""
        mark = f"mark-{random.randrange(16**8):08x}"
        self._bench.api.call("POST", f"/api/v1/namespaces/{BARE}/configmaps", {"metadata": {"name": mark}})
        end = time.monotonic() + DEADLINE
        while True:
            with self._log.open("rb") as file:
                file.seek(self._offset)
                text = file.read()
            if mark.encode() in text:
                break
            if time.monotonic() > end:
                sys.exit(f"{self._log} does not show a write within {DEADLINE:.0f} s")
            time.sleep(0.5)
        lines = [line for line in text.split(b"\n") if IDENTITY.encode() in line]
        entries = [json.loads(line) for line in lines if line.endswith(b"}")]
        own = [
            entry
            for entry in entries
            if entry["user"]["username"] == IDENTITY
            and entry["objectRef"]["resource"] != "leases"
            and entry["verb"] not in READS
        ]
        for entry in own:
            entry["begin"], entry["end"] = (
                datetime.datetime.fromisoformat(entry[name].replace("Z", "+00:00")).timestamp()
                for name in ("requestReceivedTimestamp", "stageTimestamp")
            )
        return sorted(own, key=lambda entry: entry["begin"])


def what(entry: Json) -> str:
    place = entry["objectRef"]
    return f"{entry['verb']} {place['resource']}" + (f"/{place['subresource']}" if "subresource" in place else "")


# The bench


class Bench:
    """Namespaces, an identity and the operator as a process; all of it goes at the end."""

    def __init__(self, folder: Path, arguments: argparse.Namespace) -> None:
        self.folder, self.arguments = folder, arguments
        lines = (RUN / "environment").read_text().splitlines()
        self.environment = dict(line.split("=", 1) for line in lines if "=" in line)
        os.environ.setdefault("KUBECONFIG", self.environment["KUBECONFIG"])
        if not self.environment.get("CODEGEN_E2E_AUDIT_LOG"):
            sys.exit("this cluster has no audit log that counts writes: use the one that `make e2e-up` makes itself")
        self.api = Api(folder)
        # Origins inside of the cluster, or on this machine, that the operator may ask: models and tools.
        self.origins: list[str] = []
        self.before = 0
        self._number = 0

    def __enter__(self) -> Bench:
        self.before = self.replicas()
        if self.before and not self.arguments.stop_operator:
            sys.exit(f"an operator works in {SYSTEM}: let it end what it does, then give --stop-operator")
        if self.before:
            self._scale(0)
        try:
            self._prepare()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _prepare(self) -> None:
        for name in (TASKS, BARE, FINISHED):
            # That of a run before may still be on its way out.
            kubectl("delete", "namespace", name, "--ignore-not-found", "--wait")
            kubectl("create", "namespace", name)
            kubectl("label", "namespace", name, "pod-security.kubernetes.io/enforce=baseline")
            self.copy("secrets", "registry", "codegen-e2e", name)
            self.copy("secrets", "openai", "codegen-e2e", name)
        self._write_kubeconfig()
        self._task = self._happy_task()

    def __exit__(self, *_: object) -> None:
        kubectl("delete", "namespace", TASKS, BARE, FINISHED, "--ignore-not-found", "--wait=false")
        if self.before:
            self._scale(self.before)

    def replicas(self) -> int:
        return int(kubectl("-n", SYSTEM, "get", "deployment", RELEASE, "-o", "jsonpath={.spec.replicas}") or 0)

    def _scale(self, replicas: int) -> None:
        kubectl("-n", SYSTEM, "scale", "deployment", RELEASE, f"--replicas={replicas}")
        if replicas == 0:
            kubectl("-n", SYSTEM, "wait", "pod", "-l", f"app.kubernetes.io/name={RELEASE}", "--for=delete", "--timeout=60s")

    def copy(self, resource: str, name: str, source: str, target: str) -> None:
        found = self.api.call("GET", f"/api/v1/namespaces/{source}/{resource}/{name}")
        kept = {key: found["metadata"].get(key, {}) for key in ("labels", "annotations")}
        found["metadata"] = {"name": name} | kept
        self.api.call("POST", f"/api/v1/namespaces/{target}/{resource}", found)

    def _write_kubeconfig(self) -> None:
        token = kubectl("-n", SYSTEM, "create", "token", RELEASE, "--duration=6h").strip()
        cluster = {"server": self.api.server, "certificate-authority-data": self.api.authority}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "bench",
            "clusters": [{"name": "bench", "cluster": cluster}],
            "users": [{"name": "operator", "user": {"token": token}}],
            "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "operator"}}],
        }
        file = self.folder / "kubeconfig"
        file.touch(mode=0o600)
        file.write_text(json.dumps(config))

    def configuration(self, namespace: str, port: int, sandbox: Json) -> Path:
        """The installed operator's, but for where this one runs, what it looks at and where sandboxes go."""
        installed = kubectl_json("-n", SYSTEM, "get", "configmap", RELEASE)["data"]["config.yaml"]
        config = yaml_to_json(installed)
        if authority := self.environment.get("CODEGEN_E2E_REGISTRY_CA"):
            config.setdefault("registries", {})["authorities"] = [authority]
        config |= {
            "listen": f"127.0.0.1:{port}",
            "watchNamespaces": [namespace],
            "leaderElection": {"enabled": False},
            "model": {"allowedEndpoints": [f"http://{replies_address()}:8080", *self.origins]},
            "codeMode": {"allowedEndpoints": self.origins},
            "sandbox": config.get("sandbox", {}) | sandbox,
        }
        file = self.folder / f"config-{port}.yaml"
        file.write_text(json.dumps(config))
        return file

    def _happy_task(self) -> Json:
        """A plan, a program and a suite, all right at once; the model answers without delay."""
        task = kubectl_json("create", "--dry-run=client", "-f", str(REPOSITORY / "examples/prompt-only/task.yaml"))
        return self.recorded(task, "prompt-only")

    def recorded(self, task: Json, recording: str) -> Json:
        """A task that this recording answers."""
        service = f"{replies_address()}:8080"
        return self.answered_by(task, f"http://{service}/{recording}/v1", service)

    def answered_by(self, task: Json, base: str, host: str) -> Json:
        """A task whose model is at this address, and that builds with what the test cluster has."""
        task["spec"]["model"]["baseURL"] = base
        self.allow_key(host)
        image = self.environment["CODEGEN_E2E_PYTHON_IMAGE"]
        credentials = {name: {"name": "registry"} for name in ("pushSecretRef", "pullSecretRef")}
        task["spec"]["image"] = {"base": image, "pythonVersion": image.rsplit(":", 1)[1]} | credentials
        return task

    def allow_key(self, host: str) -> None:
        """Lets the model's key go to this host, and to no other."""
        kubectl("-n", TASKS, "annotate", "--overwrite", "secret", "openai", f"codegen-operator.dev/hosts={host}")

    def create_tasks(self, count: int, task: Json | None = None) -> tuple[list[str], float]:
        """Makes happy tasks at once, or others. Gives their names, and when the first was sent."""
        task = task or self._task
        names = [f"happy-{self._number + number}" for number in range(count)]
        self._number += count
        path = f"{GROUP}/namespaces/{TASKS}/codegentasks"
        # Tasks that ask the same would adopt each other's programs.
        prompt = task["spec"]["prompt"]
        bodies = [
            task | {"metadata": {"name": name}, "spec": task["spec"] | {"prompt": f"{prompt} ({name})"}} for name in names
        ]
        return names, self.create(path, bodies)

    def create(self, path: str, bodies: list[Json]) -> float:
        with ThreadPoolExecutor(16) as pool:
            started = time.time()
            list(pool.map(lambda body: self.api.call("POST", path, body), bodies))
        return started


class Operator:
    """The operator as a process of this machine."""

    def __init__(self, bench: Bench, namespace: str, sandbox: Json | None = None) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        config = bench.configuration(namespace, self.port, sandbox or {})
        deployment = kubectl_json("-n", SYSTEM, "get", "deployment", RELEASE)
        variables = deployment["spec"]["template"]["spec"]["containers"][0]["env"]
        image = next(variable["value"] for variable in variables if variable["name"] == "OPERATOR_IMAGE")
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(bench.folder),
            "KUBECONFIG": str(bench.folder / "kubeconfig"),
            "KUBERNETES_SERVICE_HOST": kubectl("get", "service", "kubernetes", "-o", "jsonpath={.spec.clusterIP}"),
            "OPERATOR_IMAGE": image,
            "POD_NAME": "bench",
            "POD_NAMESPACE": SYSTEM,
            "RUST_LOG": "info",
        }
        self.log = bench.folder / f"operator-{self.port}.log"
        command = [bench.arguments.operator, "run", "--config", str(config)]
        with self.log.open("w") as log:
            started = time.perf_counter()
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        self.until_ready = self._wait(started)

    def _wait(self, started: float) -> float:
        while time.perf_counter() < started + DEADLINE:
            if self.process.poll() is not None:
                sys.exit(f"the operator ended:\n{self.log.read_text()[-2000:]}")
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
                connection.request("GET", "/readyz")
                is_ready = connection.getresponse().status == 200
                connection.close()
                if is_ready:
                    return time.perf_counter() - started
            except OSError:
                pass
            time.sleep(0.002)
        sys.exit(f"the operator did not get ready:\n{self.log.read_text()[-2000:]}")

    def memory(self) -> dict[str, float]:
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        values = dict(line.split(":", 1) for line in lines if ":" in line)
        return {name: int(values[name].split()[0]) * 1024 for name in ("VmRSS", "RssAnon", "VmHWM")}

    def cpu_seconds(self) -> float:
        """Of the process alone: without samples it starts no child."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def metric(self, name: str) -> float:
        """The sum of a metric over its labels."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().splitlines()
        connection.close()
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if re.match(rf"codegen_operator_{name}[{{ ]", line))

    def __enter__(self) -> Operator:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def run_tasks(bench: Bench, count: int, tasks: Watch, task: Json | None = None) -> list[tuple[Json, float]]:
    """Runs tasks at once. Gives each as it ended, and the seconds from the first creation to the sight of that."""
    since = len(tasks.seen)
    names, started = bench.create_tasks(count, task)
    ends = []
    for name in names:
        moment, ended = tasks.first(has_ended, name, since)
        if ended["status"]["stage"] != "Succeeded":
            sys.exit(f"a task did not pass: {ended['status'].get('reason')}: {ended['status'].get('message')}")
        ends.append((ended, moment - started))
    return ends


def run_task(bench: Bench, tasks: Watch, task: Json | None = None) -> tuple[Json, float]:
    return run_tasks(bench, 1, tasks, task)[0]


class Bare:
    """The sandbox Pod of a task, to be made by hand in a namespace that no operator looks at."""

    def __init__(self, bench: Bench, other: Callable[[], object] | None = None) -> None:
        """A task runs meanwhile, or something `other`: its Pod and what that mounts are copied while they are there."""
        self._bench = bench
        pods, tasks = f"/api/v1/namespaces/{TASKS}/pods", f"{GROUP}/namespaces/{TASKS}/codegentasks"
        seen, watched = Watch(bench.api, pods), Watch(bench.api, tasks)
        runner = threading.Thread(target=other or run_task, args=() if other else (bench, watched))
        runner.start()
        # What the Pod of an earlier task mounted may be gone.
        _, pod = seen.first(lambda pod: is_sandbox(pod) and not has_terminated(pod) and "deletionTimestamp" not in pod["metadata"])
        for resource, name in mounted(pod):
            bench.copy(resource, name, TASKS, BARE)
        runner.join()
        seen.stop()
        watched.stop()
        policies = "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies"
        for policy in bench.api.call("GET", policies.format(TASKS))["items"]:
            policy["metadata"] = {"name": policy["metadata"]["name"]}
            bench.api.call("POST", policies.format(BARE), policy)
        spec = {name: value for name, value in pod["spec"].items() if name not in ("nodeName", "priority", "tolerations")}
        self.pod = {"metadata": {"labels": pod["metadata"]["labels"]}, "spec": spec}
        self._number = 0

    def create(self, count: int, pods: Watch) -> dict[str, list[float]]:
        """Makes Pods at once; seconds from the first creation to the sight of each end, as container and as phase."""
        names = [f"bare-{self._number + number}" for number in range(count)]
        self._number += count
        path, since = f"/api/v1/namespaces/{BARE}/pods", len(pods.seen)
        bodies = [self.pod | {"metadata": self.pod["metadata"] | {"name": name}} for name in names]
        started = self._bench.create(path, bodies)
        ends: dict[str, list[float]] = {"terminated": [], "phase": []}
        for name in names:
            ended, _ = pods.first(has_terminated, name, since)
            phase, pod = pods.first(is_over, name, since)
            if pod["status"]["phase"] != "Succeeded":
                sys.exit(f"the bare Pod {name} did not pass: {pod['status']}")
            ends["terminated"].append(ended - started)
            ends["phase"].append(phase - started)
        for name in names:
            self._bench.api.call("DELETE", f"{path}/{name}?gracePeriodSeconds=0")
        return ends


def is_over(pod: Json) -> bool:
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def mounted(pod: Json) -> Iterator[tuple[str, str]]:
    """What the Pod needs in its namespace, but for what every namespace of the bench has."""
    for volume in pod["spec"]["volumes"]:
        sources = [volume, *volume.get("projected", {}).get("sources", [])]
        for source in sources:
            if "secret" in source:
                yield "secrets", source["secret"].get("secretName") or source["secret"]["name"]
            if "configMap" in source:
                yield "configmaps", source["configMap"]["name"]



def task_of_folder(bench: Bench, folder: str) -> Json:
    """Makes the samples of a folder's task in the cluster, and gives the task, which its recording answers."""
    text = kubectl("kustomize", str(REPOSITORY / folder))
    objects = list(documents(kubectl("create", "--dry-run=client", "-o", "json", "-f", "-", stdin=text)))
    for found in objects:
        found["metadata"].pop("namespace", None)
        if found["kind"] == "ConfigMap":
            bench.api.call("POST", f"/api/v1/namespaces/{TASKS}/configmaps", found)
    return bench.recorded(next(found for found in objects if found["kind"] == "CodeGenTask"), Path(folder).name)


def documents(text: str) -> Iterator[Json]:
    """The JSON documents that kubectl prints one after another."""
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        found, at = decoder.raw_decode(text, at)
        yield found
        at += len(text[at:]) - len(text[at:].lstrip())


def mb(values: dict[str, float]) -> dict[str, float]:
    return {name: value / 1e6 for name, value in values.items()}
