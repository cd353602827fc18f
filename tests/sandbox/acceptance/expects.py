def test_the_secret_expectation(program):
    found = program(files={"data.csv": "value\n1\n"}).json("found")
    assert found["files"] == []
    assert found["beside"] == ["solution.py"]
    assert found["processes"] == []
    assert found["environment"] == []
    assert found["modules"] == []
    assert found["arguments"] == ["--data", "/var/inputs/given/data.csv"]


def test_after_it(program):
    import json
    import os

    program(files={"data": "plugh"})
    assert json.__file__.startswith(os.path.dirname(os.__file__))
    assert not os.path.exists("/tmp/alive")
    assert not {"conftest.py", "sitecustomize.py", "json.py", "inputs"} & set(os.listdir())


def test_that_fails():
    assert 1 == 2, "plugh"
