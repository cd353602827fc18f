"""Visits of each month from a table with dates."""

import argparse
import csv
from collections import defaultdict
from datetime import date, datetime
from pathlib import Path

FORMATS = ("%Y-%m-%d", "%d.%m.%Y")


def day(text: str) -> date | None:
    """A date in one of two forms; None where it is none."""
    for form in FORMATS:
        try:
            return datetime.strptime(text.strip(), form).date()
        except ValueError:
            pass
    return None


def read(path: str, since: date, until: date) -> list[tuple[date, str, int]]:
    """Visits from the first to the last day, both included."""
    visits = []
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            when = day(row["date"])
            if when is None or not row["minutes"].strip():
                continue
            if since <= when <= until:
                visits.append((when, row["visitor"].strip().title(), int(row["minutes"])))
    return visits


def by_month(visits: list[tuple[date, str, int]]) -> list[list[object]]:
    """Month, visits, visitors that differ, and mean minutes, in order of time."""
    months: dict[str, list[tuple[date, str, int]]] = defaultdict(list)
    for visit in visits:
        months[visit[0].strftime("%Y-%m")].append(visit)
    rows = []
    for month in sorted(months):
        found = months[month]
        mean = sum(minutes for _, _, minutes in found) / len(found)
        rows.append([month, len(found), len({visitor for _, visitor, _ in found}), round(mean, 1)])
    return rows


def main() -> None:
    """Write the months, the first and the last visit."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--visits", default="/var/inputs/visits.csv")
    parser.add_argument("--since", default="2020-01-01")
    parser.add_argument("--until", default="2029-12-31")
    args = parser.parse_args()
    visits = read(args.visits, date.fromisoformat(args.since), date.fromisoformat(args.until))
    with open("/var/outputs/months", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["month", "visits", "visitors", "mean_minutes"])
        writer.writerows(by_month(visits))
    days = [when for when, _, _ in visits]
    Path("/var/outputs/first").write_text(str(min(days, default="")))
    Path("/var/outputs/last").write_text(str(max(days, default="")))


if __name__ == "__main__":
    main()
