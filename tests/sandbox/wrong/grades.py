"""Ranks of pupils by their points, with ties."""

import argparse
import csv
import statistics
from pathlib import Path


def read(path: str) -> dict[str, dict[str, float]]:
    """Points of each pupil by subject; the best of several tries counts."""
    points: dict[str, dict[str, float]] = {}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter=";"):
            pupil, subject = row["pupil"].strip(), row["subject"].strip().lower()
            try:
                value = float(row["points"].replace(",", "."))
            except ValueError:
                continue
            if not pupil or value < 0:
                continue
            tries = points.setdefault(pupil, {})
            tries[subject] = max(tries.get(subject, 0), value)
    return points


def ranked(points: dict[str, dict[str, float]], subjects: int) -> list[tuple[int, str, float]]:
    """Rank, pupil and sum of the best subjects; equal sums share a rank, and the next one is left out."""
    sums = []
    for pupil, tries in points.items():
        if len(tries) < subjects:
            continue
        best = sorted(tries.values(), reverse=True)[:subjects]
        sums.append((sum(best), pupil))
    sums.sort(key=lambda entry: (-entry[0], entry[1].lower()))
    ranks = []
    for total, pupil in sums:
        better = [other for other, _ in sums if other > total]
        ranks.append((len(better) + 1, pupil, total))
    return ranks


def main() -> None:
    """Write the ranks, the median and the number of those that pass."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--points", default="/var/inputs/points.csv")
    parser.add_argument("--subjects", type=int, default=1)
    parser.add_argument("--pass_mark", type=float, default=50)
    args = parser.parse_args()
    ranks = ranked(read(args.points), args.subjects)
    totals = [total for _, _, total in ranks]
    with open("/var/outputs/ranks", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["rank", "pupil", "total"])
        writer.writerows(ranks)
    passed = sum(1 for total in totals if total >= args.pass_mark)
    Path("/var/outputs/passed").write_text(str(passed))
    Path("/var/outputs/median").write_text(str(statistics.median(totals) if totals else 0))


if __name__ == "__main__":
    main()
