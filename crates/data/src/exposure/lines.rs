//! Texts by their lines.

use crate::exposure::Exposure;
use crate::profile::{Continuations, LinePattern, LineTimes, SampleRow, TextProfile};

use super::FEWEST_ROWS;
use super::mask::mask;

pub(super) fn reduced_text(text: TextProfile, level: Exposure) -> TextProfile {
    let TextProfile {
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

/// The literal text of a pattern stands in all of its lines; alternatives may stand in one of them alone.
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
        pattern: without_alternatives(&pattern),
        lines,
        example: SampleRow { number, text },
    }
}

/// `<word>` in the place of `<alice|bob>`; no alternative holds one of these signs.
fn without_alternatives(pattern: &str) -> String {
    let mut reduced = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(end) = rest.find('>') {
        let (before, after) = rest.split_at(end + 1);
        match before.rfind('<') {
            Some(start) if before[start..].contains('|') => {
                reduced.push_str(&before[..start]);
                reduced.push_str("<word>");
            }
            _ => reduced.push_str(before),
        }
        rest = after;
    }
    // What is cut may end inside alternatives.
    match rest.rfind('<').filter(|start| rest[*start..].contains('|')) {
        Some(start) => {
            reduced.push_str(&rest[..start]);
            reduced.push_str("<word>");
        }
        None => reduced.push_str(rest),
    }
    reduced
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

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::without_alternatives;

    #[rstest]
    #[case("<time> <alice|bob> in <c|d>", "<time> <word> in <word>")]
    #[case("<<a|b>> <int>|<int>", "<<word>> <int>|<int>")]
    #[case("<int> a <b|c…[9 more characters]", "<int> a <word>")]
    #[case("a < b <int> | c", "a < b <int> | c")]
    fn a_word_of_some_lines_is_not_shown(#[case] pattern: &str, #[case] told: &str) {
        assert_eq!(without_alternatives(pattern), told);
    }
}
