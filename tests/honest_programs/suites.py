# === star_of_plain_asserts
# --- tests
from solution import *


def test_summarise():
    mean, totals = summarise([{"group": "a", "value": "2"}])
    assert mean == 2.0
    assert totals == {"a": 2.0}
# === parametrize_with_ids
# --- tests
import pytest
from solution import summarise

CASES = {"one": (["1"], 1.0), "two": (["1", "2"], 1.5), "none": ([], 0.0), "blank": (["", "3"], 3.0)}


@pytest.mark.parametrize("values, mean", CASES.values(), ids=CASES.keys())
def test_mean(values, mean):
    assert summarise([{"group": "g", "value": value} for value in values])[0] == pytest.approx(mean, abs=1e-9)
# === stacked_parametrize
# --- tests
import pytest
import solution


@pytest.mark.parametrize("group", ["x", "ü", ""])
@pytest.mark.parametrize("value", ["1", "-1.5", "1e3"])
class TestEach:
    def test_group(self, group, value):
        assert solution.summarise([{"group": group, "value": value}])[1] == {group: float(value)}

    def test_mean(self, group, value):
        assert solution.summarise([{"group": group, "value": value}])[0] == float(value)
# === generated_tests
# --- tests
from solution import summarise


def pytest_generate_tests(metafunc):
    if "count" in metafunc.fixturenames:
        metafunc.parametrize("count", range(1, 4))


def test_equal_values(count):
    assert summarise([{"group": "a", "value": "2"}] * count) == (2.0, {"a": 2.0 * count})
# === unittest_with_subtests
# --- tests
import unittest
import solution


class SummariseTest(unittest.TestCase):
    def test_means(self):
        for values, mean in ((["1"], 1), (["1", "3"], 2)):
            with self.subTest(values=values):
                self.assertAlmostEqual(solution.summarise([{"group": "a", "value": v} for v in values])[0], mean)

    def test_bad_number(self):
        self.assertRaises(ValueError, solution.summarise, [{"group": "a", "value": "x"}])

    def test_missing_column(self):
        with self.assertRaisesRegex(KeyError, "value"):
            solution.summarise([{"group": "a"}])
# === unittest_base_class
# --- tests
import tempfile
import unittest
from pathlib import Path

import solution


class WithFile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = Path(cls.folder.name) / "d.csv"
        cls.path.write_text("group,value\na,1\nb,2\n")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        self.rows = solution.read(self.path)


class TestRows(WithFile):
    def test_count(self):
        self.assertEqual(len(self.rows), 2)

    def test_names(self):
        self.assertListEqual([row["group"] for row in self.rows], ["a", "b"])
# === fixtures_that_yield
# --- tests
import os
import pytest
import solution


@pytest.fixture
def folder(tmp_path):
    before = os.getcwd()
    os.chdir(tmp_path)
    yield tmp_path
    os.chdir(before)


@pytest.fixture(params=["utf-8", "utf-8"])
def data(folder, request):
    (folder / "d.csv").write_text("group,value\né,1\n", encoding=request.param)
    return "d.csv"


def test_relative_path(data):
    assert solution.read(data)[0]["group"] == "é"
# === autouse_fixture_runs_the_program
# --- tests
import pytest
import solution


@pytest.fixture(autouse=True)
def outputs(tmp_path, monkeypatch):
    written = {}
    data = tmp_path / "d"
    data.write_text("group,value\nb,1\na,2\n")
    monkeypatch.setattr("sys.argv", ["solution.py", "--data", str(data), "--digits", "2"])
    monkeypatch.setattr(solution, "write_output", written.__setitem__)
    solution.main()
    return written


def test_mean(outputs):
    assert outputs["mean"] == "1.5"


@pytest.mark.usefixtures("outputs")
class TestTable:
    def test_lines(self, outputs):
        assert outputs["table"].splitlines() == ["group,total", "a,2.0", "b,1.0"]
