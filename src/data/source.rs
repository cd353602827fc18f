//! Where bytes come from, and one scan over all of them that settles encoding, lines and stray bytes before any parser runs.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use encoding_rs_io::DecodeReaderBytesBuilder;
use serde::{Deserialize, Serialize};

/// Bytes kept from the start of the decoded text, for detection.
pub const HEAD_BYTES: usize = 64 * 1024;
const BUFFER_BYTES: usize = 64 * 1024;
const LISTED_LINES: usize = 5;

/// Where the bytes of a file are.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum Source {
    /// A file on disk.
    Path(PathBuf),
    /// The bytes themselves, in base64.
    Base64(String),
}

impl Source {
    /// A source of bytes in memory.
    #[must_use]
    pub fn bytes(bytes: &[u8]) -> Self {
        Self::Base64(STANDARD.encode(bytes))
    }

    /// A source of a file on disk.
    #[must_use]
    pub fn path(path: &Path) -> Self {
        Self::Path(path.to_path_buf())
    }

    /// Opens the raw bytes from the start.
    pub fn open(&self) -> io::Result<Box<dyn Read>> {
        Ok(match self.open_seekable()? {
            Opened::File(file) => Box::new(file),
            Opened::Bytes(bytes) => Box::new(bytes),
        })
    }

    /// Opens the raw bytes for reading at any place.
    pub fn open_seekable(&self) -> io::Result<Opened> {
        match self {
            Self::Path(path) => {
                let file = File::open(path)?;
                if !file.metadata()?.is_file() {
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
                }
                Ok(Opened::File(file))
            }
            Self::Base64(text) => {
                let bytes = STANDARD
                    .decode(text)
                    .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
                Ok(Opened::Bytes(io::Cursor::new(bytes)))
            }
        }
    }

    /// Opens the bytes decoded to UTF-8, without byte order mark.
    pub fn open_decoded(&self, encoding: Encoding) -> io::Result<Box<dyn BufRead>> {
        let mut raw = self.open()?;
        let codec = match encoding {
            Encoding::Utf8 => return Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, raw))),
            Encoding::Utf8Bom => {
                io::copy(&mut raw.by_ref().take(3), &mut io::sink())?;
                return Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, raw)));
            }
            Encoding::Utf8Lossy => encoding_rs::UTF_8,
            Encoding::Utf16Le => encoding_rs::UTF_16LE,
            Encoding::Utf16Be => encoding_rs::UTF_16BE,
            Encoding::Latin1 | Encoding::Windows1252 => encoding_rs::WINDOWS_1252,
        };
        let decoded = DecodeReaderBytesBuilder::new()
            .encoding(Some(codec))
            .bom_override(true)
            .build(raw);
        Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, decoded)))
    }
}

/// Raw bytes that can be read at any place.
#[derive(Debug)]
pub enum Opened {
    /// A file on disk.
    File(File),
    /// Bytes in memory.
    Bytes(io::Cursor<Vec<u8>>),
}

/// How the bytes of a text become characters.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum Encoding {
    /// UTF-8 (ASCII too).
    Utf8,
    /// UTF-8 with a byte order mark.
    Utf8Bom,
    /// UTF-8 with some invalid bytes, read as replacement characters.
    Utf8Lossy,
    /// UTF-16 with a little-endian byte order mark.
    Utf16Le,
    /// UTF-16 with a big-endian byte order mark.
    Utf16Be,
    /// Latin-1, by fall-back.
    Latin1,
    /// Windows-1252, by fall-back.
    Windows1252,
}

impl Encoding {
    /// The name for Python's `open` and `pandas.read_csv`.
    #[must_use]
    pub const fn python_name(self) -> &'static str {
        match self {
            Self::Utf8 | Self::Utf8Lossy => "utf-8",
            Self::Utf8Bom => "utf-8-sig",
            Self::Utf16Le | Self::Utf16Be => "utf-16",
            Self::Latin1 => "latin-1",
            Self::Windows1252 => "cp1252",
        }
    }
}

