"""Totals of a sales file, its options read by hand."""

import csv
import sys
from pathlib import Path


def read(path: str) -> list[dict[str, str]]:
    """Rows of the file."""
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def number(text: str) -> float:
    """A number; nothing is 0."""
    return float(text) if text.strip() else 0.0


def revenue(rows: list[dict[str, str]]) -> float:
    """Units times price, less the discount."""
    return sum(number(row["units"]) * number(row["price"]) * (1 - number(row["discount"])) for row in rows)


def by_item(rows: list[dict[str, str]]) -> list[tuple[str, int]]:
    """Units of each item, most first, then by name."""
    units: dict[str, int] = {}
    for row in rows:
        units[row["item"]] = units.get(row["item"], 0) + int(number(row["units"]))
    return sorted(units.items(), key=lambda entry: (-entry[1], entry[0]))


def main() -> None:
    """Write the three outputs."""
    options = {"--sales": "/var/inputs/sales.csv", "--decimals": "2"}
    options.update(zip(sys.argv[1::2], sys.argv[2::2]))
    rows = read(options["--sales"])
    Path("/var/outputs/revenue").write_text(f"{revenue(rows):.{int(options['--decimals'])}f}")
    Path("/var/outputs/rows").write_text(str(len(rows)))
    with open("/var/outputs/items", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "units"])
        writer.writerows(by_item(rows))


if __name__ == "__main__":
    main()