# === conditional_skips
# --- tests
import os
import sys
import pytest
import solution


@pytest.mark.skipif(sys.platform == "win32", reason="paths differ")
def test_read(tmp_path):
    (tmp_path / "d").write_text("group,value\n")
    assert solution.read(tmp_path / "d") == []


@pytest.mark.xfail(sys.version_info < (3, 6), reason="order of dictionaries")
def test_order():
    assert list(solution.summarise([{"group": "b", "value": "1"}, {"group": "a", "value": "1"}])[1]) == ["b", "a"]


def test_unreadable(tmp_path):
    path = tmp_path / "d"
    path.write_text("group,value\n")
    path.chmod(0)
    if os.getuid() == 0:
        pytest.skip("root reads everything")
    with pytest.raises(PermissionError):
        solution.read(path)
# === importorskip
# --- tests
import pytest

json = pytest.importorskip("json")
import solution


def test_rows_are_plain(tmp_path):
    (tmp_path / "d").write_text("group,value\na,1\n")
    assert json.loads(json.dumps(solution.read(tmp_path / "d"))) == [{"group": "a", "value": "1"}]
# === calls_that_raise
# --- tests
import json
from decimal import Decimal

import solution


def validate(result):
    mean, totals = result
    if not isinstance(mean, float) or set(map(type, totals.values())) != {float}:
        raise TypeError(result)


def test_types():
    validate(solution.summarise([{"group": "a", "value": "1"}]))


def test_decimal():
    Decimal(str(solution.summarise([{"group": "a", "value": "1"}])[0]))


def test_json():
    json.loads(json.dumps(solution.summarise([])))
# === smoke_test_beside_others
# --- tests
import solution


def test_main_ends(tmp_path, monkeypatch):
    (tmp_path / "d").write_text("group,value\na,1\n")
    monkeypatch.setattr("sys.argv", ["x", "--data", str(tmp_path / "d")])
    monkeypatch.setattr(solution, "write_output", lambda name, value: None)
    solution.main()
    assert True


def test_summarise():
    assert solution.summarise([])[1] == {}
# === else_raises_assertion_error
# --- tests
from solution import summarise


def assert_positive(result):
    assert result[0] > 0


def test_a_negative_mean_is_noticed():
    try:
        assert_positive(summarise([{"group": "a", "value": "-1"}]))
    except AssertionError:
        pass
    else:
        raise AssertionError("a negative mean went unnoticed")


def test_bad_values():
    for text in ("x", "1,5", "--"):
        try:
            summarise([{"group": "a", "value": text}])
        except ValueError:
            continue
        raise AssertionError(text)
# === program_as_a_child
# --- tests
import subprocess
import sys
from pathlib import Path

import pytest

SOLUTION = Path(__file__).with_name("solution.py")


def run(*arguments, **kwargs):
    return subprocess.run([sys.executable, SOLUTION, *arguments], capture_output=True, text=True, **kwargs)


def test_writes(tmp_path):
    data = tmp_path / "d.csv"
    data.write_text("group,value\na,1\na,2\n")
    run("--data", str(data), "--digits", "0", check=True)
    assert Path("/var/outputs/mean").read_text() == "2.0"


@pytest.mark.parametrize("arguments", [["--digits", "x"], ["--unknown"]])
def test_bad_options(arguments):
    assert run(*arguments).returncode == 2


def test_missing_file():
    done = run("--data", "/nowhere")
    assert done.returncode != 0 and "FileNotFoundError" in done.stderr
# === child_killed_by_the_test
# --- tests
import os
import signal
import subprocess
import sys
import time

import solution


