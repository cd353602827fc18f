"""Requests of a web server's log by their path."""

import argparse
import csv
import re
from pathlib import Path

LINE = re.compile(r'^(\S+) \[([^\]]*)\] "([A-Z]+) (\S+)[^"]*" (\d{3}) (\d+|-)(?: (\d+)ms)?\s*$')


def path_of(target: str) -> str:
    """The path in small letters without query and last slash."""
    path = target.split("?")[0].lower()
    return path.rstrip("/") or "/"


def parse(text: str) -> tuple[list[dict], int]:
    """Requests, and how many lines are none."""
    requests, odd = [], 0
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        match = LINE.match(line)
        if not match:
            odd += 1
            continue
        host, _, method, target, status, size, took = match.groups()
        size = 0 if size == "-" else int(size)
        requests.append({"host": host, "method": method, "path": path_of(target), "status": int(status), "size": size, "took": took})
    return requests, odd


def summary(requests: list[dict], slow: int) -> list[list]:
    """Path, requests, hosts that differ, errors, bytes, slow ones; most requests first, then by path."""
    paths: dict[str, list[dict]] = {}
    for request in requests:
        if request["method"] != "OPTIONS":
            paths.setdefault(request["path"], []).append(request)
    rows = []
    for path, found in paths.items():
        hosts = {request["host"] for request in found}
        errors = sum(1 for request in found if request["status"] >= 400)
        size = sum(request["size"] for request in found if request["status"] < 400)
        late = sum(1 for request in found if request["took"] and int(request["took"]) > slow)
        rows.append([path, len(found), len(hosts), errors, size, late])
    return sorted(rows, key=lambda row: (-row[1], row[0]))


def main() -> None:
    """Write the paths, the number of odd lines and the busiest path."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--log", default="/var/inputs/access.log")
    parser.add_argument("--slow", type=int, default=500)
    args = parser.parse_args()
    requests, odd = parse(Path(args.log).read_text(encoding="utf-8", errors="replace"))
    rows = summary(requests, args.slow)
    with open("/var/outputs/paths", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["path", "requests", "hosts", "errors", "bytes", "slow"])
        writer.writerows(rows)
    Path("/var/outputs/odd").write_text(str(odd))
    Path("/var/outputs/busiest").write_text(rows[0][0] if rows else "")


if __name__ == "__main__":
    main()
