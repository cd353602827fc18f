//! A line as parts, its variable ones masked: `api[400] took 3ms` becomes `api[<int>] took <int>ms`.

mod kind;

use std::net::Ipv6Addr;
use std::ops::Range;

use super::stamp::{self, Stamp};

pub(crate) use kind::VariableKind;
use kind::{is_email, is_request, number, special};

/// Parts of a line that are masked one by one; what follows is one part more.
pub(crate) const MOST_PARTS: usize = 64;
/// Longest text that can be a fixed part, bytes.
const LONGEST_FIXED: usize = 48;
/// Longest quoted text that can be a fixed part, bytes.
const LONGEST_FIXED_QUOTED: usize = 32;
/// Parts among which the level of a line is searched for.
const LEVEL_PARTS: usize = 16;

/// One part of a masked line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MaskPart {
    /// A sign between values; blanks are one sign.
    Mark,
    /// A word that may be fixed; numbers inside it are masked.
    Word,
    /// A variable part.
    Masked(VariableKind),
}

/// A line as parts. One is used for all lines, so that its memory is.
#[derive(Debug, Default)]
pub(crate) struct Masked {
    /// The line with its variable parts masked.
    pub text: String,
    /// Parts with their place in `text`.
    pub parts: Vec<(MaskPart, Range<usize>)>,
    /// The first timestamp, and where it stands in the line.
    pub time: Option<(Range<usize>, Stamp)>,
    /// Place of the level (`INFO`) in `text`.
    pub level: Option<Range<usize>>,
}

impl Masked {
    /// Takes in another line.
    pub(crate) fn mask(&mut self, line: &str) {
        self.text.clear();
        self.parts.clear();
        self.time = None;
        self.level = None;
        let bytes = line.as_bytes();
        let mut at = self.glog(bytes);
        while at < bytes.len() {
            if self.parts.len() >= MOST_PARTS {
                self.masked(VariableKind::Rest);
                return;
            }
            at = self.part(line, at);
        }
    }

    /// The start of a line of glog (`E0102 15:04:05.1`): its level is a letter that touches its date.
    fn glog(&mut self, bytes: &[u8]) -> usize {
        let [level @ (b'I' | b'W' | b'E' | b'F'), month @ .., b' '] = bytes.get(..6).unwrap_or(&[]) else {
            return 0;
        };
        let Some(clock) = stamp::stamp(&bytes[6..]).filter(|_| month.iter().all(u8::is_ascii_digit)) else {
            return 0;
        };
        let start = self.text.len();
        self.push(MaskPart::Word, std::str::from_utf8(&[*level]).unwrap_or_default());
        self.level = Some(start..self.text.len());
        self.masked(VariableKind::Int);
        self.push(MaskPart::Mark, " ");
        self.masked(VariableKind::Time);
        let end = 6 + clock.length;
        self.time = Some((6..end, clock));
        end
    }

    fn push(&mut self, part: MaskPart, text: &str) {
        let start = self.text.len();
        self.text.push_str(text);
        self.parts.push((part, start..self.text.len()));
    }

    fn masked(&mut self, kind: VariableKind) {
        self.push(MaskPart::Masked(kind), kind.as_str());
    }

    /// Takes in the part that starts at `at`; returns where the next one starts.
    fn part(&mut self, line: &str, at: usize) -> usize {
        let bytes = line.as_bytes();
        let byte = bytes[at];
        if byte.is_ascii_whitespace() || byte.is_ascii_control() {
            let end = run(bytes, at, |byte| {
                byte.is_ascii_whitespace() || byte.is_ascii_control()
            });
            let has_tab = bytes[at..end].contains(&b'\t');
            self.push(MaskPart::Mark, if has_tab { "\\t" } else { " " });
            return end;
        }
        if let Some(end) = self.time(bytes, at) {
            return end;
        }
        if matches!(byte, b'"' | b'\'')
            && let Some(end) = self.quoted(line, at)
        {
            return end;
        }
        if let Some(end) = self.address(line, at) {
            return end;
        }
        if is_word(byte) {
            let end = run(bytes, at, is_word);
            // A full stop ends a sentence, unless there is nothing else.
            let stops = bytes[at..end]
                .iter()
                .rev()
                .take_while(|byte| **byte == b'.')
                .count();
            let end = if at + stops < end { end - stops } else { end };
            self.word(line, at..end);
            return end;
        }
        if byte == b'.' {
            let end = run(bytes, at, |byte| byte == b'.');
            self.push(MaskPart::Mark, &line[at..end]);
            return end;
        }
        self.push(MaskPart::Mark, &line[at..=at]);
        at + 1
    }

