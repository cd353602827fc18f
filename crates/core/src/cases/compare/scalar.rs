//! Single values: numbers digit by digit (a float cannot distinguish large ones), times, truth values and text.

use bigdecimal::BigDecimal;
use jiff::Timestamp;

use codegen_data::scalar::{datetime, timedelta, truth};

/// Longest text that is read as a number: a float written out in full is shorter.
const LONGEST: usize = 400;
/// Largest exponent, either way: a float has none beyond 324.
const MOST_EXPONENT: i32 = 400;
/// Most that fractions may differ by when nothing is said, in parts of the larger: the noise of binary fractions and of digits left out.
const RELATIVE_NOISE: (i64, i64) = (1, 9);
/// And at most: nobody leaves out digits that count.
const MOST_NOISE: (i64, i64) = (1, 6);
/// The part of a number that a float cannot hold, in parts of it.
const FLOAT_NOISE: (i64, i64) = (1, 15);

/// A text, and the values that it may be.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Scalar {
    pub(super) text: String,
    pub(super) number: Option<BigDecimal>,
    moment: Option<String>,
    truth: Option<bool>,
}

impl Scalar {
    pub(super) fn read(text: &str) -> Self {
        Self {
            number: number(text),
            moment: moment(text),
            truth: truth(text),
            ..Self::text(text)
        }
    }

    /// Text and nothing else: the same as no other one.
    pub(super) fn text(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            ..Self::default()
        }
    }

    /// A key that texts of the same value share, but for fractions on either side of a place.
    pub(super) fn key(&self) -> String {
        match (&self.number, &self.moment, self.truth) {
            // Six digits: values that differ by noise alone should have one key.
            (Some(number), _, _) => number.with_prec(6).normalized().to_string(),
            (None, Some(moment), _) => moment.clone(),
            (None, None, Some(truth)) => truth.to_string(),
            (None, None, None) => self.text.clone(),
        }
    }

    /// Compares two values: as text, as numbers, as truth values or as moments.
    pub(super) fn is_same(&self, actual: &Self, tolerance: &Tolerance) -> bool {
        // A program that loses the plus of a telephone number is noticed.
        let is_signed = |scalar: &Self| scalar.text.starts_with('+');
        let is_same_number = matches!((&self.number, &actual.number), (Some(one), Some(other))
            if is_signed(self) == is_signed(actual) && tolerance.covers(one, other));
        is_same_number
            || self.text == actual.text
            || self.truth.is_some() && self.truth == actual.truth
            || self.moment.is_some() && self.moment == actual.moment
    }
}

/// Compares the values of two texts: as text, as numbers, as truth values or as moments.
#[must_use]
pub fn same(expected: &str, actual: &str, tolerance: &Tolerance) -> bool {
    expected == actual || Scalar::read(expected).is_same(&Scalar::read(actual), tolerance)
}

/// A moment that an output may be, in UTC; one without a zone is none with a zone, and a date is its midnight.
pub(super) fn moment(text: &str) -> Option<String> {
    let moment = datetime(text)?;
    let in_utc = moment.parse::<Timestamp>();
    Some(in_utc.map_or(moment, |moment| moment.to_string()))
}

/// A finite length of time in seconds, as an output may be one.
pub(super) fn seconds(text: &str) -> Option<BigDecimal> {
    number(text).or_else(|| Some(BigDecimal::new(timedelta(text)?.as_nanos().into(), 9)))
}

/// By how much numbers may differ.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tolerance(Option<BigDecimal>);

impl Tolerance {
    /// Reads a tolerance; nothing but noise is allowed where the text is empty.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self::default());
        }
        let amount = number(text).filter(|amount| *amount >= BigDecimal::default())?;
        Some(Self(Some(amount)))
    }

    /// Compares two numbers: whole ones by their digits, fractions but for noise, and both but for what is allowed.
    #[must_use]
    pub fn covers(&self, expected: &BigDecimal, actual: &BigDecimal) -> bool {
        if expected == actual {
            return true;
        }
        let allowed = self.0.clone().unwrap_or_default();
        (expected - actual).abs() <= allowed + self.noise(expected, actual)
    }

    fn noise(&self, expected: &BigDecimal, actual: &BigDecimal) -> BigDecimal {
        if expected.is_integer() && actual.is_integer() {
            // Counts and identifiers differ by one and mean another thing.
            return BigDecimal::default();
        }
        let largest = expected.abs().max(actual.abs());
        let float_noise = &largest * power(FLOAT_NOISE);
        // Where a tolerance is given, it says by how much digits may be left out; only what a float cannot hold comes on top.
        if self.0.is_some() {
            return float_noise;
        }
        (largest * power(RELATIVE_NOISE))
            .min(power(MOST_NOISE))
            .max(float_noise)
    }
}

fn power((digits, scale): (i64, i64)) -> BigDecimal {
    BigDecimal::new(digits.into(), scale)
}