/// What one scan over a whole file found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// Size of the file, bytes.
    pub bytes: u64,
    /// The first raw bytes.
    pub start: Vec<u8>,
    /// Line breaks (`\n`).
    pub line_breaks: u64,
    /// Whether bytes follow the last line break.
    pub open_last_line: bool,
    /// Longest line, bytes.
    pub longest_line: u64,
    /// NUL bytes.
    pub nuls: u64,
    /// Sequences that are not UTF-8.
    pub invalid: u64,
    /// Lines of the first invalid sequences, counted from 1.
    pub invalid_lines: Vec<u64>,
    /// Invalid bytes between 0x80 and 0x9f, which Latin-1 does not print.
    pub control_bytes: u64,
    /// Bytes that start a valid character of several bytes.
    pub multibyte: u64,
    current_line: u64,
}

impl Scan {
    /// Scans all bytes of `source`; a file in UTF-16 is scanned as decoded.
    pub fn of(source: &Source) -> io::Result<(Self, Encoding)> {
        let mut start = Vec::new();
        source.open()?.take(HEAD_BYTES as u64).read_to_end(&mut start)?;
        let marked = match start.as_slice() {
            [0xff, 0xfe, ..] => Some(Encoding::Utf16Le),
            [0xfe, 0xff, ..] => Some(Encoding::Utf16Be),
            [0xef, 0xbb, 0xbf, ..] => Some(Encoding::Utf8Bom),
            _ => None,
        };
        let mut scan = Self {
            start,
            ..Self::default()
        };
        if let Some(encoding @ (Encoding::Utf16Le | Encoding::Utf16Be)) = marked {
            scan.bytes = io::copy(&mut source.open()?, &mut io::sink())?;
            scan.read(source.open_decoded(encoding)?)?;
            return Ok((scan, encoding));
        }
        scan.bytes = scan.read(source.open()?)?;
        let encoding = scan.encoding(marked);
        Ok((scan, encoding))
    }

    fn encoding(&self, marked: Option<Encoding>) -> Encoding {
        if self.invalid == 0 {
            marked.unwrap_or(Encoding::Utf8)
        } else if marked.is_some() || self.multibyte > self.invalid {
            Encoding::Utf8Lossy
        } else if self.control_bytes > 0 {
            Encoding::Windows1252
        } else {
            Encoding::Latin1
        }
    }

    /// Lines of the file; a last line without line break counts.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.line_breaks + u64::from(self.open_last_line)
    }

    fn read(&mut self, mut input: impl Read) -> io::Result<u64> {
        let mut buffer = vec![0; BUFFER_BYTES];
        let (mut kept, mut total) = (0, 0);
        loop {
            let count = input.read(&mut buffer[kept..])?;
            total += count as u64;
            let filled = kept + count;
            if count == 0 {
                if kept > 0 {
                    self.note_invalid(&buffer[..kept], 0);
                }
                self.longest_line = self.longest_line.max(self.current_line);
                self.open_last_line = self.current_line > 0;
                return Ok(total);
            }
            let fresh = &buffer[kept..filled];
            let checked = self.validate(&buffer[..filled]);
            self.count_lines(fresh);
            buffer.copy_within(checked..filled, 0);
            kept = filled - checked;
        }
    }

    /// Returns how many bytes are settled; up to three of an unfinished character may be left.
    fn validate(&mut self, bytes: &[u8]) -> usize {
        let mut position = 0;
        loop {
            match std::str::from_utf8(&bytes[position..]) {
                Ok(valid) => {
                    self.count_multibyte(valid.as_bytes());
                    return bytes.len();
                }
                Err(error) => {
                    let valid = position + error.valid_up_to();
                    self.count_multibyte(&bytes[position..valid]);
                    let Some(length) = error.error_len() else {
                        return valid;
                    };
                    self.note_invalid(&bytes[valid..valid + length], valid_breaks(&bytes[..valid], self));
                    position = valid + length;
                }
            }
        }
    }

    fn count_multibyte(&mut self, valid: &[u8]) {
        if !valid.is_ascii() {
            self.multibyte += valid.iter().filter(|byte| **byte >= 0xc0).count() as u64;
        }
    }

    fn note_invalid(&mut self, bytes: &[u8], breaks_before: u64) {
        self.invalid += 1;
        self.control_bytes += bytes.iter().filter(|byte| (0x80..0xa0).contains(*byte)).count() as u64;
        let line = self.line_breaks + breaks_before + 1;
        if self.invalid_lines.len() < LISTED_LINES && self.invalid_lines.last() != Some(&line) {
            self.invalid_lines.push(line);
        }
    }

    fn count_lines(&mut self, bytes: &[u8]) {
        self.nuls += memchr::memchr_iter(0, bytes).count() as u64;
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', bytes) {
            self.line_breaks += 1;
            self.longest_line = self.longest_line.max(self.current_line + (end - start) as u64);
            self.current_line = 0;
            start = end + 1;
        }
        self.current_line += (bytes.len() - start) as u64;
    }
}

