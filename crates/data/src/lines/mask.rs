//! A line as parts, its variable ones masked: `api[400] took 3ms` becomes `api[<int>] took <int>ms`.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Regex, RegexSet};

use super::stamp::{self, Stamp};

/// Parts of a line that are masked one by one; what follows is one part more.
pub(crate) const MOST_PARTS: usize = 64;
/// Longest text that can be a fixed part, bytes.
const LONGEST_FIXED: usize = 48;
/// Longest quoted text that can be a fixed part, bytes.
const LONGEST_FIXED_QUOTED: usize = 32;
/// Parts among which the level of a line is searched for.
const LEVEL_PARTS: usize = 16;
/// Bytes of the longest name of a level.
const LONGEST_LEVEL: usize = 8;

/// Masks of whole numbers, of numbers with decimals, of timestamps, and of text after the last part that is masked by itself.
pub(crate) const INT: &str = "<int>";
pub(crate) const FLOAT: &str = "<float>";
pub(crate) const TIME: &str = "<time>";
pub(crate) const REST: &str = "<rest>";
const TEXT: &str = "<text>";
const ID: &str = "<id>";

/// An address of IPv6 that holds a digit, as no path of names does.
const IPV6: &str = r"(?-u:(?:(?:[0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}|(?:[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4})*)?::(?:[0-9A-Fa-f]{1,4}:)*[0-9A-Fa-f]{0,3}[0-9][0-9.]*|[A-Fa-f]{0,3}[0-9][0-9A-Fa-f]{0,3}(?::[0-9A-Fa-f]{1,4})*::(?:[0-9A-Fa-f]{1,4}:)*[0-9A-Fa-f]{1,4})\b)";
/// Signs of words, and what the paths of files and requests have besides.
const WORD: &str = r"[\w\x{80}-\x{10ffff}%+@#$&*~\\/.-]";
const IN_PATH: &str = r"[\w\x{80}-\x{10ffff}%+@#$&*~\\/.?=-]";

/// Texts that vary, by the mask that stands for them; of those that fit the first counts. What stands behind a number is its unit.
const MASKS: [(&str, &str); 11] = [
    ("<method> <path> <protocol>", r"[A-Z]{3,7} \S+ HTTP/\S*"),
    ("<url>", r"[A-Za-z][A-Za-z0-9+]*://\S*"),
    ("<path>", r"(?:/|[A-Z]:\\)\S*"),
    ("<email>", r"[^@\s]+@[^@/\s]+\.[^@/\s]+"),
    ("<ip>", r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}"),
    ("<ip>", IPV6),
    ("<uuid>", "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"),
    (INT, r"[-+]?[0-9]+"),
    ("<hex>", "0x[0-9A-Fa-f]+|[0-9A-Fa-f]{8,}"),
    (FLOAT, r"[-+]?[0-9]+\.[0-9]+(?:%|\p{Alphabetic}{1,5})?"),
    (INT, r"[-+]?[0-9]+(?:%|\p{Alphabetic}{1,5})"),
];

/// Patterns of the parts of lines.
struct MaskPatterns {
    /// One part of any kind but a timestamp.
    part: Regex,
    /// The texts that masks stand for.
    masks: RegexSet,
    /// What varies inside a word: letters and digits in turns, or a number.
    inside: Regex,
    level: Regex,
    /// The start of a line of glog: its level is a letter that touches its date.
    glog: Regex,
}

#[expect(clippy::expect_used, reason = "the patterns are constants; a test uses them")]
static PATTERNS: LazyLock<MaskPatterns> = LazyLock::new(|| {
    let regex = |pattern: &str| Regex::new(pattern).expect("a valid pattern");
    let blanks = r"[\x00-\x20\x7f]+";
    let quoted = r#""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'"#;
    let url = r#"[A-Za-z][A-Za-z0-9+]*://[^\s"'<>()\[\]{},;|]*"#;
    let path = format!(r"(?:/|[A-Z]:\\){IN_PATH}*");
    // A full stop ends a sentence, an apostrophe stands inside or after a word.
    let word = format!(r"{WORD}*[{WORD}&&[^.]](?:'{WORD}*)?");
    MaskPatterns {
        part: regex(&format!(
            r"^(?:{blanks}|{quoted}|{url}|{IPV6}|{path}|{word}|\.+|(?s:.))"
        )),
        masks: RegexSet::new(MASKS.map(|(_, pattern)| format!("^(?:{pattern})$"))).expect("valid patterns"),
        inside: regex("[[:alpha:]]+[0-9]+[[:alpha:]][[:alnum:]]*|[0-9]+[[:alpha:]]+[0-9][[:alnum:]]*|[0-9]+"),
        level: regex(
            "^(?i:trace|debug|info|notice|warn|warning|error|err|critical|crit|fatal|severe|alert|emerg|panic|verbose)$",
        ),
        glog: regex("^[IWEF][0-9]{4} [0-9]{2}:[0-9]{2}:"),
    }
});

