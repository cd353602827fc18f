//! One pass over all bytes that settles encoding, lines and stray bytes before any parser runs.

use std::io::{self, Read};

use super::encoding::Encoding;
use super::guess::{Guess, guess};
use super::line_ends::LineEnds;
use super::{HEAD_BYTES, Source};
use crate::format::places::LinePlaces;

const BUFFER_BYTES: usize = 64 * 1024;
const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();

/// Findings of one scan over a whole file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scan {
    /// Size of the content, bytes: of a packed file unpacked, of wide characters decoded.
    pub bytes: u64,
    /// The first raw bytes of the content.
    pub start: Vec<u8>,
    /// Line breaks (`\n`, and `\r` that stands alone).
    pub line_breaks: u64,
    /// Line breaks that are a lone `\r`.
    pub lone_returns: u64,
    /// NUL bytes.
    pub nuls: LinePlaces,
    /// Sequences that are not UTF-8; of a wide encoding replacement characters, which decoding leaves.
    pub invalid: LinePlaces,
    /// Invalid bytes between 0x80 and 0x9f, which Latin-1 does not print.
    pub control_bytes: u64,
    /// Those of them that Windows-1252 does not have.
    pub unassigned_bytes: u64,
    /// Bytes that start a valid character of several bytes.
    pub multibyte: u64,
    /// Guess of its encoding, where nothing says it.
    pub guess: Option<Guess>,
}

impl Scan {
    /// Scans all bytes of `source`; a file in a wide encoding is scanned as decoded.
    pub(crate) fn of(source: &Source) -> io::Result<(Self, Encoding)> {
        let mut content = source.open()?;
        let mut start = Vec::new();
        content.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut start)?;
        let marked = Encoding::of_start(&start);
        let mut scan = Self {
            start: start.clone(),
            ..Self::default()
        };
        let content: Box<dyn Read> = Box::new(io::Cursor::new(start).chain(content));
        if let Some(encoding) = marked.filter(|encoding| encoding.is_wide()) {
            scan.read(encoding.decode(content), true)?;
            return Ok((scan, encoding));
        }
        scan.read(content, false)?;
        let encoding = scan.encoding(marked);
        if !matches!(encoding, Encoding::Latin1 | Encoding::Windows1252) {
            return Ok((scan, encoding));
        }
        let found = guess(source, encoding)?;
        let encoding = found.encoding();
        scan.guess = Some(found);
        Ok((scan, encoding))
    }

    fn encoding(&self, marked: Option<Encoding>) -> Encoding {
        if self.invalid.count == 0 {
            marked.unwrap_or(Encoding::Utf8)
        } else if marked.is_some() || self.multibyte > self.invalid.count {
            // More whole characters than faults: UTF-8 with some damage. One-byte encodings rarely form whole characters.
            Encoding::Utf8Lossy
        } else if self.control_bytes > 0 && self.unassigned_bytes == 0 {
            // Latin-1 has control characters at 0x80 to 0x9f, which nobody types; Windows-1252 has quotes and dashes there.
            Encoding::Windows1252
        } else {
            Encoding::Latin1
        }
    }

    fn read(&mut self, input: Box<dyn Read>, is_decoded: bool) -> io::Result<()> {
        let mut input = LineEnds::new(input);
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut kept = 0;
        loop {
            let count = input.read(&mut buffer[kept..])?;
            self.bytes += count as u64;
            let filled = kept + count;
            if count == 0 {
                if kept > 0 {
                    // Bytes that are left at the end are an unfinished character.
                    self.note_invalid(&buffer[..kept], &[]);
                }
                self.lone_returns = input.replaced;
                return Ok(());
            }
            let checked = self.validate(&buffer[..filled], is_decoded);
            self.count_lines(&buffer[kept..filled]);
            buffer.copy_within(checked..filled, 0);
            kept = filled - checked;
        }
    }

    /// Returns how many bytes are settled; up to three of an unfinished character may be left.
    fn validate(&mut self, bytes: &[u8], is_decoded: bool) -> usize {
        let mut position = 0;
        loop {
            let rest = &bytes[position..];
            let (valid, fault) = match std::str::from_utf8(rest) {
                Ok(valid) => (valid.len(), None),
                Err(error) => (error.valid_up_to(), Some(error)),
            };
            self.count_multibyte(&rest[..valid]);
            if is_decoded {
                // Decoding leaves a replacement character for each fault.
                for found in memchr::memmem::find_iter(&rest[..valid], REPLACEMENT) {
                    self.note_invalid(&[], &bytes[..position + found]);
                }
            }
            let Some(error) = fault else {
                return bytes.len();
            };
            let start = position + valid;
            let Some(length) = error.error_len() else {
                return start;
            };
            position = start + length;
            self.note_invalid(&bytes[start..position], &bytes[..start]);
        }
    }

    fn count_multibyte(&mut self, valid: &[u8]) {
        if !valid.is_ascii() {
            self.multibyte += valid.iter().filter(|byte| **byte >= 0xc0).count() as u64;
        }
    }

    /// Notes an invalid sequence; `before` stands between the lines counted so far and it.
    fn note_invalid(&mut self, bytes: &[u8], before: &[u8]) {
        let is_control = |byte: &&u8| (0x80..0xa0).contains(*byte);
        self.control_bytes += bytes.iter().filter(is_control).count() as u64;
        let is_unassigned = |byte: &&u8| matches!(**byte, 0x81 | 0x8d | 0x8f | 0x90 | 0x9d);
        self.unassigned_bytes += bytes.iter().filter(is_unassigned).count() as u64;
        if self.invalid.is_full() {
            self.invalid.count += 1;
        } else {
            let line = self.line_breaks + breaks(before) + 1;
            self.invalid.push(line);
        }
    }

    fn count_lines(&mut self, bytes: &[u8]) {
        if self.nuls.is_full() {
            self.nuls.count += memchr::memchr_iter(0, bytes).count() as u64;
        } else if memchr::memchr(0, bytes).is_some() {
            self.note_nuls(bytes);
        }
        self.line_breaks += breaks(bytes);
    }

    fn note_nuls(&mut self, bytes: &[u8]) {
        let mut line = self.line_breaks + 1;
        for byte in bytes {
            match byte {
                0 => self.nuls.push(line),
                b'\n' => line += 1,
                _ => {}
            }
        }
    }
}

