# === dataclass_result_fields
import argparse
import csv
from dataclasses import dataclass, fields
from pathlib import Path


@dataclass(frozen=True)
class Result:
    mean: float
    table: str


def work(path: str, digits: int) -> Result:
    with open(path) as file:
        rows = [row for row in csv.DictReader(file) if row["value"]]
    totals: dict[str, float] = {}
    for row in rows:
        totals[row["group"]] = totals.get(row["group"], 0) + float(row["value"])
    mean = sum(totals.values()) / len(rows)
    return Result(round(mean, digits), "group,total\n" + "".join(f"{g},{t}\n" for g, t in sorted(totals.items())))


def save(result: Result, folder: Path) -> None:
    for field in fields(result):
        (folder / field.name).write_text(str(getattr(result, field.name)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="/var/inputs/data")
    parser.add_argument("--digits", type=int, default=1)
    args = parser.parse_args()
    save(work(args.data, args.digits), Path("/var/outputs"))


if __name__ == "__main__":
    main()
# --- tests
from solution import Result, save, work


def test_work(tmp_path):
    file = tmp_path / "d"
    file.write_text("name,group,value\na,x,1\nb,x,2\n")
    assert work(str(file), 2) == Result(1.5, "group,total\nx,3.0\n")


def test_every_field_is_a_file(tmp_path):
    save(Result(1.0, "t"), tmp_path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"mean": "1.0", "table": "t"}
# === options_from_a_dataclass
import argparse
import csv
import dataclasses
import os


@dataclasses.dataclass
class Options:
    data: str = "/var/inputs/data"
    digits: int = 1


def parse(argv=None) -> Options:
    parser = argparse.ArgumentParser()
    for field in dataclasses.fields(Options):
        parser.add_argument("--" + field.name, type=field.type, default=field.default)
    return Options(**vars(parser.parse_args(argv)))


def results(options: Options) -> dict:
    with open(options.data) as file:
        pairs = [(r["group"], float(r["value"])) for r in csv.DictReader(file) if r["value"]]
    sums = {g: sum(v for h, v in pairs if h == g) for g in sorted({g for g, _ in pairs})}
    return {
        "mean": str(round(sum(sums.values()) / len(pairs), options.digits)),
        "table": "\n".join(["group,total", *(f"{g},{s}" for g, s in sums.items())]),
    }


def main() -> None:
    for name, value in results(parse()).items():
        with open(os.path.join(os.sep, "var", "outputs", name), "w") as out:
            out.write(value)


if __name__ == "__main__":
    main()
# --- tests
import pytest
import solution


@pytest.mark.parametrize("argv,digits", [([], 1), (["--digits", "3"], 3)])
def test_options(argv, digits):
    assert solution.parse(argv).digits == digits


def test_a_word_is_no_number(capsys):
    with pytest.raises(SystemExit) as caught:
        solution.parse(["--digits", "many"])
    assert caught.value.code == 2
    assert "--digits" in capsys.readouterr().err


def test_results(tmp_path):
    file = tmp_path / "x"
    file.write_text("group,value\nb,1\na,2\n")
    assert solution.results(solution.Options(str(file), 1)) == {"mean": "1.5", "table": "group,total\na,2.0\nb,1.0"}
# === classes_only
import argparse
import csv


class Table:
    """Values by group."""

    def __init__(self, rows):
        self.rows = [(row["group"], float(row["value"])) for row in rows if row["value"]]

    @classmethod
    def read(cls, path):
        with open(path) as file:
            return cls(csv.DictReader(file))

    @property
    def mean(self):
        return sum(value for _, value in self.rows) / len(self.rows)

    def __iter__(self):
        for group in sorted({group for group, _ in self.rows}):
            yield group, sum(value for other, value in self.rows if other == group)

    def __eq__(self, other):
        return isinstance(other, Table) and self.rows == other.rows

    def __bool__(self):
        return bool(self.rows)


class App:
    OUT = "/var/outputs"

    def run(self):
        parser = argparse.ArgumentParser()
        parser.add_argument("--data", default="/var/inputs/data")
        parser.add_argument("--digits", type=int, default=1)
        self.args = parser.parse_args()
        table = Table.read(self.args.data)
        self.put("mean", round(table.mean, self.args.digits))
        self.put("table", "\n".join(["group,total"] + ["%s,%s" % pair for pair in table]))

    def put(self, name, value):
        with open(f"{self.OUT}/{name}", "w") as file:
            file.write(str(value))


if __name__ == "__main__":
    App().run()
# --- tests
import pytest
from solution import App, Table


class TestTable:
    @pytest.fixture
    def table(self):
        return Table([{"group": "b", "value": "1"}, {"group": "a", "value": "2"}, {"group": "a", "value": ""}])

    def test_mean(self, table):
        assert table.mean == 1.5

    def test_order(self, table):
        assert list(table) == [("a", 2.0), ("b", 1.0)]

    def test_equality(self, table):
        assert table == Table([{"group": "b", "value": "1.0"}, {"group": "a", "value": "2"}])
        assert table != Table([])

    def test_empty_is_false(self):
        assert not Table([])


def test_put(tmp_path, monkeypatch):
    monkeypatch.setattr(App, "OUT", str(tmp_path))
    App().put("mean", 3)
    assert (tmp_path / "mean").read_text() == "3"
# === registry_with_decorator
import argparse
import csv
import pathlib

WRITERS = {}


def output(name):
    def register(function):
        WRITERS[name] = function
        return function

    return register


@output("mean")
def mean(pairs, digits):
    return round(sum(v for _, v in pairs) / len(pairs), digits)


@output("table")
def table(pairs, digits):
    sums = {}
    for group, value in pairs:
        sums[group] = sums.get(group, 0) + value
    return "group,total\n" + "".join(f"{group},{sums[group]}\n" for group in sorted(sums))


def read(path):
    with open(path) as file:
        return [(row["group"], float(row["value"])) for row in csv.DictReader(file) if row["value"]]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="/var/inputs/data")
    parser.add_argument("--digits", type=int, default=1)
    args = parser.parse_args()
    for name, writer in WRITERS.items():
        pathlib.Path("/var/outputs", name).write_text(str(writer(read(args.data), args.digits)))


