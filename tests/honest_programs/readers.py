# === csv_dict_reader
import argparse
import csv
from pathlib import Path


def read(path):
    """Rows of a CSV file."""
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def summarise(rows):
    values = [float(row["value"]) for row in rows if row["value"]]
    totals = {}
    for row in rows:
        if row["value"]:
            totals[row["group"]] = totals.get(row["group"], 0.0) + float(row["value"])
    return sum(values) / len(values) if values else 0.0, totals


def write_output(name, value):
    Path("/var/outputs", name).write_text(value)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="/var/inputs/data")
    parser.add_argument("--digits", type=int, default=1)
    args = parser.parse_args()
    mean, totals = summarise(read(args.data))
    write_output("mean", str(round(mean, args.digits)))
    write_output("table", "group,total\n" + "".join(f"{g},{t}\n" for g, t in sorted(totals.items())))


if __name__ == "__main__":
    main()
# --- tests
import solution


def test_missing_values_do_not_count():
    rows = [{"group": "x", "value": "1"}, {"group": "x", "value": ""}, {"group": "y", "value": "3"}]
    assert solution.summarise(rows) == (2.0, {"x": 1.0, "y": 3.0})


def test_nothing_is_zero():
    assert solution.summarise([]) == (0.0, {})


def test_rows_are_read(tmp_path):
    file = tmp_path / "d.csv"
    file.write_text("group,value\nä,1\n", encoding="utf-8")
    assert solution.read(file) == [{"group": "ä", "value": "1"}]
# === csv_reader_columns
import argparse
import csv
import os


def columns(path):
    with open(path, newline="") as handle:
        reader = csv.reader(handle)
        header = next(reader)
        rows = list(reader)
    return {name: [row[index] for row in rows] for index, name in enumerate(header)}


def totals(table):
    result = {}
    for group, value in zip(table["group"], table["value"]):
        if value != "":
            result.setdefault(group, []).append(float(value))
    return {group: sum(values) for group, values in result.items()}


def mean(table):
    numbers = [float(value) for value in table["value"] if value]
    return sum(numbers) / max(1, len(numbers))


def main():
    parser = argparse.ArgumentParser()
    for option, settings in {"data": {"default": "/var/inputs/data"}, "digits": {"type": int, "default": 1}}.items():
        parser.add_argument("--" + option, **settings)
    args = parser.parse_args()
    table = columns(args.data)
    outputs = {"mean": f"{mean(table):.{args.digits}f}"}
    outputs["table"] = "\n".join(["group,total"] + [f"{g},{t}" for g, t in sorted(totals(table).items())]) + "\n"
    for name, value in outputs.items():
        with open(os.path.join("/var/outputs", name), "w") as file:
            file.write(value)


if __name__ == "__main__":
    main()
# --- tests
import pytest
from solution import columns, mean, totals


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("name,group,value\na,x,1\nb,y,2\nc,x,\n")
    return columns(path)


def test_columns(table):
    assert table["group"] == ["x", "y", "x"]


def test_totals(table):
    assert totals(table) == {"x": 1.0, "y": 2.0}


@pytest.mark.parametrize(("values", "expected"), [(["1", "2"], 1.5), (["", "4"], 4.0), ([], 0.0)])
def test_mean(values, expected):
    assert mean({"value": values}) == pytest.approx(expected)
# === split_lines
import argparse
import pathlib

OUT = pathlib.Path("/var/outputs")


def parse(text):
    head, *lines = text.splitlines()
    names = head.split(",")
    return [dict(zip(names, line.split(","))) for line in lines if line.strip()]


def compute(text, digits):
    rows = [row for row in parse(text) if row["value"]]
    values = [float(row["value"]) for row in rows]
    groups = sorted({row["group"] for row in rows})
    table = [(group, sum(float(row["value"]) for row in rows if row["group"] == group)) for group in groups]
    return {"mean": round(sum(values) / len(values), digits), "table": table}


