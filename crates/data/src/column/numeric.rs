//! Statistics of the numbers of a column, and how numbers are written so that they are true and short.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::column::decimal;
use crate::column::quantiles::{Quartiles, Reservoir};

/// Statistics of the numbers of a column.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct NumberStats {
    /// Values that are numbers.
    pub count: u64,
    /// Smallest, as the file writes it.
    pub min: String,
    /// Largest, as the file writes it.
    pub max: String,
    /// Arithmetic mean.
    pub mean: f64,
    /// Quartiles; the middle one is the median. `None` where an exposure level keeps them back.
    pub quartiles: Option<Quartiles>,
    /// Most decimals that a value has.
    pub decimals: usize,
    /// Values in each of 16 equal bins from the smallest to the largest; scaled from the sample that gives the
    /// quartiles unless those are exact.
    pub histogram: Vec<u64>,
}

/// 2^-64: as many of the largest number as a file can hold do not overflow.
const SUM_SCALE: f64 = 1.0 / 18_446_744_073_709_551_616.0;

/// Numbers as they are met.
#[derive(Clone, Debug)]
pub(crate) struct Numbers {
    count: u64,
    min: Option<Bounding>,
    max: Option<Bounding>,
    int_sum: i128,
    float_sum: f64,
    float_error: f64,
    /// The sum in units that numbers near the largest one do not overflow.
    scaled_sum: f64,
    decimals: usize,
    reservoir: Reservoir,
}

/// The smallest or largest number so far.
#[derive(Clone, Debug)]
struct Bounding {
    value: f64,
    exact: Exact,
    text: String,
}

/// Exact value that distinguishes numbers which are equal as floats, as neighbours beyond 2^53 are.
#[derive(Clone, Copy, Debug)]
enum Exact {
    /// By this value.
    Whole(i128),
    /// By their digits, which the text has.
    Digits,
    /// Not at all: the text has signs of its own.
    No,
}

impl Bounding {
    fn order(&self, value: f64, exact: Exact, text: &str) -> Ordering {
        match (self.exact, exact) {
            (Exact::Whole(own), Exact::Whole(other)) => own.cmp(&other),
            (own, other) => match self.value.partial_cmp(&value) {
                Some(Ordering::Equal) if !matches!((own, other), (Exact::No, _) | (_, Exact::No)) => {
                    decimal::compare(&self.text, text).unwrap_or(Ordering::Equal)
                }
                order => order.unwrap_or(Ordering::Equal),
            },
        }
    }
}

/// Position of a value among those before it: a new extreme or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extreme {
    /// Below all before it.
    pub is_min: bool,
    /// Above all before it.
    pub is_max: bool,
}

impl Numbers {
    /// Keeps at most `limit` numbers for the quartiles.
    pub(crate) fn new(limit: usize, seed: u64) -> Self {
        Self {
            count: 0,
            min: None,
            max: None,
            int_sum: 0,
            float_sum: 0.0,
            float_error: 0.0,
            scaled_sum: 0.0,
            decimals: 0,
            reservoir: Reservoir::new(limit, seed),
        }
    }

    /// Takes in a whole number.
    pub(crate) fn push_int(&mut self, value: i128, text: &str) -> Extreme {
        self.int_sum += value;
        self.push(value as f64, Exact::Whole(value), text)
    }

    /// Takes in a decimal number.
    pub(crate) fn push_float(&mut self, value: f64, text: &str) -> Extreme {
        self.add(value);
        self.decimals = self.decimals.max(decimals_of(text));
        self.push(value, Exact::Digits, text)
    }

    /// Takes in a number with so many decimals, in whatever notation: numbers equal as floats count as equal.
    pub(crate) fn push_rounded(&mut self, value: f64, decimals: usize, text: &str) -> Extreme {
        self.add(value);
        self.decimals = self.decimals.max(decimals);
        self.push(value, Exact::No, text)
    }

    fn push(&mut self, value: f64, exact: Exact, text: &str) -> Extreme {
        self.count += 1;
        self.scaled_sum += value * SUM_SCALE;
        self.reservoir.push(value);
        let order = |bounding: &Option<Bounding>| bounding.as_ref().map(|own| own.order(value, exact, text));
        let is_min = order(&self.min).is_none_or(Ordering::is_gt);
        let is_max = order(&self.max).is_none_or(Ordering::is_lt);
        if is_min {
            store(&mut self.min, value, exact, text);
        }
        if is_max {
            store(&mut self.max, value, exact, text);
        }
        Extreme { is_min, is_max }
    }

    /// Neumaier's compensated sum: the mean of a million values stays true to its last printed digit.
    fn add(&mut self, value: f64) {
        let sum = self.float_sum + value;
        let lost = if self.float_sum.abs() >= value.abs() {
            (self.float_sum - sum) + value
        } else {
            (value - sum) + self.float_sum
        };
        self.float_sum = sum;
        self.float_error += lost;
    }

    /// The statistics; `None` when there was no number.
    pub(crate) fn finish(self) -> Option<NumberStats> {
        let sum = self.int_sum as f64 + (self.float_sum + self.float_error);
        let mean = if sum.is_finite() {
            sum / self.count as f64
        } else {
            (self.scaled_sum / self.count as f64 / SUM_SCALE).clamp(f64::MIN, f64::MAX)
        };
        let (min, max) = (self.min?, self.max?);
        let histogram = self.reservoir.histogram(min.value, max.value);
        Some(NumberStats {
            count: self.count,
            min: min.text,
            max: max.text,
            mean,
            quartiles: Some(self.reservoir.quartiles()?),
            decimals: self.decimals,
            histogram,
        })
    }
}