if __name__ == "__main__":
    main()
# --- tests
import solution

PAIRS = [("b", 1.0), ("a", 2.0), ("b", 4.0)]


def test_both_are_registered():
    assert set(solution.WRITERS) == {"mean", "table"}


def test_writers():
    expected = {"mean": 2.33, "table": "group,total\na,2.0\nb,5.0\n"}
    for name, value in expected.items():
        assert solution.WRITERS[name](PAIRS, 2) == value, name
# === plugin_calls_at_import
import argparse
import csv

READERS = {}


def register(ending, reader):
    READERS[ending] = reader


def read_csv(path):
    with open(path) as file:
        return list(csv.DictReader(file))


register("csv", read_csv)
register("", read_csv)


def read(path):
    return READERS[path.rsplit(".", 1)[1] if "." in path.rsplit("/", 1)[-1] else ""](path)


def results(rows, digits):
    values = {}
    for row in rows:
        if row["value"]:
            values.setdefault(row["group"], []).append(float(row["value"]))
    everything = sum(values.values(), [])
    mean = str(round(sum(everything) / len(everything), digits))
    return {"mean": mean, "table": "".join(f"{g},{sum(v)}\n" for g, v in [("group", None)][:0] + sorted(values.items()))}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="/var/inputs/data")
    parser.add_argument("--digits", type=int, default=1)
    args = parser.parse_args()
    found = results(read(args.data), args.digits)
    found["table"] = "group,total\n" + found["table"]
    for name, text in found.items():
        open("/var/outputs/" + name, "w").write(text)


if __name__ == "__main__":
    main()
# --- tests
import solution


def test_ending(tmp_path):
    for name in ("a.csv", "a"):
        path = tmp_path / name
        path.write_text("group,value\nx,1\n")
        assert solution.read(str(path)) == [{"group": "x", "value": "1"}]


def test_results():
    rows = [{"group": "x", "value": "1"}, {"group": "x", "value": ""}, {"group": "w", "value": "2"}]
    assert solution.results(rows, 1) == {"mean": "1.5", "table": "w,2.0\nx,1.0\n"}
