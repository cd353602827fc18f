//! Records of a delimited file (CSV, TSV and their kin), one at a time in bounded memory.

use std::io::{self, BufRead};

use csv_core::ReadRecordResult;

use crate::format::places::LinePlaces;

/// Longest record that is read whole, bytes; of a longer one the start is read and the rest skipped.
pub(crate) const LONGEST_RECORD: usize = 4 * 1024 * 1024;
/// Most fields of a record that are read; further ones are only counted.
pub(crate) const MOST_FIELDS: usize = 131_072;

/// One record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    text: &'a str,
    ends: &'a [usize],
    /// The record as it stands in the file, without its line break.
    pub raw: &'a str,
    /// Line on which it starts, counted from 1.
    pub line: u64,
    /// The same as pandas counts for `skiprows`: from 0, and a line break inside quotes ends no line.
    pub row: u64,
    /// Its fields, those beyond `MOST_FIELDS` counted too.
    pub width: usize,
    /// True where it was too long to be read whole.
    pub is_cut: bool,
}

impl<'a> Record<'a> {
    /// A field with its quotes removed; `None` beyond the last one read.
    #[must_use]
    pub(crate) fn field(&self, index: usize) -> Option<&'a str> {
        let end = *self.ends.get(index)?;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(self.text.get(start..end).unwrap_or(""))
    }

    /// All fields that were read.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &'a str> {
        let record = *self;
        (0..self.ends.len()).map_while(move |index| record.field(index))
    }
}

/// Extent, in the buffers, of the record that was read last.
#[derive(Clone, Copy)]
struct Extent {
    text_length: usize,
    fields: usize,
    width: usize,
    is_cut: bool,
}

/// Position of the record that was read last: in the file, and in the raw bytes.
#[derive(Clone, Copy)]
struct Position {
    line: u64,
    row: u64,
    start: usize,
    end: usize,
}

/// Reads records of UTF-8 text.
pub(crate) struct RecordReader<R> {
    input: R,
    core: csv_core::Reader,
    text: Vec<u8>,
    ends: Vec<usize>,
    raw: Vec<u8>,
    next_line: u64,
    /// Line breaks inside of records so far.
    inner_breaks: u64,
    comment: Option<u8>,
    /// Lines that were left out as comments.
    pub comments: LinePlaces,
    /// The record that was read last.
    last: Option<(Extent, Position)>,
    is_put_back: bool,
}

impl<R: BufRead> RecordReader<R> {
    /// Reads `input`, its fields separated by `delimiter`.
    pub(crate) fn new(input: R, delimiter: u8) -> Self {
        Self {
            input,
            core: csv_core::ReaderBuilder::new().delimiter(delimiter).build(),
            text: vec![0; 4096],
            ends: vec![0; 64],
            raw: Vec::new(),
            next_line: 1,
            inner_breaks: 0,
            comment: None,
            comments: LinePlaces::default(),
            last: None,
            is_put_back: false,
        }
    }

    /// The same without records that begin with `comment`.
    pub(crate) const fn with_comment(mut self, comment: Option<u8>) -> Self {
        self.comment = comment;
        self
    }

    /// The next record; `None` at the end. Lines of nothing but spaces and tabs are skipped, as pandas does.
    pub(crate) fn read(&mut self) -> io::Result<Option<Record<'_>>> {
        if !std::mem::take(&mut self.is_put_back) {
            self.last = self.find()?;
        }
        Ok(self.last.map(|(extent, position)| self.record(extent, position)))
    }

    /// Makes the record that was read last the next one again.
    pub(crate) const fn put_back(&mut self) {
        self.is_put_back = true;
    }

    fn find(&mut self) -> io::Result<Option<(Extent, Position)>> {
        loop {
            let Some(extent) = self.advance()? else {
                return Ok(None);
            };
            let position = self.locate();
            // A record of one field that is blank is an empty line.
            if extent.width <= 1 && !extent.is_cut && self.raw.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            if self.comment.is_some() && self.raw.get(position.start).copied() == self.comment {
                self.comments.push(position.line);
                continue;
            }
            return Ok(Some((extent, position)));
        }
    }

    fn advance(&mut self) -> io::Result<Option<Extent>> {
        self.raw.clear();
        let (mut text_length, mut fields, mut width) = (0, 0, 0);
        let (mut is_cut, mut text_is_full, mut ends_are_full) = (false, false, false);
        loop {
            let input = self.input.fill_buf()?;
            let (result, read, wrote, ended) =
                self.core
                    .read_record(input, &mut self.text[text_length..], &mut self.ends[fields..]);
            // What is shown of a long record is its start.
            let room = (LONGEST_RECORD - self.raw.len()).min(read);
            self.raw.extend_from_slice(&input[..room]);
            is_cut |= room < read;
            self.input.consume(read);
            text_length += wrote;
            fields += ended;
            width += ended;
            match result {
                ReadRecordResult::InputEmpty => {}
                // Room doubles up to the bound, so a usual record costs no more than it needs.
                ReadRecordResult::OutputFull if self.text.len() < LONGEST_RECORD => {
                    self.text.resize(self.text.len() * 2, 0);
                }
                ReadRecordResult::OutputEndsFull if self.ends.len() < MOST_FIELDS => {
                    self.ends.resize(self.ends.len() * 2, 0);
                }
                // The rest of the record is read into the tail of the buffers again and again, and so only counted.
                ReadRecordResult::OutputFull => {
                    text_is_full = true;
                    text_length = self.text.len() / 2;
                }
                ReadRecordResult::OutputEndsFull => {
                    ends_are_full = true;
                    fields = self.ends.len() / 2;
                }
                ReadRecordResult::Record => break,
                ReadRecordResult::End => return Ok(None),
            }
        }
        if text_is_full {
            text_length = self.text.len() / 2;
        }
        if ends_are_full {
            fields = self.ends.len() / 2;
        }
        is_cut |= text_is_full || ends_are_full;
        Ok(Some(Extent {
            text_length,
            fields,
            width,
            is_cut,
        }))
    }

    fn locate(&mut self) -> Position {
        // The parser leaves the line break of one record to the next: `\r\n` ends with `\r`.
        let start = self
            .raw
            .iter()
            .take_while(|byte| matches!(byte, b'\r' | b'\n'))
            .count();
        let line = self.next_line + line_breaks(&self.raw[..start]);
        self.next_line = self.core.line();
        let end = self
            .raw
            .iter()
            .rposition(|byte| !matches!(byte, b'\r' | b'\n'))
            .map_or(start, |last| last + 1)
            .max(start);
        let row = line.saturating_sub(1 + self.inner_breaks);
        self.inner_breaks += line_breaks(&self.raw[start..end]);
        Position {
            line,
            row,
            start,
            end,
        }
    }

    fn record(&self, extent: Extent, position: Position) -> Record<'_> {
        Record {
            text: valid_prefix(&self.text[..extent.text_length]),
            ends: &self.ends[..extent.fields],
            raw: valid_prefix(&self.raw[position.start..position.end]),
            line: position.line,
            row: position.row,
            width: extent.width,
            is_cut: extent.is_cut,
        }
    }
}

