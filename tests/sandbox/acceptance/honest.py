import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "numbers.txt"
    path.write_text("1\n2\n6\n")
    return path


def test_by_the_fixture(program, data):
    result = program({"data": data, "digits": 0})
    assert result.exit_code == 0
    assert result.text("mean") == "3.0"
    assert result.json("facts") == {"count": 3}
    assert result.rows("table") == [{"value": "1.0"}, {"value": "2.0"}, {"value": "6.0"}]
    assert result.outputs["parts"] == {"one": b"1"}
    assert result.stdout == "3 values\n"


def test_by_files_that_are_given(program):
    assert program(files={"data.csv": "4\n"}).text("mean") == "4.0"


def test_one_call_after_the_other(program):
    first = program(files={"data": "1\n"}).text("mean")
    second = program(files={"data": f"{first}\n3\n"}).text("mean")
    assert (first, second) == ("1.0", "2.0")


def test_by_subprocess(data):
    done = subprocess.run([sys.executable, "solution.py", "--data", str(data)], capture_output=True, text=True, check=True)
    assert done.stdout == "3 values\n"
    assert Path("/var/outputs/mean").read_text() == "3.0\n"


def test_by_check_output_and_an_equals_sign(data):
    script = Path(__file__).with_name("solution.py")
    assert subprocess.check_output([sys.executable, script, f"--data={data}"]) == b"3 values\n"


def test_by_the_file_of_the_module(data):
    import solution

    subprocess.run([sys.executable, solution.__file__, "--data", str(data)], check=True)
    assert Path("/var/outputs/mean").read_text() == "3.0\n"


def test_by_check_call(data):
    assert subprocess.check_call(["python3", "solution.py", "--data", data]) == 0
    assert os.listdir("/var/outputs/parts") == ["one"]


def test_a_refusal(tmp_path):
    empty = tmp_path / "empty"
    empty.touch()
    with pytest.raises(subprocess.CalledProcessError) as caught:
        subprocess.run([sys.executable, "solution.py", "--data", empty], check=True, capture_output=True, text=True)
    assert caught.value.returncode == 3
    assert caught.value.stderr == "no values\n"
    assert not Path("/var/outputs/mean").exists()


@pytest.mark.parametrize("words", [["--digits", "x"], []])
def test_bad_options(program, words):
    assert subprocess.call([sys.executable, "solution.py", *words]) == 2


def test_other_children_are_left_alone():
    assert subprocess.check_output([sys.executable, "-c", "print(1)"], text=True) == "1\n"


def test_an_input_that_is_not_there(program):
    result = program({"data": "/nowhere"})
    assert result.exit_code == 1 and "FileNotFoundError" in result.stderr