# === registry_of_subclasses
import argparse
import csv
import sys


class Output:
    name = ""

    def text(self, pairs, digits):
        raise NotImplementedError


class Mean(Output):
    name = "mean"

    def text(self, pairs, digits):
        return str(round(sum(v for _, v in pairs) / len(pairs), digits))


class Table(Output):
    name = "table"

    def text(self, pairs, digits):
        groups = sorted({g for g, _ in pairs})
        return "group,total\n" + "".join(f"{g},{sum(v for h, v in pairs if h == g)}\n" for g in groups)


def outputs():
    return [kind() for kind in Output.__subclasses__()]


def pairs_of(path):
    with open(path) as file:
        return [(r["group"], float(r["value"])) for r in csv.DictReader(file) if r["value"]]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="/var/inputs/data")
    parser.add_argument("--digits", type=int, default=1)
    args = parser.parse_args()
    this = sys.modules[__name__]
    for output in this.outputs():
        with open(f"/var/outputs/{output.name}", "w") as file:
            file.write(output.text(pairs_of(args.data), args.digits))


if __name__ == "__main__":
    main()
# --- tests
import pytest
from solution import Mean, Output, Table, outputs


def test_all_are_found():
    assert [type(output) for output in outputs()] == [Mean, Table]


def test_base_has_no_text():
    with pytest.raises(NotImplementedError):
        Output().text([], 0)


def test_texts():
    pairs = [("a", 1.0), ("b", 2.0)]
    assert Mean().text(pairs, 1) == "1.5"
    assert Table().text(pairs, 1).splitlines() == ["group,total", "a,1.0", "b,2.0"]
# === asyncio_tasks
import argparse
import asyncio
import csv


async def load(path):
    def read():
        with open(path) as file:
            return [(r["group"], float(r["value"])) for r in csv.DictReader(file) if r["value"]]

    return await asyncio.to_thread(read)


async def mean(pairs):
    await asyncio.sleep(0)
    return sum(v for _, v in pairs) / len(pairs)


async def table(pairs):
    return sorted({g: sum(v for h, v in pairs if h == g) for g, _ in pairs}.items())


async def amain(path, digits):
    pairs = await load(path)
    average, totals = await asyncio.gather(mean(pairs), table(pairs))
    return {"mean": str(round(average, digits)), "table": "group,total\n" + "".join(f"{g},{t}\n" for g, t in totals)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="/var/inputs/data")
    parser.add_argument("--digits", type=int, default=1)
    args = parser.parse_args()
    for name, text in asyncio.run(amain(args.data, args.digits)).items():
        with open("/var/outputs/%s" % name, "w") as file:
            file.write(text)


if __name__ == "__main__":
    main()
# --- tests
import asyncio
import pytest
import solution


def test_mean():
    assert asyncio.run(solution.mean([("a", 1), ("b", 3)])) == 2


@pytest.mark.asyncio
async def test_table():
    assert await solution.table([("b", 1), ("a", 2), ("b", 2)]) == [("a", 2), ("b", 3)]


