//! Tables of delimited text: CSV, TSV and their kin.

use super::scalar::{Tolerance, same};
use super::{Mismatch, unix_lines};

/// Delimiters, the likeliest first.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// A table with named columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    /// Reads a table; its first line names the columns.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        Self::read(text, delimiter(text))
    }

    /// Reads a table whose cells are separated by `delimiter`.
    pub(super) fn read(text: &str, delimiter: u8) -> Result<Self, String> {
        let text = unix_lines(text.strip_prefix('\u{feff}').unwrap_or(text));
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(delimiter)
            // Rows of another width are read, too: the comparison names them, where the reader would only refuse the file.
            .flexible(true)
            .from_reader(text.as_bytes());
        let fields =
            |record: &csv::StringRecord| -> Vec<String> { record.iter().map(str::to_owned).collect() };
        let columns = reader.headers().map(fields).map_err(|error| error.to_string())?;
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|error| error.to_string())?;
            if columns.len() == 1 {
                // Where there is but one column, an empty line is how many a program writes an empty cell.
                rows.extend((0..empty_lines_before(&record, &text)).map(|_| vec![String::new()]));
            }
            rows.push(fields(&record));
        }
        Ok(Self { columns, rows })
    }

    /// The table as comma-separated text.
    pub(crate) fn print(&self, delimiter: u8) -> Option<String> {
        let mut writer = csv::WriterBuilder::new()
            .delimiter(delimiter)
            .flexible(true)
            .from_writer(Vec::new());
        writer.write_record(&self.columns).ok()?;
        for row in &self.rows {
            writer.write_record(row).ok()?;
        }
        String::from_utf8(writer.into_inner().ok()?).ok()
    }

    /// The first row, counted from 1, that has more cells than there are columns: readers refuse it or shift the columns.
    pub(super) fn overlong_row(&self) -> Option<usize> {
        let place = self.rows.iter().position(|row| row.len() > self.columns.len());
        place.map(|index| index + 1)
    }

    fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    pub(super) fn cells(&self, name: &str) -> Result<Vec<&str>, Mismatch> {
        let Some(index) = self.column(name) else {
            return Err(Mismatch::new(
                format!("a column {name}"),
                format!("the columns {}", self.columns.join(", ")),
            ));
        };
        Ok(self
            .rows
            .iter()
            .map(|row| row.get(index).map_or("", String::as_str))
            .collect())
    }

    /// The cell at `ROW/COLUMN`, where a row is a number from 1 or `column=value`. A column's name may hold slashes.
    pub(crate) fn cell(&self, at: &str) -> Result<&str, Mismatch> {
        let mut places = at
            .match_indices('/')
            .map(|(slash, _)| (&at[..slash], &at[slash + 1..]));
        // From the left, since the name of a column may hold slashes; the first split whose column exists is meant.
        let found = places.find_map(|(row, column)| Some((row, self.column(column)?)));
        let Some((row, column)) = found else {
            let name = at.rsplit_once('/').map_or(at, |(_, column)| column);
            self.cells(name)?;
            return Err(Mismatch::new(
                format!("a cell at {at}"),
                "no such place".to_owned(),
            ));
        };
        self.row(row)
            .map(|row| row.get(column).map_or("", String::as_str))
            .ok_or_else(|| {
                Mismatch::new(
                    format!("a row for {at}"),
                    format!("{} rows without it", self.rows.len()),
                )
            })
    }

    fn row(&self, place: &str) -> Option<&Vec<String>> {
        if let Ok(number) = place.parse::<usize>() {
            return self.rows.get(number.checked_sub(1)?);
        }
        let (key, value) = place.split_once('=')?;
        let key = self.column(key)?;
        let is_it = |cell: &String| same(value, cell, Tolerance::default());
        self.rows.iter().find(|row| row.get(key).is_some_and(is_it))
    }
}

fn empty_lines_before(record: &csv::StringRecord, text: &str) -> usize {
    let start = record
        .position()
        .and_then(|position| usize::try_from(position.byte()).ok());
    let rest = start.and_then(|start| text.as_bytes().get(start..));
    rest.map_or(0, |rest| rest.iter().take_while(|byte| **byte == b'\n').count())
}

/// The delimiter of a table: what its first line holds most of outside of quotes.
pub(crate) fn delimiter(text: &str) -> u8 {
    let counts = DELIMITERS.map(|delimiter| count_in_header(text, delimiter));
    let most = counts.iter().max().copied().unwrap_or_default();
    let first = counts.iter().position(|count| *count == most).unwrap_or_default();
    // Of equal counts the first, which is the likeliest.
    DELIMITERS[first]
}

/// How often a delimiter stands in the first line, outside of quotes.
pub(super) fn count_in_header(text: &str, delimiter: u8) -> usize {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let header = text.trim_start_matches(['\n', '\r']).lines().next();
    let mut is_quoted = false;
    // A separator in quotes is part of a name.
    let is_outside = |byte: &u8| {
        is_quoted ^= *byte == b'"';
        !is_quoted && *byte == delimiter
    };
    header
        .unwrap_or_default()
        .as_bytes()
        .iter()
        .copied()
        .filter(is_outside)
        .count()
}
