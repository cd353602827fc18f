import pytest
import solution
from solution import Point, Route


@pytest.fixture
def square():
    return Route([Point(0, 0), Point(1, 0), Point(1, 1), Point(0, 1)])


def test_distance():
    assert Point(1, 1).distance(Point(4, 5)) == pytest.approx(5.0)


def test_length(square):
    assert square.length == pytest.approx(3.0)


def test_closed(square):
    closed = square.closed()
    assert closed.points[-1] == Point(0, 0)
    assert closed.length == pytest.approx(4.0)


def test_nothing_is_closed():
    assert solution.Route().closed() == Route()