fn store(slot: &mut Option<Bounding>, value: f64, exact: Exact, text: &str) {
    let spelled = text.trim_matches([' ', '\t']);
    match slot {
        Some(kept) => {
            (kept.value, kept.exact) = (value, exact);
            kept.text.clear();
            kept.text.push_str(spelled);
        }
        None => {
            *slot = Some(Bounding {
                value,
                exact,
                text: spelled.to_owned(),
            });
        }
    }
}

fn decimals_of(text: &str) -> usize {
    let fraction = text
        .trim_end()
        .split_once(['.', ','])
        .map_or("", |(_, fraction)| fraction);
    fraction.bytes().take_while(u8::is_ascii_digit).count()
}

/// Rounds an estimated quartile to about a hundredth of the distance between the quartiles: more digits would not be true.
#[must_use]
pub(crate) fn round_estimate(value: f64, quartiles: &Quartiles) -> f64 {
    let distance = quartiles.upper - quartiles.lower;
    if quartiles.is_exact || !(distance > 0.0 && distance.is_finite()) {
        return value;
    }
    let power = distance.log10().floor() - 2.0;
    // Dividing by a whole power of ten gives the decimal that is nearest; multiplying with a fraction would not.
    let rounded = if power < 0.0 {
        let unit = 10f64.powf(-power);
        (value * unit).round() / unit
    } else {
        let unit = 10f64.powf(power);
        (value / unit).round() * unit
    };
    if rounded.is_finite() { rounded } else { value }
}

/// Writes a statistic with one decimal more than the values have (at least two) and at least three significant digits,
/// without trailing zeros; never `1e+03` for 1001.
#[must_use]
pub(crate) fn format_number(value: f64, decimals: usize) -> String {
    let magnitude = value.abs();
    if magnitude >= 1e15 || (magnitude > 0.0 && magnitude < 1e-6) {
        return format!("{value:.3e}");
    }
    let leading_zeros = (0..6)
        .take_while(|power| magnitude > 0.0 && magnitude < 10f64.powi(-power))
        .count();
    let decimals = (decimals + 1).max(leading_zeros + 2).min(12);
    let text = format!("{value:.decimals$}");
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if short == "-0" {
        "0".to_owned()
    } else {
        short.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(1001.0, 0, "1001")]
    #[case(57.3125, 2, "57.312")]
    #[case(6.2, 0, "6.2")]
    #[case(123_456_789.0, 0, "123456789")]
    #[case(0.000_001_5, 2, "0.0000015")]
    #[case(0.000_000_15, 2, "1.500e-7")]
    #[case(0.05, 0, "0.05")]
    #[case(1.0 / 3.0, 0, "0.333")]
    #[case(0.0, 0, "0")]
    #[case(-0.0, 0, "0")]
    #[case(1e300, 0, "1.000e300")]
    fn statistics_are_formatted_short_and_exact(
        #[case] value: f64,
        #[case] decimals: usize,
        #[case] text: &str,
    ) {
        assert_eq!(format_number(value, decimals), text);
    }

    #[test]
    fn extremes_of_whole_numbers_are_exact() {
        let mut numbers = Numbers::new(10, 0);
        for value in [
            i128::from(i64::MAX),
            i128::from(i64::MAX) + 1,
            i128::from(i64::MAX) - 1,
        ] {
            numbers.push_int(value, &value.to_string());
        }
        let found = numbers.finish().unwrap();
        assert_eq!(
            (found.min.as_str(), found.max.as_str()),
            ("9223372036854775806", "9223372036854775808")
        );
    }

    #[test]
    fn the_mean_of_numbers_whose_sum_overflows_is_true() {
        let mut numbers = Numbers::new(10, 0);
        for value in [1.5e308, 1e308, 0.5e308] {
            numbers.push_float(value, "x");
        }
        let mean = numbers.finish().unwrap().mean;
        assert!((mean / 1e308 - 1.0).abs() < 1e-12, "{mean}");
    }

    #[test]
    fn extremes_keep_the_spelling_of_the_file() {
        let mut numbers = Numbers::new(10, 0);
        for text in ["2.50", "110.14", "57.0"] {
            numbers.push_float(text.parse().unwrap(), text);
        }
        let stats = numbers.finish().unwrap();
        assert_eq!(
            (stats.min.as_str(), stats.max.as_str(), stats.decimals),
            ("2.50", "110.14", 2)
        );
    }

    #[test]
    fn whole_numbers_that_are_equal_as_floats_count_as_different() {
        let mut numbers = Numbers::new(10, 0);
        for value in [
            9_007_199_254_740_993_i128,
            9_007_199_254_740_992,
            9_007_199_254_740_994,
        ] {
            numbers.push_int(value, &value.to_string());
        }
        let stats = numbers.finish().unwrap();
        assert_eq!(
            (stats.min.as_str(), stats.max.as_str()),
            ("9007199254740992", "9007199254740994")
        );
    }

    #[test]
    fn decimals_that_are_equal_as_floats_count_as_different() {
        let mut numbers = Numbers::new(10, 0);
        numbers.push_int(9_007_199_254_740_993, "9007199254740993");
        for text in ["9007199254740993.25", "9007199254740992.50", "9007199254740993.5"] {
            numbers.push_float(text.parse().unwrap(), text);
        }
        let stats = numbers.finish().unwrap();
        assert_eq!(
            (stats.min.as_str(), stats.max.as_str()),
            ("9007199254740992.50", "9007199254740993.5")
        );
    }

    #[test]
    fn small_values_beside_a_large_one_are_not_lost_in_the_mean() {
        let mut numbers = Numbers::new(10, 0);
        for value in [1e16, 1.0, 1.0, -1e16] {
            numbers.push_float(value, "0");
        }
        assert!((numbers.finish().unwrap().mean - 0.5).abs() < f64::EPSILON);
    }
}
