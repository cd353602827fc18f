//! Records of Parquet files, one at a time in bounded memory: a batch of each column is decoded, then passed on record by
//! record.

mod leaf;
mod text;
mod unit;
mod value;

use std::io::{self, Read as _};

use bytes::Bytes;
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::data_type::{ByteArray, FixedLenByteArray, Int96};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, FileReader, Length, SerializedFileReader};

use crate::column::cell::Cell;
use crate::format::catching;
use crate::source::{Seekable, Source};

pub(crate) use leaf::Leaf;
pub(crate) use unit::Unit;
pub(crate) use value::Logical;

/// Records that are decoded at once.
const BATCH: usize = 1_024;
const LONGEST_REASON: usize = 200;

/// A Parquet file whose footer was read.
pub(crate) struct ParquetFile {
    reader: SerializedFileReader<Input>,
    leaves: Vec<Leaf>,
}

/// One entry of a column in a record.
pub(crate) enum ColumnEntry<'a> {
    /// A value and its text.
    Value(Cell<'a>, &'a str),
    /// A text that is not valid UTF-8, with replacement characters.
    Lossy(&'a str),
    /// No value, where there could be one.
    Null,
}

/// Input of the reader: the bytes of the file.
struct Input {
    bytes: Seekable,
    length: u64,
}

impl Length for Input {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Input {
    type T = io::BufReader<Seekable>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        Ok(io::BufReader::new(self.bytes.at(start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        // A length that a hostile header claims must not become an allocation.
        if start.saturating_add(length as u64) > self.length {
            return Err(ParquetError::EOF(format!(
                "{length} bytes at {start} lie beyond the end of the file"
            )));
        }
        let mut bytes = vec![0; length];
        self.bytes.at(start).read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}

impl ParquetFile {
    /// Reads the footer; the error says why there is none.
    pub(crate) fn open(source: &Source) -> io::Result<Result<Self, String>> {
        let bytes = source.open_seekable()?;
        let length = bytes.size()?;
        let input = Input { bytes, length };
        Ok(guarded(|| SerializedFileReader::new(input)).map(|reader| {
            let leaves = leaf::leaves(reader.metadata().file_metadata().schema_descr());
            Self { reader, leaves }
        }))
    }

    /// Its columns: one for each path to values.
    #[must_use]
    pub(crate) fn leaves(&self) -> &[Leaf] {
        &self.leaves
    }

    /// Returns the metadata of the footer.
    #[must_use]
    pub(crate) fn metadata(&self) -> &ParquetMetaData {
        self.reader.metadata()
    }

    /// Returns the metadata of a row group from the footer.
    #[must_use]
    pub(crate) fn group(&self, group: usize) -> &RowGroupMetaData {
        self.reader.metadata().row_group(group)
    }

    /// Opens some columns of a row group, by their positions.
    pub(crate) fn read_group(&self, group: usize, columns: &[usize]) -> Result<GroupReader<'_>, String> {
        guarded(|| {
            let group = self.reader.get_row_group(group)?;
            let schema = self.reader.metadata().file_metadata().schema_descr();
            let columns = columns
                .iter()
                .map(|column| {
                    let pages = group.get_column_page_reader(*column)?;
                    let reader = get_column_reader(schema.column(*column), pages);
                    Ok(LeafReader::new(&self.leaves[*column], reader))
                })
                .collect::<ParquetResult<_>>()?;
            Ok(GroupReader { columns })
        })
    }
}

/// Runs a step of the Parquet reader, which panics on some malformed pages.
fn guarded<T>(step: impl FnOnce() -> ParquetResult<T>) -> Result<T, String> {
    match catching(step) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(reason(&error)),
        Err(panic) => Err(panic),
    }
}

/// Returns the message of the reader, in one short line.
fn reason(error: &ParquetError) -> String {
    let text = error.to_string();
    let text = text.strip_prefix("Parquet error: ").unwrap_or(&text);
    let line = text.lines().next().unwrap_or_default();
    line[..line.floor_char_boundary(LONGEST_REASON)].to_owned()
}

/// Some columns of a row group.
pub(crate) struct GroupReader<'f> {
    columns: Vec<LeafReader<'f>>,
}

impl GroupReader<'_> {
    /// Decodes the next batch; returns its records, 0 at the end.
    pub(crate) fn next_batch(&mut self) -> Result<usize, String> {
        let mut records = 0;
        for column in &mut self.columns {
            let read = guarded(|| column.read(BATCH)).map_err(|error| column.named(&error))?;
            records = records.max(read);
        }
        Ok(records)
    }

    /// Skips records of every column.
    pub(crate) fn skip(&mut self, records: usize) -> Result<(), String> {
        for column in &mut self.columns {
            guarded(|| column.skip(records)).map_err(|error| column.named(&error))?;
        }
        Ok(())
    }

    /// Decodes one record.
    pub(crate) fn next_one(&mut self) -> Result<(), String> {
        for column in &mut self.columns {
            guarded(|| column.read(1)).map_err(|error| column.named(&error))?;
        }
        Ok(())
    }

    /// Hands the entries of the next record of a column to `take`; returns whether the column still had a record.
    pub(crate) fn record(&mut self, column: usize, take: impl FnMut(ColumnEntry<'_>)) -> bool {
        self.columns[column].record(take)
    }
}

/// One column of a row group, a batch at a time.
struct LeafReader<'f> {
    leaf: &'f Leaf,
    reader: ColumnReader,
    values: Values,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
    levels: usize,
    level: usize,
    value: usize,
    scratch: String,
}