async def test_all_of_it(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("group,value\na,2\n")
    assert (await solution.amain(path, 0))["table"] == "group,total\na,2.0\n"
# === threads_and_queue
import argparse
import csv
import queue
import threading
from concurrent.futures import ThreadPoolExecutor


def worker(rows, results):
    while True:
        row = rows.get()
        if row is None:
            return
        if row["value"]:
            results.append((row["group"], float(row["value"])))


def collect(source):
    rows, results = queue.Queue(), []
    thread = threading.Thread(target=worker, args=(rows, results), daemon=True)
    thread.start()
    for row in source:
        rows.put(row)
    rows.put(None)
    thread.join()
    return results


def totals(pairs):
    groups = sorted({g for g, _ in pairs})
    with ThreadPoolExecutor(2) as pool:
        return list(zip(groups, pool.map(lambda g: sum(v for h, v in pairs if h == g), groups)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="/var/inputs/data")
    parser.add_argument("--digits", type=int, default=1)
    args = parser.parse_args()
    with open(args.data) as file:
        pairs = collect(csv.DictReader(file))
    with open("/var/outputs/mean", "w") as mean, open("/var/outputs/table", "w") as table:
        mean.write(str(round(sum(v for _, v in pairs) / len(pairs), args.digits)))
        csv.writer(table).writerows([("group", "total"), *totals(pairs)])


if __name__ == "__main__":
    main()
# --- tests
import solution


def test_collect_keeps_order():
    assert solution.collect({"group": str(n), "value": str(n)} for n in range(50)) == [(str(n), float(n)) for n in range(50)]


def test_totals():
    assert solution.totals([("b", 1), ("a", 1), ("b", 1)]) == [("a", 1), ("b", 2)]
# === child_by_fork
import argparse
import csv
import json
import os


def in_child(function, *args):
    """The result of a function that runs in a process of its own."""
    read, write = os.pipe()
    if os.fork() == 0:
        os.close(read)
        os.write(write, json.dumps(function(*args)).encode())
        os._exit(0)
    os.close(write)
    with open(read) as pipe:
        answer = json.load(pipe)
    os.wait()
    return answer


def totals(path):
    sums = {}
    with open(path) as file:
        for row in csv.DictReader(file):
            if row["value"]:
                sums.setdefault(row["group"], []).append(float(row["value"]))
    return sums


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="/var/inputs/data")
    parser.add_argument("--digits", type=int, default=1)
    args = parser.parse_args()
    sums = in_child(totals, args.data)
    values = [value for group in sums.values() for value in group]
    texts = [str(round(sum(values) / len(values), args.digits))]
    texts.append("group,total\n" + "".join(f"{group},{sum(sums[group])}\n" for group in sorted(sums)))
    for name, text in zip(["mean", "table"], texts):
        with open("/var/outputs/" + name, "w") as file:
            file.write(text)


if __name__ == "__main__":
    main()
# --- tests
import os
import solution


def test_another_process():
    assert solution.in_child(os.getpid) != os.getpid()


def test_totals(tmp_path):
    path = tmp_path / "d"
    path.write_text("group,value\na,1\na,2\n")
    assert solution.in_child(solution.totals, str(path)) == {"a": [1.0, 2.0]}
# === ctypes_and_signals
import argparse
import csv
import ctypes
import os
import signal


class Pair(ctypes.Structure):
    _fields_ = [("group", ctypes.c_int), ("value", ctypes.c_double)]


def pack(groups, rows):
    return (Pair * len(rows))(*(Pair(groups.index(g), v) for g, v in rows))


def ignore_hangups():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    os.kill(os.getpid(), signal.SIGHUP)


def main():
    ignore_hangups()
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="/var/inputs/data")
    parser.add_argument("--digits", type=int, default=1)
    args = parser.parse_args()
    with open(args.data) as file:
        rows = [(r["group"], float(r["value"])) for r in csv.DictReader(file) if r["value"]]
    groups = sorted({g for g, _ in rows})
    packed = pack(groups, rows)
    mean = sum(pair.value for pair in packed) / len(packed)
    lines = [f"{g},{sum(pair.value for pair in packed if pair.group == i)}" for i, g in enumerate(groups)]
    for path, text in {"/var/outputs/mean": str(round(mean, args.digits)), "/var/outputs/table": "\n".join(["group,total", *lines])}.items():
        with open(path, "w") as file:
            file.write(text)


if __name__ == "__main__":
    main()
# --- tests
import signal
import solution


def test_pack():
    packed = solution.pack(["a", "b"], [("b", 1.5), ("a", 2.0)])
    assert [(pair.group, pair.value) for pair in packed] == [(1, 1.5), (0, 2.0)]


def test_hangups_are_ignored():
    before = signal.getsignal(signal.SIGHUP)
    try:
        solution.ignore_hangups()
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
# === modules_by_argument
import argparse
import importlib
from pathlib import Path


def call(target, *args):
    """Call `module:function`."""
    module, _, function = target.partition(":")
    return getattr(importlib.import_module(module), function)(*args)


