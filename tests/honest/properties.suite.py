import random

import solution


def test_any_list_is_sorted():
    generator = random.Random(7)
    for size in range(12):
        values = [generator.randint(-9, 9) for _ in range(size)]
        assert solution.merge_sort(values) == sorted(values)


def test_argument_stays():
    values = [3, 1, 2]
    result = solution.merge_sort(values)
    assert values == [3, 1, 2]
    assert result is not values