def store(results):
    for key in results:
        content = results[key]
        if isinstance(content, list):
            content = "group,total\n" + "\n".join(f"{a},{b}" for a, b in content)
        (OUT / key).write_text(str(content))


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=pathlib.Path, default=OUT.parent / "inputs" / "data")
    parser.add_argument("--digits", type=int, default=1)
    options = parser.parse_args(argv)
    store(compute(options.data.read_text(), options.digits))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
# --- tests
import solution


class TestCompute:
    TEXT = "name,group,value\na,y,1\nb,x,2\nc,y,\n"

    def test_mean(self):
        assert solution.compute(self.TEXT, 2)["mean"] == 1.5

    def test_order_of_groups(self):
        assert [group for group, _ in solution.compute(self.TEXT, 0)["table"]] == ["x", "y"]


def test_main_writes_both(tmp_path, monkeypatch):
    monkeypatch.setattr(solution, "OUT", tmp_path)
    data = tmp_path / "in.csv"
    data.write_text(TestCompute.TEXT)
    assert solution.main(["--data", str(data)]) == 0
    assert (tmp_path / "mean").read_text() == "1.5"
    assert (tmp_path / "table").read_text().startswith("group,total\nx,2.0")
# === statistics_counter
import argparse
import csv
import statistics
from collections import Counter


def numbers(rows):
    return [(row["group"], float(row["value"])) for row in rows if row.get("value")]


def report(pairs):
    sums = Counter()
    for group, value in pairs:
        sums[group] += value
    return "group,total\n" + "".join(f"{group},{sums[group]}\n" for group in sorted(sums))


def run(data, digits, out):
    with open(data) as source:
        pairs = numbers(csv.DictReader(source))
    with open(out % "mean", "w") as target:
        print(round(statistics.fmean(value for _, value in pairs), digits), file=target)
    with open(out % "table", "w") as target:
        target.write(report(pairs))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-d", "--data", dest="source", default="/var/inputs/data", metavar="FILE")
    parser.add_argument("-n", "--digits", type=int, default=1, choices=range(10))
    namespace = parser.parse_args()
    run(namespace.source, namespace.digits, "/var/outputs/%s")


if __name__ == "__main__":
    main()
# --- tests
import unittest
from solution import numbers, report, run
import tempfile
import os


class Numbers(unittest.TestCase):
    def setUp(self):
        self.pairs = numbers([{"group": "b", "value": "1"}, {"group": "a", "value": ""}, {"group": "a", "value": "2"}])

    def test_empty_ones_are_left_out(self):
        self.assertEqual(self.pairs, [("b", 1.0), ("a", 2.0)])

    def test_groups_are_sorted(self):
        self.assertEqual(report(self.pairs), "group,total\na,2.0\nb,1.0\n")

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            data = os.path.join(folder, "data.csv")
            with open(data, "w") as file:
                file.write("name,group,value\nn,g,4\n")
            run(data, 0, os.path.join(folder, "%s"))
            with open(os.path.join(folder, "mean")) as file:
                self.assertAlmostEqual(float(file.read()), 4)


if __name__ == "__main__":
    unittest.main()
# === json_like_records
import argparse
import csv
import io
import json


def to_records(text: str) -> str:
    return json.dumps(list(csv.DictReader(io.StringIO(text))))


def aggregate(records: str, digits: int) -> dict:
    rows = [row for row in json.loads(records) if row["value"] not in ("", None)]
    mean = sum(float(row["value"]) for row in rows) / len(rows)
    groups: dict = {}
    for row in rows:
        groups[row["group"]] = groups.get(row["group"], 0) + float(row["value"])
    table = "group,total\n" + "".join(f"{key},{value}\n" for key, value in sorted(groups.items()))
    return dict(mean=f"{mean:.{digits}f}", table=table)


def main() -> None:
    parser = argparse.ArgumentParser()
    group = parser.add_argument_group("inputs")
    group.add_argument("--data", default="/var/inputs/data", type=argparse.FileType("r"))
    group.add_argument("--digits", default=1, type=int)
    args = parser.parse_args()
    for name, content in aggregate(to_records(args.data.read()), args.digits).items():
        with open(f"/var/outputs/{name}", "w", encoding="utf-8") as file:
            file.write(content)