def pairs(path):
    rows = call("csv:DictReader", Path(path).read_text().splitlines())
    return [(row["group"], float(row["value"])) for row in rows if row["value"]]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="/var/inputs/data")
    parser.add_argument("--digits", type=int, default=1)
    parser.add_argument("--average", default="statistics:fmean")
    args = parser.parse_args()
    found = pairs(args.data)
    mean = round(call(args.average, [v for _, v in found]), args.digits)
    table = {g: sum(v for h, v in found if h == g) for g in sorted(dict(found))}
    output = Path("/var/outputs")
    for name, text in (("mean", f"{mean}"), ("table", "group,total\n" + "".join(f"{k},{v}\n" for k, v in table.items()))):
        output.joinpath(name).write_text(text)


if __name__ == "__main__":
    main()
# --- tests
import pytest
from solution import call, pairs


def test_call():
    assert call("statistics:fmean", [1, 2]) == 1.5


def test_unknown():
    with pytest.raises(ModuleNotFoundError):
        call("no_such_module:f")


def test_pairs(tmp_path):
    path = tmp_path / "d"
    path.write_text("group,value\na,1\nb,\n")
    assert pairs(path) == [("a", 1.0)]
# === formula_evaluator
import argparse
import ast
import csv
from types import SimpleNamespace

ALLOWED = (ast.Expression, ast.Call, ast.Name, ast.Load, ast.BinOp, ast.Div, ast.Add, ast.Sub, ast.Mult, ast.Constant)


def evaluate(formula, **names):
    tree = ast.parse(formula, mode="eval")
    if not all(isinstance(node, ALLOWED) for node in ast.walk(tree)):
        raise ValueError(formula)
    return eval(compile(tree, "<formula>", "eval"), {"__builtins__": {}}, names)


def read(path):
    with open(path) as file:
        return [SimpleNamespace(group=r["group"], value=float(r["value"])) for r in csv.DictReader(file) if r["value"]]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="/var/inputs/data")
    parser.add_argument("--digits", type=int, default=1)
    args = parser.parse_args()
    rows = read(args.data)
    values = [row.value for row in rows]
    mean = evaluate("round(sum(values) / len(values), digits)", round=round, sum=sum, len=len, values=values, digits=args.digits)
    groups = sorted({row.group for row in rows})
    body = "".join(f"{group},{sum(row.value for row in rows if row.group == group)}\n" for group in groups)
    exports = locals()
    for name in ("mean", "table"):
        with open(f"/var/outputs/{name}", "w") as file:
            file.write(str(exports.get(name, "group,total\n" + body)))


if __name__ == "__main__":
    main()
# --- tests
import pytest
from solution import evaluate


@pytest.mark.parametrize("formula, value", [("1 + 2 * 3", 7), ("x / 2", 2.0), ("f(x)", 4)])
def test_formulas(formula, value):
    assert evaluate(formula, x=4, f=abs) == value


@pytest.mark.parametrize("formula", ["__import__('os').system('x')", "[x for x in ()]", "x.y"])
def test_what_is_no_formula(formula):
    with pytest.raises((ValueError, NameError, TypeError)):
        evaluate(formula, x=1)
# === logging_and_excepthook
import argparse
import csv
import inspect
import logging
import sys

log = logging.getLogger(__name__)


def report(kind, value, trace):
    log.error("line %s: %s", trace.tb_lineno if trace else 0, value)


def valued(rows):
    for number, row in enumerate(rows, 2):
        if row["value"]:
            yield row["group"], float(row["value"])
        else:
            log.warning("%s: line %d has no value", inspect.currentframe().f_code.co_name, number)


def main():
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    sys.excepthook = report
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="/var/inputs/data")
    parser.add_argument("--digits", type=int, default=1)
    args = parser.parse_args()
    with open(args.data) as file:
        pairs = list(valued(csv.DictReader(file)))
    log.info("%d rows", len(pairs))
    with open("/var/outputs/mean", "w") as file:
        file.write(str(round(sum(v for _, v in pairs) / len(pairs), args.digits)))
    with open("/var/outputs/table", "w") as file:
        file.write("group,total\n")
        file.writelines(f"{g},{sum(v for h, v in pairs if h == g)}\n" for g in sorted(dict(pairs)))


if __name__ == "__main__":
    main()
# --- tests
import logging
from _pytest.logging import LogCaptureFixture
from solution import report, valued


