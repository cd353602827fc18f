//! Days and clocks of the civil calendar as numbers: whatever recognises a date or a time counts it here.

pub(crate) mod strptime;

use jiff::civil;

pub(crate) const MICROS_PER_SECOND: i64 = 1_000_000;
pub(crate) const SECONDS_PER_DAY: i64 = 86_400;
pub(crate) const MICROS_PER_DAY: i64 = SECONDS_PER_DAY * MICROS_PER_SECOND;

/// Days since 1970 of a date of the Gregorian calendar, of any year.
pub(crate) const fn days(year: i64, month: i64, day: i64) -> i64 {
    // March is the first month of this calendar: the leap day is the last day of its year, and needs no case of its own.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Days since 1970.
pub(crate) fn days_of(date: civil::Date) -> i64 {
    days(date.year().into(), date.month().into(), date.day().into())
}

/// Year, month and day of a day counted from 1970, by the Gregorian calendar before 1582 too.
pub(crate) fn civil_day(days: i64) -> (i64, i64, i64) {
    let shifted = days.saturating_add(719_468);
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// The day of a moment in microseconds since 1970; `None` beyond the years of four digits.
pub(crate) fn date_of(micros: i64) -> Option<civil::Date> {
    let (year, month, day) = civil_day(micros.div_euclid(MICROS_PER_DAY));
    let (month, day) = (i8::try_from(month).ok()?, i8::try_from(day).ok()?);
    civil::Date::new(i16::try_from(year).ok()?, month, day).ok()
}

/// Seconds since midnight.
pub(crate) const fn seconds_of_day(hours: i64, minutes: i64, seconds: i64) -> i64 {
    hours * 3_600 + minutes * 60 + seconds
}

/// Microseconds of the digits behind the point of a second; those beyond the sixth are cut off.
pub(crate) fn micros_of_fraction(digits: &[u8]) -> i64 {
    // Cut and not rounded: rounding could carry into the next second.
    let padded = digits.iter().copied().chain(std::iter::repeat(b'0')).take(6);
    padded.fold(0, |value, byte| value * 10 + i64::from(byte - b'0'))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(civil::date(1970, 1, 1), 0)]
    #[case(civil::date(1969, 12, 31), -1)]
    #[case(civil::date(2000, 2, 29), 11_016)]
    #[case(civil::date(1, 1, 1), -719_162)]
    #[case(civil::date(9999, 12, 31), 2_932_896)]
    #[case(civil::date(-1, 3, 1), -719_834)]
    fn a_day_is_counted_there_and_back(#[case] date: civil::Date, #[case] count: i64) {
        assert_eq!(i64::from((date - civil::date(1970, 1, 1)).get_days()), count);
        assert_eq!(days_of(date), count);
        assert_eq!(date_of(count * MICROS_PER_DAY), Some(date));
    }

    #[test]
    fn a_day_beyond_the_years_of_four_digits_is_no_date() {
        assert_eq!(civil_day(2_932_897), (10_000, 1, 1));
        assert_eq!(date_of(2_932_897 * MICROS_PER_DAY), None);
    }

    #[rstest]
    #[case(b"5", 500_000)]
    #[case(b"000001", 1)]
    #[case(b"123456789", 123_456)]
    fn a_fraction_of_a_second_is_cut_to_microseconds(#[case] digits: &[u8], #[case] micros: i64) {
        assert_eq!(micros_of_fraction(digits), micros);
    }
}
