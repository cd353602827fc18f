"""Runs of equal values."""


def runs(values):
    """Each value with how often it comes in a row."""
    values = iter(values)
    try:
        current = next(values)
    except StopIteration:
        return
    count = 1
    for value in values:
        if value == current:
            count += 1
        else:
            yield current, count
            current, count = value, 1
    yield current, count


def encode(text):
    """`aab` as `a2b1`."""
    return "".join(f"{value}{count}" for value, count in runs(text))


def main():
    print(encode("aab"))


if __name__ == "__main__":
    main()