/// Decoded values.
pub(crate) enum Values {
    /// Truth values.
    Bool(Vec<bool>),
    /// Whole numbers of 32 bits.
    Int32(Vec<i32>),
    /// Whole numbers of 64 bits.
    Int64(Vec<i64>),
    /// Moments in 96 bits.
    Int96(Vec<Int96>),
    /// Floating point numbers of 32 bits.
    Float(Vec<f32>),
    /// Floating point numbers of 64 bits.
    Double(Vec<f64>),
    /// Texts and bytes.
    Bytes(Vec<ByteArray>),
    /// Bytes of one length.
    Fixed(Vec<FixedLenByteArray>),
}

impl<'f> LeafReader<'f> {
    fn new(leaf: &'f Leaf, reader: ColumnReader) -> Self {
        let values = match &reader {
            ColumnReader::BoolColumnReader(_) => Values::Bool(Vec::new()),
            ColumnReader::Int32ColumnReader(_) => Values::Int32(Vec::new()),
            ColumnReader::Int64ColumnReader(_) => Values::Int64(Vec::new()),
            ColumnReader::Int96ColumnReader(_) => Values::Int96(Vec::new()),
            ColumnReader::FloatColumnReader(_) => Values::Float(Vec::new()),
            ColumnReader::DoubleColumnReader(_) => Values::Double(Vec::new()),
            ColumnReader::ByteArrayColumnReader(_) => Values::Bytes(Vec::new()),
            ColumnReader::FixedLenByteArrayColumnReader(_) => Values::Fixed(Vec::new()),
        };
        Self {
            leaf,
            reader,
            values,
            definitions: Vec::new(),
            repetitions: Vec::new(),
            levels: 0,
            level: 0,
            value: 0,
            scratch: String::new(),
        }
    }

    fn named(&self, error: &str) -> String {
        format!("column {}: {error}", self.leaf.path)
    }

    /// Decodes at most `most` records in place of those before.
    fn read(&mut self, most: usize) -> ParquetResult<usize> {
        self.definitions.clear();
        self.repetitions.clear();
        (self.level, self.value, self.levels) = (0, 0, 0);
        let (definitions, repetitions) = (&mut self.definitions, &mut self.repetitions);
        macro_rules! read {
            ($reader:expr, $values:expr) => {{
                $values.clear();
                $reader.read_records(most, Some(definitions), Some(repetitions), $values)?
            }};
        }
        let (records, _, levels) = match (&mut self.reader, &mut self.values) {
            (ColumnReader::BoolColumnReader(reader), Values::Bool(values)) => read!(reader, values),
            (ColumnReader::Int32ColumnReader(reader), Values::Int32(values)) => read!(reader, values),
            (ColumnReader::Int64ColumnReader(reader), Values::Int64(values)) => read!(reader, values),
            (ColumnReader::Int96ColumnReader(reader), Values::Int96(values)) => read!(reader, values),
            (ColumnReader::FloatColumnReader(reader), Values::Float(values)) => read!(reader, values),
            (ColumnReader::DoubleColumnReader(reader), Values::Double(values)) => read!(reader, values),
            (ColumnReader::ByteArrayColumnReader(reader), Values::Bytes(values)) => read!(reader, values),
            (ColumnReader::FixedLenByteArrayColumnReader(reader), Values::Fixed(values)) => {
                read!(reader, values)
            }
            _ => return Err(ParquetError::General("values of another type".to_owned())),
        };
        self.levels = levels;
        Ok(records)
    }

    fn skip(&mut self, records: usize) -> ParquetResult<()> {
        match &mut self.reader {
            ColumnReader::BoolColumnReader(reader) => reader.skip_records(records),
            ColumnReader::Int32ColumnReader(reader) => reader.skip_records(records),
            ColumnReader::Int64ColumnReader(reader) => reader.skip_records(records),
            ColumnReader::Int96ColumnReader(reader) => reader.skip_records(records),
            ColumnReader::FloatColumnReader(reader) => reader.skip_records(records),
            ColumnReader::DoubleColumnReader(reader) => reader.skip_records(records),
            ColumnReader::ByteArrayColumnReader(reader) => reader.skip_records(records),
            ColumnReader::FixedLenByteArrayColumnReader(reader) => reader.skip_records(records),
        }
        .map(drop)
    }

    fn record(&mut self, mut take: impl FnMut(ColumnEntry<'_>)) -> bool {
        if self.level >= self.levels {
            return false;
        }
        loop {
            let definition = self
                .definitions
                .get(self.level)
                .copied()
                .unwrap_or(self.leaf.full_level);
            // The definition level says whether there is a value at all: nulls take no place among the values.
            if definition >= self.leaf.full_level {
                let found = self
                    .leaf
                    .logical
                    .value(&self.values, self.value, &mut self.scratch);
                take(found);
                self.value += 1;
            } else if definition >= self.leaf.parent_level {
                // The list or record above is there, and the value is not. Below that level there is no entry that could lack one.
                take(ColumnEntry::Null);
            }
            self.level += 1;
            // A repetition level of 0 begins the next record.
            let goes_on = self.repetitions.get(self.level).is_some_and(|level| *level > 0);
            if self.level >= self.levels || !goes_on {
                return true;
            }
        }
    }
}

#[cfg(test)]
mod tests;
