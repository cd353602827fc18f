//! Counts what is odd about the values of a column as they are met.

use crate::column::cell::{Cell, ValueKind};
use crate::column::oddity::{Oddity, is_wide_blank};
use crate::profile::ColumnType;

/// Texts that stand for a missing value beside numbers and dates, and that pandas does not take for one.
const PLACEHOLDERS: [&str; 46] = [
    "\\N", "-", "--", "---", "–", "—", "?", "??", ".", "..", "...", "*", "**", "x", "X", "na", "Na", "n.a.",
    "N.A.", "n.d.", "nd", "ND", "NV", "k.A.", "k. A.", "missing", "Missing", "MISSING", "unknown", "Unknown",
    "UNKNOWN", "none", "NONE", "nil", "NIL", "TBD", "tbd", "(null)", "(blank)", "void", "#REF!", "#DIV/0!",
    "#VALUE!", "#NAME?", "#NUM!", "#NULL!",
];
const LONGEST_PLACEHOLDER: usize = 8;
/// Numbers that stand for a missing value, by what they are.
const SENTINELS: [(f64, &str); 10] = [
    (-99.0, "-99"),
    (-999.0, "-999"),
    (-9_999.0, "-9999"),
    (-99_999.0, "-99999"),
    (-999.9, "-999.9"),
    (-9_999.9, "-9999.9"),
    (999.0, "999"),
    (9_999.0, "9999"),
    (99_999.0, "99999"),
    (999_999.0, "999999"),
];
/// Other numbers that must stand beside such a number, and how often it must stand there.
const FEWEST_OTHERS: u64 = 3;
const FEWEST_SENTINELS: u64 = 2;
/// Least distance from all others, in multiples of their range.
const FAR: f64 = 2.0;
/// Digits from which a number with a plus is one of a telephone.
const FEWEST_DIGITS: usize = 8;
const LARGEST_EXACT: i64 = 1 << 53;
/// Digits from which a whole number may be beyond 64 bits.
const WIDEST: usize = 19;

/// Oddities that were met so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Oddities {
    infinite: u64,
    impossible: u64,
    controls: u64,
    wide_blanks: u64,
    beyond_64_bits: u64,
    beyond_floats: u64,
    telephones: u64,
    placeholders: Vec<(&'static str, u64)>,
    sentinels: [u64; SENTINELS.len()],
    others: u64,
    range: Option<(f64, f64)>,
}

impl Oddities {
    /// Takes in a value.
    pub(super) fn push(&mut self, cell: Cell<'_>, text: &str) {
        match cell {
            Cell::Int(value) => {
                self.beyond_floats += u64::from(value.unsigned_abs() > LARGEST_EXACT.unsigned_abs());
                self.telephones += u64::from(is_telephone(text));
                self.push_number(value as f64);
            }
            Cell::Uint(value) => {
                self.beyond_floats += 1;
                self.push_number(value as f64);
            }
            Cell::Float(value) => self.push_number(value),
            Cell::Text(text) => self.push_text(text),
            Cell::Bool(_) | Cell::Date(_) | Cell::Datetime { .. } | Cell::Null(_) => {}
        }
    }

    fn push_number(&mut self, value: f64) {
        // Nearly all numbers are none of them, and are known by this alone.
        if value.abs() >= 99.0
            && let Some(position) = SENTINELS
                .iter()
                .position(|(sentinel, _)| sentinel.total_cmp(&value).is_eq())
        {
            self.sentinels[position] += 1;
            return;
        }
        self.others += 1;
        let (low, high) = self.range.unwrap_or((value, value));
        self.range = Some((low.min(value), high.max(value)));
    }

    fn push_text(&mut self, text: &str) {
        // NUL bytes are counted in the whole file.
        let is_control = |byte: u8| matches!(byte, 1..=8 | 0x0b | 0x0c | 0x0e..=0x1f | 0x7f);
        self.controls += u64::from(text.bytes().any(is_control));
        self.wide_blanks += u64::from(text.starts_with(is_wide_blank) || text.ends_with(is_wide_blank));
        let trimmed = text.trim_ascii();
        self.infinite += u64::from(is_infinite(trimmed));
        self.impossible += u64::from(has_form_of_date(trimmed));
        self.beyond_64_bits += u64::from(is_wide_number(trimmed));
        if trimmed.len() <= LONGEST_PLACEHOLDER
            && let Some(known) = PLACEHOLDERS.iter().find(|known| **known == trimmed)
        {
            match self.placeholders.iter_mut().find(|(text, _)| text == known) {
                Some((_, count)) => *count += 1,
                None => self.placeholders.push((*known, 1)),
            }
        }
    }

    /// Reports whether every value is a telephone number: text, whatever a reader of numbers makes of it.
    pub(super) const fn are_telephones(&self, values: u64) -> bool {
        self.telephones > 0 && self.telephones == values
    }

