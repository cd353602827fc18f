//! A column of which only the type and the missing values are needed: one beyond those that are described.

use crate::calendar::MICROS_PER_DAY;
use crate::column::cell::{Cell, ValueKind, has_leading_zero};
use crate::column::type_of;
use crate::profile::PlainColumn;

/// Moments that 64 bits of nanoseconds hold, by their years: 1678 to 2261, in microseconds since 1970.
const NANOSECOND_RANGE: std::ops::Range<i64> = -9_214_560_000_000_000..9_214_646_400_000_000;

/// Kinds of values as they are met.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Tally {
    name: String,
    kinds: [u64; ValueKind::ALL.len()],
    /// Records that have a value.
    filled: u64,
    leading_zeros: u64,
    is_padded: bool,
    has_wide: bool,
    has_negative: bool,
    is_timestamp: bool,
}

impl Tally {
    /// Nothing met yet.
    pub(crate) const fn new(name: String) -> Self {
        Self {
            name,
            kinds: [0; ValueKind::ALL.len()],
            filled: 0,
            leading_zeros: 0,
            is_padded: false,
            has_wide: false,
            has_negative: false,
            is_timestamp: true,
        }
    }

    /// Takes in the value of a record.
    pub(crate) fn push(&mut self, cell: Cell<'_>, text: &str) {
        let Some(kind) = cell.kind() else { return };
        self.filled += 1;
        self.kinds[kind as usize] += 1;
        self.is_padded |= text.len() != text.trim_ascii().len();
        match cell {
            Cell::Int(value) => self.has_negative |= value < 0,
            Cell::Uint(_) => self.has_wide = true,
            Cell::Date(days) => self.is_timestamp &= is_in_range(days.saturating_mul(MICROS_PER_DAY)),
            Cell::Datetime { micros, zoned } => self.is_timestamp &= !zoned && is_in_range(micros),
            Cell::Text(text) => self.leading_zeros += u64::from(has_leading_zero(text.trim_ascii())),
            Cell::Float(_) | Cell::Bool(_) | Cell::Null(_) => {}
        }
    }

    /// Returns the description of the column.
    pub(crate) fn finish(self) -> PlainColumn {
        let type_ = type_of(
            self.kinds,
            self.leading_zeros > 0,
            self.has_wide,
            self.has_negative,
        );
        PlainColumn {
            name: self.name,
            type_,
            declared: None,
            values: self.filled,
            is_padded: self.is_padded,
            is_wide: self.has_wide,
            is_timestamp: self.is_timestamp,
        }
    }
}

fn is_in_range(micros: i64) -> bool {
    NANOSECOND_RANGE.contains(&micros)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::calendar::days;
    use crate::profile::ColumnType;

    #[test]
    fn the_range_of_nanoseconds_is_in_whole_years() {
        assert_eq!(NANOSECOND_RANGE.start, days(1678, 1, 1) * MICROS_PER_DAY);
        assert_eq!(NANOSECOND_RANGE.end, days(2262, 1, 1) * MICROS_PER_DAY);
    }

    #[rstest]
    #[case(&["1", "", "2"], ColumnType::Int, 2)]
    #[case(&["1.5", "2"], ColumnType::Float, 2)]
    #[case(&["007", "2"], ColumnType::Text, 2)]
    #[case(&["x", "2"], ColumnType::Mixed, 2)]
    #[case(&["", ""], ColumnType::Empty, 0)]
    fn a_further_column_has_its_type(
        #[case] values: &[&str],
        #[case] type_: ColumnType,
        #[case] filled: u64,
    ) {
        let mut tally = Tally::new("c".into());
        for value in values {
            tally.push(Cell::of(value), value);
        }
        let found = tally.finish();
        assert_eq!((found.type_, found.values), (type_, filled));
    }
}
