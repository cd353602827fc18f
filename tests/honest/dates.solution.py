"""Working days."""

from datetime import date, timedelta


def is_working_day(day: date, holidays: frozenset[date] = frozenset()) -> bool:
    """Whether people work on a day."""
    return day.weekday() < 5 and day not in holidays


def working_days(start: date, end: date, holidays: frozenset[date] = frozenset()) -> int:
    """Working days from start to end, both counted."""
    if end < start:
        return 0
    days = (start + timedelta(days=number) for number in range((end - start).days + 1))
    return sum(1 for day in days if is_working_day(day, holidays))


def main() -> None:
    print(working_days(date(2026, 1, 1), date(2026, 1, 31)))


if __name__ == "__main__":
    main()
