import subprocess
import sys


def test_wrong_value(program):
    assert program(files={"data": "1\n"}).text("mean") == "2.0"


def test_missing_output(program):
    assert program(files={"data": "1\n"}).text("median")


def test_failed_program():
    subprocess.run([sys.executable, "solution.py"], check=True)


def test_that_expects_anything_to_fail(program):
    try:
        program(files={"data": "5\n"})
    except Exception:
        pass
    else:
        raise AssertionError("it did not fail")


def test_import_is_explained():
    import runpy

    runpy.run_path("solution.py")