/// A finite number (`12`, `-0.5`, `.5`, `+5`, `1e3`), without superfluous zeros before it.
pub fn number(text: &str) -> Option<BigDecimal> {
    if text.len() > LONGEST || !has_digits_of_a_number(text) {
        return None;
    }
    // A `BigDecimal` of `1e999999999` takes gigabytes as soon as it is added to anything.
    let exponent = text.split_once(['e', 'E']);
    let exponent = exponent.map_or(Some(0), |(_, exponent)| exponent.parse::<i32>().ok());
    let is_within = exponent.is_some_and(|exponent| (-MOST_EXPONENT..=MOST_EXPONENT).contains(&exponent));
    let is_finite = text.parse::<f64>().is_ok_and(f64::is_finite);
    if !(is_within && is_finite) {
        return None;
    }
    text.strip_prefix('+').unwrap_or(text).parse().ok()
}

/// `007` is no number, so that a program that loses leading zeros is noticed.
fn has_digits_of_a_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let whole = digits.bytes().take_while(u8::is_ascii_digit).count();
    let is_plain = digits
        .bytes()
        .all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    let has_leading_zeros = whole > 1 && digits.starts_with('0');
    (whole > 0 || digits.starts_with('.')) && is_plain && !has_leading_zeros
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
        assert!(same(expected, actual, &Tolerance::default()));
        assert!(same(actual, expected, &Tolerance::default()));
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
        assert!(!same(expected, actual, &Tolerance::default()));
        assert!(!same(actual, expected, &Tolerance::default()));
    }

    #[rstest]
    #[case("2026-01-12T07:55:00", true)]
    #[case("2026-01-12 07:55:00+01:00", true)]
    #[case("2026-01-12", true)]
    #[case("20260112T075500", false)]
    #[case("2026-01-12T07:55:00[Europe/Zurich]", false)]
    #[case("soon", false)]
    fn an_expected_moment_is_one_that_an_output_may_be(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(moment(text).is_some(), expected);
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

    #[rstest]
    #[case::whole("12", "12")]
    #[case::fraction("3.00", "3")]
    #[case::no_zero_before_the_point(".5", "0.5")]
    #[case::sign("+5", "5")]
    #[case::exponent("3e0", "3")]
    #[case::negative("-.5e1", "-5")]
    #[case::digits("123456789012345678901234567890", "123456789012345678901234567890")]
    fn a_number_is_read_to_its_last_digit(#[case] text: &str, #[case] same: &str) {
        assert_eq!(number(text), Some(same.parse().unwrap()));
    }

    #[rstest]
    #[case::endless("1e999")]
    #[case::endless_below("-1e999")]
    #[case::of_a_long_exponent("0e999999999")]
    #[case::of_a_small_exponent("1e-999999999")]
    #[case::words("inf")]
    #[case::not_a_number("nan")]
    #[case::leading_zeros("007")]
    #[case::two_signs("+-5")]
    #[case::a_point(".")]
    #[case::an_exponent_alone("e5")]
    #[case::a_date("2026-01-12")]
    #[case::nothing("")]
    fn no_finite_number(#[case] text: &str) {
        assert_eq!(number(text), None);
    }

    #[test]
    fn a_text_of_very_many_digits_is_no_number() {
        assert_eq!(number(&format!("0.{}", "1".repeat(LONGEST))), None);
    }

    #[rstest]
    #[case::digits_left_out("0.3333333333", "0.3333333333333333", "", true)]
    #[case::binary_noise("0.3", "0.30000000000000004", "", true)]
    #[case::whole_and_noise("3", "3.0000000000000004", "", true)]
    #[case::cents("12345678.33", "12345678.34", "", false)]
    #[case::half_seconds("1700000000.5", "1700000001.5", "", false)]
    #[case::whole("1700000000", "1700000001", "", false)]
    #[case::written_as_fraction("1234567890", "1234567891.0", "", false)]
    #[case::to_the_tolerance("3733.1", "3733.15", "0.05", true)]
    #[case::past_the_tolerance("3733.1", "3733.151", "0.05", false)]
    #[case::noise_at_the_tolerance("0.25", "0.30000000000000004", "0.05", true)]
    #[case::large_past_the_tolerance("4111111111111111", "4111111111111112", "0.01", false)]
    #[case::large_within_the_tolerance("4111111111111111", "4111111111111112", "1", true)]
    #[case::large_fraction_past_the_tolerance("4000000000.5", "4000000001.5", "0.01", false)]
    fn numbers_are_the_same(
        #[case] expected: &str,
        #[case] actual: &str,
        #[case] tolerance: &str,
        #[case] is_same: bool,
    ) {
        let (expected, actual) = (number(expected).unwrap(), number(actual).unwrap());
        let tolerance = Tolerance::parse(tolerance).unwrap();
        assert_eq!(tolerance.covers(&expected, &actual), is_same);
        assert_eq!(tolerance.covers(&actual, &expected), is_same);
    }

    #[rstest]
    #[case("-1")]
    #[case("much")]
    #[case("inf")]
    #[case("nan")]
    fn no_tolerance(#[case] text: &str) {
        assert_eq!(Tolerance::parse(text), None);
    }
}
