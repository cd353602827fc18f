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
pub(super) fn reduced_column(column: ColumnProfile, level: Exposure) -> ColumnProfile {
    let ColumnProfile {
        name,
        type_,
        declared,
        unit,
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
        value_hashes: _,
    } = column;
    // A list holds many values in one row: how often one stands there says nothing of how many rows share it.
    let is_list = name.contains("[]");
    let is_of_rows = present.is_none_or(|present| present >= FEWEST_ROWS);
    let is_shared = |(_, count): &(String, u64)| *count >= FEWEST_ROWS && !is_list;
    let (shared, rare): (Vec<_>, Vec<_>) = patterns.into_iter().partition(is_shared);
    let masked = |(pattern, count)| (mask_pattern(pattern), count);
    let reduced = ColumnProfile {
        name,
        type_,
        declared,
        unit,
        present,
        values,
        nulls: nulls.into_iter().map(usual_spelling).collect(),
        kinds,
        leading_zeros,
        padded,
        distinct,
        is_unique,
        numbers: numbers.filter(|_| is_of_rows).and_then(reduced_numbers),
        style: style
            .filter(|_| values >= FEWEST_ROWS && is_of_rows)
            .map(reduced_style),
        times: times.filter(|_| is_of_rows).and_then(reduced_times),
        patterns: shared.into_iter().map(masked).collect(),
        has_more_patterns: has_more_patterns || !rare.is_empty(),
        lengths: lengths
            .filter(|_| values >= FEWEST_ROWS && is_of_rows)
            .map(reduced_lengths),
        top: top.into_iter().filter(is_shared).collect(),
        value_hashes: ValueHashes::default(),
    };
    if level == Exposure::SchemaOnly {
        schema_of(reduced)
    } else {
        reduced
    }
}

/// Name, type and whether values are missing: of everything else not even how much there is of it.
fn schema_of(column: ColumnProfile) -> ColumnProfile {
    let is_nullable = column.null_count() > 0;
    ColumnProfile {
        name: column.name,
        type_: column.type_,
        declared: column.declared,
        unit: column.unit,
        present: column.present,
        values: 0,
        nulls: if is_nullable {
            vec![(String::new(), 1)]
        } else {
            Vec::new()
        },
        kinds: column.kinds.into_iter().map(|(kind, _)| (kind, 1)).collect(),
        leading_zeros: column.leading_zeros.min(1),
        padded: column.padded.min(1),
        distinct: DistinctCount::Exact(0),
        is_unique: false,
        numbers: None,
        style: None,
        times: None,
        patterns: Vec::new(),
        has_more_patterns: false,
        lengths: None,
        top: Vec::new(),
        value_hashes: ValueHashes::default(),
    }
}

/// A spelling that is no usual one may be a value.
fn usual_spelling((spelling, count): (String, u64)) -> (String, u64) {
    match null_spelling(&spelling) {
        Some(known) => (known.to_owned(), count),
        None => ("…".to_owned(), count),
    }
}

fn reduced_numbers(numbers: NumberStats) -> Option<NumberStats> {
    let NumberStats {
        count,
        min,
        max,
        mean,
        quartiles,
        decimals,
        histogram: _,
    } = numbers;
    (count >= FEWEST_ROWS).then_some(NumberStats {
        count,
        min,
        max,
        mean,
        quartiles: quartiles
            .filter(|_| count >= FEWEST_FOR_QUARTILES)
            .map(reduced_quartiles),
        decimals,
        histogram: Vec::new(),
    })
}

fn reduced_quartiles(quartiles: Quartiles) -> Quartiles {
    let Quartiles {
        lower,
        median,
        upper,
        is_exact,
    } = quartiles;
    Quartiles {
        lower,
        median,
        upper,
        is_exact,
    }
}

fn reduced_style(style: NumberStyle) -> NumberStyle {
    let NumberStyle {
        decimal,
        thousands,
        has_percent,
        currency,
        has_brackets,
    } = style;
    NumberStyle {
        decimal,
        thousands,
        has_percent,
        currency,
        has_brackets,
    }
}

fn reduced_times(times: TimeStats) -> Option<TimeStats> {
    let TimeStats {
        count,
        min,
        max,
        zoned,
        format,
        step,
        histogram: _,
        is_exact,
    } = times;
    (count >= FEWEST_ROWS).then_some(TimeStats {
        count,
        min,
        max,
        zoned,
        format,
        step: step.and_then(reduced_step),
        histogram: Vec::new(),
        is_exact,
    })
}

fn reduced_step(step: TimeStep) -> Option<TimeStep> {
    let TimeStep {
        step,
        count,
        of,
        equal,
    } = step;
    (count >= FEWEST_ROWS).then_some(TimeStep {
        step,
        count,
        of,
        equal,
    })
}

fn reduced_lengths(lengths: LengthStats) -> LengthStats {
    let LengthStats { min, max, mean } = lengths;
    LengthStats { min, max, mean }
}
