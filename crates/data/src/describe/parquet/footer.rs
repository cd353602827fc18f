//! Figures in the footer of a Parquet file on columns that are not read whole: missing values and extremes.

use parquet::file::statistics::Statistics;

use crate::column::distinct::{DistinctCount, ValueHashes};
use crate::format::parquet::{Leaf, Logical, ParquetFile};
use crate::profile::ColumnProfile;

/// Puts what the footer says of the whole file in place of what a share of its `records` showed.
pub(super) fn lay_over(file: &ParquetFile, records: u64, columns: &mut [ColumnProfile]) {
    for (position, (column, leaf)) in columns.iter_mut().zip(file.leaves()).enumerate() {
        column.is_unique = false;
        column.value_hashes = ValueHashes::default();
        if let DistinctCount::Exact(count) = column.distinct {
            column.distinct = DistinctCount::About(count);
        }
        if !leaf.is_flat {
            continue;
        }
        let chunks = statistics(file, position);
        if let Some(nulls) = chunks.as_deref().and_then(null_count) {
            column.nulls = if nulls > 0 {
                vec![("null".to_owned(), nulls)]
            } else {
                Vec::new()
            };
            // A column of which no value was read says nothing of values.
            if column.values > 0 {
                column.values = records.saturating_sub(nulls);
            }
        }
        if let Some((min, max)) = chunks.as_deref().and_then(|chunks| extremes(chunks, leaf)) {
            put_extremes(column, leaf, min, max);
        }
    }
}

/// The statistics of a column in every row group; `None` where one has none.
fn statistics(file: &ParquetFile, column: usize) -> Option<Vec<&Statistics>> {
    file.metadata()
        .row_groups()
        .iter()
        .map(|group| group.columns().get(column)?.statistics())
        .collect()
}

fn null_count(chunks: &[&Statistics]) -> Option<u64> {
    chunks.iter().try_fold(0u64, |sum, chunk| {
        Some(sum.saturating_add(chunk.null_count_opt()?))
    })
}

/// Least and greatest value as texts. Only values of fixed width are taken: the footer may cut longer ones.
fn extremes(chunks: &[&Statistics], leaf: &Leaf) -> Option<(String, String)> {
    let is_float = matches!(leaf.logical, Logical::Float | Logical::Double);
    let unsigned = matches!(leaf.logical, Logical::Uint(_));
    let mut least: Option<(f64, String)> = None;
    let mut greatest: Option<(f64, String)> = None;
    for chunk in chunks {
        // Old writers ordered unsigned numbers as signed ones.
        if unsigned && chunk.is_min_max_deprecated() {
            return None;
        }
        let (min, max) = match chunk {
            Statistics::Int32(range) => (
                range.min_opt().map(|value| leaf.logical.int32(*value)),
                range.max_opt().map(|value| leaf.logical.int32(*value)),
            ),
            Statistics::Int64(range) => (
                range.min_opt().map(|value| leaf.logical.int64(*value)),
                range.max_opt().map(|value| leaf.logical.int64(*value)),
            ),
            Statistics::Float(range) if is_float => (
                range
                    .min_opt()
                    .map(|value| (f64::from(*value), value.to_string())),
                range
                    .max_opt()
                    .map(|value| (f64::from(*value), value.to_string())),
            ),
            Statistics::Double(range) if is_float => (
                range.min_opt().map(|value| (*value, value.to_string())),
                range.max_opt().map(|value| (*value, value.to_string())),
            ),
            _ => return None,
        };
        // A chunk of missing values only has no extremes.
        let (Some(min), Some(max)) = (min, max) else {
            if chunk.null_count_opt().is_some_and(|nulls| nulls > 0) {
                continue;
            }
            return None;
        };
        if min.0.is_nan() || max.0.is_nan() {
            return None;
        }
        if least.as_ref().is_none_or(|(value, _)| min.0 < *value) {
            least = Some(min);
        }
        if greatest.as_ref().is_none_or(|(value, _)| max.0 > *value) {
            greatest = Some(max);
        }
    }
    Some((least?.1, greatest?.1))
}

fn put_extremes(column: &mut ColumnProfile, leaf: &Leaf, min: String, max: String) {
    if let (Logical::Date | Logical::Timestamp { .. }, Some(times)) = (leaf.logical, &mut column.times) {
        times.min = min;
        times.max = max;
        times.histogram = Vec::new();
    } else if let Some(numbers) = &mut column.numbers {
        numbers.min = min;
        numbers.max = max;
        numbers.histogram = Vec::new();
    }
}
