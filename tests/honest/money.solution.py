"""Split an amount of money."""

from decimal import ROUND_HALF_UP, Decimal

CENT = Decimal("0.01")


def with_tax(net: Decimal, rate: Decimal) -> Decimal:
    """An amount with its tax, to the cent."""
    return (net * (1 + rate)).quantize(CENT, rounding=ROUND_HALF_UP)


def shares(amount: Decimal, people: int) -> list[Decimal]:
    """Equal shares, the first ones a cent more where it does not work out."""
    if people < 1:
        raise ValueError("nobody to share with")
    base = (amount / people).quantize(CENT, rounding="ROUND_DOWN")
    rest = int((amount - base * people) / CENT)
    return [base + CENT if number < rest else base for number in range(people)]


def main() -> None:
    print(shares(Decimal("10"), 3))


if __name__ == "__main__":
    main()
