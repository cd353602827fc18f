"""Sales with the prices of a second file."""

import argparse
import csv
from pathlib import Path


def rows(path: str) -> list[dict[str, str]]:
    """Rows of a table, with no space around the values."""
    with open(path, newline="", encoding="utf-8") as file:
        return [{key: (value or "").strip() for key, value in row.items()} for row in csv.DictReader(file)]


def price_list(path: str) -> dict[str, float]:
    """Price of each article; of several the last one counts."""
    prices = {}
    for row in rows(path):
        if row["price"]:
            prices[row["article"].upper()] = float(row["price"])
    return prices


def joined(sales: list[dict[str, str]], prices: dict[str, float]) -> tuple[list[dict], list[str]]:
    """Sales that have a price, and articles that have none."""
    known, unknown = [], set()
    for sale in sales:
        article = sale["article"].upper()
        if article not in prices:
            unknown.add(article)
            continue
        units = int(sale["units"] or 1)
        known.append({"article": article, "region": sale["region"] or "other", "value": units * prices[article]})
    return known, sorted(unknown)


def by_region(known: list[dict], least: float) -> list[tuple[str, int, float]]:
    """Regions with sales of at least so much: articles that differ and value, by name."""
    regions: dict[str, list[dict]] = {}
    for sale in known:
        regions.setdefault(sale["region"], []).append(sale)
    result = []
    for region, sales in sorted(regions.items()):
        value = sum(sale["value"] for sale in sales)
        if value >= least:
            result.append((region, len(set(sale["article"] for sale in sales)), round(value, 2)))
    return result


def main() -> None:
    """Write the regions, articles without a price and the number of sales."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sales", default="/var/inputs/sales.csv")
    parser.add_argument("--prices", default="/var/inputs/prices.csv")
    parser.add_argument("--least", type=float, default=0)
    args = parser.parse_args()
    known, unknown = joined(rows(args.sales), price_list(args.prices))
    with open("/var/outputs/regions", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["region", "articles", "value"])
        writer.writerows(by_region(known, args.least))
    Path("/var/outputs/unknown").write_text(",".join(unknown))
    Path("/var/outputs/sold").write_text(str(len(known)))


if __name__ == "__main__":
    main()
