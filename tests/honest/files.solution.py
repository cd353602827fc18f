"""Mean mass by species of a table."""

import csv
from collections import defaultdict


def read_rows(path):
    """Rows of a table, incomplete ones left out."""
    with open(path, newline="", encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if row["mass"].strip()]


def means(rows):
    """Mean mass by species, to one decimal."""
    groups = defaultdict(list)
    for row in rows:
        groups[row["species"]].append(float(row["mass"]))
    return {species: round(sum(values) / len(values), 1) for species, values in sorted(groups.items())}


def write_means(path, result):
    """Write a table of two columns."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["species", "mean"])
        writer.writerows(result.items())


def main():
    print(means([{"species": "a", "mass": "1"}]))


if __name__ == "__main__":
    main()
