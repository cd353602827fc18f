//! Encodings, by which bytes become characters; `encode` goes the other way.

mod encode;
mod legacy;

use std::io::{self, Read};

use encoding_rs_io::DecodeReaderBytesBuilder;
use serde::{Deserialize, Serialize};

pub use legacy::Legacy;
pub(super) use legacy::is_control;

/// Share of control and replacement characters from which decoded bytes are no text.
const NO_TEXT_SHARE: usize = 20;

/// Encoding by which the bytes of a text become characters.
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
    /// Little-endian UTF-16 without byte order mark.
    Utf16LeUnmarked,
    /// Big-endian UTF-16 without byte order mark.
    Utf16BeUnmarked,
    /// UTF-32 with a little-endian byte order mark.
    Utf32Le,
    /// UTF-32 with a big-endian byte order mark.
    Utf32Be,
    /// Latin-1, by a guess.
    Latin1,
    /// Windows-1252, by a guess.
    Windows1252,
    /// Another encoding from before Unicode, by a guess.
    #[serde(untagged)]
    Legacy(Legacy),
}

impl Encoding {
    /// The name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 | Self::Utf8Bom | Self::Utf8Lossy => "UTF-8",
            Self::Utf16Le | Self::Utf16Be => "UTF-16",
            Self::Utf16LeUnmarked => "little-endian UTF-16 without byte order mark",
            Self::Utf16BeUnmarked => "big-endian UTF-16 without byte order mark",
            Self::Utf32Le | Self::Utf32Be => "UTF-32",
            Self::Latin1 => "Latin-1",
            Self::Windows1252 => "Windows-1252",
            Self::Legacy(legacy) => legacy.name(),
        }
    }

    /// The name for Python's `open` and `pandas.read_csv`.
    #[must_use]
    pub(crate) fn python_name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            // Invalid bytes may stand behind a byte order mark; without one it is the same as utf-8.
            Self::Utf8Bom | Self::Utf8Lossy => "utf-8-sig",
            Self::Utf16Le | Self::Utf16Be => "utf-16",
            Self::Utf16LeUnmarked => "utf-16-le",
            Self::Utf16BeUnmarked => "utf-16-be",
            Self::Utf32Le | Self::Utf32Be => "utf-32",
            Self::Latin1 => "latin-1",
            Self::Windows1252 => "cp1252",
            Self::Legacy(legacy) => legacy.python_name(),
        }
    }

    /// Reports whether a character takes two or four bytes at least: such a text is looked at only when decoded.
    #[must_use]
    pub(crate) const fn is_wide(self) -> bool {
        matches!(
            self,
            Self::Utf16Le
                | Self::Utf16Be
                | Self::Utf16LeUnmarked
                | Self::Utf16BeUnmarked
                | Self::Utf32Le
                | Self::Utf32Be
        )
    }

    /// Returns the encoding that the first bytes of a file show: by a byte order mark, or UTF-16 without one.
    pub(super) fn of_start(start: &[u8]) -> Option<Self> {
        let marked = match start {
            // Before UTF-16: its mark begins with the same two bytes.
            [0xff, 0xfe, 0, 0, ..] => Self::Utf32Le,
            [0, 0, 0xfe, 0xff, ..] => Self::Utf32Be,
            [0xff, 0xfe, ..] => Self::Utf16Le,
            [0xfe, 0xff, ..] => Self::Utf16Be,
            [0xef, 0xbb, 0xbf, ..] => return Some(Self::Utf8Bom),
            _ => return unmarked(start),
        };
        // Two bytes can begin any binary file, so what follows must read as text.
        marked.reads_as_text(start).then_some(marked)
    }

    fn reads_as_text(self, start: &[u8]) -> bool {
        let mut text = String::new();
        // The start may end inside a character.
        let whole = &start[..start.len() / 4 * 4];
        if self
            .decode(Box::new(io::Cursor::new(whole.to_vec())))
            .read_to_string(&mut text)
            .is_err()
        {
            return false;
        }
        let is_odd =
            |c: &char| *c == '\u{fffd}' || (c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{c}'));
        let odd = text.chars().filter(is_odd).count();
        odd * NO_TEXT_SHARE <= text.chars().count()
    }

    /// Decodes to UTF-8, without byte order mark.
    pub(super) fn decode(self, mut raw: Box<dyn Read>) -> Box<dyn Read> {
        let codec = match self {
            Self::Utf8 => return raw,
            Self::Utf8Bom => {
                let mut mark = [0; 3];
                // A mark of three bytes was seen; a file that is shorter by now has changed.
                return match raw.read_exact(&mut mark) {
                    Ok(()) => raw,
                    Err(error) => Box::new(Failed(Some(error))),
                };
            }
            Self::Utf32Le => {
                return Box::new(Units::new(raw, 4, |unit| {
                    char::from_u32(u32::from_le_bytes(four(unit)))
                }));
            }
            Self::Utf32Be => {
                return Box::new(Units::new(raw, 4, |unit| {
                    char::from_u32(u32::from_be_bytes(four(unit)))
                }));
            }
            // `encoding_rs` has browsers' Latin-1, which is Windows-1252.
            Self::Latin1 => {
                return Box::new(Units::new(raw, 1, |unit| unit.first().copied().map(char::from)));
            }
            Self::Utf8Lossy => encoding_rs::UTF_8,
            Self::Utf16Le | Self::Utf16LeUnmarked => encoding_rs::UTF_16LE,
            Self::Utf16Be | Self::Utf16BeUnmarked => encoding_rs::UTF_16BE,
            Self::Windows1252 => encoding_rs::WINDOWS_1252,
            Self::Legacy(legacy) => legacy.codec(),
        };
        let decoded = DecodeReaderBytesBuilder::new()
            .encoding(Some(codec))
            .bom_override(true)
            .strip_bom(true)
            .build(raw);
        Box::new(decoded)
    }
}