fn line_breaks(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

fn valid_prefix(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or(""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(text: &str) -> Vec<(u64, String, Vec<String>)> {
        let mut reader = RecordReader::new(io::BufReader::with_capacity(7, text.as_bytes()), b',');
        let mut found = Vec::new();
        while let Some(record) = reader.read().unwrap() {
            found.push((
                record.line,
                record.raw.to_owned(),
                record.fields().map(str::to_owned).collect(),
            ));
        }
        found
    }

    #[test]
    fn a_quoted_field_may_hold_a_line_break_and_a_delimiter() {
        let found = records("a,b\n\"x\ny,z\",\"say \"\"hi\"\"\"\nc,d\n");
        assert_eq!(
            found[1],
            (
                2,
                "\"x\ny,z\",\"say \"\"hi\"\"\"".into(),
                vec!["x\ny,z".into(), "say \"hi\"".into()]
            )
        );
        assert_eq!(found[2].0, 4);
    }

    #[test]
    fn records_keep_their_text_and_line_whatever_ends_them() {
        let found = records("a,b\r\n1,2\r\n\r\n3,4");
        let lines: Vec<_> = found.iter().map(|(line, raw, _)| (*line, raw.as_str())).collect();
        assert_eq!(lines, [(1, "a,b"), (2, "1,2"), (4, "3,4")]);
    }

    #[test]
    fn lines_of_blanks_are_no_records_and_are_counted_as_lines() {
        let found = records("  \na,b\n \t \r\n1,2\n\"  \"\n   ");
        let lines: Vec<_> = found.iter().map(|(line, raw, _)| (*line, raw.as_str())).collect();
        assert_eq!(lines, [(2, "a,b"), (4, "1,2"), (5, "\"  \"")]);
        let mut tabs = RecordReader::new("a\tb\n \n\t\n".as_bytes(), b'\t');
        let mut widths = Vec::new();
        while let Some(record) = tabs.read().unwrap() {
            widths.push((record.line, record.width));
        }
        assert_eq!(widths, [(1, 2), (3, 2)]);
    }

    #[test]
    fn comment_lines_are_counted_and_no_records_and_a_record_may_be_read_again() {
        let text = "# one\na,\"b\nc\"\n\n#two\n1,#2\n";
        let mut reader = RecordReader::new(text.as_bytes(), b',').with_comment(Some(b'#'));
        let mut seen = Vec::new();
        while let Some(record) = reader.read().unwrap() {
            seen.push((
                record.line,
                record.row,
                record.fields().last().unwrap().to_owned(),
            ));
            if seen.len() == 1 {
                reader.put_back();
            }
        }
        let expected = [(2, 1, "b\nc"), (2, 1, "b\nc"), (6, 4, "#2")];
        assert_eq!(
            seen,
            expected.map(|(line, row, field)| (line, row, field.to_owned()))
        );
        assert_eq!(
            (reader.comments.count, reader.comments.list()),
            (2, "lines 1, 5".to_owned())
        );
    }

    #[test]
    fn five_million_commas_are_counted_in_bounded_memory() {
        let line = ",".repeat(5_000_000);
        let mut reader = RecordReader::new(line.as_bytes(), b',');
        let record = reader.read().unwrap().unwrap();
        assert_eq!(record.width, 5_000_001);
        assert!(record.is_cut);
        assert!(reader.text.len() + reader.ends.len() < 2 * LONGEST_RECORD);
    }

    #[test]
    fn a_record_longer_than_the_bound_is_cut_and_the_next_is_whole() {
        let text = format!("{},tail\nx,y\n", "a".repeat(10_000_000));
        let mut reader = RecordReader::new(text.as_bytes(), b',');
        assert!(reader.read().unwrap().unwrap().is_cut);
        let next = reader.read().unwrap().unwrap();
        assert_eq!(
            (next.line, next.fields().collect::<Vec<_>>()),
            (2, vec!["x", "y"])
        );
    }
}
