//! Lines above the records of a delimited text that are none of them: titles, comments, a `sep=` for Excel, a second row of the header, a
//! row of units.

use std::collections::BTreeMap;

use crate::column::cell::{Cell, ValueKind, null_spelling};
use crate::format::header::{HEAD_ROWS, HeadCell, HeadRow, header_position};
use crate::format::names::{is_year, names_columns, votes};
use crate::format::units::is_unit;

/// Signs with which lines begin that are comments.
pub(crate) const COMMENT_SIGNS: [u8; 3] = *b"#%!";
/// Share of the records below titles that must have the width of the first of them.
const TABLE_SHARE: f64 = 0.8;
/// Records that must stand below a row of units.
const FEWEST_BELOW_UNITS: usize = 2;

/// One of the first records of a text.
#[derive(Clone, Debug)]
pub(crate) struct HeadRecord {
    /// Its fields.
    pub fields: Vec<String>,
    /// The first byte of it.
    pub start: u8,
    /// Its line as pandas counts for `skiprows`.
    pub row: u64,
}

/// Lines above the records of a delimited text that are none of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lead {
    /// The sign with which lines begin that are comments.
    pub comment: Option<u8>,
    /// True where the first line names the delimiter for Excel.
    pub has_separator_line: bool,
    /// Records above the header, that line among them and comments not.
    pub above: usize,
    /// Lines above the header, or above the first record, as pandas counts them.
    pub lines_above: u64,
    /// True where a row of groups stands above the row of names.
    pub has_groups: bool,
    /// The line of the row of names, counted so.
    pub names_row: u64,
    /// The line of a row of units below it, counted so.
    pub units_row: Option<u64>,
}

/// The delimiter that the first line names for Excel (`sep=;`).
#[must_use]
pub(crate) fn separator(head: &str) -> Option<u8> {
    let first = head.split(['\n', '\r']).next()?;
    let named = first.trim_matches('"').strip_prefix("sep=")?;
    match named.as_bytes() {
        [sign] if sign.is_ascii_punctuation() || matches!(sign, b'\t' | b' ') => Some(*sign),
        _ => None,
    }
}

/// The sign of comment lines: records begin with it that are not as wide as all others, or that stand above a header.
#[must_use]
pub(crate) fn comment_sign(records: &[HeadRecord]) -> Option<u8> {
    COMMENT_SIGNS
        .into_iter()
        .find(|sign| are_comments(records, *sign))
}

fn are_comments(records: &[HeadRecord], sign: u8) -> bool {
    let is_marked = |record: &&HeadRecord| record.start == sign;
    let others: Vec<&HeadRecord> = records.iter().filter(|record| !is_marked(record)).collect();
    let leading = records.iter().take_while(is_marked).count();
    let marked = records.len() - others.len();
    if marked == 0 || others.is_empty() {
        return false;
    }
    let Some((width, _)) = usual_width(others.iter().map(|record| record.fields.len())) else {
        return false;
    };
    if width == 1 {
        // Nothing but their form tells lines of one field apart.
        let is_sentence = |record: &HeadRecord| record.fields[0].get(1..2) == Some(" ");
        return leading > 1 && leading == marked && records[..leading].iter().all(is_sentence);
    }
    let wide = |records: &[HeadRecord]| {
        let is_wide = |record: &&HeadRecord| is_marked(record) && record.fields.len() == width;
        records.iter().filter(is_wide).count()
    };
    // Fields that begin with the sign are values, unless such records are lines above a header.
    wide(&records[leading..]) == 0 && (wide(records) == 0 || begins_with_names(&others))
}

fn begins_with_names(records: &[&HeadRecord]) -> bool {
    let Some((first, rest)) = records.split_first() else {
        return false;
    };
    votes(
        &first.fields,
        &rest.iter().map(|record| record.fields.as_slice()),
        b'.',
    ) > 0
}

/// The width that most records have, the larger of two, and how many have it.
fn usual_width(widths: impl Iterator<Item = usize>) -> Option<(usize, usize)> {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for width in widths {
        *counts.entry(width).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(width, count)| (*count, *width))
}

