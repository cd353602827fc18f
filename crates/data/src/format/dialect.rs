//! Delimiter, header and what stands above it of a delimited text, judged by its first records.

use crate::column::cell::Cell;
use crate::column::style::as_thousands;
use crate::format::delimited::RecordReader;
use crate::format::lead::{self, HeadRecord, Lead};
use crate::format::names::{has_header, names_columns};

const DELIMITERS: [u8; 4] = [b',', b'\t', b';', b'|'];
const JUDGED_RECORDS: usize = 200;
/// Records that are read at most to find as many that are no comments.
const MOST_RECORDS: usize = 5_000;
/// Share of records of equal width from which a text counts as a table although its name does not say so.
const TABLE_SHARE: f64 = 0.9;

/// Dialect of a delimited text: the way in which its fields are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dialect {
    /// Sign that separates fields.
    pub delimiter: u8,
    /// Sign before the decimals of a number, `.` or `,`.
    pub decimal: u8,
    /// True where the first record names the columns.
    pub has_header: bool,
    /// Lines above it.
    pub lead: Lead,
}

/// Fit of a delimiter to a text.
#[derive(Clone, Debug)]
struct Fit {
    delimiter: u8,
    decimal: u8,
    lead: Lead,
    /// The first records, comments left out.
    records: Vec<HeadRecord>,
    /// Width of the first record of the table.
    width: usize,
    /// Share of the records of the table that have it.
    share: f64,
}

impl Fit {
    /// The fields of the header, or of the first record, and of those below.
    fn table(&self) -> impl Iterator<Item = &[String]> + Clone {
        let above = self.lead.above + usize::from(self.lead.has_groups);
        let units = self.lead.units_row;
        self.records
            .iter()
            .skip(above)
            .filter(move |record| Some(record.row) != units)
            .map(|record| record.fields.as_slice())
    }

    fn dialect(&self, has_header: bool) -> Dialect {
        let lead = Lead {
            // Both belong to a header.
            has_groups: self.lead.has_groups && has_header,
            units_row: self.lead.units_row.filter(|_| has_header),
            ..self.lead
        };
        Dialect {
            delimiter: self.delimiter,
            decimal: self.decimal,
            has_header,
            lead,
        }
    }
}

/// The dialect of a text that is known to be delimited; a single column where no delimiter fits.
pub(crate) fn of_table(head: &str, is_tsv: bool) -> Dialect {
    let named = lead::separator(head);
    let fallback = named.unwrap_or(if is_tsv { b'\t' } else { b',' });
    let fit = best_fit(head).unwrap_or_else(|| fit(head, fallback, named.is_some()));
    fit.dialect(has_header(fit.table(), fit.decimal))
}

/// The dialect of a text of unknown structure, where it is plainly a table with a header.
pub(crate) fn of_text(head: &str) -> Option<Dialect> {
    let fit = best_fit(head)?;
    // Titles are prose: only what says itself that it is no record may stand above a table that nothing else proves.
    let is_marked = fit.lead.above == usize::from(fit.lead.has_separator_line) || head.starts_with('#');
    let mut table = fit.table();
    let names = table.next()?;
    // One record has the width of the first by definition, so it proves no table.
    let is_table = is_marked && table.next().is_some() && fit.share >= TABLE_SHARE && names_columns(names);
    is_table.then(|| fit.dialect(true))
}

fn best_fit(head: &str) -> Option<Fit> {
    if let Some(delimiter) = lead::separator(head) {
        return Some(fit(head, delimiter, true)).filter(|fit| fit.width > 1);
    }
    DELIMITERS
        .into_iter()
        .map(|delimiter| fit(head, delimiter, false))
        .filter(|fit| fit.width > 1)
        // Of equal fits the first wins: `max_by` keeps the last, hence the reversal.
        .rev()
        .max_by(|fit, other| {
            fit.share
                .total_cmp(&other.share)
                .then(other.lead.above.min(1).cmp(&fit.lead.above.min(1)))
                .then(fit.width.cmp(&other.width))
        })
}

/// Splits the first records; their width is that of the first of the table, their share those of that width.
fn fit(head: &str, delimiter: u8, has_separator_line: bool) -> Fit {
    let mut records = head_records(head, delimiter);
    let comment = lead::comment_sign(&records);
    records.retain(|record| Some(record.start) != comment);
    let decimal = decimal(&records, delimiter);
    let lead = lead::find(&records, comment, has_separator_line, decimal);
    let table = &records[lead.above.min(records.len())..];
    let width = table.first().map_or(0, |record| record.fields.len());
    let alike = table.iter().filter(|record| record.fields.len() == width).count();
    let share = alike as f64 / table.len().max(1) as f64;
    Fit {
        delimiter,
        decimal,
        lead,
        records,
        width,
        share,
    }
}