/// Line breaks before an invalid sequence, counted only while lines are still listed.
fn valid_breaks(before: &[u8], scan: &Scan) -> u64 {
    if scan.invalid_lines.len() >= LISTED_LINES {
        return 0;
    }
    memchr::memchr_iter(b'\n', before).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(bytes: &[u8]) -> (Scan, Encoding) {
        Scan::of(&Source::bytes(bytes)).unwrap()
    }

    #[test]
    fn lines_are_counted_with_an_open_last_one() {
        assert_eq!(scan(b"a\nbb\nccc").0.lines(), 3);
        assert_eq!(scan(b"a\nbb\n").0.lines(), 2);
        assert_eq!(scan(b"").0.lines(), 0);
        assert_eq!(scan(b"a\nbb\nccc").0.longest_line, 3);
    }

    #[test]
    fn a_byte_order_mark_names_the_encoding() {
        assert_eq!(scan(b"\xef\xbb\xbfa,b\n").1, Encoding::Utf8Bom);
        assert_eq!(scan(b"\xff\xfea\0\n\0").1, Encoding::Utf16Le);
        assert_eq!(scan(b"\xfe\xff\0a\0\n").1, Encoding::Utf16Be);
        assert_eq!(scan(b"\xff\xfea\0\n\0").0.lines(), 1);
        assert_eq!(scan(b"\xff\xfea\0\n\0").0.nuls, 0);
    }

    #[test]
    fn bytes_that_are_not_utf8_are_latin1_or_windows_1252_with_their_lines() {
        let (found, encoding) = scan(b"stadt\nK\xf6ln\nM\xfcnchen\n");
        assert_eq!(encoding, Encoding::Latin1);
        assert_eq!(found.invalid_lines, [2, 3]);
        assert_eq!(scan(b"\x93quoted\x94\n").1, Encoding::Windows1252);
    }

    #[test]
    fn one_bad_byte_among_many_good_ones_leaves_utf8() {
        let (found, encoding) = scan(
            "häuser, öl, übel\nschön \n"
                .bytes()
                .chain([0xff, b'\n'])
                .collect::<Vec<_>>()
                .as_slice(),
        );
        assert_eq!(encoding, Encoding::Utf8Lossy);
        assert_eq!(found.invalid_lines, [3]);
    }

    #[test]
    fn a_character_may_lie_across_two_buffers() {
        let text = "a".repeat(BUFFER_BYTES - 1) + "ö" + &"b".repeat(10);
        let (found, encoding) = scan(text.as_bytes());
        assert_eq!((found.invalid, encoding), (0, Encoding::Utf8));
        assert_eq!(found.longest_line, text.len() as u64);
    }

    #[test]
    fn a_file_may_end_inside_a_character() {
        let (found, _) = scan(b"caf\xc3");
        assert_eq!(found.invalid, 1);
    }
}
