//! Notes of pandas on a data frame in a file: its index is stored among the columns.

use serde_json::Value;

use crate::remark::Remark;

/// Largest entry of pandas that is read, bytes.
const LARGEST_METADATA: usize = 4 * 1024 * 1024;

/// Columns that pandas stored as the index of the data frame, of those that the file has.
pub(super) fn index_columns(metadata: Option<&str>, is_column: impl Fn(&str) -> bool) -> Vec<String> {
    let metadata = metadata.filter(|text| text.len() <= LARGEST_METADATA);
    let metadata: Value = metadata
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    let names = metadata["index_columns"].as_array().into_iter().flatten();
    names
        .filter_map(Value::as_str)
        .filter(|name| is_column(name))
        .map(str::to_owned)
        .collect()
}

/// Says which columns pandas takes away from the data frame.
pub(super) fn index_remark(index: &[String]) -> Option<Remark> {
    let names = index.join(", ");
    let text = format!("pandas reads as the index of the data frame and not as a column: {names}");
    (!index.is_empty()).then(|| text.into())
}