/// Finds what stands above the records; comments are left out of `records` already.
#[must_use]
pub(crate) fn find(
    records: &[HeadRecord],
    comment: Option<u8>,
    has_separator_line: bool,
    decimal: u8,
) -> Lead {
    let base = usize::from(has_separator_line).min(records.len());
    let rows = &records[base..];
    let start = table_start(rows, decimal);
    let table = &rows[start..];
    let has_groups = has_groups(table, decimal);
    let names = usize::from(has_groups);
    let row = |position: usize| table.get(position).map_or(0, |record| record.row);
    let has_units = table
        .split_at_checked(names + 1)
        .is_some_and(|(_, below)| begins_with_units(below, decimal));
    Lead {
        comment,
        has_separator_line,
        above: base + start,
        lines_above: row(0),
        has_groups,
        names_row: row(names),
        units_row: has_units.then(|| row(names + 1)),
    }
}

/// The position of the first record of the table: 0 unless titles stand above it.
fn table_start(rows: &[HeadRecord], decimal: u8) -> usize {
    let Some((width, _)) = usual_width(rows.iter().map(|row| row.fields.len())) else {
        return 0;
    };
    let first = rows.iter().position(|row| row.fields.len() == width).unwrap_or(0);
    let is_table = |start: usize| {
        let alike = rows[start..]
            .iter()
            .filter(|row| row.fields.len() == width)
            .count();
        width > 1 && alike as f64 >= TABLE_SHARE * (rows.len() - start) as f64
    };
    if first >= HEAD_ROWS || !is_table(first) {
        return 0;
    }
    let below = first + padded_titles(&rows[first..], width, decimal);
    if below == 0 || !begins_with_title(rows) {
        return 0;
    }
    // Titles as wide as the table have proved themselves by what stands below.
    let is_proved = below > first || is_below_titles(&rows[..first], &rows[first..], decimal);
    if is_proved { below } else { 0 }
}

/// Counts the rows that are titles filled up with empty fields.
fn padded_titles(rows: &[HeadRecord], width: usize, decimal: u8) -> usize {
    let head: Vec<HeadRow<'_>> = rows
        .iter()
        .take(HEAD_ROWS)
        .map(|row| head_row(row, width, decimal))
        .collect();
    let position = header_position(&head);
    let titles = &rows[..position];
    let is_header = position > 0
        && titles.iter().all(|row| row.fields.len() == width)
        && is_row_of_names(&rows[position].fields)
        && votes(&rows[position].fields, &fields_of(&rows[position + 1..]), decimal) > 0;
    if !is_header {
        return 0;
    }
    // The row above the names belongs to them where it groups columns.
    position - usize::from(has_groups(&rows[position - 1..], decimal))
}

fn head_row(record: &HeadRecord, width: usize, decimal: u8) -> HeadRow<'_> {
    let cells = (0..).zip(record.fields.iter().take(width));
    HeadRow {
        cells: cells
            .filter(|(_, text)| null_spelling(text).is_none())
            .map(|(column, text)| HeadCell {
                column,
                text,
                is_text: Cell::with_decimal(text, decimal).kind() == Some(ValueKind::Text),
            })
            .collect(),
    }
}

fn fields_of(rows: &[HeadRecord]) -> impl Iterator<Item = &[String]> + Clone {
    rows.iter().map(|row| row.fields.as_slice())
}

fn begins_with_title(rows: &[HeadRecord]) -> bool {
    let first = rows.first().and_then(|row| row.fields.first());
    first.is_some_and(|text| Cell::of(text).kind() == Some(ValueKind::Text))
}

