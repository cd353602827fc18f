//! The schema of a sheet: the types that `pandas.read_excel` gives, or can be coerced to.

use crate::profile::{ColumnType, TableProfile};

use super::pandera::literal;
use super::{SchemaColumn, pandas_names};

/// Place of the table in a sheet.
pub(super) struct TablePlace<'t> {
    pub sheet: &'t str,
    pub header_row: Option<u64>,
    pub first_row: u64,
    pub first_column: u64,
    pub note_rows: u64,
}

/// The columns of the data frame. pandas turns texts that are numbers into numbers.
pub(super) fn columns(table: &TableProfile, place: &TablePlace<'_>) -> Vec<SchemaColumn> {
    let columns = table.all_columns().zip(pandas_names(table, place.first_column));
    let described = columns.map(|(column, name)| {
        let dtype = match column.type_ {
            ColumnType::Int => Some("Int64"),
            ColumnType::Float => Some("Float64"),
            ColumnType::Bool => Some("boolean"),
            ColumnType::Date | ColumnType::Datetime if column.is_timestamp => Some("datetime64[ns]"),
            ColumnType::Text => Some("string"),
            ColumnType::Date | ColumnType::Datetime | ColumnType::Mixed | ColumnType::Empty => None,
        };
        SchemaColumn {
            name,
            type_: column.type_,
            dtype: dtype.map(str::to_owned),
            nullable: column.values < table.records,
        }
    });
    described.collect()
}

/// Reads the sheet without its empty rows, which pandas reads as records; names become texts where pandas keeps them as
/// numbers.
pub(super) fn reader(columns: &[SchemaColumn], place: &TablePlace<'_>) -> String {
    let sheet = literal(place.sheet);
    let texts: Vec<_> = columns
        .iter()
        .filter(|column| column.dtype.as_deref() == Some("string"))
        .map(|column| format!("{}: \"string\"", literal(&column.name)))
        .collect();
    let (header, rename, dtype) = match place.header_row {
        Some(row) => (
            format!("header={}", row.saturating_sub(1)),
            "str".to_owned(),
            format!(", dtype={{{}}}", texts.join(", ")),
        ),
        None => (
            format!("header=None, skiprows={}", place.first_row.saturating_sub(1)),
            format!(
                "lambda position: f\"column_{{position + 1 - {}}}\"",
                place.first_column
            ),
            String::new(),
        ),
    };
    let footer = match place.note_rows {
        0 => String::new(),
        rows => format!(", skipfooter={rows}"),
    };
    format!(
        "frame = pandas.read_excel(path, sheet_name={sheet}, {header}{footer}{dtype})\n    \
         return frame.dropna(how=\"all\").rename(columns={rename})"
    )
}

/// A name that Python takes: of the sample, and of the sheet where there are several.
pub(super) fn name(sample: &str, sheet: &str, is_only: bool) -> String {
    if is_only {
        return sample.to_owned();
    }
    let safe: String = sheet
        .chars()
        .map(|character| {
            if character.is_ascii_alphanumeric() {
                character.to_ascii_lowercase()
            } else {
                '_'
            }
        })
        .collect();
    format!("{sample}_{safe}")
}
