"""Sort without the library."""


def merge_sort(values):
    """A sorted copy."""
    if len(values) <= 1:
        return list(values)
    middle = len(values) // 2
    left, right = merge_sort(values[:middle]), merge_sort(values[middle:])
    merged = []
    while left and right:
        merged.append(left.pop(0) if left[0] <= right[0] else right.pop(0))
    return merged + left + right


def main():
    print(merge_sort([2, 1]))


if __name__ == "__main__":
    main()
