//! The schema of a sample: types and nullability, as data; `pandera` prints it.

mod columnar;
mod delimited;
mod excel;
pub mod expected;
mod json;
mod packed;
pub mod pandera;

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::profile::{ColumnType, Layout, LeadProfile, PlainColumn, SampleProfile, TableProfile};
use super::source::Encoding;
use crate::checks::rule::{ColumnCheck, Rule};
use crate::format::json::ROOT_PATH;

use pandera::literal;

/// The schema of one sample.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Schema {
    /// Name of the sample.
    pub sample: String,
    /// Columns by the names that pandas gives them.
    pub columns: Vec<SchemaColumn>,
    /// Body of the Python function that reads the file at `path` into a data frame.
    pub reader: String,
    /// Sign before the decimals of numbers that are read as text, `.` or `,`.
    pub decimal: char,
}

/// Type and nullability of one column. Values are never part of it.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct SchemaColumn {
    /// Name of the column in the data frame.
    pub name: String,
    /// Type as found in the file.
    #[serde(rename = "type")]
    pub type_: ColumnType,
    /// pandas type to which the column is coerced; `None` where any value is allowed.
    pub dtype: Option<String>,
    /// True where values may be missing.
    pub nullable: bool,
}

/// Infers the schema of a sample, of a workbook that of its first sheet; `None` where it is no table of named columns.
#[must_use]
pub fn infer(profile: &SampleProfile) -> Option<Schema> {
    infer_all(profile, &[]).into_iter().next()
}

/// Infers the schema of every table of a sample. Those of a workbook of several sheets are named by sample and sheet.
/// A column whose spelling a check looks at is read as text where the file has a spelling: a number or date has lost it.
#[must_use]
pub fn infer_all(profile: &SampleProfile, checks: &[ColumnCheck]) -> Vec<Schema> {
    let mut taken = HashSet::new();
    let is_only = profile.tables().nth(1).is_none();
    let mut schemas = Vec::new();
    for table in profile.tables() {
        let Some(mut schema) = infer_table(profile, table, checks) else {
            continue;
        };
        if let Layout::Sheet { name, .. } = &table.layout {
            schema.sample = excel::name(&profile.name, name, is_only);
            while !taken.insert(schema.sample.clone()) {
                schema.sample.push('_');
            }
        }
        schemas.push(schema);
    }
    schemas
}

fn infer_table(profile: &SampleProfile, table: &TableProfile, checks: &[ColumnCheck]) -> Option<Schema> {
    if table.columns.is_empty()
        || table
            .columns
            .iter()
            .any(|column| column.name == ROOT_PATH && is_json(table))
    {
        return None;
    }
    let place = excel_place(&table.layout);
    let mut columns = match &table.layout {
        Layout::Delimited { .. } => delimited::columns(table),
        Layout::JsonLines | Layout::JsonArray | Layout::JsonDocument | Layout::JsonValues => {
            json::columns(table)
        }
        Layout::Parquet { header, index, .. } | Layout::Arrow { header, index, .. } => {
            columnar::columns(table, header.as_deref(), index)
        }
        Layout::Sheet { .. } => excel::columns(table, place.as_ref()?),
    };
    if matches!(table.layout, Layout::Delimited { .. }) {
        for check in checks.iter().filter(|check| matches!(check.rule, Rule::Regex(_))) {
            for column in columns.iter_mut().filter(|column| column.name == check.column) {
                column.dtype = Some("string".to_owned());
            }
        }
    }
    let reader = match &table.layout {
        Layout::Delimited { delimiter, lead, .. } => read_csv(profile, *delimiter, lead, table, &columns),
        Layout::JsonLines | Layout::JsonArray | Layout::JsonDocument | Layout::JsonValues => {
            json::reader(profile, &table.layout)
        }
        Layout::Parquet { .. } => columnar::READER.to_owned(),
        Layout::Arrow { .. } => columnar::ARROW_READER.to_owned(),
        Layout::Sheet { .. } => excel::reader(&columns, place.as_ref()?),
    };
    Some(Schema {
        sample: profile.name.clone(),
        columns,
        reader,
        decimal: match table.layout {
            Layout::Delimited { decimal, .. } => decimal,
            _ => '.',
        },
    })
}