def test_waits_for_its_data(tmp_path):
    pipe = tmp_path / "data"
    os.mkfifo(pipe)
    child = subprocess.Popen([sys.executable, solution.__file__, "--data", str(pipe)])
    try:
        assert child.poll() is None
    finally:
        os.kill(child.pid, signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
# === multiprocessing_in_a_test
# --- tests
import multiprocessing

import solution


def test_in_another_process():
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(solution.summarise, ([{"group": "a", "value": "1"}],)) == (1.0, {"a": 1.0})
# === runpy_and_reload
# --- tests
import importlib
import runpy
import sys

import pytest
import solution


def test_as_a_script(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["solution.py", "--help"])
    with pytest.raises(SystemExit) as caught:
        runpy.run_path(solution.__file__, run_name="__main__")
    assert caught.value.code == 0
    assert "--digits" in capsys.readouterr().out


def test_reload_gives_the_same():
    again = importlib.reload(sys.modules["solution"])
    assert again.summarise([]) == (0.0, {})
# === loaded_from_its_path
# --- tests
import importlib.util
from pathlib import Path

PATH = Path(__file__).parent / "solution.py"


def load():
    spec = importlib.util.spec_from_file_location("program_under_test", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PROGRAM = load()


def test_summarise():
    assert PROGRAM.summarise([{"group": "a", "value": "3"}]) == (3.0, {"a": 3.0})
# === mock_open_and_patch
# --- tests
from unittest import mock

import solution


def test_read():
    with mock.patch("builtins.open", mock.mock_open(read_data="group,value\na,1\n")) as opened:
        assert solution.read("x.csv") == [{"group": "a", "value": "1"}]
    opened.assert_called_once_with("x.csv", newline="", encoding="utf-8")


@mock.patch.object(solution.Path, "write_text")
def test_write(write):
    solution.write_output("mean", "1")
    write.assert_called_once_with("1")


def test_any_text():
    with mock.patch.object(solution, "read", return_value=[]) as read, mock.patch.object(solution, "write_output") as write:
        with mock.patch("sys.argv", ["x"]):
            solution.main()
    read.assert_called_once()
    assert write.call_args_list == [mock.call("mean", "0.0"), mock.call("table", mock.ANY)]
# === mocker_plugin
# --- tests
import solution


def test_spy(mocker):
    spy = mocker.spy(solution, "summarise")
    mocker.patch.object(solution, "read", return_value=[{"group": "a", "value": "1"}])
    written = mocker.patch.object(solution, "write_output")
    mocker.patch("sys.argv", ["solution"])
    solution.main()
    spy.assert_called_once()
    written.assert_any_call("mean", "1.0")
# === monkeypatch_types
# --- tests
from __future__ import annotations

from pathlib import Path

from _pytest.capture import CaptureFixture
from _pytest.monkeypatch import MonkeyPatch
import pytest
import solution


def test_help(monkeypatch: MonkeyPatch, capsys: CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["solution.py", "-h"])
    with pytest.raises(SystemExit):
        solution.main()
    assert capsys.readouterr().out.startswith("usage:")


def test_path(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        solution.read(tmp_path)
# === fake_exit
# --- tests
import argparse
import pytest
import solution


class Left(Exception):
    pass


def test_errors_of_options(monkeypatch):
    def leave(self, message):
        raise SystemExit(message)

    monkeypatch.setattr(argparse.ArgumentParser, "error", leave)
    monkeypatch.setattr("sys.argv", ["x", "--digits", "one"])
    with pytest.raises(SystemExit, match="invalid int value"):
        solution.main()


def test_left():
    with pytest.raises(Left):
        for _ in solution.summarise([]):
            raise Left
# === warnings_and_recwarn
# --- tests
import warnings
import solution


def test_no_warnings(recwarn, tmp_path):
    path = tmp_path / "d"
    path.write_text("group,value\na,1\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = solution.read(path)
    assert rows and len(recwarn) == 0
# === nan_by_comparison
# --- tests
import math
import solution


def test_nan_goes_through():
    mean, _ = solution.summarise([{"group": "a", "value": "nan"}])
    assert mean != mean
    assert math.isnan(mean)


def test_numbers_are_equal_to_themselves():
    mean, _ = solution.summarise([{"group": "a", "value": "1"}])
    assert mean == mean
# === property_by_random
# --- tests
import random
import pytest
from solution import summarise

RANDOM = random.Random(7)


def rows():
    return [{"group": RANDOM.choice("abc"), "value": str(RANDOM.randrange(100))} for _ in range(20)]


@pytest.mark.parametrize("given", [rows() for _ in range(5)])
def test_order_does_not_matter(given):
    shuffled = RANDOM.sample(given, len(given))
    assert summarise(shuffled) == summarise(given)


@pytest.mark.parametrize("given", [rows()])
def test_totals_and_mean_agree(given):
    mean, totals = summarise(given)
    assert sum(totals.values()) == pytest.approx(mean * len(given))
# === helpers_and_constants
# --- tests
import textwrap

import solution

TEXT = textwrap.dedent(
    """\
    name,group,value
    a,x,1
    b,y,2
    """
)
EXPECTED = (1.5, {"x": 1.0, "y": 2.0})


def given(tmp_path, text=TEXT):
    path = tmp_path / "in.csv"
    path.write_text(text)
    return path


def check(path, expected):
    assert solution.summarise(solution.read(path)) == expected


def test_all(tmp_path):
    check(given(tmp_path), EXPECTED)


def test_quotes(tmp_path):
    check(given(tmp_path, 'group,value\n"a,b","1"\n'), (1.0, {"a,b": 1.0}))
# === nested_classes
# --- tests
import pytest
import solution


class TestSummarise:
    rows = [{"group": "a", "value": "1"}]

    class TestTotals:
        def test_one(self):
            assert solution.summarise(TestSummarise.rows)[1] == {"a": 1.0}

    @pytest.fixture(autouse=True)
    def result(self):
        self.mean, self.totals = solution.summarise(self.rows * 2)

    def test_mean(self):
        assert self.mean == 1.0

    def test_totals(self):
        assert self.totals == {"a": 2.0}
# === setup_functions
# --- tests
import solution

RESULT = None


def setup_module(module):
    global RESULT
    RESULT = solution.summarise([{"group": "a", "value": "1"}, {"group": "b", "value": "2"}])


class TestResult:
    def setup_method(self):
        self.totals = dict(RESULT[1])

    def test_mean(self):
        assert RESULT[0] == 1.5

    def test_groups(self):
        assert sorted(self.totals) == ["a", "b"]
# === doctest_inside
# --- tests
import doctest
import solution


def means():
    """
    >>> solution.summarise([{"group": "a", "value": "1"}])
    (1.0, {'a': 1.0})
    """


def test_examples():
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner()
    for example in finder.find(means, "means", globs={"solution": solution}):
        assert runner.run(example).failed == 0
# === comparison_object_of_the_test
# --- tests
import solution


class Near:
    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return abs(other - self.value) < 1e-9

    def __repr__(self):
        return f"about {self.value}"


def test_floats():
    rows = [{"group": "a", "value": "0.1"}, {"group": "a", "value": "0.2"}]
    assert solution.summarise(rows) == (Near(0.15), {"a": Near(0.3)})
# === fail_and_messages
# --- tests
import pytest
import solution


def test_all_groups():
    _, totals = solution.summarise([{"group": g, "value": "1"} for g in "abc"])
    missing = set("abc") - set(totals)
    if missing:
        pytest.fail(f"missing: {missing}")
    for group, total in totals.items():
        assert total == 1.0, f"{group}: {total}"
# === large_input_and_time
# --- tests
import csv
import time

import solution


def test_many_rows(tmp_path):
    path = tmp_path / "many.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["group", "value"])
        writer.writerows([str(n % 10), "1"] for n in range(20_000))
    started = time.monotonic()
    mean, totals = solution.summarise(solution.read(path))
    assert (mean, len(totals), totals["3"]) == (1.0, 10, 2000.0)
    assert time.monotonic() - started < 10
