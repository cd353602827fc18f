//! Content of one cell: nothing, a number, a truth value, a date, or text.

use serde::{Deserialize, Serialize};

use crate::calendar::strptime::{TimeReader, date};
use crate::calendar::{MICROS_PER_DAY, MICROS_PER_SECOND, days_of, seconds_of_day};
use crate::scalar::truth;

/// Spellings of a missing value; the ones that `pandas.read_csv` takes as missing by default.
const NULLS: [&str; 19] = [
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A",
    "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
];

/// Longest text that is parsed as a number or date, bytes.
const LONGEST_TYPED: usize = 64;

/// Kind of a value.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[serde(rename_all = "camelCase")]
pub enum ValueKind {
    /// A whole number.
    Int,
    /// A decimal number.
    Float,
    /// `true` or `false`.
    Bool,
    /// An ISO date.
    Date,
    /// An ISO date and time.
    Datetime,
    /// Anything else.
    Text,
}

impl ValueKind {
    /// Every kind, in the order of its counters.
    pub(crate) const ALL: [Self; 6] = [
        Self::Int,
        Self::Float,
        Self::Bool,
        Self::Date,
        Self::Datetime,
        Self::Text,
    ];

    /// The word for it (`datetime`).
    #[must_use]
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Int => "int",
            Self::Float => "float",
            Self::Bool => "bool",
            Self::Date => "date",
            Self::Datetime => "datetime",
            Self::Text => "text",
        }
    }
}

/// A classified cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cell<'a> {
    /// No value, in this spelling.
    Null(&'static str),
    /// A whole number.
    Int(i64),
    /// A whole number above those that `Int` holds.
    Uint(u64),
    /// A finite decimal number.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// Days since 1970.
    Date(i64),
    /// A moment.
    Datetime {
        /// Microseconds since 1970, in UTC where a zone is given.
        micros: i64,
        /// True where a zone is given.
        zoned: bool,
    },
    /// Text; digits with leading zeros are text too.
    Text(&'a str),
}

impl<'a> Cell<'a> {
    /// Classifies a cell of a delimited file whose numbers have decimal points. Blanks around numbers and dates do
    /// not count.
    #[must_use]
    pub(crate) fn of(text: &'a str) -> Self {
        Self::with_decimal(text, b'.')
    }

    /// Classifies a cell of a delimited file with `decimal` (`.` or `,`) before the decimals of its numbers.
    #[must_use]
    pub(crate) fn with_decimal(text: &'a str, decimal: u8) -> Self {
        // Before anything is parsed, as pandas does: `NA` is no text.
        if let Some(spelling) = null_spelling(text) {
            return Self::Null(spelling);
        }
        let trimmed = text.trim_matches([' ', '\t']);
        if trimmed.is_empty() || trimmed.len() > LONGEST_TYPED {
            return Self::Text(text);
        }
        let typed = match trimmed.as_bytes()[0] {
            b'0'..=b'9' | b'-' | b'+' | b'.' | b',' => number(trimmed, decimal).or_else(|| moment(trimmed)),
            b't' | b'T' | b'f' | b'F' => truth(trimmed).map(Self::Bool),
            _ => None,
        };
        typed.unwrap_or(Self::Text(text))
    }

    /// Returns the kind of the value; `None` for a missing one.
    #[must_use]
    pub(crate) const fn kind(&self) -> Option<ValueKind> {
        match self {
            Self::Null(_) => None,
            Self::Int(_) | Self::Uint(_) => Some(ValueKind::Int),
            Self::Float(_) => Some(ValueKind::Float),
            Self::Bool(_) => Some(ValueKind::Bool),
            Self::Date(_) => Some(ValueKind::Date),
            Self::Datetime { .. } => Some(ValueKind::Datetime),
            Self::Text(_) => Some(ValueKind::Text),
        }
    }
}

/// The spelling of a missing value that `text` is, if it is one.
#[must_use]
pub(crate) fn null_spelling(text: &str) -> Option<&'static str> {
    // The longest spelling has nine bytes.
    if text.len() > 9 {
        return None;
    }
    NULLS.iter().find(|null| **null == text).copied()
}

/// Reports whether a text is digits with a leading zero (`007`, `-01.5`), as codes are.
#[must_use]
pub(crate) fn has_leading_zero(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text).as_bytes();
    digits.len() > 1
        && digits[0] == b'0'
        && digits[1].is_ascii_digit()
        && digits
            .iter()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b','))
        && digits.iter().filter(|byte| !byte.is_ascii_digit()).count() <= 1
}

/// A finite number written as one (`-3`, `2.50`, `.5`, `1e-3`), with `decimal` (`.` or `,`) before its decimals; `NaN`, `inf`, `0x1`
/// and codes with leading zeros are none.
#[must_use]
pub(crate) fn parse_decimal(text: &str, decimal: u8) -> Option<f64> {
    match number(text.trim_matches([' ', '\t']), decimal)? {
        Cell::Int(value) => Some(value as f64),
        Cell::Uint(value) => Some(value as f64),
        Cell::Float(value) => Some(value),
        _ => None,
    }
}