fn head_records(head: &str, delimiter: u8) -> Vec<HeadRecord> {
    let mut reader = RecordReader::new(head.as_bytes(), delimiter);
    let (mut records, mut judged) = (Vec::new(), 0);
    while let Ok(Some(record)) = reader.read() {
        let start = record.raw.as_bytes().first().copied().unwrap_or_default();
        judged += usize::from(!lead::COMMENT_SIGNS.contains(&start));
        records.push(HeadRecord {
            fields: record.fields().map(str::to_owned).collect(),
            start,
            row: record.row,
        });
        if judged >= JUDGED_RECORDS || records.len() >= MOST_RECORDS {
            break;
        }
    }
    records
}

/// Returns the sign before the decimals: a comma where more of the first numbers have one than have a point. A comma before three digits
/// may as well separate thousands, so there must be one that cannot.
fn decimal(records: &[HeadRecord], delimiter: u8) -> u8 {
    // Between commas a decimal comma would need quotes.
    if delimiter == b',' {
        return b'.';
    }
    let (mut points, mut commas, mut has_clear) = (0, 0, false);
    for value in records.iter().flat_map(|record| &record.fields) {
        if let Cell::Float(_) = Cell::of(value) {
            points += usize::from(value.contains('.'));
        } else if let Cell::Float(_) = Cell::with_decimal(value, b',') {
            commas += usize::from(value.contains(','));
            has_clear |= as_thousands(value).is_none();
        }
    }
    if commas > points && has_clear { b',' } else { b'.' }
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

    /// Text, comment sign, records above the header, whether groups stand above the names, line of the units.
    #[rstest]
    #[case::plain("a,b\n1,2\n", None, 0, false, None)]
    #[case::comments("# x\n# y\na,b\n1,2\n", Some(b'#'), 0, false, None)]
    #[case::comment_below("a,b\n1,2\n# x\n3,4\n", Some(b'#'), 0, false, None)]
    #[case::comment_as_wide("# x, y\na,b\n1,2\n", Some(b'#'), 0, false, None)]
    #[case::comments_some_as_wide("# x, y\n# z\na,b\n1,2\n", Some(b'#'), 0, false, None)]
    #[case::sign_of_a_name("#a,b\n1,2\n", None, 0, false, None)]
    #[case::sign_of_values("a,b\n#1,2\n#3,4\n", None, 0, false, None)]
    #[case::marked_header("##x\n##y\n#a\tb\n1\t2\n", None, 2, false, None)]
    #[case::title("Sales of 2026\n\na,b\n1,2\n", None, 1, false, None)]
    #[case::title_above_words("Sales of 2026\na,b\nx,y\n", None, 1, false, None)]
    #[case::padded_title("Sales,,\nof,2026-01-02,\n,,\na,b,c\n1,2,3\n4,5,6\n", None, 3, false, None)]
    #[case::pairs("site;Bern\nfrom;2026\n\na;b;c\n1,5;2;3\n", None, 2, false, None)]
    #[case::separator("sep=;\na;b\n1;2\n", None, 1, false, None)]
    #[case::groups(",x,x,y,y\nk,a,b,a,b\nm,1,2,3,4\n", None, 0, true, None)]
    #[case::merged_groups(",x,,y,\nk,a,b,a,b\nm,1,2,3,4\n", None, 0, true, None)]
    #[case::units("t,p\ns,hPa\n1,2\n3,4\n", None, 0, false, Some(1))]
    #[case::units_below_a_title("My data\nt,p\ns,hPa\n1,2\n3,4\n", None, 1, false, Some(2))]
    #[case::narrow_header("a,b\n1,2,3\n4,5,6\n", None, 0, false, None)]
    #[case::text_with_commas("my notes\none, two\nthree, four\n", None, 0, false, None)]
    #[case::unnamed_index(",a,b\nx,u,v\ny,u,w\n", None, 0, false, None)]
    #[case::a_name_for_the_first_column_only("a,,\n1,2,3\n4,5,6\n", None, 0, false, None)]
    #[case::words_that_are_no_units("t,p\nBern,high\n1,2\n3,4\n", None, 0, false, None)]
    fn what_stands_above_the_records_is_found(
        #[case] head: &str,
        #[case] comment: Option<u8>,
        #[case] above: usize,
        #[case] has_groups: bool,
        #[case] units: Option<u64>,
    ) {
        let found = of_table(head, false).lead;
        assert_eq!(
            (found.comment, found.above, found.has_groups, found.units_row),
            (comment, above, has_groups, units)
        );
    }

    #[test]
    fn a_separator_line_names_the_delimiter() {
        for (head, delimiter) in [("sep=;\na,b;c\n1;2\n", b';'), ("\"sep=|\"\na|b\n1|2\n", b'|')] {
            let found = of_table(head, false);
            assert_eq!(
                (found.delimiter, found.lead.has_separator_line),
                (delimiter, true)
            );
        }
        assert!(!of_table("sep=a,b\n1,2\n", false).lead.has_separator_line);
    }

    #[test]
    fn prose_with_commas_is_no_table() {
        assert_eq!(of_text("Hello, world\nFoo, bar\n"), None);
        assert_eq!(of_text("2026-01-01 INFO a,b\n2026-01-02 INFO c,d\n"), None);
        assert!(of_text("id,name\n1,x\n").is_some());
    }
}
