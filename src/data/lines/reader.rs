//! Lines of a text one at a time, of a long one its start only.

use std::io::{self, BufRead};

/// Bytes of a line that are looked at; the rest is counted.
pub const LONGEST_KEPT: usize = 4 * 1024;

/// One line without its line break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Its start, at most `LONGEST_KEPT` bytes.
    pub start: &'a [u8],
    /// Its length, bytes.
    pub length: u64,
    /// Its number, counted from 1.
    pub number: u64,
}

/// Reads lines that end with `\n`, `\r\n`, or, where it is told so, `\r`.
pub struct LineReader<R> {
    input: R,
    line_end: u8,
    start: Vec<u8>,
    number: u64,
    /// Lines that hold a carriage return which does not end them.
    pub with_carriage_return: u64,
}

impl<R: BufRead> LineReader<R> {
    /// Reads `input`, whose lines end with `\r` alone if `has_line_feeds` is false.
    pub fn new(input: R, has_line_feeds: bool) -> Self {
        Self {
            input,
            line_end: if has_line_feeds { b'\n' } else { b'\r' },
            start: Vec::with_capacity(LONGEST_KEPT),
            number: 0,
            with_carriage_return: 0,
        }
    }

    /// The next line; `None` at the end of the text.
    pub fn read(&mut self) -> io::Result<Option<Line<'_>>> {
        self.start.clear();
        let (mut length, mut returns, mut last, mut is_ended) = (0_u64, 0_usize, 0_u8, false);
        while !is_ended {
            let buffer = match self.input.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if buffer.is_empty() {
                break;
            }
            let end = memchr::memchr(self.line_end, buffer);
            let piece = &buffer[..end.unwrap_or(buffer.len())];
            length += piece.len() as u64;
            if self.line_end == b'\n' {
                returns += memchr::memchr_iter(b'\r', piece).count();
            }
            last = piece.last().copied().unwrap_or(last);
            let room = LONGEST_KEPT - self.start.len();
            self.start.extend_from_slice(&piece[..piece.len().min(room)]);
            is_ended = end.is_some();
            let used = piece.len() + usize::from(is_ended);
            self.input.consume(used);
        }
        if length == 0 && !is_ended {
            return Ok(None);
        }
        self.number += 1;
        if is_ended && last == b'\r' && self.line_end == b'\n' {
            length -= 1;
            returns -= 1;
            let kept =
                usize::try_from(length).map_or(self.start.len(), |length| length.min(self.start.len()));
            self.start.truncate(kept);
        }
        self.with_carriage_return += u64::from(returns > 0);
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

    fn lines(text: &str, has_line_feeds: bool) -> Vec<String> {
        // A small buffer: line ends fall on its borders.
        let input = io::BufReader::with_capacity(3, text.as_bytes());
        let mut reader = LineReader::new(input, has_line_feeds);
        let mut found = Vec::new();
        while let Some(line) = reader.read().unwrap() {
            assert_eq!(line.number, found.len() as u64 + 1);
            found.push(String::from_utf8(line.start.to_vec()).unwrap());
        }
        found
    }

    #[rstest]
    #[case("", true, &[])]
    #[case("a", true, &["a"])]
    #[case("a\n", true, &["a"])]
    #[case("a\r\n\r\nbcd\r\n", true, &["a", "", "bcd"])]
    #[case("a\n\nb", true, &["a", "", "b"])]
    #[case("ab\rcd\r", false, &["ab", "cd"])]
    fn lines_end_with_any_usual_line_end(
        #[case] text: &str,
        #[case] has_line_feeds: bool,
        #[case] expected: &[&str],
    ) {
        assert_eq!(lines(text, has_line_feeds), expected);
    }

    #[test]
    fn a_carriage_return_inside_a_line_stays_and_is_counted() {
        let mut reader = LineReader::new("10%\r20%\r\nb\r\nc\r".as_bytes(), true);
        assert_eq!(reader.read().unwrap().unwrap().start, b"10%\r20%");
        while reader.read().unwrap().is_some() {}
        assert_eq!(reader.with_carriage_return, 2);
    }

    #[test]
    fn of_a_long_line_the_start_is_kept_and_the_length_known() {
        let text = "x".repeat(1_000_000) + "\r\ny";
        let mut reader = LineReader::new(text.as_bytes(), true);
        let line = reader.read().unwrap().unwrap();
        assert_eq!((line.start.len(), line.length), (LONGEST_KEPT, 1_000_000));
        assert_eq!(reader.read().unwrap().unwrap().start, b"y");
    }
}
