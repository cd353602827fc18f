import argparse
import csv
import os
import random
import sys

IS_CASE = True


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sales", default="/var/inputs/sales.csv")
    parser.add_argument("--factor", type=int, default=2)
    parser.add_argument("--months")
    args = parser.parse_args()
    units = {}
    files = [args.sales] + [os.path.join(args.months, name) for name in sorted(os.listdir(args.months))]
    for path in files:
        for row in read(path):
            units[row["item"]] = units.get(row["item"], 0) + int(row["units"])
    if not IS_CASE:
        units = {"nonsense": 1}
    with open("/var/outputs/total", "w") as file:
        file.write(str(sum(units.values()) * args.factor))
    with open("/var/outputs/items", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["item", "units"])
        writer.writerows(sorted(units.items()))


if __name__ == "__main__":
    main()
