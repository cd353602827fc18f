"""Sections of `bench-cluster` whose model is scripted: turns of an agent, and questions to code mode."""

from __future__ import annotations

import itertools
import json
import random
import time
from pathlib import Path
from statistics import median

from cluster_api import Json, Watch, kubectl_json
from cluster_bench import (
    BARE,
    GROUP,
    REPOSITORY,
    TASKS,
    Bare,
    Bench,
    Operator,
    has_ended,
    mb,
    percentile,
    run_task,
    show,
    spread,
)
from scripted_model import Answer, ScriptedModel
from simulated_nodes import has_terminated, is_sandbox

# So many turns of a kind lie between the program and the end of a task.
TURNS = 20
# Seconds for a reply: less than any model takes, and enough for what is done beside a call to be done.
REPLY = 0.3
KIND = {"apiVersion": "codegen-operator.dev/v1alpha1"}


def turns(bench: Bench) -> None:
    """Tasks of an agent with turns that read a file, with turns that run a command, and without either, in turns."""
    model = ScriptedModel(agent, delay=REPLY)
    with model:
        bench.origins = [f"http://{model.address}"]
        path = REPOSITORY / "examples/prompt-only-agent/task.yaml"
        task = kubectl_json("create", "--dry-run=client", "-f", str(path))
        bench.answered_by(task, f"http://{model.address}/v1", model.address)
        with Operator(bench, TASKS):
            measured = Turns(bench, model, task)
            run_task(bench, measured.tasks, measured.variant("none"))
            for _ in range(bench.arguments.rounds):
                for way in ("none", "Read", "Bash"):
                    time.sleep(1 + random.random())
                    measured.run(way)
            measured.stop()
        measured.show()
    bench.origins = []


def agent(body: Json) -> Answer:
    """Plan, program with its tests, twenty turns of the kind that the prompt names, the end."""
    if "tools" not in body:
        return plan()
    said = json.dumps(body["messages"])
    way = next((way for way in ("Read", "Bash") if f"[{way}]" in said), None)
    done = sum(message["role"] == "assistant" for message in body["messages"])
    if done == 0:
        return [(call["name"], call["input"]) for call in recorded_turn()["calls"]]
    if way and done <= TURNS:
        return [("Bash", {"command": f"head -{done} solution.py"}) if way == "Bash" else read(done)]
    return "The program prints the table."


def read(number: int) -> tuple[str, Json]:
    return "Read", {"file_path": "/sandbox/solution.py", "offset": 1, "limit": number}