def test_missing_values_are_logged(caplog: LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert list(valued([{"group": "a", "value": ""}, {"group": "b", "value": "1"}])) == [("b", 1.0)]
    assert [record.getMessage() for record in caplog.records] == ["valued: line 2 has no value"]


def test_report(caplog):
    report(ValueError, ValueError("bad"), None)
    assert "line 0: bad" in caplog.text
# === temporary_files_and_rename
import argparse
import csv
import os
import shutil
import tempfile


def atomically(path, text):
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path))
    with os.fdopen(handle, "w") as file:
        file.write(text)
    os.replace(temporary, path)


def sort_file(path, folder):
    target = os.path.join(folder, "sorted")
    with open(path) as source, open(target, "w") as out:
        head, *lines = source.read().splitlines()
        out.write("\n".join([head, *sorted(lines, key=lambda line: line.split(",")[1])]))
    return target


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="/var/inputs/data")
    parser.add_argument("--digits", type=int, default=1)
    args = parser.parse_args()
    folder = tempfile.mkdtemp()
    try:
        with open(sort_file(args.data, folder)) as file:
            rows = [(r["group"], float(r["value"])) for r in csv.DictReader(file) if r["value"]]
    finally:
        shutil.rmtree(folder)
    sums = {}
    for group, value in rows:
        sums[group] = sums.get(group, 0) + value
    outputs = "/var/outputs"
    os.makedirs(outputs, exist_ok=True)
    atomically(os.path.join(outputs, "mean"), str(round(sum(sums.values()) / len(rows), args.digits)))
    atomically(os.path.join(outputs, "table"), "group,total\n" + "".join(f"{g},{t}\n" for g, t in sums.items()))


if __name__ == "__main__":
    main()
# --- tests
import os
from solution import atomically, sort_file


def test_nothing_is_left_beside(tmp_path):
    atomically(str(tmp_path / "a"), "x")
    assert os.listdir(tmp_path) == ["a"]


def test_sorted(tmp_path):
    (tmp_path / "in").write_text("name,group\n1,b\n2,a\n")
    with open(sort_file(tmp_path / "in", tmp_path)) as file:
        assert file.read() == "name,group\n2,a\n1,b"
# === typed_protocols
from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple, Protocol, TypeVar

T = TypeVar("T")
OUTPUTS: Final = Path("/var/outputs")


class Row(NamedTuple):
    group: str
    value: float


class Writes(Protocol):
    def write_text(self, data: str) -> int: ...


def keep(rows: Iterable[Mapping[str, str]], convert: Callable[[str], T]) -> list[tuple[str, T]]:
    return [(row["group"], convert(row["value"])) for row in rows if row["value"]]


def mean(rows: Iterable[Row], digits: int) -> float:
    values = [row.value for row in rows]
    return round(sum(values) / len(values), digits)


def put(target: Writes, value: object) -> None:
    target.write_text(str(value))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path("/var/inputs/data"))
    parser.add_argument("--digits", type=int, default=1)
    args = parser.parse_args()
    rows = [Row(*pair) for pair in keep(csv.DictReader(args.data.open()), float)]
    put(OUTPUTS / "mean", mean(rows, args.digits))
    groups = sorted({row.group for row in rows})
    put(OUTPUTS / "table", "\n".join(["group,total"] + [f"{g},{sum(r.value for r in rows if r.group == g)}" for g in groups]))


if __name__ == "__main__":
    main()
# --- tests
from __future__ import annotations

from unittest.mock import Mock, call

from solution import Row, keep, mean, put


def test_keep() -> None:
    assert keep([{"group": "a", "value": "1"}, {"group": "b", "value": ""}], int) == [("a", 1)]


def test_mean() -> None:
    assert mean([Row("a", 1), Row("b", 2)], 1) == 1.5


def test_put() -> None:
    target = Mock()
    put(target, 1.5)
    target.write_text.assert_called_once_with("1.5")
    assert target.mock_calls == [call.write_text("1.5")]
# === subcommand_style_flags
import argparse
import csv
import sys

SCHEMA = {"mean": lambda pairs, digits: round(sum(v for _, v in pairs) / len(pairs), digits)}


class ReadAction(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None):
        with open(values) as file:
            setattr(namespace, self.dest, list(csv.DictReader(file)))


