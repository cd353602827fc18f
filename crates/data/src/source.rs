//! Sources of bytes: opened once, read in passes between which nothing may write, unpacked and decoded on the way.

mod encoding;
mod guess;
mod line_ends;
mod packed;
mod scan;

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

pub use encoding::{Encoding, Legacy};
pub use packed::Compression;
pub(crate) use packed::{LARGEST_UNPACKED, UnpackFault};
pub(crate) use scan::Scan;

use line_ends::LineEnds;
use packed::{NotedFault, Packing, Unpacked};

/// Bytes kept from the start of the decoded text, for detection.
pub(crate) const HEAD_BYTES: usize = 64 * 1024;
/// Largest file that is read, bytes.
pub(crate) const LARGEST_FILE: u64 = 2 * 1024 * 1024 * 1024;

/// Location of the bytes of a file, as plain data.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
enum Location {
    /// A file on disk.
    Path(PathBuf),
    /// The bytes themselves, in base64.
    Base64(String),
}

/// The bytes of a file. It is opened at the first use, and every pass over it reads that same file.
#[derive(Serialize, Deserialize, Debug)]
#[serde(from = "Location", into = "Location")]
pub struct Source {
    location: Location,
    opened: OnceLock<Arc<Opened>>,
}

impl From<Location> for Source {
    fn from(location: Location) -> Self {
        Self {
            location,
            opened: OnceLock::new(),
        }
    }
}

impl From<Source> for Location {
    fn from(source: Source) -> Self {
        source.location
    }
}

/// A copy is opened on its own.
impl Clone for Source {
    fn clone(&self) -> Self {
        self.location.clone().into()
    }
}

/// Reason for which bytes are not read although the system would give them.
#[derive(thiserror::Error, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnreadableSource {
    /// Somebody wrote to the file.
    #[error("it changed while it was read")]
    Changed,
    /// More bytes than `LARGEST_FILE`.
    #[error("it has {0} bytes, and at most {LARGEST_FILE} are read")]
    TooLarge(u64),
    /// A folder, a device, a pipe.
    #[error("it is {0}, not a file")]
    NotAFile(&'static str),
}

impl UnreadableSource {
    /// The error that lies in what a reader returned, if it is one of these.
    #[must_use]
    pub(crate) fn within(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref::<Self>().copied()
    }
}

impl From<UnreadableSource> for io::Error {
    fn from(error: UnreadableSource) -> Self {
        Self::other(error)
    }
}

fn is_own(error: &io::Error) -> bool {
    UnreadableSource::within(error).is_some()
}

impl Source {
    /// A source of bytes in memory.
    #[must_use]
    pub fn bytes(bytes: &[u8]) -> Self {
        Self::base64(STANDARD.encode(bytes))
    }

    /// A source of bytes in memory, in base64.
    #[must_use]
    pub fn base64(text: String) -> Self {
        Location::Base64(text).into()
    }

    /// A source of a file on disk.
    #[must_use]
    pub fn path(path: &Path) -> Self {
        Location::Path(path.to_path_buf()).into()
    }

    /// Size of the file as it stands there, bytes.
    pub(crate) fn file_bytes(&self) -> io::Result<u64> {
        self.opened()?.bytes.size()
    }

    /// Returns the compression of its bytes.
    pub(crate) fn compression(&self) -> io::Result<Option<Compression>> {
        Ok(self.packing()?.compression())
    }

    /// Returns the reason for which it is an archive that is not unpacked, with the remedy.
    pub(crate) fn archive(&self) -> io::Result<Option<&str>> {
        Ok(match self.packing()? {
            Packing::Archive(reason) => Some(reason),
            Packing::Plain | Packing::Stream(_) | Packing::Member(_) => None,
        })
    }

    /// Returns the fault for which unpacking stopped early, once a pass has met it.
    #[must_use]
    pub(crate) fn fault(&self) -> Option<UnpackFault> {
        self.opened.get()?.fault.get().copied()
    }

    /// Opens the content from the start, unpacked.
    pub(crate) fn open(&self) -> io::Result<Box<dyn Read>> {
        self.open_up_to(LARGEST_UNPACKED)
    }

    fn open_up_to(&self, most: u64) -> io::Result<Box<dyn Read>> {
        let packing = self.packing()?;
        Unpacked::open(self.open_seekable()?, packing, most)
    }

    fn packing(&self) -> io::Result<&Packing> {
        let opened = self.opened()?;
        if let Some(packing) = opened.packing.get() {
            return Ok(packing);
        }
        let packing = Packing::of(&self.open_seekable()?)?;
        Ok(opened.packing.get_or_init(|| packing))
    }

