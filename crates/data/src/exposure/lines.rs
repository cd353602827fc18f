//! Texts by their lines.

use crate::exposure::Exposure;
use crate::profile::{Continuations, LinePattern, LineTimes, SampleRow, TextProfile};

use super::FEWEST_ROWS;
use super::mask::mask;

/// Reduces a text to a level.
pub(super) fn reduce_text(text: &mut TextProfile, level: Exposure) {
    if level == Exposure::SchemaOnly {
        *text = TextProfile {
            lines: text.lines,
            ..TextProfile::default()
        };
        return;
    }
    let TextProfile {
        lines: _,
        empty_lines: _,
        longest_line: _,
        first_lines,
        patterns,
        further_patterns: (further, further_lines),
        times,
        levels,
        continuations,
    } = text;
    reduce_lines(first_lines, level);
    patterns.retain(|pattern| {
        let is_shared = pattern.lines >= FEWEST_ROWS;
        if !is_shared {
            *further += 1;
            *further_lines += pattern.lines;
        }
        is_shared
    });
    for pattern in patterns {
        // The literal text of a pattern stands in all of its lines; alternatives may stand in one of them alone.
        let LinePattern {
            pattern,
            lines: _,
            example: SampleRow { number: _, text },
        } = pattern;
        *pattern = without_alternatives(pattern);
        *text = if level < Exposure::RedactedRows {
            String::new()
        } else {
            mask(text)
        };
    }
    times.retain(
        |LineTimes {
             format: _,
             lines,
             first: _,
             last: _,
             steps_back: _,
         }| *lines >= FEWEST_ROWS,
    );
    levels.retain(|(_, count)| *count >= FEWEST_ROWS);
    continuations.take_if(
        |Continuations {
             lines,
             first: _,
             lack: _,
         }| *lines < FEWEST_ROWS,
    );
}

fn reduce_lines(lines: &mut Vec<String>, level: Exposure) {
    if level < Exposure::RedactedRows {
        lines.clear();
    }
    for line in lines {
        *line = mask(line);
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