/// Reports whether rows that are narrower than the table below them are titles: the next rows are names above values, or the rows are a
/// sentence and set apart.
fn is_below_titles(titles: &[HeadRecord], table: &[HeadRecord], decimal: u8) -> bool {
    let Some((names, rest)) = table.split_first() else {
        return false;
    };
    let [.., last] = titles else { return false };
    let is_sentence = titles[0].fields.len() == 1 && titles[0].fields[0].trim().contains(' ');
    let is_marked = titles.iter().all(|title| COMMENT_SIGNS.contains(&title.start));
    let is_apart = names.row > last.row + 1;
    let votes = votes(&names.fields, &fields_of(rest), decimal);
    if votes > 0 {
        return is_row_of_names(&names.fields) || is_row_of_groups(&names.fields);
    }
    let is_header = names_columns(&names.fields) && (is_sentence || is_marked || is_apart);
    // Below a sentence there may be records without a header.
    is_header || is_row_of_groups(&names.fields) || (is_sentence && votes < 0)
}

fn is_row_of_names(fields: &[String]) -> bool {
    let filled = fields.iter().filter(|text| null_spelling(text).is_none());
    let is_name = |text: &String| Cell::of(text).kind() == Some(ValueKind::Text) || is_year(text);
    filled.clone().count() * 2 > fields.len() && filled.clone().all(is_name)
}

/// Reports whether several columns have a group: texts or years, of which some repeat or leave out the columns beside them. The first
/// column has none in many tables.
fn is_row_of_groups(fields: &[String]) -> bool {
    let is_name = |text: &&String| Cell::of(text).kind() == Some(ValueKind::Text) || is_year(text);
    let Some(grouped) = fields.get(1..) else {
        return false;
    };
    let mut filled: Vec<&String> = grouped.iter().filter(|text| !text.is_empty()).collect();
    let count = filled.len();
    filled.sort_unstable();
    filled.dedup();
    let is_shared = count < grouped.len() || filled.len() < count;
    count > 1
        && is_shared
        && fields
            .iter()
            .filter(|text| !text.is_empty())
            .all(|text| is_name(&text))
}

/// Reports whether a table begins with a row of groups above its row of names: several names would be equal without their groups, or the
/// groups leave the first column to a name below.
fn has_groups(table: &[HeadRecord], decimal: u8) -> bool {
    let [groups, names, below @ ..] = table else {
        return false;
    };
    let (groups, names) = (&groups.fields, &names.fields);
    if groups.len() != names.len() || below.is_empty() || !is_row_of_groups(groups) || !is_row_of_names(names)
    {
        return false;
    }
    let mut sorted: Vec<_> = names.iter().filter(|name| !name.is_empty()).collect();
    let count = sorted.len();
    sorted.sort_unstable();
    sorted.dedup();
    let is_ambiguous = sorted.len() < count;
    let leaves_first = groups.first().is_some_and(String::is_empty);
    let is_typed = votes(names, &fields_of(below), decimal) > 0;
    is_typed && (is_ambiguous || leaves_first) && !are_units(names, below, decimal)
}

/// Reports whether the row below the names holds units.
fn begins_with_units(rows: &[HeadRecord], decimal: u8) -> bool {
    let Some((units, below)) = rows.split_first() else {
        return false;
    };
    below.len() >= FEWEST_BELOW_UNITS && are_units(&units.fields, below, decimal)
}

/// Reports whether texts stand above columns of numbers and dates, each a unit.
fn are_units(units: &[String], below: &[HeadRecord], decimal: u8) -> bool {
    let kind = |text: &String| Cell::with_decimal(text, decimal).kind();
    let has_type = |text: &String| kind(text).is_some_and(|kind| kind != ValueKind::Text);
    if units.iter().any(has_type) {
        return false;
    }
    let mut found = 0;
    for (column, unit) in units.iter().enumerate() {
        let mut kinds = below
            .iter()
            .filter_map(|row| row.fields.get(column).and_then(kind))
            .peekable();
        let is_typed = kinds.peek().is_some() && kinds.all(|kind| kind != ValueKind::Text);
        if !is_typed || kind(unit).is_none() {
            continue;
        }
        if !is_unit(unit) {
            return false;
        }
        found += 1;
    }
    found > 0
}
