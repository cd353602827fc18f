import solution

TREE = {"a": {"b": 1, "c": {"d": 2}}, "e": 3}


def check(tree, expected):
    assert solution.flatten(tree) == expected


def test_flat():
    check({"x": 1}, {"x": 1})


def test_nested():
    check(TREE, {"a.b": 1, "a.c.d": 2, "e": 3})


def test_empty():
    check({}, {})


def test_depth():
    assert [solution.depth(tree) for tree in (TREE, {"x": 1}, {}, 4)] == [3, 1, 0, 0]
