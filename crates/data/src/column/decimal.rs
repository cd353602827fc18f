//! Comparison of decimal numbers by their digits, where they are equal as floats.

use std::cmp::Ordering;

/// A number by its digits: without zeros at either end, the first one standing at 10^(magnitude - 1).
#[derive(PartialEq, Eq)]
struct Digits {
    is_negative: bool,
    magnitude: i64,
    significant: Vec<u8>,
}

/// The order of two numbers as they are written (`1.50`, `-2,5`, `1e3`); `None` where one is written otherwise.
pub(super) fn compare(one: &str, other: &str) -> Option<Ordering> {
    if one == other {
        return Some(Ordering::Equal);
    }
    let (one, other) = (Digits::of(one)?, Digits::of(other)?);
    let size = |number: &Digits| (!number.significant.is_empty(), number.magnitude);
    let absolute = || {
        size(&one)
            .cmp(&size(&other))
            .then_with(|| one.significant.cmp(&other.significant))
    };
    Some(match (one.is_negative, other.is_negative) {
        (false, false) => absolute(),
        (true, true) => absolute().reverse(),
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
    })
}

impl Digits {
    fn of(text: &str) -> Option<Self> {
        let text = text.trim_matches([' ', '\t']);
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once(['.', ',']).unwrap_or((mantissa, ""));
        let mut digits = [whole.as_bytes(), fraction.as_bytes()].concat();
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
        let end = digits
            .iter()
            .rposition(|digit| *digit != b'0')
            .map_or(0, |last| last + 1);
        digits.truncate(end);
        digits.drain(..zeros.min(end));
        let magnitude = i64::try_from(whole.len()).ok()? - i64::try_from(zeros).ok()? + i64::from(exponent);
        Some(Self {
            is_negative: text.starts_with('-') && !digits.is_empty(),
            magnitude: if digits.is_empty() { 0 } else { magnitude },
            significant: digits,
        })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("9007199254740993.5", "9007199254740993.25", Some(Ordering::Greater))]
    #[case("9007199254740993", "9007199254740992.9", Some(Ordering::Greater))]
    #[case("-9007199254740993,5", "-9007199254740993,25", Some(Ordering::Less))]
    #[case("0.1000000000000000055", "0.1", Some(Ordering::Greater))]
    #[case("1e3", "1000.0", Some(Ordering::Equal))]
    #[case("12E-1", "1.2", Some(Ordering::Equal))]
    #[case("-0.0", "0", Some(Ordering::Equal))]
    #[case(".5", "00.50", Some(Ordering::Equal))]
    #[case("-1", "0", Some(Ordering::Less))]
    #[case("99", "100", Some(Ordering::Less))]
    #[case("inf", "1", None)]
    #[case("1.234.567", "1", None)]
    #[case("", "1", None)]
    fn numbers_are_compared_by_their_digits(
        #[case] one: &str,
        #[case] other: &str,
        #[case] order: Option<Ordering>,
    ) {
        assert_eq!(compare(one, other), order);
        assert_eq!(compare(other, one), order.map(Ordering::reverse));
    }
}
