"""The mean of a column, and a table."""

import argparse
import json
import sys
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--digits", type=int, default=1)
    args = parser.parse_args()
    values = [float(line) for line in args.data.read_text().splitlines() if line]
    if not values:
        print("no values", file=sys.stderr)
        sys.exit(3)
    out = Path("/var/outputs")
    (out / "mean").write_text(f"{round(sum(values) / len(values), args.digits)}\n")
    (out / "facts").write_text(json.dumps({"count": len(values)}))
    (out / "table").write_text("value\n" + "".join(f"{value}\n" for value in values))
    (out / "parts").mkdir()
    (out / "parts" / "one").write_text("1")
    print(len(values), "values")


if __name__ == "__main__":
    main()
