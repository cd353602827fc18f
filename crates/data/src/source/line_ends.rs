//! Line ends: a carriage return that no line feed follows ends a line, as in Python's text mode.

use std::io::{self, BufRead, Read};

const BUFFER_BYTES: usize = 64 * 1024;

/// Reads with a line feed in the place of each such carriage return; all other bytes are left alone.
pub(super) struct LineEnds<R> {
    input: R,
    buffer: Vec<u8>,
    position: usize,
    filled: usize,
    /// True where a carriage return was read whose next byte is not known yet.
    is_held: bool,
    /// Line feeds that were put in.
    pub(super) replaced: u64,
}

impl<R: Read> LineEnds<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input,
            buffer: vec![0; BUFFER_BYTES],
            position: 0,
            filled: 0,
            is_held: false,
            replaced: 0,
        }
    }

    fn refill(&mut self) -> io::Result<()> {
        self.position = 0;
        self.filled = 0;
        let mut is_end = false;
        while self.filled == 0 && !is_end {
            let held = usize::from(self.is_held);
            let count = self.input.read(&mut self.buffer[held..])?;
            if self.is_held {
                // The byte that was held stands before what was read.
                self.buffer[0] = b'\r';
            }
            is_end = count == 0;
            let known = held + count;
            // A carriage return at the end may be the first half of `\r\n`.
            self.is_held = !is_end && self.buffer[known - 1] == b'\r';
            self.filled = known - usize::from(self.is_held);
            self.replace(known);
        }
        Ok(())
    }

    /// Replaces in what is handed over; the bytes up to `known` tell what follows.
    fn replace(&mut self, known: usize) {
        let mut start = 0;
        while let Some(found) = memchr::memchr(b'\r', &self.buffer[start..self.filled]) {
            let position = start + found;
            if position + 1 == known || self.buffer[position + 1] != b'\n' {
                self.buffer[position] = b'\n';
                self.replaced += 1;
            }
            start = position + 1;
        }
    }
}

impl<R: Read> BufRead for LineEnds<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.position == self.filled {
            self.refill()?;
        }
        Ok(&self.buffer[self.position..self.filled])
    }

    fn consume(&mut self, count: usize) {
        self.position = self.filled.min(self.position + count);
    }
}

impl<R: Read> Read for LineEnds<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Hands over at most `most` bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let most = buffer.len().min(self.1);
            self.0.read(&mut buffer[..most])
        }
    }

    proptest! {
        #[test]
        fn a_lone_carriage_return_ends_a_line_wherever_reads_are_cut(text in "[a\r\n]{0,40}", most in 1_usize..5) {
            let mut reader = LineEnds::new(Slow(text.as_bytes(), most));
            let mut found = String::new();
            reader.read_to_string(&mut found).unwrap();
            let kept = text.replace("\r\n", "\u{1}");
            prop_assert_eq!(reader.replaced, kept.matches('\r').count() as u64);
            prop_assert_eq!(found, kept.replace('\r', "\n").replace('\u{1}', "\r\n"));
        }
    }
}
