"""Count the words of an argument."""

import sys


def count(text):
    """How many words a text has."""
    return len(text.split())


def main():
    print(count(" ".join(sys.argv[1:])))


if __name__ == "__main__":
    main()
