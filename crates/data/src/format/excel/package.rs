//! Kind of the workbook in some bytes, and its unpacked size, checked before any of it is parsed.

use std::io::{self, BufReader, Read as _};

use zip::ZipArchive;

use super::WorkbookError;
use crate::format::catching;
use crate::source::{Seekable, Source};

/// Largest workbook that is read as a stream, bytes of its parts unpacked.
const LARGEST_STREAMED: u64 = 1024 * MIB;
/// Largest part that is held in memory, bytes unpacked: the table of texts, or the whole of a workbook that is no stream.
const LARGEST_HELD: u64 = 48 * MIB;
/// Most parts that are read.
const MOST_PARTS: usize = 10_000;
const MIB: u64 = 1024 * 1024;
const TEXTS: &str = "xl/sharedStrings.xml";
const OPEN_DOCUMENT: &[u8] = b"application/vnd.oasis.opendocument.spreadsheet";

/// Kind of a workbook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Package {
    /// Office Open XML (`.xlsx`, `.xlsm`).
    Xlsx,
    /// Its binary form (`.xlsb`).
    Xlsb,
    /// The form before 2007 (`.xls`).
    Xls,
    /// `OpenDocument` (`.ods`).
    Ods,
}

/// Detects the kind of a workbook by its parts.
pub(crate) fn package(source: &Source) -> io::Result<Result<Package, WorkbookError>> {
    let mut input = source.open_seekable()?;
    let mut start = [0; 4];
    let read = input.read(&mut start)?;
    if read == 4 && start == [0xd0, 0xcf, 0x11, 0xe0] {
        let bytes = input.size()?;
        return Ok(if bytes > LARGEST_HELD {
            Err(too_large("it has", bytes, LARGEST_HELD))
        } else {
            Ok(Package::Xls)
        });
    }
    let parts = catching(|| parts(input));
    Ok(match parts {
        Ok(Ok(parts)) => parts.judge(),
        Ok(Err(error)) => Err(WorkbookError::Unreadable(error.to_string())),
        Err(panic) => Err(WorkbookError::Unreadable(panic)),
    })
}

/// Facts from the directory of an archive.
struct Parts {
    package: Option<Package>,
    unpacked: u64,
    largest: u64,
    texts: u64,
    count: usize,
}

fn parts(input: Seekable) -> zip::result::ZipResult<Parts> {
    let mut archive = ZipArchive::new(BufReader::new(input))?;
    let mut parts = Parts {
        package: None,
        unpacked: 0,
        largest: 0,
        texts: 0,
        count: archive.len(),
    };
    // The bound is reported afterwards; the loop does not run longer for a file that claims millions of parts.
    for position in 0..archive.len().min(MOST_PARTS) {
        let part = archive.by_index_raw(position)?;
        let (name, size) = (part.name().unwrap_or_default().into_owned(), part.size());
        // Sizes are the archive's own claims; their sum must not wrap.
        parts.unpacked = parts.unpacked.saturating_add(size);
        parts.largest = parts.largest.max(size);
        match name.as_str() {
            "xl/workbook.bin" => parts.package = Some(Package::Xlsb),
            "mimetype" => {
                let mut kind = Vec::new();
                drop(part);
                let part = archive.by_index(position)?;
                part.take(64).read_to_end(&mut kind)?;
                if kind.starts_with(OPEN_DOCUMENT) {
                    parts.package = Some(Package::Ods);
                }
            }
            name if name.eq_ignore_ascii_case(TEXTS) => parts.texts = size,
            name if name.eq_ignore_ascii_case("[Content_Types].xml") || name.starts_with("xl/") => {
                parts.package = parts
                    .package
                    .or_else(|| name.starts_with("xl/").then_some(Package::Xlsx));
            }
            _ => {}
        }
    }
    Ok(parts)
}

impl Parts {
    fn judge(&self) -> Result<Package, WorkbookError> {
        let Some(package) = self.package else {
            return Err(WorkbookError::Unreadable("it is no workbook".to_owned()));
        };
        if self.count > MOST_PARTS {
            return Err(WorkbookError::TooLarge(format!(
                "it has {} parts, and at most {MOST_PARTS} are read",
                self.count
            )));
        }
        if self.unpacked > LARGEST_STREAMED {
            return Err(too_large("it unpacks to", self.unpacked, LARGEST_STREAMED));
        }
        if self.texts > LARGEST_HELD {
            return Err(too_large(
                "its table of texts unpacks to",
                self.texts,
                LARGEST_HELD,
            ));
        }
        // XLSX is read as a stream, the others part by part.
        if package != Package::Xlsx && self.largest > LARGEST_HELD {
            return Err(too_large("a part of it unpacks to", self.largest, LARGEST_HELD));
        }
        Ok(package)
    }
}

fn too_large(what: &str, bytes: u64, most: u64) -> WorkbookError {
    WorkbookError::TooLarge(format!(
        "{what} {} MiB, and at most {} MiB are read",
        bytes.div_ceil(MIB),
        most / MIB
    ))
}
