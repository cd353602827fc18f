//! Work of the reader Pod: it hashes what lies on claims as a local run hashes its copies, and describes samples.
//!
//! A claim is somebody's disk, with links that may lead anywhere. A link on the way to a source may lead to another place of the
//! same claim; inside of a folder there are none, as in a local run.

pub mod claim_outputs;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, fstat, open, openat};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use super::{LARGEST_SOURCE, MOST_FOLDER_FILES, digest};
use codegen_core::digest::hex;
use codegen_data::worker::WorkerClient;
use codegen_engine::reader::{SampleFile, profiles};
use codegen_sandbox::kubernetes::{ClaimSource, ReadReport, ReadRequest, ReadSource};

/// Folder at which samples that lie on no claim are mounted.
const MOUNTED: &str = "/var/inputs";
/// Folder that the file system of a whole volume has at its top.
const LOST_AND_FOUND: &str = "lost+found";

/// A source that cannot be read. Somebody must change something, unless it is passing.
#[derive(Error, Debug)]
pub enum ReadError {
    /// It is not there, or not to be read.
    #[error("{name}: cannot read {path} on the claim {claim}: {source}; {}", remedy(.source))]
    Read {
        /// Name of the sample or input.
        name: String,
        /// The claim.
        claim: String,
        /// Path on it.
        path: String,
        /// Error of the system.
        source: io::Error,
    },
    /// The way to it leaves the claim.
    #[error("{name}: {path} leads out of the claim {claim} by a link: put the file itself there")]
    Outside {
        /// Name of the sample or input.
        name: String,
        /// The claim.
        claim: String,
        /// Path on it.
        path: String,
    },
    /// It is something else.
    #[error("{name}: {path} on the claim {claim} is not a {wanted}")]
    WrongKind {
        /// Name of the sample or input.
        name: String,
        /// The claim.
        claim: String,
        /// Path on it.
        path: String,
        /// `file` or `folder`.
        wanted: &'static str,
    },
    /// It has another content than is wanted.
    #[error(
        "{name}: the content has sha256 {found}, the spec says {wanted}: correct sha256 if the new content is right"
    )]
    Digest {
        /// Name of the sample or input.
        name: String,
        /// Digest that it has.
        found: String,
        /// Digest that it must have.
        wanted: String,
    },
    /// A file or folder in it has a name that no digest and no list can hold as it is.
    #[error("{name}: {path} on the claim {claim} has a name in it that is not UTF-8: rename it")]
    NotText {
        /// Name of the sample or input.
        name: String,
        /// The claim.
        claim: String,
        /// Path of the folder on it.
        path: String,
    },
    /// It is too large.
    #[error("{name}: is larger than 1 GiB or has more than 10,000 files or folders: give a smaller one")]
    TooLarge {
        /// Name of the sample or input.
        name: String,
    },
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "correct the path, or put it there",
        io::ErrorKind::PermissionDenied => "let every user read it, and enter the folders above it",
        _ => "look at the volume of the claim",
    }
}

impl ReadError {
    fn is_passing(&self) -> bool {
        let Self::Read { source, .. } = self else {
            return false;
        };
        !matches!(
            source.kind(),
            io::ErrorKind::NotFound
                | io::ErrorKind::PermissionDenied
                | io::ErrorKind::NotADirectory
                | io::ErrorKind::IsADirectory
        )
    }
}

/// Reads everything that `request` names; samples are described by children of `worker`.
pub async fn read(request: &ReadRequest, worker: &WorkerClient) -> ReadReport {
    if let Some(outputs) = &request.outputs {
        return claim_outputs::read(outputs, worker).await;
    }
    let mut files = HashMap::new();
    let mut found = Vec::new();
    for source in &request.sources {
        match ClaimReader::of_input(source).read() {
            Ok(Found { what, file, .. }) => {
                found.push(what);
                files.extend(file.map(|file| (source.name.as_str(), file)));
            }
            // Trouble of the volume may pass; anything else a person must change.
            Err(error) if error.is_passing() => return ReadReport::Failed(error.to_string()),
            Err(error) => return ReadReport::Refused(error.to_string()),
        }
    }
    if request.samples.is_empty() {
        return ReadReport::Read {
            sources: found,
            profiles: None,
        };
    }
    let samples = request.samples.iter().map(|sample| SampleFile {
        name: sample.name.clone(),
        file_name: sample.file_name.clone(),
        // The very file that was hashed, whatever lies at its path by now.
        path: files
            .get(sample.name.as_str())
            .map_or_else(|| Path::new(MOUNTED).join(&sample.name), path_of),
    });
    let samples: Vec<SampleFile> = samples.collect();
    match profiles(worker, &samples, request.max_sample_rows).await {
        Ok(profiles) => ReadReport::Read {
            sources: found,
            profiles: Some(profiles),
        },
        Err(error) if error.is_passing() => ReadReport::Failed(error.to_string()),
        Err(error) => ReadReport::Refused(error.to_string()),
    }
}

