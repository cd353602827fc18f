//! What a text is, where its content leaves no doubt.

mod toml;

/// A share of some lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// Of so many,
    pub of: u64,
    /// so many at least.
    pub at_least: u64,
}

impl Share {
    /// Whether `count` of `all` are enough; of none never.
    pub(crate) const fn has(self, count: u64, all: u64) -> bool {
        all > 0 && count * self.of >= all * self.at_least
    }
}

/// Lines that must be written as the kind demands.
const MOST: Share = Share { of: 20, at_least: 19 };
/// Fewest distinctive lines of a kind that has no opening of its own.
const FEWEST_DISTINCTIVE: usize = 3;

/// The kind of a text by its first part.
pub(crate) fn of(head: &str) -> Option<&'static str> {
    let start = head.trim_start();
    let opening = cut(start, 64).to_ascii_lowercase();
    if opening.starts_with("<!doctype html") || opening.starts_with("<html") {
        return Some("HTML");
    }
    if opening.starts_with("<?xml") {
        return Some("XML");
    }
    if let Some(interpreter) = head.strip_prefix("#!/").and_then(|rest| rest.lines().next()) {
        return script(interpreter);
    }
    let lines: Vec<&str> = head.lines().filter(|line| !line.trim().is_empty()).collect();
    if toml::is_toml(&lines) {
        Some("TOML")
    } else if is_ini(&lines) {
        Some("INI")
    } else if is_yaml(&lines) {
        Some("YAML")
    } else if is_markdown(&lines) {
        Some("Markdown")
    } else {
        None
    }
}

fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

fn script(interpreter: &str) -> Option<&'static str> {
    let known = [
        ("python", "a Python script"),
        ("bash", "a shell script"),
        ("sh", "a shell script"),
        ("node", "a JavaScript script"),
        ("perl", "a Perl script"),
        ("ruby", "a Ruby script"),
    ];
    let mut words = interpreter.split([' ', '/']).rev();
    let last = words.find(|word| !word.is_empty() && !word.starts_with('-'))?;
    let name = last.trim_end_matches(|character: char| character.is_ascii_digit() || character == '.');
    known
        .iter()
        .find(|(program, _)| *program == name)
        .map(|(_, kind)| *kind)
}

/// Whether almost all lines pass, and enough of them are distinctive.
fn has_form(lines: &[&str], passes: impl Fn(&str) -> bool, telling: impl Fn(&str) -> bool) -> bool {
    let passing = lines.iter().filter(|line| passes(line)).count() as u64;
    MOST.has(passing, lines.len() as u64)
        && lines.iter().filter(|line| telling(line)).count() >= FEWEST_DISTINCTIVE
}

/// A section first, then sections, settings and comments.
fn is_ini(lines: &[&str]) -> bool {
    let is_comment = |line: &str| line.starts_with([';', '#']);
    let is_section = |line: &str| {
        let name = line
            .trim()
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        name.is_some_and(|name| name.starts_with(char::is_alphabetic) && !name.contains(['[', ']']))
    };
    let is_setting = |line: &str| {
        line.split_once('=')
            .is_some_and(|(key, _)| is_key(key.trim()) && !line.starts_with(char::is_whitespace))
    };
    let first = lines.iter().find(|line| !is_comment(line));
    first.is_some_and(|line| is_section(line))
        && has_form(
            lines,
            |line| is_comment(line) || is_section(line) || is_setting(line),
            |line| is_section(line) || is_setting(line),
        )
}

/// `---` or `apiVersion:` first, then keys, items, comments and what is set in below them.
fn is_yaml(lines: &[&str]) -> bool {
    let is_comment = |line: &str| line.trim_start().starts_with('#');
    let opens = |line: &&str| *line == "---" || line.starts_with("%YAML") || line.starts_with("apiVersion: ");
    let is_entry = |line: &str| {
        let entry = line.trim_start();
        let entry = entry.strip_prefix("- ").unwrap_or(entry);
        entry.split_once(':').is_some_and(|(key, rest)| {
            is_key(key.trim_matches(['"', '\''])) && (rest.is_empty() || rest.starts_with(' '))
        })
    };
    let passes = |line: &str| {
        is_comment(line) || is_entry(line) || line.starts_with([' ', '-']) || matches!(line, "---" | "...")
    };
    lines.iter().find(|line| !is_comment(line)).is_some_and(opens) && has_form(lines, passes, is_entry)
}

/// Headings, and lists, fences or links beside them; no line of a heading reads like a comment of code.
fn is_markdown(lines: &[&str]) -> bool {
    let is_heading = |line: &&&str| {
        let marks = line.bytes().take_while(|byte| *byte == b'#').count();
        (1..=6).contains(&marks) && line[marks..].starts_with(' ')
    };
    let is_other = |line: &&&str| {
        line.starts_with("```")
            || line.starts_with("- ")
            || line.starts_with("* ")
            || line.starts_with("| ")
            || line.contains("](")
            || line.contains("**")
    };
    let headings = lines.iter().filter(is_heading).count();
    lines.first().is_some_and(|first| is_heading(&first))
        && headings * 2 <= lines.len()
        && headings + lines.iter().filter(is_other).count() >= FEWEST_DISTINCTIVE
        && lines.iter().any(|line| is_other(&line))
}

fn is_key(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 80
        && text
            .chars()
            .all(|character| character.is_alphanumeric() || "_-./ $".contains(character))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("<!DOCTYPE html><p>", Some("HTML"))]
    #[case("<?xml version=\"1.0\"?><a/>", Some("XML"))]
    #[case("#!/usr/bin/env python3\nprint(1)\n", Some("a Python script"))]
    #[case("#!/bin/sh -e\nls\n", Some("a shell script"))]
    #[case("; c\n[server]\nhost = a\nport=1\n[client]\nuser=x\n", Some("INI"))]
    #[case("[server]\nhost = \"a\"\nport = 1\n[client]\nuser = \"x\"\n", Some("TOML"))]
    #[case(
        "title = \"a\"\nday = 2026-01-31\ntags = [\n  \"x\",\n  \"y\",\n]\n\n[[row]]\nn = 1\n",
        Some("TOML")
    )]
    #[case("[a]\nx=1\ny=2\n[b]\nz=3\n", Some("INI"))]
    #[case("[paths]\nhome = \"/a b\"\nroot = /var/lib\nshell = /bin/sh\n", Some("INI"))]
    #[case("A=\"x\"\nB=\"y\"\nC=\"z\"\n", None)]
    #[case("---\na: 1\nb:\n  - x: 2\n  - y\n", Some("YAML"))]
    #[case("apiVersion: v1\nkind: Pod\nspec:\n  a: b\n", Some("YAML"))]
    #[case("# Title\n\nWords **bold** here.\n\n- one\n- two\n", Some("Markdown"))]
    #[case("# a comment\nimport os\nx = 1\ny = 2\n", None)]
    #[case("[12:00] INFO a=1\n[12:01] INFO b=2\n[12:02] INFO c=3\n", None)]
    #[case("Note: a\nDear: b\nAll: c\n", None)]
    #[case("plain words\n", None)]
    #[case("", None)]
    fn a_kind_is_said_only_where_it_is_certain(#[case] text: &str, #[case] kind: Option<&str>) {
        assert_eq!(of(text), kind);
    }
}
