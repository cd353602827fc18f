//! Lines of a text.

use std::fmt::Write as _;

use crate::exposure::Exposure;
use crate::profile::{LineTimes, RecordStart, TextProfile};

use super::quote::Quoted;
use super::rows::masking;
use super::{Detail, counted, put};

const SHOWN_FORMATS: usize = 3;
const SHOWN_LEVELS: usize = 10;
/// Length from which the longest line is worth a word.
const LONG_LINE: u64 = 500;

/// Statistics of all lines, and some of their patterns, or of the first lines where patterns say little.
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
    let first = if detail.exposure < Exposure::RedactedRows {
        String::new()
    } else {
        format!(", with the first line of each{masked}")
    };
    put(text, format_args!("Patterns of lines by frequency{first}:"));
    for pattern in shown {
        let example = &pattern.example;
        put(text, format_args!("{}x {}", pattern.lines, pattern.pattern));
        if detail.exposure >= Exposure::RedactedRows {
            put(text, format_args!("  line {}: {}", example.number, example.text));
        }
    }
    let hidden = &lines.patterns[shown.len()..];
    let patterns = lines.further_patterns.0 + hidden.len() as u64;
    let others = lines.further_patterns.1 + hidden.iter().map(|pattern| pattern.lines).sum::<u64>();
    if patterns > 0 {
        let (patterns, others) = (counted(patterns, "further pattern"), counted(others, "line"));
        put(text, format_args!("and {patterns} in {others}"));
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
        put(text, format_args!("{}", facts.join("; ")));
    }
    for times in lines.times.iter().take(SHOWN_FORMATS) {
        put(text, format_args!("{}", times_line(times, lines.lines)));
    }
    if !lines.levels.is_empty() {
        let level = |(level, count): &(String, u64)| format!("{level} {count}");
        let shown: Vec<_> = lines.levels.iter().take(SHOWN_LEVELS).map(level).collect();
        put(text, format_args!("Levels: {}", shown.join(", ")));
    }
    if let Some(found) = lines.continuations {
        let lack = match found.lack {
            RecordStart::Time => "timestamp",
            RecordStart::Level => "level",
        };
        let (lines, first) = (counted(found.lines, "line"), found.first);
        put(
            text,
            format_args!("{lines} without {lack}, as of stack traces, the first is line {first}"),
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
    let shown = lines.first_lines.iter().take(detail.rows);
    let shown = Quoted::new(shown.map(String::as_str));
    if shown.lines().is_empty() {
        return;
    }
    let first = counted(shown.lines().len() as u64, "line");
    let (masked, escapes) = (masking(detail.exposure), shown.escapes());
    put(text, format_args!("First {first}{masked}{escapes}:"));
    shown.print(text);
}
