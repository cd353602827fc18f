//! Single values: numbers, times, truth values and text.

use bigdecimal::BigDecimal;
use jiff::{SignedDuration, Span, SpanRelativeTo, Timestamp, civil};

pub(crate) use super::number::{Tolerance, number};
use crate::data::scalar::datetime;
pub(super) use crate::data::scalar::truth;

/// A text, and the values that it may be.
pub(super) struct Scalar<'a> {
    pub(super) text: &'a str,
    number: Option<BigDecimal>,
    moment: Option<Moment>,
}

/// A moment; one without a zone is none with a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    Of(Timestamp),
    Local(civil::DateTime),
}

impl<'a> Scalar<'a> {
    pub(super) fn read(text: &'a str) -> Self {
        Self {
            text,
            number: number(text),
            moment: moment(text),
        }
    }

    /// What is the same for texts of the same value, but for fractions on either side of a place.
    pub(super) fn key(&self) -> String {
        match (&self.number, self.moment, truth(self.text)) {
            // Six digits: values that differ by noise alone should have one key.
            (Some(number), _, _) => number.with_prec(6).normalized().to_string(),
            (None, Some(moment), _) => format!("{moment:?}"),
            (None, None, Some(truth)) => truth.to_string(),
            (None, None, None) => self.text.to_owned(),
        }
    }

    /// Whether both say the same value: as text, as numbers, as truth values or as moments.
    pub(super) fn is_same(&self, actual: &Self, tolerance: Tolerance) -> bool {
        self.text == actual.text
            || self.is_same_number(actual, tolerance)
            || matches!((truth(self.text), truth(actual.text)), (Some(one), Some(other)) if one == other)
            || matches!((self.moment, actual.moment), (Some(one), Some(other)) if one == other)
    }

    fn is_same_number(&self, actual: &Self, tolerance: Tolerance) -> bool {
        // A program that loses the plus of a telephone number is noticed.
        let is_signed = |scalar: &Self| scalar.text.starts_with('+');
        matches!((&self.number, &actual.number), (Some(one), Some(other))
            if is_signed(self) == is_signed(actual) && tolerance.covers(one, other))
    }
}

/// Whether two texts say the same value: as text, as numbers, as truth values or as moments.
pub(crate) fn same(expected: &str, actual: &str, tolerance: Tolerance) -> bool {
    expected == actual || Scalar::read(expected).is_same(&Scalar::read(actual), tolerance)
}

/// Whether a text is a moment that an output may be.
pub(super) fn is_moment(text: &str) -> bool {
    datetime(text).is_some()
}

/// A date is its midnight.
fn moment(text: &str) -> Option<Moment> {
    // Without hyphens it is no moment as an output either.
    if text.len() < 10 || text.as_bytes().get(4) != Some(&b'-') {
        return None;
    }
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Some(Moment::Of(moment));
    }
    let local = if text.len() == 10 {
        text.parse::<civil::Date>()
            .map(|date| date.to_datetime(civil::Time::midnight()))
    } else {
        text.parse::<civil::DateTime>()
    };
    local.ok().map(Moment::Local)
}

/// A finite length of time in seconds: ISO 8601, or seconds.
pub(crate) fn seconds(text: &str) -> Option<BigDecimal> {
    number(text).or_else(|| {
        let length: SignedDuration = text.parse().ok().or_else(|| {
            let span: Span = text.parse().ok()?;
            span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()
        })?;
        Some(BigDecimal::new(length.as_nanos().into(), 9))
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::text("Adélie", "Adélie")]
    #[case::fraction("3", "3.0")]
    #[case::trailing_zeros("12.5", "12.50")]
    #[case::exponent("1000", "1e3")]
    #[case::noise("0.3", "0.30000000000000004")]
    #[case::zero("0", "-0.0")]
    #[case::no_zero_before_the_point("0.5", ".5")]
    #[case::truth("true", "True")]
    #[case::zone("2026-01-12T07:55:00+01:00", "2026-01-12T06:55:00Z")]
    #[case::zone_without_colon("2026-01-12T07:55:00+0000", "2026-01-12T07:55:00Z")]
    #[case::space("2026-01-12 07:55:00", "2026-01-12T07:55:00")]
    #[case::minutes("2026-01-12 07:55", "2026-01-12T07:55:00")]
    #[case::midnight("2026-01-12", "2026-01-12 00:00:00")]
    fn the_same_value_may_have_different_notations(#[case] expected: &str, #[case] actual: &str) {
        assert!(same(expected, actual, Tolerance::default()));
        assert!(same(actual, expected, Tolerance::default()));
    }

    #[rstest]
    #[case::number("3", "3.1")]
    #[case::leading_zeros("007", "7")]
    #[case::plus("+491701234567", "491701234567")]
    #[case::large("9007199254740993", "9007199254740992")]
    #[case::endless("5", "1e999")]
    #[case::case_of_letters("adelie", "Adelie")]
    #[case::space_around("Adelie", " Adelie")]
    #[case::zone("2026-01-12T07:55:00+01:00", "2026-01-12T07:55:00Z")]
    #[case::zone_that_is_missing("2026-01-12T07:55:00Z", "2026-01-12T07:55:00")]
    #[case::midnight_of_a_zone("2026-01-12", "2026-01-12T00:00:00Z")]
    #[case::another_time_of_the_day("2026-01-12", "2026-01-12 00:00:01")]
    #[case::date_without_hyphens("20260112", "2026-01-12")]
    #[case::moment_without_hyphens("20260112T075500", "2026-01-12T07:55:00")]
    #[case::missing("", "nan")]
    #[case::nothing("", "0")]
    fn another_value_is_another(#[case] expected: &str, #[case] actual: &str) {
        assert!(!same(expected, actual, Tolerance::default()));
        assert!(!same(actual, expected, Tolerance::default()));
    }

    #[rstest]
    #[case("2026-01-12T07:55:00", true)]
    #[case("2026-01-12 07:55:00+01:00", true)]
    #[case("2026-01-12", true)]
    #[case("20260112T075500", false)]
    #[case("2026-01-12T07:55:00[Europe/Zurich]", false)]
    #[case("soon", false)]
    fn an_expected_moment_is_one_that_an_output_may_be(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(is_moment(text), expected);
    }

    #[rstest]
    #[case("PT90S", Some("90"))]
    #[case("P1DT2H", Some("93600"))]
    #[case("93600.5", Some("93600.5"))]
    #[case("1e999", None)]
    #[case("soon", None)]
    fn a_length_of_time_is_its_seconds(#[case] text: &str, #[case] expected: Option<&str>) {
        assert_eq!(seconds(text), expected.and_then(number));
    }
}
