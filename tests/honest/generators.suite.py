from solution import encode, runs


def test_runs():
    assert list(runs("aabccc")) == [("a", 2), ("b", 1), ("c", 3)]


def test_nothing():
    assert list(runs([])) == []


def test_encoded():
    assert encode("zz!") == "z2!1"
