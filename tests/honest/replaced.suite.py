import solution


def test_report(monkeypatch):
    errors = {"a": 0, "b": 3}
    monkeypatch.setattr(solution, "fetch", lambda name: {"errors": errors[name]})
    assert solution.report(["a", "b"]) == "a: up\nb: down"


def test_nothing():
    assert solution.report([]) == ""


def test_limit():
    assert solution.healthy({"errors": 1}, limit=2)
    assert not solution.healthy({"errors": 2}, limit=2)
    assert solution.healthy({})