fn excel_place(layout: &Layout) -> Option<excel::TablePlace<'_>> {
    let Layout::Sheet {
        name,
        header_row,
        first_row,
        first_column,
        note_rows,
        ..
    } = layout
    else {
        return None;
    };
    Some(excel::TablePlace {
        sheet: name,
        header_row: *header_row,
        first_row: *first_row,
        first_column: *first_column,
        note_rows: *note_rows,
    })
}

const fn is_json(table: &TableProfile) -> bool {
    matches!(
        table.layout,
        Layout::JsonLines | Layout::JsonArray | Layout::JsonDocument | Layout::JsonValues
    )
}

/// The names that `pandas.read_csv` gives: `a`, `a.1` for a repeated one, `Unnamed: 3` for an empty one.
fn pandas_names(table: &TableProfile, first: u64) -> Vec<String> {
    let mut names: Vec<String> = (first..)
        .zip(table.all_columns())
        .map(|(position, column)| {
            if column.name.is_empty() {
                format!("Unnamed: {position}")
            } else {
                column.name
            }
        })
        .collect();
    let mut taken: HashSet<String> = names.iter().cloned().collect();
    let mut next_suffix: HashMap<String, u32> = HashMap::new();
    for name in &mut names {
        let Some(suffix) = next_suffix.get_mut(name) else {
            next_suffix.insert(name.clone(), 1);
            continue;
        };
        while taken.contains(&format!("{name}.{suffix}")) {
            *suffix += 1;
        }
        *name = format!("{name}.{suffix}");
        taken.insert(name.clone());
    }
    names
}

/// The type that holds every whole number of a column.
const fn whole_dtype(column: &PlainColumn) -> &'static str {
    if column.is_wide { "UInt64" } else { "Int64" }
}

fn read_csv(
    profile: &SampleProfile,
    delimiter: char,
    lead: &LeadProfile,
    table: &TableProfile,
    columns: &[SchemaColumn],
) -> String {
    let mut arguments = vec!["path".to_owned(), "index_col=False".to_owned()];
    if delimiter != ',' {
        arguments.push(format!("sep={}", literal(&delimiter.to_string())));
    }
    let has_commas = matches!(table.layout, Layout::Delimited { decimal: ',', .. });
    if has_commas {
        arguments.push("decimal=\",\"".to_owned());
    }
    arguments.extend(packed::argument(profile));
    let encoding = profile.encoding.unwrap_or(Encoding::Utf8);
    if encoding != Encoding::Utf8 {
        arguments.push(format!("encoding=\"{}\"", encoding.python_name()));
    }
    if encoding == Encoding::Utf8Lossy {
        arguments.push("encoding_errors=\"replace\"".to_owned());
    }
    arguments.extend(delimited::lead_arguments(lead));
    if lead.header_rows != 1 {
        arguments.push(delimited::names_argument(table, columns));
    }
    if table.longer_records > 0 {
        // What is more than the header has is cut off; pandas itself could only leave such a record out.
        let width = table.column_count;
        arguments.push(format!(
            "on_bad_lines=lambda fields: fields[:{width}], engine=\"python\""
        ));
    }
    arguments.extend(type_arguments(columns, has_commas));
    format!("return pandas.read_csv({})", arguments.join(", "))
}

/// Returns the arguments of `read_csv` for the types of columns: times are parsed, everything else is cast.
fn type_arguments(columns: &[SchemaColumn], has_commas: bool) -> Vec<String> {
    let is_time = |column: &&SchemaColumn| column.dtype.as_deref() == Some("datetime64[ns]");
    let dtypes: Vec<_> = columns
        .iter()
        .filter(|column| !is_time(column))
        .filter_map(|column| {
            let dtype = match column.dtype.as_deref()? {
                // pandas reads decimal commas into numpy's type alone; the schema makes it nullable.
                "Float64" if has_commas => "float64",
                dtype => dtype,
            };
            Some(format!("{}: \"{dtype}\"", literal(&column.name)))
        })
        .collect();
    let mut arguments = vec![format!("dtype={{{}}}", dtypes.join(", "))];
    let times: Vec<_> = columns
        .iter()
        .filter(is_time)
        .map(|column| literal(&column.name))
        .collect();
    if !times.is_empty() {
        arguments.push(format!(
            "parse_dates=[{}], date_format=\"ISO8601\"",
            times.join(", ")
        ));
    }
    arguments
}

#[cfg(test)]
mod columnar_tests;

#[cfg(test)]
mod tests;
