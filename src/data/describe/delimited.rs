//! Describes a delimited file in one pass over its records.

use xxhash_rust::xxh3::xxh3_64;

use crate::column::cell::{Cell, null_spelling};
use crate::format::delimited::{MOST_FIELDS, Record, RecordReader};
use crate::format::dialect::Dialect;
use crate::format::shape::{LISTED_PLACES, Shape};
use crate::keys::RecordHash;
use crate::profile::{ColumnProfile, Layout, TableProfile};
use crate::remark::Remark;
use crate::rows::{DESCRIBED_COLUMNS, TableBuilder};
use crate::source::{Encoding, Source};

use super::Options;

/// Column names of a delimited file: its header, or `column_1`, `column_2`, ...
#[must_use]
pub(crate) fn column_names(first: &Record<'_>, has_header: bool) -> Vec<String> {
    let name = |(position, field): (usize, &str)| {
        if has_header {
            field.to_owned()
        } else {
            format!("column_{}", position + 1)
        }
    };
    first.fields().enumerate().map(name).collect()
}

/// The table of a delimited file; `None` with a remark where its first record is too large for one.
pub(super) fn delimited(
    source: &Source,
    encoding: Encoding,
    dialect: Dialect,
    options: Options,
    remarks: &mut Vec<Remark>,
) -> std::io::Result<Option<TableProfile>> {
    let mut reader = RecordReader::new(source.open_decoded(encoding)?, dialect.delimiter);
    let delimiter = char::from(dialect.delimiter);
    let Some(first) = reader.read()? else {
        return Ok(None);
    };
    if first.is_cut || first.width > MOST_FIELDS {
        remarks.push(format!("its first record has {} fields: not read as a table", first.width).into());
        return Ok(None);
    }
    let width = first.width;
    let names = column_names(&first, dialect.has_header);
    let header = dialect.has_header.then(|| first.raw.to_owned());
    let mut builder =
        TableBuilder::new(Some(delimiter), options.max_rows > 0).with_decimal(char::from(dialect.decimal));
    for name in names.iter().take(DESCRIBED_COLUMNS) {
        builder.add_column(name.clone());
    }
    let mut shape = Shape::new(width, dialect.delimiter);
    if dialect.has_header {
        header_remarks(&names, remarks);
    } else {
        remarks.push(
            "no header: the first record looks like data; columns are named column_1, column_2 and so on"
                .into(),
        );
        push_record(&mut builder, &first, &mut shape, dialect.decimal);
    }
    while let Some(record) = reader.read()? {
        push_record(&mut builder, &record, &mut shape, dialect.decimal);
    }
    let records = builder.records();
    shape.remarks(records, remarks);
    if records == 0 {
        remarks.push("it has a header and no records".into());
    }
    let built = builder.finish(options.max_rows, None);
    value_remarks(&built.columns, remarks);
    remarks.extend(built.remarks);
    Ok(Some(TableProfile {
        layout: Layout::Delimited {
            delimiter,
            decimal: char::from(dialect.decimal),
            header,
        },
        records,
        longer_records: shape.longer.count,
        columns: built.columns,
        column_count: width as u64,
        keys: built.keys,
        duplicate_records: built.duplicate_records,
        rows: built.rows,
    }))
}

fn push_record(builder: &mut TableBuilder, record: &Record<'_>, shape: &mut Shape, decimal: u8) {
    shape.push(record);
    for column in 0..shape.width.min(DESCRIBED_COLUMNS) {
        let text = record.field(column).unwrap_or("");
        builder.cell(column, Cell::with_decimal(text, decimal), text);
    }
    let hash = if record.is_cut {
        RecordHash::Unknown
    } else if record.width > shape.width.min(DESCRIBED_COLUMNS) {
        // Fields that are in no column distinguish records too.
        RecordHash::Of(xxh3_64(record.raw.as_bytes()))
    } else {
        RecordHash::OfValues
    };
    builder.end_record_as(record.raw, hash);
}

fn header_remarks(names: &[String], remarks: &mut Vec<Remark>) {
    let mut sorted: Vec<_> = names
        .iter()
        .map(String::as_str)
        .filter(|name| !name.is_empty())
        .collect();
    sorted.sort_unstable();
    let mut twice: Vec<_> = sorted
        .windows(2)
        .filter(|pair| pair[0] == pair[1])
        .map(|pair| pair[0])
        .collect();
    twice.dedup();
    // Whether a name may be shown at all is decided of the columns that are described.
    let described = &names[..names.len().min(DESCRIBED_COLUMNS)];
    twice.retain(|name| described.iter().any(|other| other == name));
    if !twice.is_empty() {
        twice.truncate(LISTED_PLACES);
        let text = format!("several columns share a name: {}", twice.join(", "));
        remarks.push(Remark::naming(text, twice));
    }
    let unnamed = names
        .iter()
        .filter(|name| null_spelling(name) == Some(""))
        .count();
    if unnamed > 0 {
        let ends = if names.last().is_some_and(String::is_empty) {
            " (the header ends with a delimiter)"
        } else {
            ""
        };
        remarks.push(format!("columns without a name: {unnamed}{ends}").into());
    }
}

fn value_remarks(columns: &[ColumnProfile], remarks: &mut Vec<Remark>) {
    let padded: Vec<_> = columns
        .iter()
        .filter(|column| column.padded > 0)
        .take(LISTED_PLACES)
        .map(|column| column.name.as_str())
        .collect();
    if !padded.is_empty() {
        let text = format!("values with blanks around them in: {}", padded.join(", "));
        remarks.push(Remark::naming(text, padded));
    }
}
