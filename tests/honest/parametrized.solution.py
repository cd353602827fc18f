"""Roman numerals."""

NUMERALS = [(10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]


def to_roman(number):
    """The numeral of a small number."""
    if not 0 < number < 40:
        raise ValueError(f"{number} is out of range")
    text = ""
    for value, numeral in NUMERALS:
        while number >= value:
            text += numeral
            number -= value
    return text


def main():
    print(to_roman(14))


if __name__ == "__main__":
    main()
