"""What to order: a stock list in JSON against minimums."""

import argparse
import json
import math
from pathlib import Path


def items(text: str) -> list[dict]:
    """Items of a document or of one a line, nested groups made flat."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError:
        found = [json.loads(line) for line in text.splitlines() if line.strip()]
    if isinstance(found, dict):
        found = [item for group in found.values() for item in group]
    return found


def merged(found: list[dict]) -> dict[str, dict]:
    """One entry a part: stock adds up, the largest minimum counts."""
    parts: dict[str, dict] = {}
    for item in found:
        name = item.get("part", "").strip()
        if not name or item.get("retired", False):
            continue
        part = parts.setdefault(name, {"stock": 0, "minimum": 0, "pack": 1})
        part["stock"] += item.get("stock") or 0
        part["minimum"] = max(part["minimum"], item.get("minimum", 0))
        part["pack"] = item.get("pack", part["pack"])
    return parts


def orders(parts: dict[str, dict]) -> list[dict]:
    """Parts below their minimum, in whole packs, most urgent first, then by name."""
    needed = []
    for name, part in sorted(parts.items()):
        missing = part["minimum"] - part["stock"]
        if missing <= 0:
            continue
        packs = math.ceil(missing / part["pack"])
        needed.append({"part": name, "missing": missing, "packs": packs})
    return sorted(needed, key=lambda order: order["missing"], reverse=True)


def main() -> None:
    """Write the orders, the number of packs and what is kept without a minimum."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--stock", default="/var/inputs/stock.json")
    parser.add_argument("--most", type=int, default=100)
    args = parser.parse_args()
    parts = merged(items(Path(args.stock).read_text(encoding="utf-8")))
    needed = orders(parts)[: args.most]
    Path("/var/outputs/orders").write_text(json.dumps(needed, ensure_ascii=False), encoding="utf-8")
    Path("/var/outputs/packs").write_text(str(sum(order["packs"] for order in needed)))
    free = sorted(name for name, part in parts.items() if part["minimum"] == 0)
    Path("/var/outputs/free").write_text(json.dumps(free, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