def build_parser():
    parser = argparse.ArgumentParser(prog="summary", formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--data", action=ReadAction, required=True, help="the rows")
    parser.add_argument("--digits", type=int, default=1)
    parser.add_argument("-v", "--verbose", action="count", default=0)
    return parser


def table(pairs, digits):
    result = ["group,total"]
    result += [f"{g},{sum(v for h, v in pairs if h == g)}" for g in sorted({g for g, _ in pairs})]
    return "\n".join(result)


SCHEMA["table"] = table


def main(argv=None):
    args = build_parser().parse_args(argv)
    pairs = [(row["group"], float(row["value"])) for row in args.data if row["value"]]
    if args.verbose:
        print(len(pairs), file=sys.stderr)
    for name, make in SCHEMA.items():
        with open(f"/var/outputs/{name}", "w") as out:
            out.write(f"{make(pairs, args.digits)}\n")


if __name__ == "__main__":
    sys.exit(main())
# --- tests
import pytest
import solution


@pytest.fixture(scope="module")
def parser():
    return solution.build_parser()


def test_data_is_needed(parser):
    with pytest.raises(SystemExit):
        parser.parse_args([])


def test_rows(parser, tmp_path):
    path = tmp_path / "d"
    path.write_text("group,value\na,1\n")
    args = parser.parse_args(["--data", str(path), "-vv"])
    assert args.data == [{"group": "a", "value": "1"}] and args.verbose == 2


def test_makers():
    pairs = [("b", 1.0), ("a", 2.0)]
    assert {name: make(pairs, 1) for name, make in solution.SCHEMA.items()} == {"mean": 1.5, "table": "group,total\na,2.0\nb,1.0"}
# === context_managers_and_match
import argparse
import contextlib
import csv


@contextlib.contextmanager
def output(name, folder="/var/outputs"):
    with open(f"{folder}/{name}", "w") as file:
        yield file


class Sum:
    def __init__(self):
        self.count = self.total = 0

    def __iadd__(self, value):
        self.count += 1
        self.total += value
        return self

    def __exit__(self, *_):
        return True

    def __enter__(self):
        return self


def fold(rows):
    whole, groups = Sum(), {}
    for row in rows:
        match row:
            case {"value": "" | None}:
                continue
            case {"group": group, "value": text}:
                whole += float(text)
                groups.setdefault(group, Sum())
                groups[group] += float(text)
    return whole, groups


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="/var/inputs/data")
    parser.add_argument("--digits", type=int, default=1)
    args = parser.parse_args()
    with open(args.data) as file:
        whole, groups = fold(csv.DictReader(file))
    with output("mean") as file:
        print(round(whole.total / whole.count, args.digits), file=file)
    with output("table") as file:
        print("group,total", *(f"{g},{groups[g].total}" for g in sorted(groups)), sep="\n", file=file)


if __name__ == "__main__":
    main()
# --- tests
import solution


def test_fold():
    whole, groups = solution.fold([{"group": "a", "value": "1"}, {"group": "a", "value": ""}, {"group": "b", "value": "2"}])
    assert (whole.count, whole.total) == (2, 3.0)
    assert {name: group.total for name, group in groups.items()} == {"a": 1.0, "b": 2.0}


def test_output(tmp_path):
    with solution.output("mean", tmp_path) as file:
        file.write("1")
    assert (tmp_path / "mean").read_text() == "1"
# === functional
import argparse
import csv
from functools import lru_cache, partial, reduce
from operator import add, attrgetter
from collections import namedtuple

Row = namedtuple("Row", "group value")


@lru_cache(maxsize=None)
def number(text):
    return float(text)


def rows(lines, order="group"):
    found = (Row(row["group"], number(row["value"])) for row in csv.DictReader(lines) if row["value"])
    return sorted(found, key=attrgetter(order))


def total(found, group=None):
    return reduce(add, (row.value for row in found if group in (None, row.group)), 0.0)


