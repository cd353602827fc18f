import pytest
import solution


@pytest.fixture
def orders():
    connection = solution.create(":memory:")
    assert solution.insert(connection, [("a", 1.0), ("b", 5.0), ("a", 2.0)]) == 3
    yield connection
    connection.close()


def test_best(orders):
    assert solution.best(orders) == [("b", 5.0)]


def test_all(orders):
    assert solution.best(orders, limit=5) == [("b", 5.0), ("a", 3.0)]


def test_file(tmp_path):
    path = tmp_path / "orders.db"
    solution.insert(solution.create(path), [("c", 1.0)])
    assert path.stat().st_size > 0
