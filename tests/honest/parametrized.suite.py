import pytest
import solution


@pytest.mark.parametrize(
    ("number", "expected"),
    [(1, "I"), (3, "III"), (4, "IV"), (9, "IX"), (14, "XIV"), (39, "XXXIX")],
)
def test_numerals(number, expected):
    assert solution.to_roman(number) == expected


@pytest.mark.parametrize("number", [0, -1, 40])
def test_out_of_range(number):
    with pytest.raises(ValueError, match="out of range"):
        solution.to_roman(number)
