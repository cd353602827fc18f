//! Files of columns, Parquet and Arrow, as record batches of the columns that are wanted.

mod arrow;
mod leaf;
mod parquet;
mod text;
mod value;

use std::io;
use std::ops::Range;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::ArrowError;

use crate::format::{FileFormat, catching};
use crate::source::Source;

use arrow::ArrowFile;
pub(crate) use leaf::Leaf;
use parquet::ParquetFile;
pub(crate) use value::ColumnEntry;

/// Most that the pages of the columns that are read at once take, bytes: a wide table is read some columns at a time.
pub(crate) const OPEN_BYTES: u64 = 64 * 1024 * 1024;
/// Most bytes of the pages of one column, where they are of usual size: a dictionary and a page.
const COLUMN_BYTES: u64 = 2 * 1024 * 1024;
const LONGEST_REASON: usize = 200;

/// A file of columns whose footer was read.
pub(crate) struct Columnar {
    file: ColumnFile,
    leaves: Vec<Leaf>,
    parts: Vec<Part>,
}

enum ColumnFile {
    Parquet(ParquetFile),
    Arrow(ArrowFile),
}

/// A row group of Parquet or a record batch of Arrow, as the footer has it; that of Arrow counts nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Part {
    /// Its rows.
    pub rows: u64,
    /// Bytes of its columns without compression.
    pub bytes: u64,
}

/// Columns that are read at once.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// Its columns, by their positions among all.
    pub leaves: Range<usize>,
    /// The fields of the records that hold them.
    pub fields: Vec<usize>,
}

/// Rows of some fields.
pub(crate) struct Rows<'b> {
    batch: &'b RecordBatch,
    fields: &'b [usize],
}

impl Rows<'_> {
    /// Returns how many there are.
    pub(crate) fn count(&self) -> usize {
        self.batch.num_rows()
    }

    /// Returns the values of the field that holds a column.
    pub(crate) fn field_of(&self, leaf: &Leaf) -> &ArrayRef {
        let position = self.fields.iter().position(|field| *field == leaf.field);
        self.batch.column(position.unwrap_or_default())
    }
}

impl Columnar {
    /// Reads the footer; the error says why there is none.
    pub(crate) fn open(source: &Source, format: FileFormat) -> io::Result<Result<Self, String>> {
        let bytes = source.open_seekable()?;
        let size = bytes.size()?;
        Ok(if format == FileFormat::Arrow {
            guarded(|| ArrowFile::open(bytes, size)).map(|file| Self {
                leaves: leaf::leaves(file.schema().fields()),
                parts: vec![Part::default(); file.batches()],
                file: ColumnFile::Arrow(file),
            })
        } else {
            guarded(|| ParquetFile::open(bytes, size)).map(|file| Self {
                leaves: file.leaves(),
                parts: file.groups(),
                file: ColumnFile::Parquet(file),
            })
        })
    }

    /// Its columns: one for each path to values.
    pub(crate) fn leaves(&self) -> &[Leaf] {
        &self.leaves
    }

    /// Its row groups or record batches.
    pub(crate) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Returns the codecs, one after another, of a Parquet file.
    pub(crate) fn compression(&self) -> Option<String> {
        match &self.file {
            ColumnFile::Parquet(file) => Some(file.compression()),
            ColumnFile::Arrow(_) => None,
        }
    }

    /// Returns the metadata that pandas wrote of the data frame.
    pub(crate) fn pandas_metadata(&self) -> Option<&str> {
        let schema = match &self.file {
            ColumnFile::Parquet(file) => file.schema(),
            ColumnFile::Arrow(file) => file.schema(),
        };
        schema.metadata().get("pandas").map(String::as_str)
    }

    /// Divides the first columns into those that are read at once, so that their pages take no more than some bytes.
    pub(crate) fn spans(&self, columns: usize, open_bytes: u64) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        let mut open = 0;
        for (position, leaf) in self.leaves.iter().enumerate().take(columns) {
            let cost = match &self.file {
                ColumnFile::Parquet(file) => file.largest_chunk(position).min(COLUMN_BYTES),
                ColumnFile::Arrow(_) => 0,
            };
            open += cost;
            match spans.last_mut() {
                Some(span) if span.fields.last() == Some(&leaf.field) => span.leaves.end += 1,
                Some(span) if open <= open_bytes => {
                    span.leaves.end += 1;
                    span.fields.push(leaf.field);
                }
                _ => {
                    spans.push(Span {
                        leaves: position..position + 1,
                        fields: vec![leaf.field],
                    });
                    open = cost;
                }
            }
        }
        spans
    }

    /// Hands over the values of some fields in a part of the file, in their order: all rows, or those of some ranges.
    pub(crate) fn read(
        &self,
        part: usize,
        fields: &[usize],
        ranges: Option<&[Range<usize>]>,
        mut take: impl FnMut(&Rows<'_>),
    ) -> Result<(), String> {
        let mut take = |batch: &RecordBatch| take(&Rows { batch, fields });
        let (noun, read) = match &self.file {
            ColumnFile::Parquet(file) => ("row group", file.read(part, fields, ranges, &mut take)),
            ColumnFile::Arrow(file) => ("record batch", file.read(part, fields, ranges, &mut take)),
        };
        read.map_err(|reason| format!("{noun} {}: {reason}", part + 1))
    }
}

/// Runs a step of a reader, which may panic on malformed bytes; the error is its message in one short line.
fn guarded<T>(step: impl FnOnce() -> Result<T, ArrowError>) -> Result<T, String> {
    catching(step)?.map_err(|error| {
        let text = match &error {
            ArrowError::ParquetError(text) | ArrowError::ParseError(text) => text.clone(),
            other => other.to_string(),
        };
        let text = text.trim_start_matches("Parquet error: ");
        let line = text.lines().next().unwrap_or_default();
        line[..line.floor_char_boundary(LONGEST_REASON)].to_owned()
    })
}

#[cfg(test)]
mod tests;
