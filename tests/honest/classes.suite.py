import pytest

from solution import Inventory, OutOfStock


class TestInventory:
    def setup_method(self):
        self.inventory = Inventory()

    def test_is_empty_at_first(self):
        assert self.inventory.total() == 0

    def test_adds_up(self):
        self.inventory.put("nails", 2)
        self.inventory.put("nails", 3)
        self.inventory.put("screws", 1)
        assert self.inventory.stock == {"nails": 5, "screws": 1}
        assert self.inventory.total() == 6

    def test_takes_out(self):
        self.inventory.put("nails", 5)
        assert self.inventory.take("nails", 4) == 1
        assert self.inventory.take("nails", 1) == 0

    def test_never_falls_below_nothing(self):
        with pytest.raises(OutOfStock):
            self.inventory.take("nails", 1)

    def test_amounts_are_positive(self):
        with pytest.raises(ValueError):
            self.inventory.put("nails", 0)
