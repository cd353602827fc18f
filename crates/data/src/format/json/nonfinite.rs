//! `NaN` and `Infinity` in the place of numbers: JSON does not have them, and Python's `json` writes and reads them.

use std::borrow::Cow;
use std::cell::Cell;
use std::io::{self, BufRead, Read};

/// Words that are replaced, each with its replacement: a missing value, or a text that says the same.
const TOKENS: [(&[u8], &[u8]); 3] = [
    (b"NaN", b"null"),
    (b"Infinity", b"\"Infinity\""),
    (b"-Infinity", b"\"-Infinity\""),
];

/// Reads JSON with these words replaced by values that JSON has.
pub(crate) struct NonFinite<'c, R> {
    input: R,
    output: Vec<u8>,
    position: usize,
    /// The start of such a word, at the end of what was read.
    carried: Vec<u8>,
    is_string: bool,
    is_escaped: bool,
    replaced: &'c Cell<u64>,
}

impl<'c, R: BufRead> NonFinite<'c, R> {
    /// Counts what is replaced in `replaced`.
    pub(crate) const fn new(input: R, replaced: &'c Cell<u64>) -> Self {
        Self {
            input,
            output: Vec::new(),
            position: 0,
            carried: Vec::new(),
            is_string: false,
            is_escaped: false,
            replaced,
        }
    }

    fn convert(&mut self, bytes: &[u8], is_end: bool) {
        let mut rest = bytes;
        while let Some(first) = rest.first() {
            if !self.is_string && matches!(first, b'N' | b'I' | b'-') {
                let (taken, is_carried) = self.token(rest, is_end);
                if is_carried {
                    self.carried = rest.to_vec();
                    return;
                }
                rest = &rest[taken..];
                continue;
            }
            self.output.push(*first);
            // No string of JSON goes beyond its line; a broken one must not swallow the others.
            self.is_string = match first {
                b'\n' => false,
                b'"' => !self.is_string || self.is_escaped,
                _ => self.is_string,
            };
            self.is_escaped = self.is_string && *first == b'\\' && !self.is_escaped;
            rest = &rest[1..];
        }
    }

    /// Writes what a word becomes; returns its length, and whether more must be read first.
    fn token(&mut self, rest: &[u8], is_end: bool) -> (usize, bool) {
        for (token, replacement) in TOKENS {
            if rest.starts_with(token) {
                self.output.extend_from_slice(replacement);
                self.replaced.set(self.replaced.get() + 1);
                return (token.len(), false);
            }
            if !is_end && token.starts_with(rest) {
                return (0, true);
            }
        }
        self.output.push(rest[0]);
        (1, false)
    }
}

impl<R: BufRead> BufRead for NonFinite<'_, R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.position == self.output.len() {
            self.output.clear();
            self.position = 0;
            let mut bytes = std::mem::take(&mut self.carried);
            let read = self.input.fill_buf()?;
            let length = read.len();
            if length == 0 && bytes.is_empty() {
                break;
            }
            bytes.extend_from_slice(read);
            self.input.consume(length);
            self.convert(&bytes, length == 0);
        }
        Ok(&self.output[self.position..])
    }

    fn consume(&mut self, amount: usize) {
        self.position = (self.position + amount).min(self.output.len());
    }
}

impl<R: BufRead> Read for NonFinite<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut available = self.fill_buf()?;
        let count = available.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

/// A text with these words replaced.
pub(crate) fn replaced(text: &str) -> Cow<'_, str> {
    if !text.contains("NaN") && !text.contains("Infinity") {
        return Cow::Borrowed(text);
    }
    let count = Cell::new(0);
    let mut converted = String::new();
    match NonFinite::new(text.as_bytes(), &count).read_to_string(&mut converted) {
        Ok(_) => Cow::Owned(converted),
        Err(_) => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("[NaN, -1, Infinity,-Infinity]", r#"[null, -1, "Infinity","-Infinity"]"#, 3)]
    #[case(
        r#"{"NaN": "Infinity \" NaN", "b": NaN}"#,
        r#"{"NaN": "Infinity \" NaN", "b": null}"#,
        1
    )]
    #[case("{\"a\": \"open\n{\"b\": NaN}", "{\"a\": \"open\n{\"b\": null}", 1)]
    #[case("[Na, -In", "[Na, -In", 0)]
    fn words_in_the_place_of_numbers_are_replaced_wherever_a_read_ends(
        #[case] text: &str,
        #[case] expected: &str,
        #[case] count: u64,
    ) {
        for size in [1, 2, 3, 7, 64] {
            let replaced = Cell::new(0);
            let input = io::BufReader::with_capacity(size, text.as_bytes());
            let mut converted = String::new();
            NonFinite::new(input, &replaced)
                .read_to_string(&mut converted)
                .unwrap();
            assert_eq!((converted.as_str(), replaced.get()), (expected, count));
        }
        assert_eq!(replaced(text), expected);
    }
}
