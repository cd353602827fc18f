//! Single values: numbers, times, truth values and text.

use jiff::{SignedDuration, Timestamp, civil};

/// What two numbers may differ by when nothing is said: the noise of binary fractions.
const RELATIVE_NOISE: f64 = 1e-9;

/// By how much numbers may differ.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Tolerance(Option<f64>);

impl Tolerance {
    /// Reads a tolerance; nothing but noise is allowed where the text is empty.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self(None));
        }
        let amount = text.parse::<f64>().ok()?;
        (amount.is_finite() && amount >= 0.0).then_some(Self(Some(amount)))
    }

    /// Whether two numbers are the same.
    pub(crate) fn covers(self, expected: f64, actual: f64) -> bool {
        let noise = RELATIVE_NOISE * expected.abs().max(actual.abs());
        let difference = (expected - actual).abs();
        difference <= self.0.unwrap_or(0.0) + noise || (expected.is_nan() && actual.is_nan())
    }
}

/// Whether two texts say the same value: as text, as numbers, as truth values or as moments.
///
/// `007` is no number here, so that a program that loses leading zeros is noticed.
pub(crate) fn same(expected: &str, actual: &str, tolerance: Tolerance) -> bool {
    expected == actual
        || same_numbers(expected, actual, tolerance).unwrap_or(false)
        || matches!((truth(expected), truth(actual)), (Some(one), Some(other)) if one == other)
        || same_moments(expected, actual)
}

/// A number as people and programs write it, without superfluous zeros before it.
pub(crate) fn number(text: &str) -> Option<f64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let whole = digits
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(digits.len());
    let is_plain = digits
        .bytes()
        .all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    let has_leading_zeros = whole > 1 && digits.starts_with('0');
    (whole > 0 && is_plain && !has_leading_zeros)
        .then(|| text.parse().ok())
        .flatten()
}

fn same_numbers(expected: &str, actual: &str, tolerance: Tolerance) -> Option<bool> {
    let is_whole = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let (one, other) = (number(expected)?, number(actual)?);
    if tolerance == Tolerance::default() && is_whole(expected) && is_whole(actual) {
        // Beyond 2^53 the digits decide; equal ones were the same text.
        return Some(one == 0.0 && other == 0.0);
    }
    Some(tolerance.covers(one, other))
}

fn truth(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// Whether both are the same moment; one without a zone is none with a zone.
fn same_moments(expected: &str, actual: &str) -> bool {
    if let (Ok(one), Ok(other)) = (expected.parse::<Timestamp>(), actual.parse::<Timestamp>()) {
        return one == other;
    }
    let local = |text: &str| text.parse::<Timestamp>().is_err().then(|| local(text)).flatten();
    matches!((local(expected), local(actual)), (Some(one), Some(other)) if one == other)
}

fn local(text: &str) -> Option<civil::DateTime> {
    let has_time = text.len() > 10;
    has_time.then(|| text.parse().ok()).flatten()
}

/// A length of time, ISO 8601 or seconds.
pub(crate) fn seconds(text: &str) -> Option<f64> {
    number(text)
        .or_else(|| {
            text.parse::<SignedDuration>()
                .ok()
                .map(|length| length.as_secs_f64())
        })
        .or_else(|| {
            let span: jiff::Span = text.parse().ok()?;
            span.total((jiff::Unit::Second, jiff::SpanRelativeTo::days_are_24_hours()))
                .ok()
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
    #[case::truth("true", "True")]
    #[case::zone("2026-01-12T07:55:00+01:00", "2026-01-12T06:55:00Z")]
    #[case::space("2026-01-12 07:55:00", "2026-01-12T07:55:00")]
    fn the_same_value_may_be_written_otherwise(#[case] expected: &str, #[case] actual: &str) {
        assert!(same(expected, actual, Tolerance::default()));
        assert!(same(actual, expected, Tolerance::default()));
    }

    #[rstest]
    #[case::number("3", "3.1")]
    #[case::leading_zeros("007", "7")]
    #[case::large("9007199254740993", "9007199254740992")]
    #[case::case_of_letters("adelie", "Adelie")]
    #[case::space_around("Adelie", " Adelie")]
    #[case::zone("2026-01-12T07:55:00+01:00", "2026-01-12T07:55:00Z")]
    #[case::zone_that_is_missing("2026-01-12T07:55:00Z", "2026-01-12T07:55:00")]
    #[case::missing("", "nan")]
    #[case::nothing("", "0")]
    fn another_value_is_another(#[case] expected: &str, #[case] actual: &str) {
        assert!(!same(expected, actual, Tolerance::default()));
        assert!(!same(actual, expected, Tolerance::default()));
    }

    #[test]
    fn numbers_may_differ_by_the_tolerance_and_no_more() {
        let tolerance = Tolerance::parse("0.05").unwrap();
        assert!(same("3733.1", "3733.14", tolerance));
        assert!(!same("3733.1", "3733.16", tolerance));
        assert_eq!(Tolerance::parse("-1"), None);
        assert_eq!(Tolerance::parse("much"), None);
    }

    #[rstest]
    #[case("PT90S", Some(90.0))]
    #[case("P1DT2H", Some(93_600.0))]
    #[case("93600.5", Some(93_600.5))]
    #[case("soon", None)]
    fn a_length_of_time_is_its_seconds(#[case] text: &str, #[case] expected: Option<f64>) {
        assert_eq!(seconds(text), expected);
    }
}