fn breaks(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(bytes: &[u8]) -> (Scan, Encoding) {
        Scan::of(&Source::bytes(bytes)).unwrap()
    }

    #[test]
    fn line_breaks_are_counted() {
        assert_eq!(scan(b"a\nbb\nccc").0.line_breaks, 2);
        assert_eq!(scan(b"a\nbb\n").0.line_breaks, 2);
        assert_eq!(scan(b"").0.line_breaks, 0);
    }

    #[test]
    fn a_lone_carriage_return_ends_a_line() {
        let (found, _) = scan(b"a\rb\r\nc\rd");
        assert_eq!((found.line_breaks, found.lone_returns), (3, 2));
    }

    #[test]
    fn a_byte_order_mark_names_the_encoding() {
        assert_eq!(scan(b"\xef\xbb\xbfa,b\n").1, Encoding::Utf8Bom);
        assert_eq!(scan(b"\xff\xfea\0\n\0").1, Encoding::Utf16Le);
        assert_eq!(scan(b"\xfe\xff\0a\0\n").1, Encoding::Utf16Be);
        assert_eq!(scan(b"\xff\xfe\0\0a\0\0\0\n\0\0\0").1, Encoding::Utf32Le);
        assert_eq!(scan(b"\0\0\xfe\xff\0\0\0a\0\0\0\n").1, Encoding::Utf32Be);
        assert_eq!(scan(b"\xff\xfea\0\n\0").0.line_breaks, 1);
        assert_eq!(scan(b"\xff\xfea\0\n\0").0.nuls.count, 0);
    }

    #[test]
    fn utf16_without_a_byte_order_mark_is_detected_by_its_nuls() {
        let wide = |to: fn(u16) -> [u8; 2]| {
            "id;straße\r\n1;Köln\r\n"
                .encode_utf16()
                .flat_map(to)
                .collect::<Vec<_>>()
        };
        let (found, encoding) = scan(&wide(u16::to_le_bytes));
        assert_eq!((found.line_breaks, encoding), (2, Encoding::Utf16LeUnmarked));
        assert_eq!(scan(&wide(u16::to_be_bytes)).1, Encoding::Utf16BeUnmarked);
        let small_numbers: Vec<_> = (0_u16..100).flat_map(u16::to_le_bytes).collect();
        assert_eq!(scan(&small_numbers).1, Encoding::Utf8);
    }

    #[test]
    fn bytes_that_are_not_utf8_are_latin1_or_windows_1252_with_their_lines() {
        let (found, encoding) = scan(b"stadt\nK\xf6ln\nM\xfcnchen\n");
        assert_eq!(encoding, Encoding::Latin1);
        assert_eq!(found.invalid.first, [2, 3]);
        assert_eq!(scan(b"\x93quoted\x94\n").1, Encoding::Windows1252);
        // Python's cp1252 has no 0x81 and would fail.
        let text = b"sch\xf6ne H\xe4user f\xfcr \x81 gro\xdfe Br\xe4uche\n";
        assert_eq!(scan(text).1, Encoding::Latin1);
    }

    #[test]
    fn one_bad_byte_among_many_good_ones_leaves_utf8() {
        let text = ["häuser, öl, übel\nschön \n".as_bytes(), b"\xff\n"].concat();
        let (found, encoding) = scan(&text);
        assert_eq!(encoding, Encoding::Utf8Lossy);
        assert_eq!(found.invalid.first, [3]);
    }

    #[test]
    fn invalid_utf16_is_reported_with_its_line() {
        let (found, encoding) =
            scan(b"\xff\xfea\0b\0c\0d\0e\0f\0g\0h\0i\0j\0k\0l\0m\0n\0o\0p\0q\0r\0s\0t\0\n\0\0\xd8x\0\n\0y\0");
        assert_eq!((encoding, found.invalid.count), (Encoding::Utf16Le, 1));
        assert_eq!(found.invalid.first, [2]);
    }

    #[test]
    fn a_character_may_lie_across_two_buffers() {
        let text = "a".repeat(BUFFER_BYTES - 1) + "ö" + &"b".repeat(10);
        let (found, encoding) = scan(text.as_bytes());
        assert_eq!((found.invalid.count, encoding), (0, Encoding::Utf8));
        assert_eq!(found.bytes, text.len() as u64);
    }

    #[test]
    fn a_file_may_end_inside_a_character() {
        let (found, _) = scan(b"caf\xc3");
        assert_eq!(found.invalid.count, 1);
    }

    #[test]
    fn more_lines_than_are_listed_are_hinted_at() {
        let (found, _) = scan(&b"\xff\n".repeat(9));
        assert_eq!(
            (found.invalid.count, found.invalid.list().as_str()),
            (9, "lines 1, 2, 3, 4, 5, ...")
        );
        assert_eq!(scan(b"a\0\0\n").0.nuls.list(), "line 1");
    }
}