def main():
    parser = argparse.ArgumentParser()
    option = partial(parser.add_argument)
    option("--data", default="/var/inputs/data")
    option("--digits", type=int, default=1)
    args = parser.parse_args()
    with open(args.data) as file:
        found = rows(file)
    write = lambda name, text: open("/var/outputs/" + name, "w").write(text)
    write("mean", str(round(total(found) / len(found), args.digits)))
    write("table", "\n".join(["group,total"] + [f"{g},{total(found, g)}" for g in dict.fromkeys(row.group for row in found)]))


if __name__ == "__main__":
    main()
# --- tests
from solution import Row, rows, total


def test_rows_are_in_order():
    assert rows(["group,value", "b,2", "a,1", "c,"]) == [Row("a", 1.0), Row("b", 2.0)]
    assert [row.value for row in rows(["group,value", "b,1", "a,2"], "value")] == [1.0, 2.0]


def test_total():
    assert total([]) == 0
    assert total([Row("a", 1.0), Row("b", 2.0)], "b") == 2.0
# === subprocess_helper
import argparse
import csv
import subprocess
import sys

ADD = "import sys; print(sum(map(float, sys.argv[1:])))"


def add(values):
    done = subprocess.run([sys.executable, "-c", ADD, *map(str, values)], capture_output=True, text=True, check=True)
    return float(done.stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="/var/inputs/data")
    parser.add_argument("--digits", type=int, default=1)
    args = parser.parse_args()
    groups = {}
    with open(args.data) as file:
        for row in csv.DictReader(file):
            if row["value"]:
                groups.setdefault(row["group"], []).append(float(row["value"]))
    values = sum(groups.values(), [])
    with open("/var/outputs/mean", "w") as file:
        file.write(str(round(add(values) / len(values), args.digits)))
    with open("/var/outputs/table", "w") as file:
        file.write("group,total\n" + "".join(f"{g},{add(groups[g])}\n" for g in sorted(groups)))


if __name__ == "__main__":
    main()
# --- tests
import subprocess
import sys
from pathlib import Path
import pytest
import solution

SCRIPT = Path(solution.__file__)


def test_add():
    assert solution.add([1, 2.5]) == 3.5


def test_help():
    done = subprocess.run([sys.executable, str(SCRIPT), "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and "--data" in done.stdout


def test_a_file_that_is_not_there():
    with pytest.raises(subprocess.CalledProcessError):
        subprocess.run([sys.executable, str(SCRIPT), "--data", "/no/such"], check=True, capture_output=True)
# === exit_codes_and_errors
import argparse
import csv
import sys


class DataError(Exception):
    """The data cannot be used."""


def check(rows):
    for number, row in enumerate(rows, 2):
        if None in row or None in row.values():
            raise DataError(f"line {number} has another number of columns")
    return rows


def pairs(rows):
    try:
        return [(row["group"], float(row["value"])) for row in rows if row["value"]]
    except ValueError as error:
        raise DataError(str(error)) from error


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="/var/inputs/data")
    parser.add_argument("--digits", type=int, default=1)
    args = parser.parse_args(argv)
    try:
        with open(args.data, newline="") as file:
            found = pairs(check(list(csv.DictReader(file))))
        if not found:
            raise DataError("no values")
    except (DataError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 3
    results = {"mean": round(sum(v for _, v in found) / len(found), args.digits)}
    results["table"] = "group,total\n" + "".join(f"{g},{sum(v for h, v in found if g == h)}\n" for g in sorted(dict(found)))
    for name, value in results.items():
        with open("/var/outputs/" + name, "w") as file:
            file.write(str(value))
    return 0


if __name__ == "__main__":
    code = main()
    if code:
        sys.exit(code)
# --- tests
import pytest
import solution


@pytest.mark.parametrize("text", ["group,value\n", "group,value\na\n", "group,value\na,x\n", "group,value\na,1,2\n"])
def test_what_cannot_be_used(text, tmp_path, capsys):
    path = tmp_path / "d"
    path.write_text(text)
    assert solution.main(["--data", str(path)]) == 3
    assert capsys.readouterr().err.startswith("error: ")


def test_check_gives_its_rows():
    assert solution.check([{"a": "1"}]) == [{"a": "1"}]


def test_a_cause_is_kept():
    with pytest.raises(solution.DataError) as caught:
        solution.pairs([{"group": "a", "value": "b"}])
    assert isinstance(caught.value.__cause__, ValueError)
