"""Keep an inventory of goods."""


class OutOfStock(Exception):
    """Less is there than is wanted."""


class Inventory:
    """Goods by name."""

    def __init__(self):
        self.stock = {}

    def put(self, name, amount):
        """Add some of a good."""
        if amount <= 0:
            raise ValueError("amounts are positive")
        self.stock[name] = self.stock.get(name, 0) + amount

    def take(self, name, amount):
        """Remove some of a good; what is left."""
        left = self.stock.get(name, 0) - amount
        if left < 0:
            raise OutOfStock(name)
        self.stock[name] = left
        return left

    def total(self):
        """Everything together."""
        return sum(self.stock.values())


def main():
    inventory = Inventory()
    inventory.put("nails", 3)
    print(inventory.total())


if __name__ == "__main__":
    main()
