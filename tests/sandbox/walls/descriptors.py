"""Prints which files are open that this program has not opened."""

import os


def is_open(number: int) -> bool:
    """Whether a descriptor is there."""
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


print([number for number in range(3, 256) if is_open(number)])
