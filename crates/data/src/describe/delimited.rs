//! Describes a delimited file in one pass over its records.

use xxhash_rust::xxh3::xxh3_64;

use crate::column::cell::{Cell, null_spelling};
use crate::format::delimited::{MOST_FIELDS, Record};
use crate::format::dialect::Dialect;
use crate::format::shape::Shape;
use crate::format::table::{Columns, read_columns, record_reader};
use crate::keys::RecordHash;
use crate::profile::{ColumnProfile, Layout, TableProfile};
use crate::remark::Remark;
use crate::rows::{DESCRIBED_COLUMNS, TableBuilder};
use crate::source::{Encoding, Source};

use super::DescribeOptions;
use super::lead::LeadNotes;

/// The table of a delimited file; `None` with a remark where its first record is too large for one.
pub(super) fn delimited(
    source: &Source,
    encoding: Encoding,
    dialect: Dialect,
    options: DescribeOptions,
    remarks: &mut Vec<Remark>,
) -> std::io::Result<Option<TableProfile>> {
    let mut reader = record_reader(source.open_decoded(encoding)?, &dialect);
    let Some(columns) = read_columns(&mut reader, &dialect)? else {
        return Ok(None);
    };
    if columns.is_cut || columns.width > MOST_FIELDS {
        remarks.push(
            format!(
                "its first record has {} fields: not read as a table",
                columns.width
            )
            .into(),
        );
        return Ok(None);
    }
    let mut notes = LeadNotes::new(&dialect.lead, &columns, reader.comments.count);
    let mut table = DelimitedTable::new(&columns, &dialect, options.max_rows > 0);
    while let Some(record) = reader.read()? {
        notes.record(&record);
        table.push(&record);
    }
    let lead = notes.finish(&reader.comments, remarks);
    if dialect.has_header {
        header_remarks(&columns.names, remarks);
    } else {
        remarks.push(
            "no header: the first record looks like data; columns are named column_1, column_2 and so on"
                .into(),
        );
    }
    let layout = Layout::Delimited {
        delimiter: char::from(dialect.delimiter),
        decimal: char::from(dialect.decimal),
        header: columns.header,
        lead,
    };
    Ok(Some(table.finish(layout, columns.units, options, remarks)))
}

/// The table as its records are met.
struct DelimitedTable {
    builder: TableBuilder,
    shape: Shape,
    decimal: u8,
}

impl DelimitedTable {
    fn new(columns: &Columns, dialect: &Dialect, keeps_rows: bool) -> Self {
        let decimal = char::from(dialect.decimal);
        let mut builder =
            TableBuilder::new(Some(char::from(dialect.delimiter)), keeps_rows).with_decimal(decimal);
        for name in &columns.names {
            builder.add_column(name.clone());
        }
        Self {
            builder,
            shape: Shape::new(columns.width, dialect.delimiter),
            decimal: dialect.decimal,
        }
    }

    fn push(&mut self, record: &Record<'_>) {
        self.shape.push(record);
        for column in 0..self.shape.width {
            let text = record.field(column).unwrap_or("");
            self.builder
                .cell(column, Cell::with_decimal(text, self.decimal), text);
        }
        let hash = if record.is_cut {
            RecordHash::Unknown
        } else if record.width > self.shape.width.min(DESCRIBED_COLUMNS) {
            // Fields that are in no column distinguish records too.
            RecordHash::Of(xxh3_64(record.raw.as_bytes()))
        } else {
            RecordHash::OfValues
        };
        self.builder.end_record_as(record.raw, hash);
    }

    fn finish(
        self,
        layout: Layout,
        units: Vec<Option<String>>,
        options: DescribeOptions,
        remarks: &mut Vec<Remark>,
    ) -> TableProfile {
        let records = self.builder.records();
        self.shape.remarks(records, remarks);
        if records == 0 {
            remarks.push("it has a header and no records".into());
        }
        let mut built = self.builder.finish(options.max_rows, None);
        for (column, unit) in built.columns.iter_mut().zip(units) {
            column.unit = unit;
        }
        value_remarks(&built.columns, remarks);
        remarks.append(&mut built.remarks);
        TableProfile {
            longer_records: self.shape.longer.count,
            ..built.table(layout, self.shape.width as u64)
        }
    }
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
    remarks.extend(Remark::listing("several columns share a name", twice));
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
    let padded = columns.iter().filter(|column| column.padded > 0);
    let padded = padded.map(|column| column.name.as_str());
    remarks.extend(Remark::listing("values with blanks around them in", padded));
}
