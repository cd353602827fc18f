//! What may be told of the lines of a text.

use crate::api::common::Exposure;
use crate::data::profile::{LinePattern, LineTimes, SampleRow, TextProfile};

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
        further_patterns,
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
    let has_examples = level >= Exposure::RedactedRows;
    let (told, hidden): (Vec<_>, Vec<_>) = patterns
        .into_iter()
        .partition(|pattern| pattern.lines >= FEWEST_ROWS);
    let hidden_lines: u64 = hidden.iter().map(|pattern| pattern.lines).sum();
    TextProfile {
        kind,
        lines,
        empty_lines,
        longest_line,
        first_lines: if has_examples {
            first_lines.iter().map(|line| mask(line)).collect()
        } else {
            Vec::new()
        },
        patterns: told
            .into_iter()
            .map(|pattern| reduced_pattern(pattern, has_examples))
            .collect(),
        further_patterns: (
            further_patterns.0 + hidden.len() as u64,
            further_patterns.1 + hidden_lines,
        ),
        times: times.into_iter().filter_map(reduced_times).collect(),
        levels,
        continuations,
    }
}

/// The words that all its lines share stand; one that some of them have may be of a single line.
fn reduced_pattern(pattern: LinePattern, has_example: bool) -> LinePattern {
    let LinePattern {
        pattern,
        lines,
        example: SampleRow { number, text },
    } = pattern;
    LinePattern {
        pattern: without_alternatives(&pattern),
        lines,
        example: SampleRow {
            number,
            text: if has_example { mask(&text) } else { String::new() },
        },
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
    // What is cut may end inside of alternatives.
    match rest.rfind('<') {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn text() -> TextProfile {
        let pattern = |pattern: &str, lines| LinePattern {
            pattern: pattern.to_owned(),
            lines,
            example: SampleRow {
                number: 1,
                text: "10:00:00 alice in".to_owned(),
            },
        };
        TextProfile {
            lines: 12,
            first_lines: vec!["10:00:00 alice in".to_owned()],
            patterns: vec![
                pattern("<time> <alice|bob> in", 9),
                pattern("<time> carol out", 2),
            ],
            further_patterns: (1, 1),
            levels: vec![("INFO".to_owned(), 9)],
            ..TextProfile::default()
        }
    }

    #[test]
    fn words_of_few_lines_are_not_told_below_rows() {
        for level in [Exposure::SchemaOnly, Exposure::Statistics, Exposure::RedactedRows] {
            let told = format!("{:?}", reduced_text(text(), level));
            for name in ["alice", "bob", "carol"] {
                assert!(!told.contains(name), "{level:?}: {told}");
            }
        }
        let told = reduced_text(text(), Exposure::RedactedRows);
        assert_eq!(told.patterns[0].pattern, "<time> <word> in");
        assert_eq!(told.patterns[0].example.text, "99:99:99 xxxxx xx");
        assert_eq!(told.further_patterns, (2, 3));
    }

    #[test]
    fn a_cut_pattern_tells_no_alternative() {
        assert_eq!(
            without_alternatives("<int> a <b|c…[9 more characters]"),
            "<int> a <word>"
        );
        assert_eq!(without_alternatives("a < b <int>"), "a < b <int>");
    }
}
