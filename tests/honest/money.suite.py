from decimal import Decimal as D

import pytest

import solution as s


def test_tax():
    assert s.with_tax(D("10.00"), D("0.19")) == D("11.90")
    assert s.with_tax(D("0.05"), D("0.10")) == D("0.06")


def test_shares_add_up():
    given = s.shares(D("10.00"), 3)
    assert sum(given) == D("10.00")
    assert given == [D("3.34"), D("3.33"), D("3.33")]


def test_nobody():
    with pytest.raises(ValueError):
        s.shares(D("1"), 0)