/// This very file, whatever lies at its path by now, for as long as it is open here.
fn path_of(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()))
}

/// A file of a folder.
struct ReadFile {
    /// Path below the folder.
    relative: PathBuf,
    /// Digest and size.
    what: ReadSource,
}

impl ReadFile {
    /// Its path as text.
    fn path(&self) -> String {
        self.relative.to_string_lossy().into_owned()
    }

    /// Digest and size of the folder.
    fn together(files: &[Self]) -> ReadSource {
        let digests = files.iter().map(|file| (file.path(), file.what.sha256.clone()));
        ReadSource {
            sha256: digest::of_folder(digests.collect()),
            bytes: files.iter().map(|file| file.what.bytes).sum(),
        }
    }
}

/// Names that files and folders in a folder may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    /// Any: it is somebody's disk.
    Any,
    /// Text: what a program wrote is listed by name, and no two names are one.
    Text,
}

/// Reads one source.
struct ClaimReader<'a> {
    source: &'a ClaimSource,
    names: Names,
}

/// File or folder that was found at a source.
struct Found {
    /// Digest and size.
    what: ReadSource,
    /// Number of files.
    files: u64,
    /// The file itself, where it is one.
    file: Option<File>,
}

impl<'a> ClaimReader<'a> {
    /// Reads what somebody has put on a claim.
    const fn of_input(source: &'a ClaimSource) -> Self {
        let names = Names::Any;
        Self { source, names }
    }

    /// Reads what a program has written.
    const fn of_output(source: &'a ClaimSource) -> Self {
        let names = Names::Text;
        Self { source, names }
    }

    /// Reads the file or folder that the source's path leads to.
    fn read(&self) -> Result<Found, ReadError> {
        let place = self.place()?;
        self.read_at(&place)
    }

    /// Reads the file or folder at a place without links.
    fn read_at(&self, place: &Path) -> Result<Found, ReadError> {
        // Opened first, then judged by what is open: the path may lead to something else a moment later.
        let (top, kind) = self.open(place)?;
        let (found, files, file) = match (kind, self.source.is_dir) {
            (FileType::RegularFile, false) => {
                let mut file = File::from(top);
                let (sha256, bytes) = self.hash(&mut file, place, LARGEST_SOURCE)?;
                (ReadSource { sha256, bytes }, 1, Some(file))
            }
            (FileType::Directory, true) => {
                let (found, files) = self.folder(place)?;
                (found, files, None)
            }
            (_, is_dir) => {
                let wanted = if is_dir { "folder" } else { "file" };
                return Err(self.wrong_kind(Path::new(&self.source.path), wanted));
            }
        };
        match &self.source.sha256 {
            Some(wanted) if *wanted != found.sha256 => Err(ReadError::Digest {
                name: self.source.name.clone(),
                found: found.sha256,
                wanted: wanted.clone(),
            }),
            _ => Ok(Found {
                what: found,
                files,
                file,
            }),
        }
    }

    /// Path of the source on the claim, with every link resolved.
    fn place(&self) -> Result<PathBuf, ReadError> {
        let error = |error| self.error(Path::new(&self.source.path), error);
        let top = Path::new(&self.source.folder).canonicalize().map_err(error)?;
        let found = top.join(&self.source.path).canonicalize().map_err(error)?;
        let inside = found.strip_prefix(&top).map(Path::to_owned);
        inside.map_err(|_| ReadError::Outside {
            name: self.source.name.clone(),
            claim: self.source.claim.clone(),
            path: self.source.path.clone(),
        })
    }

