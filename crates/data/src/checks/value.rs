//! Values as a check reads them: more lenient than the types of columns, because a rule about numbers is about codes with leading zeros and
//! numbers beyond 64 bits too.

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::calendar::MICROS_PER_DAY;
use crate::checks::rule::Bound;
use crate::column::cell::Cell;

/// Longest whole number that is compared exactly, characters.
const LONGEST_WHOLE: usize = 38;

/// Meaning of a value. Blanks around it do not count, unless it is text.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CheckedValue<'a> {
    /// A number.
    Number(Number),
    /// A truth value.
    Bool(bool),
    /// Microseconds since 1970, in UTC where a zone is given.
    Moment(i64),
    /// Anything else.
    Text(&'a str),
}

/// A finite number.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number {
    /// A whole number of at most 38 characters.
    Int(i128),
    /// Any other.
    Float(f64),
}

impl<'a> CheckedValue<'a> {
    /// Reads a text.
    pub(crate) fn of(text: &'a str) -> Self {
        if let Some(number) = Number::of(text) {
            return Self::Number(number);
        }
        match Cell::of(text) {
            Cell::Bool(truth) => Self::Bool(truth),
            _ => moment(text).map_or(Self::Text(text), Self::Moment),
        }
    }

    /// Reports whether both have the same meaning (`1` and `1.0`, `true` and `True`).
    pub(crate) fn is_same(self, other: Self) -> bool {
        match (self, other) {
            (Self::Number(one), Self::Number(other)) => one.compare(other).is_eq(),
            (Self::Bool(one), Self::Bool(other)) => one == other,
            (Self::Moment(one), Self::Moment(other)) => one == other,
            (Self::Text(one), Self::Text(other)) => one == other,
            _ => false,
        }
    }
}

impl Number {
    /// Reads a number as people write it (`-3`, `007`, `2.50`, `.5`, `1e-3`); infinities and `NaN` are none.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let text = text.trim_matches([' ', '\t']);
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let is_whole = !unsigned.is_empty() && unsigned.bytes().all(|byte| byte.is_ascii_digit());
        if is_whole
            && text.len() <= LONGEST_WHOLE
            && let Ok(value) = text.parse()
        {
            return Some(Self::Int(value));
        }
        let is_written_out = unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.');
        // Words like `inf` and `nan` are left now only behind a digit, where they are no number.
        let value = is_written_out.then(|| text.parse::<f64>().ok()).flatten()?;
        value.is_finite().then_some(Self::Float(value))
    }

    /// Compares exactly, whole numbers beyond 2^53 too.
    pub(crate) fn compare(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Int(one), Self::Int(other)) => one.cmp(&other),
            (Self::Float(one), Self::Float(other)) => one.partial_cmp(&other).unwrap_or(Ordering::Equal),
            (Self::Int(one), Self::Float(other)) => compare_mixed(one, other),
            (Self::Float(one), Self::Int(other)) => compare_mixed(other, one).reverse(),
        }
    }
}

fn compare_mixed(whole: i128, float: f64) -> Ordering {
    // The float is exact; the whole number is rounded, so equality is decided on whole numbers.
    let rounded = whole as f64;
    match rounded.partial_cmp(&float).unwrap_or(Ordering::Equal) {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "it is a whole number of at most 38 digits here"
        )]
        Ordering::Equal => whole.cmp(&(float as i128)),
        unequal => unequal,
    }
}

/// Microseconds since 1970 of an ISO date or date and time; Python knows no year 0, and so it is none here.
pub(crate) fn moment(text: &str) -> Option<i64> {
    match Cell::of(text) {
        _ if text.trim_start().starts_with("0000") => None,
        Cell::Date(days) => Some(days * MICROS_PER_DAY),
        Cell::Datetime { micros, .. } => Some(micros),
        _ => None,
    }
}

