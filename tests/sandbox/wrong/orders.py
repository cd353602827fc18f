"""Invoice totals of an orders file."""

import argparse
import csv
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from pathlib import Path


def amount(text: str | None) -> Decimal | None:
    """A number; None where there is none."""
    try:
        return Decimal((text or "").strip())
    except InvalidOperation:
        return None


def read(path: str) -> tuple[list[dict[str, str]], int]:
    """Orders that count, each id once, and how many rows lack quantity or price."""
    seen: set[str] = set()
    orders = []
    skipped = 0
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["status"].strip().lower() == "cancelled" or row["id"] in seen:
                continue
            if amount(row["quantity"]) is None or amount(row["unit_price"]) is None:
                skipped += 1
                continue
            seen.add(row["id"])
            orders.append(row)
    return orders, skipped


def value(order: dict[str, str], discount: int) -> Decimal:
    """What an order costs, less the discount of large ones, in cents."""
    gross = amount(order["quantity"]) * amount(order["unit_price"])
    if gross >= 100:
        gross = gross * (100 - discount) / 100
    return gross.quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)


def totals(orders: list[dict[str, str]], discount: int) -> list[tuple[str, Decimal]]:
    """Totals of the customers, largest first, then by name."""
    sums: dict[str, Decimal] = {}
    for order in orders:
        customer = order["customer"].strip()
        sums[customer] = sums.get(customer, Decimal(0)) + value(order, discount)
    return sorted(sums.items(), key=lambda item: (-item[1], item[0]))


def main() -> None:
    """Write the invoices, their sum and the number of skipped rows."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--orders", default="/var/inputs/orders.csv")
    parser.add_argument("--discount", type=int, default=10)
    args = parser.parse_args()
    orders, skipped = read(args.orders)
    rows = totals(orders, args.discount)
    with open("/var/outputs/invoices", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["customer", "total"])
        writer.writerows(rows)
    Path("/var/outputs/total").write_text(str(sum(total for _, total in rows)))
    Path("/var/outputs/skipped").write_text(str(skipped))


if __name__ == "__main__":
    main()