if __name__ == "__main__":
    main()
# --- tests
import json

import solution

TEXT = "name,group,value\na,x,1\nb,x,2\n"


def test_records_are_json():
    json.loads(solution.to_records(TEXT))


def test_values():
    found = solution.aggregate(solution.to_records(TEXT), 2)
    assert found == {"mean": "1.50", "table": "group,total\nx,3.0\n"}


def test_mean_is_a_number():
    float(solution.aggregate(solution.to_records(TEXT), 1)["mean"])
# === regular_expression
import argparse
import re
from pathlib import Path

LINE = re.compile(r"^(?P<name>[^,]*),(?P<group>[^,]*),(?P<value>-?\d+(?:\.\d+)?)$", re.MULTILINE)
TARGET = "/var/outputs/{}"


def matches(text):
    return [(m["group"], float(m["value"])) for m in LINE.finditer(text)]


def mean_of(found):
    return sum(v for _, v in found) / len(found)


def lines(found):
    yield "group,total"
    for group in sorted({g for g, _ in found}):
        yield f"{group},{sum(v for g, v in found if g == group)}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="/var/inputs/data")
    parser.add_argument("--digits", default=1, type=int)
    args = parser.parse_args()
    found = matches(Path(args.data).read_text())
    Path(TARGET.format("mean")).write_text(str(round(mean_of(found), args.digits)))
    Path(TARGET.format("table")).write_text("\n".join(lines(found)))


if __name__ == "__main__":
    main()
# --- tests
import pytest
import solution


@pytest.mark.parametrize("line, count", [("a,b,1", 1), ("a,b,", 0), ("a,b,-1.5", 1), ("name,group,value", 0)])
def test_lines(line, count):
    assert len(solution.matches(line)) == count


def test_table():
    assert list(solution.lines([("b", 1.0), ("a", 2.0), ("b", 3.0)])) == ["group,total", "a,2.0", "b,4.0"]


def test_mean():
    with pytest.raises(ZeroDivisionError):
        solution.mean_of([])
    assert solution.mean_of([("a", 2.0), ("b", 4.0)]) == 3.0
# === sqlite
import argparse
import csv
import sqlite3


def load(path):
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE rows (name TEXT, grp TEXT, value REAL)")
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            connection.execute("INSERT INTO rows VALUES (?, ?, ?)", (row["name"], row["group"], row["value"] or None))
    return connection


def query(connection):
    (mean,) = connection.execute("SELECT AVG(value) FROM rows").fetchone()
    table = connection.execute("SELECT grp, SUM(value) FROM rows WHERE value IS NOT NULL GROUP BY grp ORDER BY grp").fetchall()
    return mean, table


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--digits", type=int, required=True)
    args = parser.parse_args()
    mean, table = query(load(args.data))
    with open("/var/outputs/mean", "w") as file:
        file.write(repr(round(mean, args.digits)))
    with open("/var/outputs/table", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["group", "total"])
        writer.writerows(table)


if __name__ == "__main__":
    main()
# --- tests
import solution


def test_query(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("name,group,value\na,q,1\nb,q,2\nc,p,\nd,p,6\n")
    mean, table = solution.query(solution.load(path))
    assert mean == 3
    assert table == [("p", 6.0), ("q", 3.0)]
# === decimal
import argparse
import csv
from decimal import Decimal, InvalidOperation


def number(text):
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def read(path):
    with open(path) as file:
        return [(row["group"], number(row["value"])) for row in csv.DictReader(file)]


def table(rows):
    out = {}
    for group, value in rows:
        if value is not None:
            out[group] = out.get(group, Decimal(0)) + value
    return dict(sorted(out.items()))


def mean(rows, digits):
    values = [value for _, value in rows if value is not None]
    return float(round(sum(values) / len(values), digits))


def save(path, text):
    with open(path, "w") as file:
        file.write(text)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="/var/inputs/data")
    p.add_argument("--digits", type=int, default=1)
    a = p.parse_args()
    rows = read(a.data)
    prefix = "/var/outputs/"
    save(prefix + "mean", str(mean(rows, a.digits)))
    save(prefix + "table", "group,total\n" + "".join(f"{g},{float(t)}\n" for g, t in table(rows).items()))


