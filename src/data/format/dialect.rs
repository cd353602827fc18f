//! Delimiter and header of a delimited text, judged by its first records.

use crate::column::cell::{Cell, Kind};
use crate::column::style::as_thousands;
use crate::format::delimited::RecordReader;

const DELIMITERS: [u8; 4] = [b',', b'\t', b';', b'|'];
const JUDGED_RECORDS: usize = 200;
/// Share of records of equal width from which a text counts as a table although its name does not say so.
const TABLE_SHARE: f64 = 0.9;
const LONGEST_NAME: usize = 64;

/// How the fields of a delimited text are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dialect {
    /// What separates fields.
    pub delimiter: u8,
    /// What stands before the decimals of a number, `.` or `,`.
    pub decimal: u8,
    /// Whether the first record names the columns.
    pub has_header: bool,
}

/// How well a delimiter explains a text.
#[derive(Clone, Debug)]
struct Fit {
    delimiter: u8,
    records: Vec<Vec<String>>,
    width: usize,
    share: f64,
}

/// The dialect of a text that is known to be delimited; a single column where no delimiter fits.
pub(crate) fn of_table(head: &str, is_tsv: bool) -> Dialect {
    let best = best_fit(head);
    let fallback = if is_tsv { b'\t' } else { b',' };
    let fit = best.unwrap_or_else(|| fit(head, fallback));
    Dialect {
        delimiter: fit.delimiter,
        decimal: decimal(&fit),
        has_header: has_header(&fit.records, decimal(&fit)),
    }
}

/// The dialect of a text of unknown structure, where it is plainly a table with a header.
pub(crate) fn of_text(head: &str) -> Option<Dialect> {
    let fit = best_fit(head)?;
    // One record has the width of the first by definition, so it proves no table.
    let is_table = fit.records.len() > 1 && fit.share >= TABLE_SHARE && names_columns(&fit.records[0]);
    is_table.then_some(Dialect {
        delimiter: fit.delimiter,
        decimal: decimal(&fit),
        has_header: true,
    })
}

fn best_fit(head: &str) -> Option<Fit> {
    DELIMITERS
        .into_iter()
        .map(|delimiter| fit(head, delimiter))
        .filter(|fit| fit.width > 1)
        // Of equal fits the first wins: `max_by` keeps the last, hence the reversal.
        .rev()
        .max_by(|fit, other| {
            fit.share
                .total_cmp(&other.share)
                .then(fit.width.cmp(&other.width))
        })
}

/// Splits the first records; their width is that of the first, their share those of that width.
fn fit(head: &str, delimiter: u8) -> Fit {
    let mut reader = RecordReader::new(head.as_bytes(), delimiter);
    let mut records = Vec::new();
    while let Ok(Some(record)) = reader.read() {
        records.push(record.fields().map(str::to_owned).collect::<Vec<_>>());
        if records.len() >= JUDGED_RECORDS {
            break;
        }
    }
    let width = records.first().map_or(0, Vec::len);
    let alike = records.iter().filter(|record| record.len() == width).count();
    let share = alike as f64 / records.len().max(1) as f64;
    Fit {
        delimiter,
        records,
        width,
        share,
    }
}

/// What stands before the decimals: a comma where more of the first numbers have one than have a point. A comma before
/// three digits may as well separate thousands, so there must be one that cannot.
fn decimal(fit: &Fit) -> u8 {
    // Between commas a decimal comma would need quotes.
    if fit.delimiter == b',' {
        return b'.';
    }
    let (mut points, mut commas, mut has_clear) = (0, 0, false);
    for value in fit.records.iter().flatten() {
        if let Cell::Float(_) = Cell::of(value) {
            points += usize::from(value.contains('.'));
        } else if let Cell::Float(_) = Cell::with_decimal(value, b',') {
            commas += usize::from(value.contains(','));
            has_clear |= as_thousands(value).is_none();
        }
    }
    if commas > points && has_clear { b',' } else { b'.' }
}

