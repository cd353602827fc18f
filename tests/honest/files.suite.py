import pytest
import solution


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("species,mass\nb,2\na,1\na,2.5\nb,\n", encoding="utf-8")
    return path


def test_incomplete_rows_are_left_out(table):
    rows = solution.read_rows(table)
    assert [row["mass"] for row in rows] == ["2", "1", "2.5"]


def test_means(table):
    assert solution.means(solution.read_rows(table)) == {"a": 1.8, "b": 2.0}


def test_no_rows():
    assert solution.means([]) == {}


def test_written_table(tmp_path):
    path = tmp_path / "out.csv"
    solution.write_means(path, {"a": 1.5})
    assert path.read_text().splitlines() == ["species,mean", "a,1.5"]