/// One part of a masked line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MaskPart {
    /// A sign between values; blanks are one sign.
    Mark,
    /// A word that may be fixed; numbers inside it are masked.
    Word,
    /// A variable part, by its mask.
    Masked(&'static str),
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
        let mut at = 0;
        if PATTERNS.glog.is_match(line) {
            self.level = Some(0..1);
            self.push(MaskPart::Word, &line[..1]);
            self.masked(INT);
            at = 5;
        }
        while at < line.len() {
            if self.parts.len() >= MOST_PARTS {
                self.masked(REST);
                return;
            }
            at = match self.time(line, at) {
                Some(end) => end,
                None => self.part(line, at),
            };
        }
    }

    fn push(&mut self, part: MaskPart, text: &str) {
        let start = self.text.len();
        self.text.push_str(text);
        self.parts.push((part, start..self.text.len()));
    }

    fn masked(&mut self, mask: &'static str) {
        self.push(MaskPart::Masked(mask), mask);
    }

    fn time(&mut self, line: &str, at: usize) -> Option<usize> {
        let text = &line[at..];
        // A digit, or the first letter of a month or weekday.
        if !text.starts_with(|first: char| first.is_ascii_digit() || "JFMASONDTW".contains(first)) {
            return None;
        }
        let is_first = || self.parts.iter().all(|(part, _)| *part == MaskPart::Mark);
        let found = stamp::stamp(text).or_else(|| is_first().then(|| stamp::epoch(text)).flatten())?;
        let end = at + found.length;
        self.time.get_or_insert((at..end, found));
        self.masked(TIME);
        Some(end)
    }

    /// Takes in the part that starts at `at`; returns where the next one starts.
    fn part(&mut self, line: &str, at: usize) -> usize {
        // Most parts are plain words and the blanks between them: they need no pattern.
        let rest = &line.as_bytes()[at..];
        let letters = rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        match rest.get(letters) {
            Some(b' ') if letters == 0 && rest.get(1).is_some_and(u8::is_ascii_alphanumeric) => {
                self.push(MaskPart::Mark, " ");
                return at + 1;
            }
            after @ (None | Some(b' ' | b',' | b'=' | b']' | b')')) if (1..8).contains(&letters) => {
                self.fixed(&line[at..at + letters], after.copied());
                return at + letters;
            }
            // Behind a word it begins no address.
            Some(b':') if letters == 0 && at > 0 && line.as_bytes()[at - 1].is_ascii_alphanumeric() => {
                self.push(MaskPart::Mark, ":");
                return at + 1;
            }
            _ => {}
        }
        let Some(found) = PATTERNS.part.find(&line[at..]) else {
            return line.len();
        };
        let (text, after) = (found.as_str(), rest.get(found.end()).copied());
        let bytes = text.as_bytes();
        match bytes[0] {
            0..=0x20 | 0x7f => self.push(MaskPart::Mark, if text.contains('\t') { "\\t" } else { " " }),
            b'"' | b'\'' if text.len() > 1 => {
                let (mark, inner) = (&text[..1], &text[1..text.len() - 1]);
                self.push(MaskPart::Mark, mark);
                self.quoted(inner, after);
                self.push(MaskPart::Mark, mark);
            }
            _ if bytes.iter().all(|byte| *byte == b'.') => self.push(MaskPart::Mark, text),
            first
                if text.len() == 1 && first.is_ascii_punctuation() && !br"%+@#$&*~\/_-".contains(&first) =>
            {
                self.push(MaskPart::Mark, text);
            }
            _ => self.word(text, after),
        }
        at + found.end()
    }

    fn quoted(&mut self, inner: &str, after: Option<u8>) {
        let is_key = after == Some(b':');
        let has_digit = inner.contains(|character: char| character.is_ascii_digit());
        match mask_of(inner) {
            _ if inner.is_empty() => {}
            Some(mask) if !is_key => self.masked(mask),
            _ if inner.len() <= LONGEST_FIXED_QUOTED && (is_key || !has_digit) => self.fixed(inner, after),
            _ => self.masked(TEXT),
        }
    }

    fn word(&mut self, text: &str, after: Option<u8>) {
        let has_digit = text.contains(|character: char| character.is_ascii_digit());
        match mask_of(text) {
            Some(mask) => {
                self.masked(mask);
                let unit =
                    text.trim_start_matches(|character: char| !character.is_alphabetic() && character != '%');
                if [INT, FLOAT].contains(&mask) && !unit.is_empty() {
                    self.push(MaskPart::Word, unit);
                }
            }
            None if text.len() > LONGEST_FIXED => self.masked(if has_digit { ID } else { TEXT }),
            // `HTTP/1.1`: the version is part of the protocol's name.
            None if has_digit && !text.starts_with("HTTP/") => {
                let mask = |found: &regex::Captures<'_>| {
                    let is_number = found[0].bytes().all(|byte| byte.is_ascii_digit());
                    if is_number { INT } else { ID }
                };
                let masked = PATTERNS.inside.replace_all(text, mask);
                self.push(MaskPart::Word, &masked);
            }
            None => self.fixed(text, after),
        }
    }

    /// A word without digits.
    fn fixed(&mut self, text: &str, after: Option<u8>) {
        let may_be_level =
            self.level.is_none() && self.parts.len() < LEVEL_PARTS && text.len() <= LONGEST_LEVEL;
        if may_be_level && PATTERNS.level.is_match(text) {
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
}

/// The mask of a text that varies as a whole.
fn mask_of(text: &str) -> Option<&'static str> {
    // Most texts are numbers or words, which need no pattern; eight letters or more may be hexadecimal.
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(INT);
    }
    if text.bytes().all(|byte| byte.is_ascii_alphabetic())
        && !text.bytes().all(|byte| byte.is_ascii_hexdigit())
    {
        return None;
    }
    let first = PATTERNS.masks.matches(text).iter().next()?;
    Some(MASKS[first].0)
}

#[cfg(test)]
mod tests;
