"""A task whose output is large, and the section of `bench-cluster` that measures its rehearsal."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median

from cluster_api import Json, Watch
from cluster_bench import BARE, GROUP, TASKS, Bare, Bench, Operator, mb, run_task, show, spread
from scripted_model import Answer, ScriptedModel
from simulated_nodes import has_terminated, is_sandbox

LARGE, SMALL = 7_812_500, 1_000
"""Lines of 64 bytes: 500 MB and 64 kB."""

PROGRAM = """\"\"\"Write a table.\"\"\"


def block(start):
    \"\"\"Return lines of 64 bytes each.\"\"\"
    return "".join(f"{number:09d},{'x' * 53}\\n" for number in range(start, start + 1000))


def main():
    \"\"\"Write the table.\"\"\"
    with open("/var/outputs/table", "w", encoding="ascii") as file:
        file.write("number,text\\n")
        text = block(0)
        for _ in range(LINES // 1000):
            file.write(text)
        file.write(text[: LINES % 1000 * 64])


if __name__ == "__main__":
    main()
"""


def task_with_output(name: str) -> Json:
    """A task whose rehearsal writes to a disk from the first, and which is tested by that alone."""
    spec = {
        "prompt": "Write a table.",
        "model": {"name": "recorded"},
        "outputs": [{"name": "table", "type": "File", "format": "CSV"}],
        "testing": {"mode": "Skip", "cases": "Off"},
        "sandbox": {"resources": {"limits": {"ephemeral-storage": "1Gi"}}},
    }
    return {
        "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeGenTask", "metadata": {"name": name}, "spec": spec,
    }


def replies(lines: int) -> dict[str, Json]:
    """What a model answers, by the kind of its call."""
    plan = {"description": "Writes a table.", "approach": "Line by line.", "libraries": [], "cases": [], "unstable": []}
    return {"plan": plan, "code": {"code": PROGRAM.replace("LINES", str(lines)), "packages": [], "systemPackages": []}}


def outputs(bench: Bench) -> None:
    """A rehearsal whose output has 500 MB beside the same Pod without its checker, and beside one of 64 kB."""
    measured = {lines: of_size(bench, lines) for lines in (LARGE, SMALL)}
    for lines, name in ((LARGE, "500 MB"), (SMALL, "64 kB")):
        one = measured[lines]
        show(f"{name}: Pod, created -> terminated", spread(one["pod"]))
        show(f"{name}: the same Pod without its checker", spread(one["bare"]))
        show(f"{name}: RSS of the operator, its peak", "{VmRSS:.1f}, {VmHWM:.1f} MB".format(**one["memory"]))
    large = measured[LARGE]
    added = [one - other for one, other in zip(large["pod"], large["bare"], strict=True)]
    read = seconds_to_read()
    show("500 MB: to read and hash it once, sha256sum", f"{read:.2f} s")
    show("500 MB: what the check adds [<= 1 s and to read it once]", f"{spread(added)}, {median(added) - read:+.2f} s over it")


def of_size(bench: Bench, lines: int) -> Json:
    answers = replies(lines)
    model = ScriptedModel(lambda body: answer(answers, body))
    pods, bares = [], []
    with model:
        bench.origins = [f"http://{model.address}"]
        task = bench.answered_by(task_with_output("table"), f"http://{model.address}/v1", model.address)
        task["spec"]["model"] |= {"provider": "OpenAI", "apiKeySecretRef": {"name": "openai", "key": "api-key"}}
        with Operator(bench, TASKS) as operator:
            tasks = Watch(bench.api, f"{GROUP}/namespaces/{TASKS}/codegentasks")
            own = Watch(bench.api, f"/api/v1/namespaces/{TASKS}/pods")
            by_hand = Watch(bench.api, f"/api/v1/namespaces/{BARE}/pods")
            bare = without_checker(Bare(bench, lambda: run_task(bench, tasks, task)))
            for _ in range(bench.arguments.rounds):
                since = len(own.seen)
                run_task(bench, tasks, task)
                made, _ = own.first(is_sandbox, None, since)
                ended, _ = own.first(lambda pod: is_sandbox(pod) and has_terminated(pod), None, since)
                pods.append(ended - made)
                bares += bare.create(1, by_hand)["terminated"]
            memory = mb(operator.memory())
            for watch in (tasks, own, by_hand):
                watch.stop()
    bench.origins = []
    return {"pod": pods, "bare": bares, "memory": memory}


def answer(answers: dict[str, Json], body: Json) -> Answer:
    return answers[body["response_format"]["json_schema"]["name"]]


def without_checker(bare: Bare) -> Bare:
    """The program alone, as the Pod's only container."""
    spec = bare.pod["spec"]
    spec["containers"] = spec.pop("initContainers")
    return bare


def seconds_to_read() -> float:
    """The median time of sha256sum over a file of that size, which the page cache has, as it has one that was just written."""
    times = []
    with tempfile.TemporaryDirectory(prefix="codegen-bench-") as folder:
        path = Path(folder) / "table"
        with path.open("w", encoding="ascii") as file:
            for _ in range(LARGE):
                file.write("x" * 63 + "\n")
        for _ in range(3):
            started = time.perf_counter()
            subprocess.run(["sha256sum", path], stdout=subprocess.DEVNULL, check=True)
            times.append(time.perf_counter() - started)
    return median(times)


def recording(lines: int) -> str:
    """The same replies as `--replay` takes them."""
    return "\n".join(json.dumps({"kind": kind, "reply": reply}) for kind, reply in replies(lines).items())