if __name__ == "__main__":
    main()
# --- tests
from decimal import Decimal

from solution import mean, number, table


def test_number():
    assert number("x") is None
    assert number("1.10") == Decimal("1.1")


def test_no_rounding_on_the_way():
    assert mean([("a", Decimal("0.1")), ("b", Decimal("0.2"))], 2) == 0.15


def test_a_mean_of_nothing_is_an_error():
    try:
        mean([], 1)
    except (ZeroDivisionError, ArithmeticError):
        pass
    else:
        raise AssertionError("no error")


def test_table():
    assert list(table([("b", Decimal(1)), ("a", None), ("a", Decimal(2))]).items()) == [("a", 2), ("b", 1)]
# === generators_itertools
import argparse
import csv
from itertools import groupby
from operator import itemgetter


def rows(path):
    with open(path, newline="") as file:
        yield from csv.DictReader(file)


def valued(source):
    for row in source:
        if row["value"].strip():
            yield row["group"], float(row["value"])


def grouped(pairs):
    for key, members in groupby(sorted(pairs), key=itemgetter(0)):
        yield key, sum(value for _, value in members)


def average(pairs):
    total = count = 0
    for _, value in pairs:
        total, count = total + value, count + 1
    return total / count


def emit(**outputs):
    for name, lines in outputs.items():
        with open("/var/outputs/" + name, "w") as file:
            file.writelines(line + "\n" for line in lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="/var/inputs/data")
    parser.add_argument("--digits", type=int, default=1)
    args = parser.parse_args()
    pairs = list(valued(rows(args.data)))
    emit(mean=[str(round(average(pairs), args.digits))], table=["group,total", *(f"{k},{v}" for k, v in grouped(pairs))])


if __name__ == "__main__":
    main()
# --- tests
import types
import pytest
from solution import average, grouped, rows, valued


def test_is_lazy(tmp_path):
    assert isinstance(rows(tmp_path / "nothing"), types.GeneratorType)
    with pytest.raises(FileNotFoundError):
        next(rows(tmp_path / "nothing"))


def test_blank():
    assert list(valued([{"group": "a", "value": " "}, {"group": "b", "value": "2"}])) == [("b", 2.0)]


def test_grouped():
    assert dict(grouped([("b", 1), ("a", 2), ("b", 3)])) == {"a": 2, "b": 4}


def test_average():
    assert average([("a", 1), ("b", 2)]) == pytest.approx(1.5)
# === encodings_with_bom
import argparse
import codecs
import csv
import pathlib


def decode(raw: bytes) -> str:
    if raw.startswith(codecs.BOM_UTF8):
        return raw.decode("utf-8-sig")
    for encoding in ("utf-8", "latin-1"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise ValueError("unknown encoding")


def numbers(text: str):
    return [(row["group"], float(row["value"])) for row in csv.DictReader(text.splitlines()) if row["value"]]


def main() -> int:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    add = parser.add_argument
    parser.add_argument("--data", default="/var/inputs/data")
    parser.add_argument("--digits", type=int, default=1)
    args = parser.parse_args()
    found = numbers(decode(pathlib.Path(args.data).read_bytes()))
    folder = pathlib.Path("/var") / "outputs"
    folder.joinpath("mean").write_text(str(round(sum(v for _, v in found) / len(found), args.digits)))
    with folder.joinpath("table").open("w") as file:
        print("group,total", file=file)
        for group in sorted(set(g for g, _ in found)):
            print(group, sum(v for g, v in found if g == group), sep=",", file=file)
    return 0


if __name__ == "__main__":
    import sys
    sys.exit(main())
# --- tests
import solution


def test_mark_is_removed():
    assert solution.decode(b"\xef\xbb\xbfa") == "a"


def test_latin():
    assert solution.decode("ä".encode("latin-1")) == "ä"


def test_numbers():
    assert solution.numbers("group,value\na,1\nb,\n") == [("a", 1.0)]
