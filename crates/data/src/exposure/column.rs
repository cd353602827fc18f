//! Reduction of a column to the part that may be shown.

use crate::column::cell::null_spelling;
use crate::column::distinct::{DistinctCount, ValueHashes};
use crate::column::numeric::NumberStats;
use crate::column::quantiles::Quartiles;
use crate::column::style::NumberStyle;
use crate::column::temporal::{TimeStats, TimeStep};
use crate::exposure::Exposure;
use crate::profile::{ColumnProfile, LengthStats};

use super::FEWEST_ROWS;
use super::mask::mask_pattern;

/// Of fewer values, extremes and quartiles are nearly all of them.
const FEWEST_FOR_QUARTILES: u64 = 20;

/// Reduces a column to a level.
pub(super) fn reduce_column(column: &mut ColumnProfile, level: Exposure) {
    let is_nullable = column.null_count() > 0;
    let ColumnProfile {
        name,
        type_: _,
        declared: _,
        unit: _,
        present,
        values,
        nulls,
        kinds,
        leading_zeros,
        padded,
        distinct,
        is_unique,
        numbers,
        style,
        times,
        patterns,
        has_more_patterns,
        lengths,
        top,
        value_hashes,
    } = column;
    // A list holds many values in one row: how often one stands there says nothing of how many rows share it.
    let is_list = name.contains("[]");
    let is_schema = level == Exposure::SchemaOnly;
    let is_of_few = is_schema || present.is_some_and(|present| present < FEWEST_ROWS);
    let has_few = is_of_few || *values < FEWEST_ROWS;
    let is_shared = |(_, count): &(String, u64)| *count >= FEWEST_ROWS && !is_list && !is_schema;
    *value_hashes = ValueHashes::default();
    for (spelling, _) in &mut *nulls {
        usual_spelling(spelling);
    }
    numbers.take_if(|numbers| is_of_few || numbers.count < FEWEST_ROWS);
    if let Some(numbers) = numbers {
        reduce_numbers(numbers);
    }
    style.take_if(
        |NumberStyle {
             decimal: _,
             thousands: _,
             has_percent: _,
             currency: _,
             has_brackets: _,
         }| has_few,
    );
    times.take_if(|times| is_of_few || times.count < FEWEST_ROWS);
    if let Some(times) = times {
        reduce_times(times);
    }
    let all = patterns.len();
    patterns.retain(is_shared);
    *has_more_patterns |= patterns.len() < all;
    for (pattern, _) in patterns {
        mask_pattern(pattern);
    }
    lengths.take_if(
        |LengthStats {
             min: _,
             max: _,
             mean: _,
         }| has_few,
    );
    top.retain(is_shared);
    // Name, type and whether values are missing: of everything else not even how much there is of it.
    if is_schema {
        *values = 0;
        *nulls = if is_nullable {
            vec![(String::new(), 1)]
        } else {
            Vec::new()
        };
        for (_, count) in kinds {
            *count = 1;
        }
        *leading_zeros = (*leading_zeros).min(1);
        *padded = (*padded).min(1);
        *distinct = DistinctCount::Exact(0);
        *is_unique = false;
        *has_more_patterns = false;
    }
}

/// A spelling that is no usual one may be a value.
fn usual_spelling(spelling: &mut String) {
    if null_spelling(spelling).is_none() {
        "…".clone_into(spelling);
    }
}

fn reduce_numbers(numbers: &mut NumberStats) {
    let NumberStats {
        count,
        min: _,
        max: _,
        mean: _,
        quartiles,
        decimals: _,
        histogram,
    } = numbers;
    quartiles.take_if(
        |Quartiles {
             lower: _,
             median: _,
             upper: _,
             is_exact: _,
         }| *count < FEWEST_FOR_QUARTILES,
    );
    histogram.clear();
}

fn reduce_times(times: &mut TimeStats) {
    let TimeStats {
        count: _,
        min: _,
        max: _,
        zoned: _,
        format: _,
        step,
        histogram,
        is_exact: _,
    } = times;
    step.take_if(
        |TimeStep {
             step: _,
             count,
             of: _,
             equal: _,
         }| *count < FEWEST_ROWS,
    );
    histogram.clear();
}
