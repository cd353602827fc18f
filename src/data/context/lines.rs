//! Lines of a text.

use std::fmt::Write as _;

use crate::api::common::Exposure;
use crate::data::profile::{LineTimes, RecordStart, TextProfile};

use super::rows::masking;
use super::{Detail, counted};

const SHOWN_FORMATS: usize = 3;
const SHOWN_LEVELS: usize = 10;
/// Length from which the longest line is worth a word.
const LONG_LINE: u64 = 500;

/// What all lines told, and some of their patterns, or of the first lines where patterns tell little.
pub(super) fn print_lines(text: &mut String, lines: &TextProfile, detail: Detail) {
    print_whole(text, lines);
    if lines.patterns.is_empty() {
        print_first(text, lines, detail);
        return;
    }
    let shown = &lines.patterns[..detail.rows.min(lines.patterns.len())];
    if shown.is_empty() {
        return;
    }
    let masked = masking(detail.exposure);
    let _ = if detail.exposure < Exposure::RedactedRows {
        writeln!(text, "Patterns of lines by frequency:")
    } else {
        writeln!(
            text,
            "Patterns of lines by frequency, with the first line of each{masked}:"
        )
    };
    for pattern in shown {
        let example = &pattern.example;
        let _ = writeln!(text, "{}x {}", pattern.lines, pattern.pattern);
        if detail.exposure >= Exposure::RedactedRows {
            let _ = writeln!(text, "  line {}: {}", example.number, example.text);
        }
    }
    let hidden = &lines.patterns[shown.len()..];
    let patterns = lines.further_patterns.0 + hidden.len() as u64;
    let others = lines.further_patterns.1 + hidden.iter().map(|pattern| pattern.lines).sum::<u64>();
    if patterns > 0 {
        let _ = writeln!(
            text,
            "and {} in {}",
            counted(patterns, "further pattern"),
            counted(others, "line")
        );
    }
}

fn print_whole(text: &mut String, lines: &TextProfile) {
    let mut facts = Vec::new();
    if lines.empty_lines > 0 {
        facts.push(counted(lines.empty_lines, "empty line"));
    }
    if lines.longest_line >= LONG_LINE && lines.lines > 1 {
        facts.push(format!("longest line {} bytes", lines.longest_line));
    }
    if !facts.is_empty() {
        let _ = writeln!(text, "{}", facts.join("; "));
    }
    for times in lines.times.iter().take(SHOWN_FORMATS) {
        let _ = writeln!(text, "{}", times_line(times, lines.lines));
    }
    if !lines.levels.is_empty() {
        let level = |(level, count): &(String, u64)| format!("{level} {count}");
        let shown: Vec<_> = lines.levels.iter().take(SHOWN_LEVELS).map(level).collect();
        let _ = writeln!(text, "Levels: {}", shown.join(", "));
    }
    if let Some(found) = lines.continuations {
        let lack = match found.lack {
            RecordStart::Time => "timestamp",
            RecordStart::Level => "level",
        };
        let _ = writeln!(
            text,
            "{} without {lack}, as of stack traces, the first is line {}",
            counted(found.lines, "line"),
            found.first
        );
    }
}

fn times_line(times: &LineTimes, lines: u64) -> String {
    let mut line = format!("Times {}: {}..{}", times.format, times.first, times.last);
    if times.lines < lines {
        let _ = write!(line, " in {}", counted(times.lines, "line"));
    }
    if times.steps_back > 0 {
        let _ = write!(line, ", {} earlier than the one before", times.steps_back);
    }
    line
}

fn print_first(text: &mut String, lines: &TextProfile, detail: Detail) {
    let shown: Vec<_> = lines.first_lines.iter().take(detail.rows).collect();
    if shown.is_empty() {
        return;
    }
    let first = counted(shown.len() as u64, "line");
    let _ = writeln!(text, "First {first}{}:", masking(detail.exposure));
    for line in shown {
        let _ = writeln!(text, "{line}");
    }
}
