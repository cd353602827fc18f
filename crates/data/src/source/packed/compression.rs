//! Compression of the bytes of files, as people and Python name it, and the way to compress.

use std::io::{self, Write as _};

use flate2::write::GzEncoder;
use lzma_rust2::{XzOptions, XzWriter};
use serde::{Deserialize, Serialize};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// Level of compression of what is written here: files of cases are small.
const LEVEL: u32 = 1;

/// Compression of the bytes of a file.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum Compression {
    /// Gzip, of one member or several.
    Gzip,
    /// Bzip2, of one stream or several.
    Bzip2,
    /// Xz, of one stream or several.
    Xz,
    /// Zstandard, of one frame or several.
    Zstd,
    /// A ZIP archive of one file.
    Zip,
}

impl Compression {
    /// Every value.
    pub const ALL: [Self; 5] = [Self::Gzip, Self::Bzip2, Self::Xz, Self::Zstd, Self::Zip];

    /// Judges the first six bytes of a file. Of a ZIP archive they say nothing: its directory stands at the end.
    #[must_use]
    pub(super) fn of(start: &[u8]) -> Option<Self> {
        match start {
            [0x1f, 0x8b, 8, ..] => Some(Self::Gzip),
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Some(Self::Bzip2),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Self::Xz),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            _ => None,
        }
    }

    /// Reports whether one more member may begin with this byte.
    pub(super) const fn may_begin_with(self, byte: u8) -> bool {
        match self {
            Self::Gzip => byte == 0x1f,
            Self::Bzip2 => byte == b'B',
            Self::Xz => byte == 0xfd,
            // A frame, or one that is to be skipped.
            Self::Zstd => matches!(byte, 0x28 | 0x50..=0x5f),
            Self::Zip => false,
        }
    }

    /// The name for people (`bzip2`).
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
            Self::Zstd => "zstd",
            Self::Zip => "ZIP",
        }
    }

    /// The value of the argument `compression` of pandas.
    #[must_use]
    pub(crate) const fn pandas_name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Bzip2 => "bz2",
            Self::Xz => "xz",
            Self::Zstd => "zstd",
            Self::Zip => "zip",
        }
    }

    /// The ending of the names of such files, from which pandas infers it (`.bz2`).
    #[must_use]
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Gzip => ".gz",
            Self::Bzip2 => ".bz2",
            Self::Xz => ".xz",
            Self::Zstd => ".zst",
            Self::Zip => ".zip",
        }
    }

    /// The name of a file without the ending of its compression, and which that is.
    #[must_use]
    pub fn of_name(file_name: &str) -> Option<(&str, Self)> {
        Self::ALL.into_iter().find_map(|compression| {
            let length = file_name.len().checked_sub(compression.ending().len())?;
            let (stem, ending) = file_name.split_at_checked(length)?;
            ending
                .eq_ignore_ascii_case(compression.ending())
                .then_some((stem, compression))
        })
    }

    /// Returns the words about Python's conduct at bytes that follow the packed data.
    pub(super) const fn at_trailing_bytes(self) -> &'static str {
        match self {
            Self::Gzip => "Python's gzip fails at them",
            Self::Bzip2 => "Python's bz2 ignores them",
            Self::Xz => "Python's lzma ignores them",
            Self::Zstd | Self::Zip => "a program that reads all of it fails at them",
        }
    }

    /// Compresses bytes; `name` is that of the file in an archive.
    pub fn pack(self, bytes: &[u8], name: &str) -> io::Result<Vec<u8>> {
        match self {
            Self::Gzip => {
                let mut packed = GzEncoder::new(Vec::new(), flate2::Compression::fast());
                packed.write_all(bytes)?;
                packed.finish()
            }
            Self::Bzip2 => {
                let mut packed = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
                packed.write_all(bytes)?;
                packed.finish()
            }
            Self::Xz => {
                let mut packed = XzWriter::new(Vec::new(), XzOptions::with_preset(LEVEL))?;
                packed.write_all(bytes)?;
                packed.finish()
            }
            Self::Zstd => zstd::bulk::compress(bytes, 1),
            Self::Zip => {
                let mut archive = ZipWriter::new(io::Cursor::new(Vec::new()));
                archive.start_file(name, SimpleFileOptions::default())?;
                archive.write_all(bytes)?;
                Ok(archive.finish()?.into_inner())
            }
        }
    }
}