    /// Opens the bytes as they stand there, to be read at any place.
    pub(crate) fn open_seekable(&self) -> io::Result<Seekable> {
        Ok(Seekable {
            opened: Arc::clone(self.opened()?),
            position: 0,
        })
    }

    /// Opens the content decoded to UTF-8, without byte order mark and with a line feed in every line end.
    pub(crate) fn open_decoded(&self, encoding: Encoding) -> io::Result<Box<dyn BufRead>> {
        Ok(Box::new(LineEnds::new(encoding.decode(self.open()?))))
    }

    /// Fails where somebody wrote to the file since it was opened. Call it when all is read.
    pub(crate) fn settle(&self) -> io::Result<()> {
        let opened = self.opened()?;
        if opened.bytes.modified()? == opened.modified {
            Ok(())
        } else {
            Err(UnreadableSource::Changed.into())
        }
    }

    fn opened(&self) -> io::Result<&Arc<Opened>> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let bytes = match &self.location {
            Location::Path(path) => Bytes::File(open_file(path)?),
            Location::Base64(text) => Bytes::Memory(
                STANDARD
                    .decode(text)
                    .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?,
            ),
        };
        let opened = Opened {
            modified: bytes.modified()?,
            bytes,
            packing: OnceLock::new(),
            fault: NotedFault::new(),
        };
        Ok(self.opened.get_or_init(|| Arc::new(opened)))
    }
}

/// Opens what is a file, and waits for nothing: a pipe would.
fn open_file(path: &Path) -> io::Result<File> {
    let kind = |metadata: &std::fs::Metadata| {
        let kind = metadata.file_type();
        if kind.is_file() {
            Ok(())
        } else if kind.is_dir() {
            Err(UnreadableSource::NotAFile("a folder"))
        } else if kind.is_fifo() {
            Err(UnreadableSource::NotAFile("a named pipe"))
        } else if kind.is_socket() {
            Err(UnreadableSource::NotAFile("a socket"))
        } else {
            Err(UnreadableSource::NotAFile("a device"))
        }
    };
    kind(&std::fs::metadata(path)?)?;
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let metadata = file.metadata()?;
    kind(&metadata)?;
    if metadata.len() > LARGEST_FILE {
        return Err(UnreadableSource::TooLarge(metadata.len()).into());
    }
    Ok(file)
}

/// A source that is open.
#[derive(Debug)]
struct Opened {
    bytes: Bytes,
    /// Last change, as of its opening.
    modified: Modified,
    packing: OnceLock<Packing>,
    fault: NotedFault,
}

/// Size of a file, and when somebody wrote to it last, in seconds and nanoseconds.
type Modified = (u64, i64, i64);

enum Bytes {
    File(File),
    Memory(Vec<u8>),
}

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(file) => file.fmt(f),
            Self::Memory(bytes) => write!(f, "{} bytes", bytes.len()),
        }
    }
}

impl Bytes {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read_at(buffer, position),
            Self::Memory(bytes) => {
                let start = usize::try_from(position).unwrap_or(usize::MAX).min(bytes.len());
                (&bytes[start..]).read(buffer)
            }
        }
    }

    fn modified(&self) -> io::Result<Modified> {
        Ok(match self {
            Self::File(file) => {
                let of = file.metadata()?;
                (of.size(), of.mtime(), of.mtime_nsec())
            }
            Self::Memory(_) => Modified::default(),
        })
    }

    fn size(&self) -> io::Result<u64> {
        match self {
            Self::File(file) => Ok(file.metadata()?.len()),
            Self::Memory(bytes) => Ok(bytes.len() as u64),
        }
    }
}

/// The bytes of an open source, read at any place.
#[derive(Clone, Debug)]
pub(crate) struct Seekable {
    opened: Arc<Opened>,
    position: u64,
}

impl Seekable {
    /// Returns the number of bytes.
    pub(crate) fn size(&self) -> io::Result<u64> {
        self.opened.bytes.size()
    }

    fn note(&self, fault: UnpackFault) {
        self.opened.fault.get_or_init(|| fault);
    }

    /// The same bytes from another place on.
    #[must_use]
    pub(crate) fn at(&self, position: u64) -> Self {
        Self {
            opened: Arc::clone(&self.opened),
            position,
        }
    }
}

impl Read for Seekable {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.opened.bytes.read_at(buffer, self.position)?;
        self.position += count as u64;
        // A file that grows as fast as it is read would never end.
        if self.position > LARGEST_FILE {
            return Err(UnreadableSource::TooLarge(self.position).into());
        }
        Ok(count)
    }
}

impl Seek for Seekable {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(offset) => self.size()?.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        self.position = position
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "a place before the start"))?;
        Ok(self.position)
    }
}