    /// Lists the oddities of a column of this type with so many values of each kind; `impossible` of its dates are written otherwise than
    /// in ISO 8601.
    pub(super) fn finish(
        self,
        type_: ColumnType,
        kinds: [u64; ValueKind::ALL.len()],
        impossible: u64,
    ) -> Vec<Oddity> {
        let [int, float, _, date, datetime, text] = kinds;
        let values = kinds.iter().sum::<u64>();
        let numbers = int + float;
        let dates = date + datetime;
        let mut found = Vec::new();
        let mut add = |is_there: bool, oddity: Oddity| {
            if is_there {
                found.push(oddity);
            }
        };
        add(self.infinite > 0 && numbers > 0, Oddity::Infinite);
        add(
            impossible > 0 || (self.impossible > 0 && dates > 0),
            Oddity::Impossible,
        );
        add(self.controls > 0, Oddity::Controls);
        add(self.wide_blanks > 0, Oddity::WideBlanks);
        add(
            self.beyond_64_bits > 0 && self.beyond_64_bits == text,
            Oddity::Beyond64Bits,
        );
        let is_phone = self.are_telephones(values);
        add(
            self.beyond_floats > 0 && type_ == ColumnType::Int,
            Oddity::BeyondFloats,
        );
        add(is_phone, Oddity::Telephone);
        let held_places: u64 = self.placeholders.iter().map(|(_, count)| count).sum();
        let are_all = held_places + self.infinite == text && numbers + dates > 0;
        for (placeholder, _) in &self.placeholders {
            // What databases write for NULL means nothing else, whatever stands beside it.
            add(are_all || *placeholder == "\\N", Oddity::Placeholder(placeholder));
        }
        for (position, (value, name)) in SENTINELS.iter().enumerate() {
            let is_sentinel = self.is_sentinel(self.sentinels[position], *value);
            add(is_sentinel && numbers == values, Oddity::Sentinel(name));
        }
        found
    }

    /// Reports whether a number that stands there so often lies far from all others, or below zero where they do not.
    fn is_sentinel(&self, count: u64, value: f64) -> bool {
        let Some((low, high)) = self.range.filter(|_| self.others >= FEWEST_OTHERS) else {
            return false;
        };
        let distance = if value < low { low - value } else { value - high };
        let is_far = distance > FAR * (high - low).max(1.0);
        let is_only_negative = value < 0.0 && low >= 0.0;
        count >= FEWEST_SENTINELS && distance > 0.0 && (is_far || is_only_negative)
    }
}

fn is_telephone(text: &str) -> bool {
    let digits = text.trim_ascii().strip_prefix('+').unwrap_or_default();
    digits.len() >= FEWEST_DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_infinite(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    unsigned.eq_ignore_ascii_case("inf") || unsigned.eq_ignore_ascii_case("infinity")
}

/// Reports whether a text that is no date has the form of one in ISO 8601.
fn has_form_of_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_form = |position: usize, byte: u8| match position {
        4 | 7 => byte == b'-',
        10 => matches!(byte, b' ' | b'T'),
        11.. => byte.is_ascii_digit() || matches!(byte, b':' | b'.' | b'+' | b'-' | b'Z'),
        _ => byte.is_ascii_digit(),
    };
    (bytes.len() == 10 || (16..=35).contains(&bytes.len()))
        && bytes
            .iter()
            .enumerate()
            .all(|(position, byte)| is_form(position, *byte))
}

fn is_wide_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    digits.len() >= WIDEST && !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::rows::TableBuilder;

    fn remarks(values: &[&str]) -> String {
        let mut builder = TableBuilder::new(Some(','), false);
        builder.add_column("c".into());
        for value in values {
            builder.cell(0, Cell::of(value), value);
            builder.end_record(value);
        }
        crate::remark::joined(&builder.finish(0, None).remarks, "; ")
    }

    #[rstest]
    #[case::infinite(&["1.5", "inf", "-Infinity"], "infinite numbers")]
    #[case::impossible(&["2024-02-28", "2024-02-30"], "do not exist")]
    #[case::midnight(&["2024-02-28 10:00", "2024-02-28 24:00"], "do not exist")]
    #[case::zero_date(&["2024-02-28", "0000-00-00"], "do not exist")]
    #[case::form_feed(&["a\x0cb"], "control characters")]
    #[case::no_break_space(&["7\u{a0}", "8"], "no plain space")]
    #[case::wide(&["123456789012345678901", "5"], "beyond 64 bits")]
    #[case::beyond_floats(&["9007199254740993", "5"], "beyond 2^53")]
    #[case::telephone(&["+41791234567", "+41797654321"], "telephone")]
    #[case::null_of_a_database(&["\\N", "word"], "the text \\N may stand")]
    #[case::dash(&["-", "5"], "the text - may stand")]
    #[case::formula_error(&["#REF!", "2.5"], "the text #REF! may stand")]
    #[case::far_number(&["5", "-999", "6", "-999", "-7"], "the number -999 may stand")]
    #[case::negative_number(&["0", "-99", "80", "-99", "100"], "the number -99 may stand")]
    fn an_oddity_is_a_remark(#[case] values: &[&str], #[case] remark: &str) {
        let found = remarks(values);
        assert!(found.contains(remark) && !found.contains(';'), "{found}");
    }

    #[rstest]
    #[case::name(&["inf", "sup"])]
    #[case::digits_and_hyphens(&["1234-56-78", "9999-99-99"])]
    #[case::accents(&["Zürich", "a b"])]
    #[case::largest_exact(&["9007199254740992", "5"])]
    #[case::signed_numbers(&["+12345678", "-12345678"])]
    #[case::small_signed(&["+7", "+8"])]
    #[case::words(&["-", "word"])]
    #[case::numbers_in_a_range(&["-1001", "-999", "-1000", "-999", "-998"])]
    #[case::one_number(&["5", "-999", "6", "7"])]
    #[case::numbers_beside_it(&["900", "999", "800", "999", "700"])]
    fn what_is_as_it_seems_has_no_remark(#[case] values: &[&str]) {
        assert_eq!(remarks(values), "");
    }
}
