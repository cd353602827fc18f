//! Lines of a text one at a time, of a long one its start only.

use std::io::{self, BufRead};

/// Bytes of a line that are retained; the rest is counted.
pub(crate) const LONGEST_RETAINED: usize = 4 * 1024;

/// One line without its line break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    /// Its start, at most `LONGEST_RETAINED` bytes.
    pub start: &'a [u8],
    /// Its length, bytes.
    pub length: u64,
    /// Its number, counted from 1.
    pub number: u64,
}

/// Reads lines that end with `\n` or `\r\n`.
pub(crate) struct LineReader<R> {
    input: R,
    start: Vec<u8>,
    number: u64,
}

impl<R: BufRead> LineReader<R> {
    /// Reads the lines of `input`.
    pub(crate) fn new(input: R) -> Self {
        Self {
            input,
            start: Vec::with_capacity(LONGEST_RETAINED),
            number: 0,
        }
    }

    /// The next line; `None` at the end of the text.
    pub(crate) fn read(&mut self) -> io::Result<Option<Line<'_>>> {
        self.start.clear();
        let (mut length, mut last, mut is_ended) = (0_u64, 0_u8, false);
        while !is_ended {
            let buffer = match self.input.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if buffer.is_empty() {
                break;
            }
            let end = memchr::memchr(b'\n', buffer);
            let piece = &buffer[..end.unwrap_or(buffer.len())];
            length += piece.len() as u64;
            last = piece.last().copied().unwrap_or(last);
            let room = LONGEST_RETAINED - self.start.len();
            self.start.extend_from_slice(&piece[..piece.len().min(room)]);
            is_ended = end.is_some();
            let used = piece.len() + usize::from(is_ended);
            self.input.consume(used);
        }
        if length == 0 && !is_ended {
            return Ok(None);
        }
        self.number += 1;
        // `\r\n` ends a line as a whole.
        if is_ended && last == b'\r' {
            length -= 1;
            let kept =
                usize::try_from(length).map_or(self.start.len(), |length| length.min(self.start.len()));
            self.start.truncate(kept);
        }
        Ok(Some(Line {
            start: &self.start,
            length,
            number: self.number,
        }))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn lines(text: &str) -> Vec<String> {
        // A small buffer: line ends fall on its borders.
        let input = io::BufReader::with_capacity(3, text.as_bytes());
        let mut reader = LineReader::new(input);
        let mut found = Vec::new();
        while let Some(line) = reader.read().unwrap() {
            assert_eq!(line.number, found.len() as u64 + 1);
            found.push(String::from_utf8(line.start.to_vec()).unwrap());
        }
        found
    }

    #[rstest]
    #[case("", &[])]
    #[case("a", &["a"])]
    #[case("a\n", &["a"])]
    #[case("a\r\n\r\nbcd\r\n", &["a", "", "bcd"])]
    #[case("a\n\nb", &["a", "", "b"])]
    fn lines_end_with_a_line_feed(#[case] text: &str, #[case] expected: &[&str]) {
        assert_eq!(lines(text), expected);
    }

    #[test]
    fn a_long_line_is_truncated_to_its_start_and_its_length_reported() {
        let text = "x".repeat(1_000_000) + "\r\ny";
        let mut reader = LineReader::new(text.as_bytes());
        let line = reader.read().unwrap().unwrap();
        assert_eq!((line.start.len(), line.length), (LONGEST_RETAINED, 1_000_000));
        assert_eq!(reader.read().unwrap().unwrap().start, b"y");
    }
}
