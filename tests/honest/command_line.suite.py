import sys

import solution


def test_sum(capsys):
    assert solution.main(["1", "2.25"]) == 0
    assert capsys.readouterr().out == "3.2\n"


def test_decimals(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["solution.py", "--decimals", "0", "4"])
    solution.main()
    assert capsys.readouterr().out.strip() == "4"


def test_no_numbers(capsys):
    assert solution.main([]) == 2
    assert "no numbers" in capsys.readouterr().err