    /// Opens what lies at `place`, which has no links: one that appears meanwhile is not followed.
    fn open(&self, place: &Path) -> Result<(OwnedFd, FileType), ReadError> {
        // Without blocking, for a pipe would wait for a writer.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = || {
            let top = open(
                self.source.folder.as_str(),
                OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
                Mode::empty(),
            )?;
            let mut here = top;
            let mut parts = place.components().peekable();
            if parts.peek().is_none() {
                here = openat(CWD, self.source.folder.as_str(), flags, Mode::empty())?;
            }
            while let Some(part) = parts.next() {
                let flags = if parts.peek().is_some() {
                    OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
                } else {
                    flags
                };
                here = openat(here.as_fd(), part.as_os_str(), flags, Mode::empty())?;
            }
            let kind = FileType::from_raw_mode(fstat(&here)?.st_mode);
            Ok((here, kind))
        };
        opened().map_err(|error: Errno| self.error(place, error.into()))
    }

    /// Digest, size and number of files of a folder.
    fn folder(&self, top: &Path) -> Result<(ReadSource, u64), ReadError> {
        let files = self.files(top)?;
        Ok((ReadFile::together(&files), files.len() as u64))
    }

    /// Every file of a folder.
    fn files(&self, top: &Path) -> Result<Vec<ReadFile>, ReadError> {
        let mut files = Vec::new();
        let mut folders = 0;
        let mut bytes = 0;
        let mut open = vec![PathBuf::new()];
        while let Some(relative) = open.pop() {
            for name in self.names_in(&top.join(&relative))? {
                let relative = relative.join(name);
                // The file system makes this folder for itself; the reader may not open it.
                if top.as_os_str().is_empty() && relative == Path::new(LOST_AND_FOUND) {
                    continue;
                }
                let place = top.join(&relative);
                let (found, kind) = match self.open(&place) {
                    Err(ReadError::Read { source, .. }) if is_link_or_socket(&source) => {
                        return Err(self.wrong_kind(&place, "file"));
                    }
                    found => found?,
                };
                match kind {
                    FileType::Directory => {
                        folders += 1;
                        open.push(relative);
                    }
                    FileType::RegularFile => {
                        let left = LARGEST_SOURCE - bytes;
                        let (sha256, size) = self.hash(&mut File::from(found), &place, left)?;
                        bytes += size;
                        files.push(ReadFile {
                            relative,
                            what: ReadSource { sha256, bytes: size },
                        });
                    }
                    _ => return Err(self.wrong_kind(&place, "file")),
                }
                // Folders below folders without an end must not fill the time.
                if files.len().max(folders) > MOST_FOLDER_FILES {
                    return Err(self.too_large());
                }
            }
        }
        Ok(files)
    }

    /// Names in a folder.
    fn names_in(&self, folder: &Path) -> Result<Vec<PathBuf>, ReadError> {
        let (open, _) = self.open(folder)?;
        let error = |error: Errno| self.error(folder, error.into());
        let mut names = Vec::new();
        for entry in Dir::read_from(&open).map_err(error)? {
            let entry = entry.map_err(error)?;
            let name = entry.file_name().to_bytes();
            if self.names == Names::Text && std::str::from_utf8(name).is_err() {
                return Err(self.not_text(folder));
            }
            if !matches!(name, b"." | b"..") {
                names.push(PathBuf::from(std::ffi::OsStr::from_bytes(name)));
            }
            // A folder with any number of names must not fill the memory.
            if names.len() > MOST_FOLDER_FILES {
                return Err(self.too_large());
            }
        }
        Ok(names)
    }

    /// Digest and size of a file of at most `most` bytes.
    fn hash(&self, file: &mut File, place: &Path, most: u64) -> Result<(String, u64), ReadError> {
        let mut digest = Sha256::new();
        let mut bytes = 0;
        let mut buffer = vec![0; 256 * 1024];
        loop {
            let read = match file.read(&mut buffer) {
                Ok(0) => return Ok((hex(&digest.finalize()), bytes)),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.error(place, error)),
            };
            bytes += read as u64;
            if bytes > most {
                return Err(self.too_large());
            }
            digest.update(&buffer[..read]);
        }
    }

    fn error(&self, place: &Path, source: io::Error) -> ReadError {
        ReadError::Read {
            name: self.source.name.clone(),
            claim: self.source.claim.clone(),
            path: shown(place),
            source,
        }
    }

    fn wrong_kind(&self, place: &Path, wanted: &'static str) -> ReadError {
        ReadError::WrongKind {
            name: self.source.name.clone(),
            claim: self.source.claim.clone(),
            path: shown(place),
            wanted,
        }
    }

    fn not_text(&self, folder: &Path) -> ReadError {
        ReadError::NotText {
            name: self.source.name.clone(),
            claim: self.source.claim.clone(),
            path: shown(folder),
        }
    }

    fn too_large(&self) -> ReadError {
        ReadError::TooLarge {
            name: self.source.name.clone(),
        }
    }
}

/// Recognizes the system's error about a link that is not followed, or about a socket.
#[must_use]
pub fn is_link_or_socket(error: &io::Error) -> bool {
    let codes = [Errno::LOOP, Errno::NXIO].map(|code| Some(code.raw_os_error()));
    codes.contains(&error.raw_os_error())
}

fn shown(place: &Path) -> String {
    if place.as_os_str().is_empty() {
        "the top".to_owned()
    } else {
        place.display().to_string()
    }
}

#[cfg(test)]
mod tests;
