//! A guess at the encoding of a text that is not UTF-8, by its lines with bytes beyond ASCII.

use std::io;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};

use super::Source;
use super::encoding::{Encoding, Legacy, is_control};
use super::line_ends::LineEnds;
use crate::format::places::LinePlaces;
use crate::lines::reader::{Line, LineReader};

/// Bytes of lines that the guess is made of.
const JUDGED_BYTES: usize = 1024 * 1024;
/// Regions from which texts may come, as the detector knows them; each has a guess of its own.
const REGIONS: [&[u8]; 14] = [
    b"de", b"pl", b"cz", b"ru", b"ua", b"gr", b"tr", b"lt", b"jp", b"cn", b"tw", b"kr", b"il", b"vn",
];
/// One line of this many may be UTF-8 by chance, where characters take several bytes.
const CHANCE: u64 = 5;

/// Likely encodings of the bytes of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Guess {
    /// The best guess: every line that is not UTF-8 can be decoded by it.
    pub best: Encoding,
    /// The next best one by which the text reads differently.
    pub runner_up: Option<Encoding>,
    /// Lines that are valid UTF-8 and hold more than ASCII.
    pub utf8_lines: LinePlaces,
    /// Lines that hold bytes beyond ASCII and are not UTF-8.
    pub other_lines: u64,
}

impl Guess {
    /// Reports whether some lines are UTF-8 and others are not; in an encoding of several bytes a few may look so by chance.
    #[must_use]
    pub(crate) fn is_mixed(&self) -> bool {
        let count = self.utf8_lines.count;
        if self.is_multibyte() {
            count * CHANCE > count + self.other_lines
        } else {
            count > 0
        }
    }

    /// The encoding by which the whole text is read.
    #[must_use]
    pub(super) fn encoding(&self) -> Encoding {
        // Lines of UTF-8 are no characters of such an encoding, and Python would stop at them.
        if self.is_multibyte() && self.utf8_lines.count > 0 && self.is_mixed() {
            Encoding::Utf8Lossy
        } else {
            self.best
        }
    }

    fn is_multibyte(&self) -> bool {
        matches!(self.best, Encoding::Legacy(legacy) if !legacy.codec().is_single_byte())
    }
}

/// Guesses the encoding of a text that is not UTF-8; `western` is what it is if it comes from Western Europe.
pub(super) fn guess(source: &Source, western: Encoding) -> io::Result<Guess> {
    let (mut utf8_lines, mut other_lines) = (LinePlaces::default(), 0);
    let mut judged = Vec::new();
    each_line(source, |line, bytes| {
        if std::str::from_utf8(bytes).is_ok() {
            utf8_lines.push(line.number);
        } else {
            other_lines += 1;
            if judged.len() + bytes.len() <= JUDGED_BYTES {
                judged.extend_from_slice(bytes);
                judged.push(b'\n');
            }
        }
    })?;
    let mut candidates = candidates(&judged, western);
    while let [best, others @ ..] = candidates.as_slice() {
        if decodes_all(source, *best)? {
            let text = decoded(&judged, *best);
            let differs = |other: &&Encoding| decoded(&judged, **other) != text;
            return Ok(Guess {
                best: *best,
                runner_up: others.iter().find(differs).copied(),
                utf8_lines,
                other_lines,
            });
        }
        candidates.remove(0);
    }
    Ok(Guess {
        best: Encoding::Latin1,
        runner_up: None,
        utf8_lines,
        other_lines,
    })
}

/// Hands over each line with bytes beyond ASCII; of a long line what stands before a safe place to cut it.
fn each_line(source: &Source, mut take: impl FnMut(Line<'_>, &[u8])) -> io::Result<()> {
    let mut reader = LineReader::new(LineEnds::new(source.open()?));
    while let Some(line) = reader.read()? {
        let bytes = if line.length > line.start.len() as u64 {
            // No encoding has such a byte inside of a character.
            let end = line.start.iter().rposition(|byte| *byte < b'0');
            &line.start[..end.unwrap_or(0)]
        } else {
            line.start
        };
        if !bytes.is_ascii() {
            take(line, bytes);
        }
    }
    Ok(())
}

/// Encodings that some text of `judged` may have, the likeliest first.
fn candidates(judged: &[u8], western: Encoding) -> Vec<Encoding> {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(judged, true);
    let mut candidates = Vec::new();
    for region in std::iter::once(None).chain(REGIONS.into_iter().map(Some)) {
        let codec = detector.guess(region, Utf8Detection::Deny);
        let encoding = Legacy::of(codec).map_or(western, Encoding::Legacy);
        if !candidates.contains(&encoding) && is_clean(judged, encoding) {
            candidates.push(encoding);
        }
    }
    if !candidates.contains(&western) {
        candidates.push(western);
    }
    candidates
}

/// Reports whether every byte is of a character that Python's codec knows too.
fn is_clean(bytes: &[u8], encoding: Encoding) -> bool {
    let Encoding::Legacy(legacy) = encoding else {
        return true;
    };
    legacy
        .codec()
        .decode_without_bom_handling_and_without_replacement(bytes)
        .is_some_and(|text| !text.chars().any(is_control))
}

fn decodes_all(source: &Source, encoding: Encoding) -> io::Result<bool> {
    if !matches!(encoding, Encoding::Legacy(_)) {
        return Ok(true);
    }
    let mut is_whole = true;
    each_line(source, |_, bytes| {
        is_whole = is_whole && (std::str::from_utf8(bytes).is_ok() || is_clean(bytes, encoding));
    })?;
    Ok(is_whole)
}

fn decoded(bytes: &[u8], encoding: Encoding) -> String {
    match encoding {
        Encoding::Legacy(legacy) => legacy.codec().decode_without_bom_handling(bytes).0.into_owned(),
        Encoding::Windows1252 => encoding_rs::WINDOWS_1252
            .decode_without_bom_handling(bytes)
            .0
            .into_owned(),
        _ => bytes.iter().copied().map(char::from).collect(),
    }
}
