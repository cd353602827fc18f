//! Profile of a sample: plain data, equal for equal bytes on every machine.

mod layout;

use serde::{Deserialize, Serialize};

use crate::column::distinct::ValueHashes;
use crate::format::FileFormat;
use crate::source::{Compression, Encoding};

pub use crate::column::cell::ValueKind;
pub use crate::column::distinct::DistinctCount;
pub use crate::column::numeric::NumberStats;
pub use crate::column::quantiles::Quartiles;
pub use crate::column::style::NumberStyle;
pub use crate::column::temporal::{TimeStats, TimeStep};
pub use crate::remark::Remark;

pub use self::layout::{Layout, LeadProfile};

/// Profile of one sample.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct SampleProfile {
    /// Name of the sample and of the program's option.
    pub name: String,
    /// File name as the program sees it.
    pub file_name: String,
    /// Format, by content first and name second.
    pub format: FileFormat,
    /// Size of the file, packed as it is, bytes.
    pub bytes: u64,
    /// Compression of its bytes; `None` where they are not packed, or cannot be unpacked.
    pub compression: Option<Compression>,
    /// Encoding of its text; `None` where it is no text.
    pub encoding: Option<Encoding>,
    /// Every doubt and oddity, one sentence each.
    pub remarks: Vec<Remark>,
    /// Content of the sample.
    pub content: Content,
}

/// The profiles of a task's samples, and the columns on which they may be joined.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Profiles {
    /// One a sample, in their order.
    pub samples: Vec<SampleProfile>,
    /// Columns on which they may be joined.
    pub joins: Vec<JoinProfile>,
}

/// Two columns on which samples may be joined.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct JoinProfile {
    /// The column that refers.
    pub left: JoinSide,
    /// The column that is referred to.
    pub right: JoinSide,
    /// True where the counts are estimates.
    pub is_estimated: bool,
}

/// One column of a join.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct JoinSide {
    /// The sample.
    pub sample: String,
    /// Its sheet; `None` where it is no workbook of several.
    pub sheet: Option<String>,
    /// The column.
    pub column: String,
    /// Its distinct values.
    pub distinct: u64,
    /// Distinct values that the other column has.
    pub found: u64,
    /// True where every record has a value and no two are equal.
    pub is_unique: bool,
}

impl SampleProfile {
    /// Its tables: one, or one a sheet of a workbook.
    pub fn tables(&self) -> impl Iterator<Item = &TableProfile> {
        match &self.content {
            Content::Table(table) => std::slice::from_ref(table).iter(),
            Content::Sheets(sheets) => sheets.iter(),
            Content::Text(_) | Content::Opaque(_) => [].iter(),
        }
    }

    /// Its tables, to change them.
    pub fn tables_mut(&mut self) -> impl Iterator<Item = &mut TableProfile> {
        match &mut self.content {
            Content::Table(table) => std::slice::from_mut(table).iter_mut(),
            Content::Sheets(sheets) => sheets.iter_mut(),
            Content::Text(_) | Content::Opaque(_) => [].iter_mut(),
        }
    }
}

/// Content of a sample.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub enum Content {
    /// Records with columns.
    Table(TableProfile),
    /// The sheets of a workbook, in its order; each one's layout names it.
    Sheets(Vec<TableProfile>),
    /// Lines.
    Text(TextProfile),
    /// Bytes of this kind (`PNG image`), not parsed.
    Opaque(String),
}

/// Records with columns.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct TableProfile {
    /// Layout of the records in the file.
    pub layout: Layout,
    /// Records of the whole file, the header not counted.
    pub records: u64,
    /// Records with more fields than the first record has.
    pub longer_records: u64,
    /// The first 200 columns.
    pub columns: Vec<ColumnProfile>,
    /// The columns beyond them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<PlainColumn>,
    /// All columns.
    pub column_count: u64,
    /// Records equal to an earlier one; `None` where that is not known within the memory that it may take.
    pub duplicate_records: Option<u64>,
    /// Representative records, the most informative first.
    pub rows: Vec<SampleRow>,
}

impl TableProfile {
    /// Every column, those that are not described too.
    pub fn all_columns(&self) -> impl Iterator<Item = PlainColumn> {
        let described = self.columns.iter().map(PlainColumn::of);
        described.chain(self.further.iter().cloned())
    }

    /// The name of its sheet, where it is one of a workbook.
    #[must_use]
    pub fn sheet(&self) -> Option<&str> {
        match &self.layout {
            Layout::Sheet { name, .. } => Some(name),
            _ => None,
        }
    }
}

/// One column, or one path of JSON records (`user.city`, `items[].price`).
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ColumnProfile {
    /// Header or path.
    pub name: String,
    /// Type of its values.
    #[serde(rename = "type")]
    pub type_: ColumnType,
    /// Type that the file declares (Parquet only: `decimal(10, 2)`).
    pub declared: Option<String>,
    /// Unit that stands below its name (delimited text only: `m/s`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Records that have it (JSON only: a delimited record has every column).
    pub present: Option<u64>,
    /// Values, missing ones not counted.
    pub values: u64,
    /// Missing values by spelling.
    pub nulls: Vec<(String, u64)>,
    /// Values by kind.
    pub kinds: Vec<(ValueKind, u64)>,
    /// Values that are digits with leading zeros.
    pub leading_zeros: u64,
    /// Values with blanks around them.
    pub padded: u64,
    /// Distinct values.
    pub distinct: DistinctCount,
    /// True where every record has a value and no two are equal.
    pub is_unique: bool,
    /// Statistics of its numbers; also of those that stand in a text, as `style` describes.
    pub numbers: Option<NumberStats>,
    /// Style of its numbers, where that makes them text.
    pub style: Option<NumberStyle>,
    /// Range of its dates and times; also of those that make it look like dates while its type is text or int.
    pub times: Option<TimeStats>,
    /// Shapes of its texts (`AA-9999`) with their counts over all values, most frequent first, at most five.
    pub patterns: Vec<(String, u64)>,
    /// True where its texts have further shapes.
    pub has_more_patterns: bool,
    /// Lengths of its texts.
    pub lengths: Option<LengthStats>,
    /// Most frequent values with their counts, at most 12; empty where none repeats.
    pub top: Vec<(String, u64)>,
    /// Hashes of its values, to compare it with columns of other samples; they never leave the process that read them.
    #[serde(skip)]
    pub(crate) value_hashes: ValueHashes,
}

