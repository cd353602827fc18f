import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("solution.py")


def run(*arguments):
    done = subprocess.run([sys.executable, str(PROGRAM), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_words():
    assert run("a b", "c") == "3"


def test_nothing():
    assert run() == "0"
