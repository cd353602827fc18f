"""Add numbers from the command line."""

import argparse
import sys


def parse(arguments):
    """The numbers and how they are written."""
    parser = argparse.ArgumentParser()
    parser.add_argument("numbers", nargs="*", type=float)
    parser.add_argument("--decimals", type=int, default=1)
    return parser.parse_args(arguments)


def render(numbers, decimals):
    """Their sum as text."""
    return f"{sum(numbers):.{decimals}f}"


def main(arguments=None):
    """Print the sum; 2 without numbers."""
    options = parse(arguments)
    if not options.numbers:
        print("no numbers", file=sys.stderr)
        return 2
    print(render(options.numbers, options.decimals))
    return 0


if __name__ == "__main__":
    main(["1", "2"])
