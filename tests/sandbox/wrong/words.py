"""Words of a text and how often each stands there."""

import argparse
import json
import re
from collections import Counter
from pathlib import Path


def words(text: str, stop: set[str]) -> list[str]:
    """Words in small letters, without digits alone and without stop words."""
    found = []
    for word in re.findall(r"[\w']+", text.lower()):
        word = word.strip("'_")
        if not word or word.isdigit():
            continue
        if word not in stop:
            found.append(word)
    return found


def stop_words(text: str) -> set[str]:
    """Words that do not count, one a line; lines that begin with # are comments."""
    lines = [line.strip().lower() for line in text.splitlines()]
    return {line for line in lines if line and not line.startswith("#")}


def longest(counts: Counter) -> str:
    """The longest word, of several the first by the alphabet."""
    return min(counts, key=lambda word: (-len(word), word), default="")


def top(counts: Counter, most: int, least: int) -> list[dict[str, object]]:
    """The most frequent words that stand there at least so often, equal ones by the alphabet."""
    frequent = [(word, count) for word, count in counts.items() if count >= least]
    frequent.sort(key=lambda entry: (-entry[1], entry[0]))
    return [{"word": word, "count": count} for word, count in frequent[:most]]


def main() -> None:
    """Write the most frequent words, the longest one and how many differ."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--text", default="/var/inputs/text.txt")
    parser.add_argument("--stop", default="/var/inputs/stop.txt")
    parser.add_argument("--most", type=int, default=3)
    parser.add_argument("--least", type=int, default=1)
    args = parser.parse_args()
    stop = stop_words(Path(args.stop).read_text(encoding="utf-8"))
    counts = Counter(words(Path(args.text).read_text(encoding="utf-8"), stop))
    rows = top(counts, args.most, args.least)
    Path("/var/outputs/top").write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    Path("/var/outputs/longest").write_text(longest(counts), encoding="utf-8")
    Path("/var/outputs/distinct").write_text(str(len(counts)))


if __name__ == "__main__":
    main()
