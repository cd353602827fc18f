//! TOML, which looks like INI but has quotes around its texts.

use super::{FEWEST_DISTINCTIVE, is_key};

/// What a line is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    Comment,
    Table,
    /// A setting, and whether its value is written as INI never does.
    Setting(bool),
    /// Part of a value of several lines.
    Continued,
    Other,
}

/// Tables and settings whose values are all TOML, some of them as no other format has them.
pub(super) fn is_toml(lines: &[&str]) -> bool {
    let mut open = None;
    let found: Vec<Line> = lines.iter().map(|line| judge(line, &mut open)).collect();
    let count = |is: fn(&Line) -> bool| found.iter().filter(|line| is(line)).count();
    let settings = count(|line| matches!(line, Line::Setting(_)));
    let has_form = count(|line| *line == Line::Table) > 0
        || lines
            .iter()
            .any(|line| line.contains(" = ") && !line.starts_with(char::is_whitespace));
    !found.contains(&Line::Other)
        && has_form
        && count(|line| matches!(line, Line::Setting(true))) > 0
        && settings + count(|line| *line == Line::Table) >= FEWEST_DISTINCTIVE
}

/// Judges a line; `open` is what ends the value of several lines that it stands in.
fn judge(line: &str, open: &mut Option<&'static str>) -> Line {
    let line = line.trim();
    if let Some(end) = *open {
        if line.ends_with(end) || line.trim_end_matches(',').ends_with(end) {
            *open = None;
        }
        return Line::Continued;
    }
    if line.starts_with('#') {
        return Line::Comment;
    }
    let name = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if let Some(name) = name.filter(|_| !line.contains('=')) {
        let inner = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let is_name = inner.unwrap_or(name).split('.').all(is_toml_key);
        return if is_name { Line::Table } else { Line::Other };
    }
    let Some((key, value)) = line.split_once('=') else {
        return Line::Other;
    };
    let value = value.trim();
    if !key.trim().split('.').all(is_toml_key) {
        return Line::Other;
    }
    *open = opened(value);
    if open.is_some() {
        return Line::Setting(true);
    }
    match value.chars().next() {
        Some('"' | '\'' | '[' | '{') => Line::Setting(true),
        Some(_) if is_bare(value.split('#').next().unwrap_or_default().trim()) => Line::Setting(false),
        _ => Line::Other,
    }
}

/// What ends a value that goes on in the next line.
fn opened(value: &str) -> Option<&'static str> {
    for quotes in ["\"\"\"", "'''"] {
        if let Some(rest) = value.strip_prefix(quotes) {
            return (!rest.contains(quotes)).then_some(quotes);
        }
    }
    let opens = value.matches('[').count();
    (value.starts_with('[') && opens > value.matches(']').count()).then_some("]")
}

fn is_toml_key(key: &str) -> bool {
    let key = key.trim();
    let bare = key.trim_matches(['"', '\'']);
    is_key(bare) && (bare.len() < key.len() || !bare.contains([' ', '/', '$']))
}

/// A truth value, a number or a date.
fn is_bare(value: &str) -> bool {
    let is_number = value.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '+' | '-'))
        && value
            .chars()
            .all(|sign| sign.is_ascii_alphanumeric() || "+-._: ".contains(sign));
    is_number || matches!(value, "true" | "false" | "inf" | "nan")
}