/// A text of a file with decimal commas as one with decimal points; a number with a point is none there.
pub(crate) fn with_point(text: &str, decimal: u8) -> Cow<'_, str> {
    if decimal == b'.' {
        return Cow::Borrowed(text);
    }
    let swap = |character| match character {
        ',' => '.',
        '.' => ',',
        other => other,
    };
    let swapped: String = text.chars().map(swap).collect();
    if Number::of(&swapped).is_some() {
        Cow::Owned(swapped)
    } else if Number::of(text).is_some() {
        Cow::Borrowed("")
    } else {
        Cow::Borrowed(text)
    }
}

/// A bound that values can be compared with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Limit {
    /// A number.
    Number(Number),
    /// Microseconds since 1970.
    Moment(i64),
    /// Days since 1970: every moment of the day is equal to it.
    Day(i64),
}

impl Limit {
    /// Reads a bound; `None` for a text that is no ISO date.
    pub(crate) fn of(bound: &Bound) -> Option<Self> {
        match bound {
            Bound::Int(value) => Some(Self::Number(Number::Int(i128::from(*value)))),
            Bound::Float(value) => Some(Self::Number(Number::Float(*value))),
            Bound::Moment(text) => {
                let micros = moment(text)?;
                Some(match Cell::of(text) {
                    Cell::Date(days) => Self::Day(days),
                    _ => Self::Moment(micros),
                })
            }
        }
    }

    /// Compares a value with the limit; `None` for a value of another kind.
    pub(crate) fn compare(self, text: &str) -> Option<Ordering> {
        match self {
            Self::Number(limit) => Some(Number::of(text)?.compare(limit)),
            Self::Moment(limit) => Some(moment(text)?.cmp(&limit)),
            // A bound without a time means the whole day, so moments of it are equal.
            Self::Day(limit) => Some(moment(text)?.div_euclid(MICROS_PER_DAY).cmp(&limit)),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("1", "1.0", true)]
    #[case("007", "7", true)]
    #[case(" 5", "5", true)]
    #[case("-0", "0.0", true)]
    #[case("9007199254740993", "9007199254740992.0", false)]
    #[case("99999999999999999999", "1e20", false)]
    #[case("100000000000000000000", "1e20", true)]
    #[case("true", "TRUE", true)]
    #[case("2026-01-01", "2026-01-01T00:00:00Z", true)]
    #[case("a", " a", false)]
    #[case("1", "true", false)]
    #[case("inf", "inf", true)]
    #[case("1inf", "1", false)]
    fn values_are_the_same_by_what_they_say(#[case] one: &str, #[case] other: &str, #[case] same: bool) {
        assert_eq!(CheckedValue::of(one).is_same(CheckedValue::of(other)), same);
    }

    #[rstest]
    #[case(Bound::Int(i64::MAX), "9223372036854775806", Some(Ordering::Less))]
    #[case(
        Bound::Float(9_223_372_036_854_775_808.0),
        "9223372036854775807",
        Some(Ordering::Less)
    )]
    #[case(Bound::Int(0), "99999999999999999999", Some(Ordering::Greater))]
    #[case(Bound::Float(2.5), "3", Some(Ordering::Greater))]
    #[case(Bound::Int(3), "many", None)]
    #[case(Bound::Int(3), "1E400", None)]
    #[case(Bound::Int(3), "2026-01-01", None)]
    #[case(Bound::Moment("2026-01-31".into()), "2026-01-31T23:59", Some(Ordering::Equal))]
    #[case(Bound::Moment("2026-01-31T12:00".into()), "2026-01-31", Some(Ordering::Less))]
    #[case(Bound::Moment("2026-01-31".into()), "31", None)]
    fn a_value_compares_with_a_bound_of_its_kind(
        #[case] bound: Bound,
        #[case] text: &str,
        #[case] order: Option<Ordering>,
    ) {
        assert_eq!(Limit::of(&bound).unwrap().compare(text), order);
    }
}