/// Votes of the columns: text over typed values speaks for a header, a typed value over its like against one.
fn has_header(records: &[Vec<String>], decimal: u8) -> bool {
    let Some((first, rest)) = records.split_first() else {
        return false;
    };
    let votes: i32 = first
        .iter()
        .enumerate()
        .map(|(column, name)| vote(name, rest, column, decimal))
        .sum();
    votes > 0 || (votes == 0 && !(first.iter().all(String::is_empty)))
}

fn vote(name: &str, rest: &[Vec<String>], column: usize, decimal: u8) -> i32 {
    let kinds: Vec<Kind> = rest
        .iter()
        .filter_map(|record| record.get(column))
        .filter_map(|value| Cell::with_decimal(value, decimal).kind())
        .collect();
    let typed = kinds.iter().filter(|kind| **kind != Kind::Text).count();
    let is_typed_column = typed * 2 > kinds.len();
    match Cell::with_decimal(name, decimal).kind() {
        Some(Kind::Text) => i32::from(is_typed_column),
        // Years are names of columns too.
        Some(Kind::Int) if name.len() == 4 && (name.starts_with("19") || name.starts_with("20")) => 0,
        Some(_) => -1,
        None => 0,
    }
}

fn names_columns(names: &[String]) -> bool {
    let is_name = |name: &String| {
        !name.is_empty()
            && name.len() <= LONGEST_NAME
            && !name.starts_with(|first: char| first == ' ' || first.is_ascii_digit())
            && !name.contains('\n')
            && Cell::of(name).kind() == Some(Kind::Text)
    };
    let mut sorted: Vec<_> = names.iter().collect();
    sorted.sort_unstable();
    sorted.dedup();
    sorted.len() == names.len() && names.iter().all(is_name)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("a,b\n1,2\n", b',')]
    #[case("a;b\n1,5;2,5\n", b';')]
    #[case("a;b\nx;1,5\ny;2,5\n", b';')]
    #[case("a\tb\n1\t2\n", b'\t')]
    #[case("a|b|c\n1|2|3\n", b'|')]
    #[case("name\nx\n", b',')]
    #[case("a,b\n\"x;y;z\",2\n\"x;y\",3\n", b',')]
    fn the_delimiter_is_the_one_that_gives_equal_widths(#[case] head: &str, #[case] delimiter: u8) {
        assert_eq!(of_table(head, false).delimiter, delimiter);
    }

    #[rstest]
    #[case("id,name\n1,x\n", true)]
    #[case("1,x\n2,y\n", false)]
    #[case("name,2019,2020\nx,1,2\n", true)]
    #[case("name,city\nx,y\n", true)]
    #[case("id,name\n", true)]
    fn a_header_is_text_over_values(#[case] head: &str, #[case] has_header: bool) {
        assert_eq!(of_table(head, false).has_header, has_header);
    }

    #[rstest]
    #[case("a;b\nx;1,5\ny;2,25\n", b',')]
    #[case("a\tb\nx\t1,5\n", b',')]
    #[case("a;b\nx;1.5\ny;2.25\n", b'.')]
    #[case("a;b\nx;1\ny;2\n", b'.')]
    #[case("a;b\nx;1,234\ny;5,678\n", b'.')]
    #[case("a;b\nx;1,234\ny;0,678\n", b',')]
    #[case("a;b;c\nx;1,5;1.5\ny;2,5;2.5\n", b'.')]
    #[case("a;b;c;d\nx;1,5;1.5;2,5\n", b',')]
    #[case("a,b\nx,\"1,5\"\n", b'.')]
    fn the_decimal_sign_is_that_of_most_numbers(#[case] head: &str, #[case] decimal: u8) {
        assert_eq!(of_table(head, false).decimal, decimal);
    }

    #[test]
    fn decimal_commas_are_values_under_a_header() {
        assert!(of_table("a;b\n1,5;2,5\n", false).has_header);
        assert!(!of_table("1,5;x\n2,5;y\n", false).has_header);
    }

    #[test]
    fn prose_with_commas_is_no_table() {
        assert_eq!(of_text("Hello, world\nFoo, bar\n"), None);
        assert_eq!(of_text("2026-01-01 INFO a,b\n2026-01-02 INFO c,d\n"), None);
        assert!(of_text("id,name\n1,x\n").is_some());
    }
}