    fn time(&mut self, bytes: &[u8], at: usize) -> Option<usize> {
        let may_start = match bytes[at] {
            b'0'..=b'9' => true,
            // The first letters of months and weekdays.
            byte => b"JFMASONDTW".contains(&byte),
        };
        if !may_start || at.checked_sub(1).is_some_and(|before| is_word(bytes[before])) {
            return None;
        }
        let found = stamp::stamp(&bytes[at..]).or_else(|| {
            let is_first = self.parts.iter().all(|(part, _)| *part == MaskPart::Mark);
            is_first.then(|| stamp::epoch(&bytes[at..])).flatten()
        })?;
        let end = at + found.length;
        if self.time.is_none() {
            self.time = Some((at..end, found));
        }
        self.masked(VariableKind::Time);
        Some(end)
    }

    /// A quoted text with its quotes; returns where it ends.
    fn quoted(&mut self, line: &str, at: usize) -> Option<usize> {
        let bytes = line.as_bytes();
        let quote = bytes[at];
        // An apostrophe stands inside or after a word.
        if at.checked_sub(1).is_some_and(|before| is_word(bytes[before])) {
            return None;
        }
        let mut end = at + 1;
        loop {
            match bytes.get(end)? {
                b'\\' => end += 2,
                byte if *byte == quote => break,
                _ => end += 1,
            }
        }
        if bytes.get(end + 1).is_some_and(|after| is_word(*after)) {
            return None;
        }
        let mark = &line[at..=at];
        let inner = line.get(at + 1..end)?;
        self.push(MaskPart::Mark, mark);
        let is_fixed =
            inner.len() <= LONGEST_FIXED_QUOTED && !inner.bytes().any(|byte| byte.is_ascii_digit());
        if is_request(inner) {
            self.masked(VariableKind::Request);
        } else if is_fixed || bytes.get(end + 1) == Some(&b':') && inner.len() <= LONGEST_FIXED_QUOTED {
            if !inner.is_empty() {
                self.fixed(inner, bytes.get(end + 1).copied());
            }
        } else {
            self.masked(VariableKind::Text);
        }
        self.push(MaskPart::Mark, mark);
        Some(end + 1)
    }

    /// An address that holds signs which would end a word: URL, path, IPv6.
    fn address(&mut self, line: &str, at: usize) -> Option<usize> {
        let bytes = line.as_bytes();
        let before = at.checked_sub(1).map(|before| bytes[before]);
        if before.is_some_and(is_word) {
            return None;
        }
        let byte = bytes[at];
        let is_after = |at: usize, test: fn(u8) -> bool| bytes.get(at).is_some_and(|byte| test(*byte));
        let is_drive =
            byte.is_ascii_uppercase() && bytes.get(at + 1..at + 3) == Some(b":\\") && before != Some(b'\\');
        if is_drive || (byte == b'/' && is_after(at + 1, |byte| is_word(byte) && byte != b'/')) {
            let skipped = if is_drive { at + 3 } else { at };
            let end = run(bytes, skipped, |byte| is_word(byte) || b"?=&".contains(&byte));
            self.masked(VariableKind::Path);
            return Some(end);
        }
        if byte == b'/' && !is_after(at + 1, is_word) {
            self.masked(VariableKind::Path);
            return Some(at + 1);
        }
        if byte.is_ascii_hexdigit() || byte == b':' {
            let end = run(bytes, at, |byte| {
                byte.is_ascii_hexdigit() || b":.".contains(&byte)
            });
            let text = &line[at..end];
            let colons = text.bytes().filter(|byte| *byte == b':').count();
            let has_digit = text.bytes().any(|byte| byte.is_ascii_digit());
            if colons >= 2 && has_digit && !is_after(end, is_word) && text.parse::<Ipv6Addr>().is_ok() {
                self.masked(VariableKind::Ip);
                return Some(end);
            }
        }
        if byte.is_ascii_alphabetic() {
            let end = run(bytes, at, |byte| byte.is_ascii_alphanumeric() || byte == b'+');
            if bytes[end..].starts_with(b"://") {
                let end = run(bytes, end, |byte| {
                    !byte.is_ascii_whitespace() && !b"\"'<>()[]{},;|".contains(&byte)
                });
                self.masked(VariableKind::Url);
                return Some(end);
            }
        }
        None
    }

