//! Texts by their lines.

use crate::api::common::Exposure;
use crate::data::profile::{Continuations, LinePattern, LineTimes, SampleRow, TextProfile};

use super::FEWEST_ROWS;
use super::mask::mask;

pub(super) fn reduced_text(text: TextProfile, level: Exposure) -> TextProfile {
    let TextProfile {
        kind,
        lines,
        empty_lines,
        longest_line,
        first_lines,
        patterns,
        further_patterns: (mut further, mut further_lines),
        times,
        levels,
        continuations,
    } = text;
    if level == Exposure::SchemaOnly {
        return TextProfile {
            kind,
            lines,
            ..TextProfile::default()
        };
    }
    let mut shared = Vec::new();
    for pattern in patterns {
        if pattern.lines >= FEWEST_ROWS {
            shared.push(reduced_pattern(pattern, level));
        } else {
            further += 1;
            further_lines += pattern.lines;
        }
    }
    TextProfile {
        kind,
        lines,
        empty_lines,
        longest_line,
        first_lines: if level < Exposure::RedactedRows {
            Vec::new()
        } else {
            first_lines.iter().map(|line| mask(line)).collect()
        },
        patterns: shared,
        further_patterns: (further, further_lines),
        times: times.into_iter().filter_map(reduced_times).collect(),
        levels: levels
            .into_iter()
            .filter(|(_, count)| *count >= FEWEST_ROWS)
            .collect(),
        continuations: continuations.and_then(reduced_continuations),
    }
}

/// A pattern that several lines share holds no more literal text than they do.
fn reduced_pattern(pattern: LinePattern, level: Exposure) -> LinePattern {
    let LinePattern {
        pattern,
        lines,
        example: SampleRow { number, text },
    } = pattern;
    let text = if level < Exposure::RedactedRows {
        String::new()
    } else {
        mask(&text)
    };
    LinePattern {
        pattern,
        lines,
        example: SampleRow { number, text },
    }
}

fn reduced_times(times: LineTimes) -> Option<LineTimes> {
    let LineTimes {
        format,
        lines,
        first,
        last,
        steps_back,
    } = times;
    (lines >= FEWEST_ROWS).then_some(LineTimes {
        format,
        lines,
        first,
        last,
        steps_back,
    })
}

fn reduced_continuations(continuations: Continuations) -> Option<Continuations> {
    let Continuations { lines, first, lack } = continuations;
    (lines >= FEWEST_ROWS).then_some(Continuations { lines, first, lack })
}
