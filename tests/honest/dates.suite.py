from datetime import date

import solution

MONDAY = date(2026, 1, 5)
SUNDAY = date(2026, 1, 11)


class TestWorkingDays:
    def test_week(self):
        assert solution.working_days(MONDAY, SUNDAY) == 5

    def test_holiday(self):
        assert solution.working_days(MONDAY, SUNDAY, frozenset([date(2026, 1, 6)])) == 4

    def test_one_day(self):
        assert solution.working_days(MONDAY, MONDAY) == 1

    def test_wrong_way_round(self):
        assert solution.working_days(SUNDAY, MONDAY) == 0


def test_is_working_day():
    assert solution.is_working_day(MONDAY)
    assert not solution.is_working_day(SUNDAY)
    assert not solution.is_working_day(MONDAY, frozenset([MONDAY]))
