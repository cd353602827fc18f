//! The schema of Parquet and Arrow: the types that `pandas.read_parquet` and `pandas.read_feather` give.

use crate::profile::{ColumnProfile, PlainColumn, TableProfile, TimeStats};

use super::SchemaColumn;

pub(super) const READER: &str = "return pandas.read_parquet(path)";
pub(super) const ARROW_READER: &str = "return pandas.read_feather(path)";

/// The columns of the data frame; a nested field is one column of objects, which is left out, as is what pandas reads as
/// the index.
pub(super) fn columns(table: &TableProfile, header: Option<&str>, index: &[String]) -> Vec<SchemaColumn> {
    let is_inner = |name: &str| header.is_none() && (name.contains('.') || name.contains("[]"));
    let is_column = |name: &String| !is_inner(name) && !index.contains(name);
    let described = table
        .columns
        .iter()
        .filter(|column| is_column(&column.name))
        .map(|column| {
            let nullable = column.null_count() > 0;
            SchemaColumn {
                name: column.name.clone(),
                type_: column.type_,
                dtype: dtype(column, nullable),
                nullable,
            }
        });
    let further = table.further.iter().filter(|column| is_column(&column.name));
    described.chain(further.map(of_further)).collect()
}

/// A column whose values were not read: some may be missing.
fn of_further(column: &PlainColumn) -> SchemaColumn {
    let declared = column.declared.as_deref().unwrap_or_default();
    SchemaColumn {
        name: column.name.clone(),
        type_: column.type_,
        dtype: plain_dtype(declared, true),
        nullable: true,
    }
}

/// Decimals, days, times of day and bytes are Python objects in a data frame, and so of no type of pandas.
fn dtype(column: &ColumnProfile, nullable: bool) -> Option<String> {
    let declared = column.declared.as_deref()?;
    if column.values == 0 {
        return None;
    }
    let in_nanoseconds = || column.times.as_ref().is_some_and(TimeStats::fits_nanoseconds);
    match declared {
        _ if declared.starts_with("timestamp[") && in_nanoseconds() => {
            let zone = declared.find(", ").map_or("]", |comma| &declared[comma..]);
            Some(format!("datetime64[ns{zone}"))
        }
        _ => plain_dtype(declared, nullable),
    }
}

/// The type of pandas that a declared one says by itself.
fn plain_dtype(declared: &str, nullable: bool) -> Option<String> {
    match declared {
        "string" | "json" => Some("string".to_owned()),
        "bool" => Some(if nullable { "boolean" } else { "bool" }.to_owned()),
        "float16" | "float32" | "float64" => Some(declared.to_owned()),
        _ if declared.starts_with("categories of ") => {
            plain_dtype(&declared["categories of ".len()..], nullable)
        }
        _ if declared.starts_with("duration[") => Some(declared.replacen("duration", "timedelta64", 1)),
        _ => match (declared.strip_prefix("uint"), declared.strip_prefix("int")) {
            (Some(bits), _) if nullable => Some(format!("UInt{bits}")),
            (_, Some(bits)) if nullable => Some(format!("Int{bits}")),
            (None, None) => None,
            _ => Some(declared.to_owned()),
        },
    }
}