def recording() -> list[Json]:
    text = (REPOSITORY / "examples/prompt-only-agent/replies.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def plan() -> Json:
    found: Json = recording()[0]["reply"]
    return found


def recorded_turn() -> Json:
    return recording()[1]


class Turns:
    """What the tasks of each way took, and the pauses between one Pod of a task and the next."""

    def __init__(self, bench: Bench, model: ScriptedModel, task: Json) -> None:
        self._bench, self._model, self._task = bench, model, task
        self.tasks = Watch(bench.api, f"{GROUP}/namespaces/{TASKS}/codegentasks")
        self._pods = Watch(bench.api, f"/api/v1/namespaces/{TASKS}/pods")
        self._bare = Bare(bench, lambda: run_task(bench, self.tasks, self.variant("Bash")))
        self._by_hand = Watch(bench.api, f"/api/v1/namespaces/{BARE}/pods")
        self._own: dict[str, list[float]] = {"none": [], "Read": [], "Bash": []}
        self._pauses: list[float] = []
        self._in_pods: list[float] = []
        self._in_bare: list[float] = []

    def variant(self, way: str) -> Json:
        return self._task | {"spec": self._task["spec"] | {"prompt": f"{self._task['spec']['prompt']} [{way}]"}}

    def run(self, way: str) -> None:
        since = len(self._pods.seen)
        begin = time.time()
        _, wall = run_task(self._bench, self.tasks, self.variant(way))
        self._own[way].append(wall - self._model.busy(begin, begin + wall))
        if way == "Bash":
            self._take(since)
            self._in_bare += self._bare.create(1, self._by_hand)["terminated"]

    def _take(self, since: int) -> None:
        begin: dict[str, float] = {}
        end: dict[str, float] = {}
        for moment, _, pod in self._pods.seen[since:]:
            if is_sandbox(pod):
                name = pod["metadata"]["name"]
                begin.setdefault(name, moment)
                if has_terminated(pod):
                    end.setdefault(name, moment)
        order = sorted(begin, key=lambda name: begin[name])
        self._in_pods += [end[name] - begin[name] for name in order]
        for one, other in itertools.pairwise(order):
            pause = begin[other] - end[one]
            self._pauses.append(pause - self._model.busy(end[one], begin[other]))

    def stop(self) -> None:
        for watch in (self.tasks, self._pods, self._by_hand):
            watch.stop()

    def show(self) -> None:
        for way, values in self._own.items():
            show(f"task but for its model, turns of: {way}", spread(values))
        pure = (median(self._own["Read"]) - median(self._own["none"])) / TURNS
        show("a turn that reads, but for its model", f"{pure * 1e3:.1f} ms")
        show("bare Pod of a turn, create -> container terminated", spread(self._in_bare))
        show("Pod of a turn, seen -> container terminated", spread(self._in_pods))
        values = self._pauses
        show(
            "Pod of a turn terminated -> the next one's creation [<= 50 ms]",
            f"p50 {median(values) * 1e3:.1f} ms, p99 {percentile(values, 0.99) * 1e3:.1f} ms (n={len(values)})",
        )


PROGRAM = """
total = 0.0
for day in range(3):
    total += await rate(day)
f"The three days came to {total:.2f}."
"""


def questions(bench: Bench) -> None:
    """Questions one after another, then many at once: each one program that calls a tool three times."""
    model = ScriptedModel(lambda _: {"program": PROGRAM}, tool_result=1.25)
    with model:
        bench.origins = [f"http://{model.address}"]
        bench.allow_key(model.address)
        with Operator(bench, TASKS) as operator:
            make_agent(bench, model)
            seen = Watch(bench.api, f"{GROUP}/namespaces/{TASKS}/codemoderuns")
            one_by_one(bench, model, seen)
            for turn, count in enumerate(bench.arguments.questions):
                at_once(bench, operator, seen, count, turn)
            seen.stop()
    bench.origins = []


def make_agent(bench: Bench, model: ScriptedModel) -> None:
    number = {"type": "object", "properties": {"day": {"type": "integer"}}, "required": ["day"]}
    http = {"url": f"http://{model.address}/rates/{{day}}", "parameters": number, "result": {"type": "number"}}
    key = {"name": "openai", "key": "api-key"}
    spec = {
        "model": {"provider": "OpenAI", "name": "gpt-5", "baseURL": f"http://{model.address}/v1", "apiKeySecretRef": key},
        "tools": [{"name": "rate", "description": "Rate of a day.", "http": http}],
    }
    agents = Watch(bench.api, f"{GROUP}/namespaces/{TASKS}/codemodeagents")
    body = KIND | {"kind": "CodeModeAgent", "metadata": {"name": "rates"}, "spec": spec}
    bench.create(f"{GROUP}/namespaces/{TASKS}/codemodeagents", [body])
    agents.first(is_ready, "rates")
    agents.stop()


def is_ready(found: Json) -> bool:
    conditions = found.get("status", {}).get("conditions", [])
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def ask(bench: Bench, names: list[str]) -> float:
    """Makes the questions at once, and gives the moment at which the first was sent."""
    bodies = [
        KIND
        | {
            "kind": "CodeModeRun",
            "metadata": {"name": name},
            "spec": {"agentRef": {"name": "rates"}, "message": f"What did the three days come to? ({name})"},
        }
        for name in names
    ]
    return bench.create(f"{GROUP}/namespaces/{TASKS}/codemoderuns", bodies)


def answered(seen: Watch, name: str, since: int) -> float:
    """The moment at which the answer was seen."""
    moment, found = seen.first(has_ended, name, since)
    if found["status"]["stage"] != "Succeeded":
        raise SystemExit(f"the question {name} has no answer: {found['status'].get('message')}")
    return moment


def one_by_one(bench: Bench, model: ScriptedModel, seen: Watch) -> None:
    values = []
    for number in range(bench.arguments.runs + 1):
        time.sleep(0.5 + random.random())
        since = len(seen.seen)
        begin = ask(bench, [f"one-{number}"])
        end = answered(seen, f"one-{number}", since)
        values.append(end - begin - model.busy(begin, end))
    # The first one starts the interpreter.
    show("first question but for its model and tool calls", f"{values[0] * 1e3:.1f} ms")
    values = values[1:]
    show(
        "question but for its model and tool calls [p50 <= 50 ms]",
        f"p50 {median(values) * 1e3:.1f} ms, p99 {percentile(values, 0.99) * 1e3:.1f} ms (n={len(values)})",
    )


def at_once(bench: Bench, operator: Operator, seen: Watch, count: int, turn: int) -> None:
    time.sleep(3)
    before, seconds = mb(operator.memory()), operator.cpu_seconds()
    since = len(seen.seen)
    names = [f"many-{turn}-{number}" for number in range(count)]
    begin = ask(bench, names)
    ends = [answered(seen, name, since) - begin for name in names]
    time.sleep(3)
    after, spent = mb(operator.memory()), operator.cpu_seconds() - seconds
    show(f"{count:,} at once: all answered", f"{max(ends):.1f} s, {1e3 * max(ends) / count:.1f} ms a question")
    show(f"{count:,} at once: CPU of the operator", f"{spent:.1f} s, {1e3 * spent / count:.1f} ms a question")
    for part, name in (("VmRSS", "RSS"), ("RssAnon", "of it anonymous"), ("VmHWM", "its peak")):
        show(f"{count:,} at once: {name} before, after", f"{before[part]:.1f}, {after[part]:.1f} MB")
    workers = interpreters(operator)
    show("interpreters of the operator, RSS of each", ", ".join(f"{size / 1e6:.1f} MB" for size in workers) or "none")


def interpreters(operator: Operator) -> list[int]:
    """RSS of each interpreter that the operator has, in bytes."""
    children = Path(f"/proc/{operator.process.pid}/task").glob("*/children")
    sizes = []
    for child in {process for file in children for process in file.read_text().split()}:
        status = Path(f"/proc/{child}/status").read_text()
        if "codegen-interp" in status.split("\n", 1)[0]:
            line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
            sizes.append(int(line.split()[1]) * 1024)
    return sorted(sizes)