impl ColumnProfile {
    /// Missing values.
    #[must_use]
    pub fn null_count(&self) -> u64 {
        self.nulls.iter().map(|(_, count)| count).sum()
    }
}

/// Facts about a column that a schema needs, and the only ones about a column beyond those that are described.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct PlainColumn {
    /// Header or path.
    pub name: String,
    /// Type of its values.
    #[serde(rename = "type")]
    pub type_: ColumnType,
    /// Type that the file declares (Parquet only).
    pub declared: Option<String>,
    /// Records that have a value; of Parquet all or none, since the values are not read.
    pub values: u64,
    /// True where blanks stand around a value.
    pub is_padded: bool,
    /// True where a whole number is beyond 63 bits.
    pub is_wide: bool,
    /// True where all its dates and times are without zone and within the nanoseconds of 64 bits.
    pub is_timestamp: bool,
}

impl PlainColumn {
    /// One whose values are not read: nothing but what the file declares is known of it.
    pub(crate) fn declared(name: &str, type_: ColumnType, declared: String) -> Self {
        Self {
            name: name.to_owned(),
            type_,
            declared: Some(declared),
            values: 0,
            is_padded: false,
            is_wide: false,
            is_timestamp: false,
        }
    }

    fn of(column: &ColumnProfile) -> Self {
        Self {
            name: column.name.clone(),
            type_: column.type_,
            declared: column.declared.clone(),
            values: column.values,
            is_padded: column.padded > 0,
            is_wide: column
                .numbers
                .as_ref()
                .is_some_and(|numbers| numbers.max.parse::<i64>().is_err()),
            is_timestamp: column
                .times
                .as_ref()
                .is_some_and(|times| times.zoned == 0 && times.fits_nanoseconds()),
        }
    }
}

/// Type of a column's values.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum ColumnType {
    /// Whole numbers.
    Int,
    /// Numbers, at least one with decimals.
    Float,
    /// Truth values.
    Bool,
    /// ISO dates.
    Date,
    /// ISO dates and times.
    Datetime,
    /// Text.
    Text,
    /// Several kinds that do not go together.
    Mixed,
    /// No value at all.
    Empty,
}

impl ColumnType {
    /// The word for it (`datetime`).
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Int => "int",
            Self::Float => "float",
            Self::Bool => "bool",
            Self::Date => "date",
            Self::Datetime => "datetime",
            Self::Text => "text",
            Self::Mixed => "mixed",
            Self::Empty => "empty",
        }
    }
}

/// Lengths of texts, in characters.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct LengthStats {
    /// Shortest.
    pub min: u64,
    /// Longest.
    pub max: u64,
    /// Mean.
    pub mean: f64,
}

/// One record as it stands in the file.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct SampleRow {
    /// Its number among the records, counted from 1.
    pub number: u64,
    /// Its text; long cells are cut with a marker.
    pub text: String,
}

/// Lines of a text.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct TextProfile {
    /// Lines of the whole file.
    pub lines: u64,
    /// Lines that hold blanks only, or nothing.
    pub empty_lines: u64,
    /// Longest line, bytes.
    pub longest_line: u64,
    /// The first lines; long ones are cut with a marker.
    pub first_lines: Vec<String>,
    /// Patterns of most lines, the most frequent first; empty where patterns say little.
    pub patterns: Vec<LinePattern>,
    /// Patterns that are not listed, and the lines that have them.
    pub further_patterns: (u64, u64),
    /// Timestamps of the lines, by format, the most frequent first.
    pub times: Vec<LineTimes>,
    /// Levels of the lines (`INFO`) with counts, the most frequent first.
    pub levels: Vec<(String, u64)>,
    /// Lines that go on with the record before them, as stack traces do.
    pub continuations: Option<Continuations>,
}

/// Lines that are written alike.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct LinePattern {
    /// Pattern of the lines, variable parts masked (`<time> INFO api[<int>]`).
    pub pattern: String,
    /// Number of lines that have it.
    pub lines: u64,
    /// The first of them; a long one is cut with a marker.
    pub example: SampleRow,
}

/// Timestamps of one format, the first one of each line.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct LineTimes {
    /// Their format in the words of `strptime`.
    pub format: String,
    /// Lines that have one.
    pub lines: u64,
    /// The earliest as it stands in the file; the first where day and month are in doubt.
    pub first: String,
    /// The latest as it stands in the file; the last where day and month are in doubt.
    pub last: String,
    /// Lines whose timestamp is earlier than the one before.
    pub steps_back: u64,
}

/// Lines that go on with the record before them.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Continuations {
    /// Number of the lines.
    pub lines: u64,
    /// The first of them, counted from 1.
    pub first: u64,
    /// Part that the first line of a record has and these lack.
    pub lack: RecordStart,
}

/// Part that the first line of a record has.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum RecordStart {
    /// A timestamp.
    Time,
    /// A level.
    Level,
}