/// UTF-16 of mostly Latin text: every other byte is often NUL, those between hardly ever, and it reads as text.
fn unmarked(start: &[u8]) -> Option<Encoding> {
    let nuls = |offset: usize| {
        start
            .iter()
            .skip(offset)
            .step_by(2)
            .filter(|byte| **byte == 0)
            .count()
    };
    let (even, odd, half) = (nuls(0), nuls(1), start.len() / 2);
    let is_wide = |often: usize, seldom: usize| often * 3 > half && seldom * 50 <= half;
    let encoding = if is_wide(odd, even) {
        Encoding::Utf16LeUnmarked
    } else if is_wide(even, odd) {
        Encoding::Utf16BeUnmarked
    } else {
        return None;
    };
    encoding.reads_as_text(start).then_some(encoding)
}

fn four(unit: &[u8]) -> [u8; 4] {
    unit.try_into().unwrap_or([0xff; 4])
}

/// Reads units of a fixed number of bytes, a character each; no character is a replacement character, a byte order
/// mark at the start is nothing.
struct Units {
    raw: Box<dyn Read>,
    size: usize,
    character: fn(&[u8]) -> Option<char>,
    packed: Vec<u8>,
    retained: usize,
    is_first: bool,
    text: String,
    position: usize,
}

impl Units {
    fn new(raw: Box<dyn Read>, size: usize, character: fn(&[u8]) -> Option<char>) -> Self {
        Self {
            raw,
            size,
            character,
            packed: vec![0; 16 * 1024],
            retained: 0,
            is_first: size == 4,
            text: String::new(),
            position: 0,
        }
    }

    fn refill(&mut self) -> io::Result<()> {
        self.text.clear();
        self.position = 0;
        while self.text.is_empty() {
            let count = self.raw.read(&mut self.packed[self.retained..])?;
            let filled = self.retained + count;
            // At the end an incomplete unit becomes a replacement character; before it waits for its rest.
            let whole = if count == 0 {
                filled
            } else {
                filled / self.size * self.size
            };
            for unit in self.packed[..whole].chunks(self.size) {
                if !std::mem::take(&mut self.is_first) {
                    self.text
                        .push((self.character)(unit).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
            }
            self.packed.copy_within(whole..filled, 0);
            self.retained = filled - whole;
            if count == 0 {
                break;
            }
        }
        Ok(())
    }
}

impl Read for Units {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.position == self.text.len() {
            self.refill()?;
        }
        let rest = &self.text.as_bytes()[self.position..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.position += count;
        Ok(count)
    }
}

/// A reader whose start could not be read.
struct Failed(Option<io::Error>);

impl Read for Failed {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}
