"""Count the words of a text."""

import argparse
from pathlib import Path


def main() -> None:
    """Read the text, write it and the number of its words."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--text", required=True)
    args = parser.parse_args()
    text = Path(args.text).read_text()
    Path("/var/outputs/copy").write_text(text)
    Path("/var/outputs/words").write_text(str(len(text.split())))


if __name__ == "__main__":
    main()