    fn word(&mut self, line: &str, range: Range<usize>) {
        let text = &line[range.clone()];
        let after = line.as_bytes().get(range.end).copied();
        if !text.bytes().any(|byte| byte.is_ascii_digit()) {
            if is_email(text) {
                self.masked(VariableKind::Email);
            } else {
                self.fixed(text, after);
            }
            return;
        }
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        if let Some((kind, unit)) = number(unsigned) {
            self.masked(kind);
            if !unit.is_empty() {
                self.push(MaskPart::Word, unit);
            }
            return;
        }
        if let Some(kind) = special(text) {
            self.masked(kind);
        } else if text.len() > LONGEST_FIXED {
            self.masked(VariableKind::Id);
        } else {
            self.mixed(text);
        }
    }

    /// A word without digits.
    fn fixed(&mut self, text: &str, after: Option<u8>) {
        if text.len() > LONGEST_FIXED {
            self.masked(VariableKind::Text);
            return;
        }
        if self.level.is_none() && self.parts.len() < LEVEL_PARTS && is_level(text) {
            let before = self.text.bytes().last().unwrap_or(b'[');
            let is_set_off =
                b"[=|(<\"".contains(&before) || after.is_some_and(|after| b"]:|)>".contains(&after));
            let is_shouted = text.bytes().all(|byte| byte.is_ascii_uppercase());
            if is_shouted || is_set_off {
                self.level = Some(self.text.len()..self.text.len() + text.len());
            }
        }
        self.push(MaskPart::Word, text);
    }

    /// A word with letters and digits: numbers inside it are masked, segments of both mixed are too.
    fn mixed(&mut self, text: &str) {
        let start = self.text.len();
        for (position, segment) in text
            .split_inclusive(['-', '_', '.', '/', '@', '#', '%', '\\', '+'])
            .enumerate()
        {
            let end = segment.trim_end_matches(['-', '_', '.', '/', '@', '#', '%', '\\', '+']);
            if is_jumbled(end) {
                self.text.push_str(VariableKind::Id.as_str());
            } else if position > 0 && text.starts_with("HTTP/") {
                // `HTTP/1.1`: the version is part of the protocol's name.
                self.text.push_str(end);
            } else {
                let mut in_number = false;
                for character in end.chars() {
                    let is_digit = character.is_ascii_digit();
                    if !is_digit {
                        self.text.push(character);
                    } else if !in_number {
                        self.text.push_str(VariableKind::Int.as_str());
                    }
                    in_number = is_digit;
                }
            }
            self.text.push_str(&segment[end.len()..]);
        }
        self.parts.push((MaskPart::Word, start..self.text.len()));
    }
}

fn run(bytes: &[u8], at: usize, is_in: impl Fn(u8) -> bool) -> usize {
    let length = bytes[at..].iter().position(|byte| !is_in(*byte));
    length.map_or(bytes.len(), |length| at + length)
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || !byte.is_ascii()
        || matches!(
            byte,
            b'_' | b'-' | b'.' | b'/' | b'%' | b'+' | b'@' | b'#' | b'$' | b'&' | b'*' | b'~' | b'\\'
        )
}

/// Reports whether letters and digits alternate more than once.
fn is_jumbled(segment: &str) -> bool {
    let bytes = segment.as_bytes();
    let changes = bytes
        .windows(2)
        .filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit());
    changes.count() > 1
}

fn is_level(text: &str) -> bool {
    const LEVELS: [&str; 16] = [
        "trace", "debug", "info", "notice", "warn", "warning", "error", "err", "critical", "crit", "fatal",
        "severe", "alert", "emerg", "panic", "verbose",
    ];
    (3..=8).contains(&text.len()) && LEVELS.iter().any(|level| text.eq_ignore_ascii_case(level))
}

#[cfg(test)]
mod tests;
