//! ZIP archives: one that holds a single file is that file, compressed.

use std::io::{self, BufReader, Read as _};

use zip::{CompressionMethod, ZipArchive};

use super::Compression;
use crate::format::catching;
use crate::source::Seekable;

/// Longest reason of the reader of archives that is repeated, bytes.
const LONGEST_REASON: usize = 120;

/// Packing of the bytes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    /// They stand as they are.
    Plain,
    /// As a stream.
    Stream(Compression),
    /// As the only file of an archive.
    Member(Member),
    /// In an archive that is not unpacked, for this reason.
    Archive(String),
}

/// The only file of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// Position at which its packed bytes begin.
    pub start: u64,
    /// Number of its packed bytes.
    pub packed: u64,
    /// Checksum of its bytes.
    pub crc: u32,
    /// True where they are stored as they are.
    pub is_stored: bool,
}

impl Packing {
    /// Judges a file.
    pub(crate) fn of(input: &Seekable) -> io::Result<Self> {
        let mut start = Vec::new();
        input.at(0).take(6).read_to_end(&mut start)?;
        if let Some(compression) = Compression::of(&start) {
            return Ok(Self::Stream(compression));
        }
        if !start.starts_with(b"PK\x03\x04") {
            return Ok(Self::Plain);
        }
        Ok(match catching(|| archive(input.at(0))) {
            Ok(Ok(packing)) => packing,
            Ok(Err(error)) => unreadable(&error.to_string()),
            Err(panic) => unreadable(&panic),
        })
    }

    /// Returns its compression, where it is unpacked.
    pub(crate) const fn compression(&self) -> Option<Compression> {
        match self {
            Self::Stream(compression) => Some(*compression),
            Self::Member(_) => Some(Compression::Zip),
            Self::Plain | Self::Archive(_) => None,
        }
    }
}

fn unreadable(reason: &str) -> Packing {
    let line = reason.lines().next().unwrap_or_default();
    let line = &line[..line.floor_char_boundary(LONGEST_REASON)];
    Packing::Archive(format!(
        "its directory, which stands at its end, cannot be read ({line}): copy it again"
    ))
}

fn archive(input: Seekable) -> zip::result::ZipResult<Packing> {
    let mut archive = ZipArchive::new(BufReader::new(input))?;
    if archive.len() != 1 {
        return Ok(Packing::Archive(format!(
            "it holds {} files, and pandas reads an archive of one; unpack it and give each file that the program needs as an input of its own",
            archive.len()
        )));
    }
    let member = archive.by_index_raw(0)?;
    let is_stored = member.compression() == CompressionMethod::Stored;
    let obstacle = if member.is_dir() {
        "it holds a folder and no file: give the file"
    } else if member.encrypted() {
        "its file is encrypted: unpack it and give the file"
    } else if !is_stored && member.compression() != CompressionMethod::Deflated {
        "its file is compressed in a way that not every reader knows: unpack it and give the file"
    } else {
        ""
    };
    Ok(match (obstacle, member.data_start()) {
        ("", Some(start)) => Packing::Member(Member {
            start,
            packed: member.compressed_size(),
            crc: member.crc32(),
            is_stored,
        }),
        ("", None) => Packing::Archive("its file has no place in it: copy it again".to_owned()),
        (obstacle, _) => Packing::Archive(obstacle.to_owned()),
    })
}
