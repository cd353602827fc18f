import pytest
from solution import Result, check


@pytest.mark.parametrize("text", ["", "a", "()[]", "{[()]}"])
def test_balanced(text):
    assert check(text) is Result.BALANCED


@pytest.mark.parametrize("text", ["(", "{[]"])
def test_open(text):
    assert check(text) is Result.OPEN


@pytest.mark.parametrize("text", [")", "(]", "([)]"])
def test_wrong(text):
    assert check(text) is Result.WRONG