fn number(text: &str, decimal: u8) -> Option<Cell<'static>> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let mut digits = 0;
    let mut is_float = false;
    for (position, byte) in unsigned.bytes().enumerate() {
        match byte {
            b'0'..=b'9' => digits += 1,
            _ if byte == decimal && !is_float => is_float = true,
            b'e' | b'E' if digits > 0 && is_exponent(&unsigned[position + 1..]) => {
                is_float = true;
                break;
            }
            _ => return None,
        }
    }
    // A code such as `007` loses its zeros as a number.
    if digits == 0 || has_leading_zero(text) {
        return None;
    }
    if is_float {
        let parsed: Option<f64> = if decimal == b'.' {
            text.parse().ok()
        } else {
            text.replacen(char::from(decimal), ".", 1).parse().ok()
        };
        return parsed.filter(|value| value.is_finite()).map(Cell::Float);
    }
    // Between 2^63 and 2^64 lie hashes and identifiers that pandas reads as `uint64`.
    let wide = || text.parse().ok().map(Cell::Uint);
    text.parse().ok().map(Cell::Int).or_else(wide)
}

fn is_exponent(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    // Three digits of an exponent are more than any float has.
    !digits.is_empty() && digits.len() <= 3 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// An ISO date (`2026-01-31`), or date and time with `T` or a blank between them, with or without zone.
fn moment(text: &str) -> Option<Cell<'static>> {
    let mut reader = TimeReader::new(text);
    let year = reader.number(4, 4)?;
    reader.sign(b'-')?;
    let month = reader.number(2, 2)?;
    reader.sign(b'-')?;
    let day = reader.number(2, 2)?;
    let days = days_of(date(year, month, day)?);
    if reader.is_at_end() {
        return Some(Cell::Date(days));
    }
    reader.sign(b'T').or_else(|| reader.sign(b' '))?;
    let hours = reader.number(2, 2).filter(|hours| *hours <= 23)?;
    reader.sign(b':')?;
    let minutes = reader.number(2, 2).filter(|minutes| *minutes <= 59)?;
    let (mut seconds, mut micros) = (0, 0);
    if reader.sign(b':').is_some() {
        seconds = reader.number(2, 2).filter(|seconds| *seconds <= 59)?;
        if reader.sign(b'.').is_some() {
            micros = reader.fraction()?;
        }
    }
    let zoned = !reader.is_at_end();
    let offset = if zoned { reader.offset()? } else { 0 };
    let seconds = seconds_of_day(hours, minutes, seconds) - offset;
    reader.is_at_end().then_some(Cell::Datetime {
        micros: days * MICROS_PER_DAY + seconds * MICROS_PER_SECOND + micros,
        zoned,
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("12", Some(ValueKind::Int))]
    #[case(" -3 ", Some(ValueKind::Int))]
    #[case("+7", Some(ValueKind::Int))]
    #[case("0", Some(ValueKind::Int))]
    #[case("2.50", Some(ValueKind::Float))]
    #[case(".5", Some(ValueKind::Float))]
    #[case("-0.5", Some(ValueKind::Float))]
    #[case("1e-3", Some(ValueKind::Float))]
    #[case("1E400", Some(ValueKind::Text))]
    #[case("007", Some(ValueKind::Text))]
    #[case("00.5", Some(ValueKind::Text))]
    #[case("18446744073709551615", Some(ValueKind::Int))]
    #[case("18446744073709551616", Some(ValueKind::Text))]
    #[case("-9223372036854775809", Some(ValueKind::Text))]
    #[case("1,5", Some(ValueKind::Text))]
    #[case("1_000", Some(ValueKind::Text))]
    #[case("0x10", Some(ValueKind::Text))]
    #[case("inf", Some(ValueKind::Text))]
    #[case("-", Some(ValueKind::Text))]
    #[case(".", Some(ValueKind::Text))]
    #[case("1.2.3", Some(ValueKind::Text))]
    #[case("TRUE", Some(ValueKind::Bool))]
    #[case("yes", Some(ValueKind::Text))]
    #[case("2026-02-28", Some(ValueKind::Date))]
    #[case("2026-02-30", Some(ValueKind::Text))]
    #[case("2026-02-28T23:59", Some(ValueKind::Datetime))]
    #[case("2026-02-28 23:59:59.123456+01:00", Some(ValueKind::Datetime))]
    #[case("2026-02-28T23:59:59Z", Some(ValueKind::Datetime))]
    #[case("2026-02-28T24:00:00Z", Some(ValueKind::Text))]
    #[case("2026-02-28T", Some(ValueKind::Text))]
    #[case("", None)]
    #[case("NaN", None)]
    #[case("N/A", None)]
    #[case("na", Some(ValueKind::Text))]
    #[case("é-12-31-99", Some(ValueKind::Text))]
    fn a_cell_has_the_kind_of_its_spelling(#[case] text: &str, #[case] kind: Option<ValueKind>) {
        assert_eq!(Cell::of(text).kind(), kind);
    }

    #[test]
    fn zones_shift_a_moment_to_utc() {
        assert_eq!(
            Cell::of("1970-01-01T01:00:00+01:00"),
            Cell::Datetime {
                micros: 0,
                zoned: true
            }
        );
        assert_eq!(
            Cell::of("1970-01-01 00:00:00.5"),
            Cell::Datetime {
                micros: 500_000,
                zoned: false
            }
        );
        assert_eq!(
            Cell::of("1969-12-31T19:00-0500"),
            Cell::Datetime {
                micros: 0,
                zoned: true
            }
        );
    }

    #[test]
    fn digits_with_leading_zeros_are_codes() {
        assert!(has_leading_zero("007"));
        assert!(has_leading_zero("-01.5"));
        assert!(!has_leading_zero("0.5"));
        assert!(!has_leading_zero("0"));
        assert!(!has_leading_zero("0a"));
        assert!(!has_leading_zero("01.02.2026"));
    }
}
