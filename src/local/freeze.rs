//! Sources to files that no longer change: every byte is copied first and hashed from the copy.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::Url;
use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, fstat, openat};
use sha2::{Digest, Sha256};
use thiserror::Error;

use codegen_core::causes::with_causes;
use codegen_core::digest::hex;
use codegen_core::task::{FrozenFile, FrozenFiles, is_plain_name};
use codegen_egress::{AllowedHost, EgressGate, Refused};
use codegen_sources::reading::is_link_or_socket;
use codegen_sources::{
    LARGEST_SOURCE, MOST_FOLDER_FILES, ReadPlan, SourceOrigin, WantedSource, digest, remedy,
};

/// Folder of samples and inputs inside a run.
pub const INPUTS: &str = "inputs";
/// Folder of the acceptance tests inside a run: never mounted beside the inputs.
pub const ACCEPTANCE: &str = "acceptance";

/// A source that cannot be frozen. Of category configuration, except for `Write`.
#[derive(Debug, Error)]
pub enum FreezeError {
    /// It cannot be read.
    #[error("{name}: cannot read {path}: {source}; {remedy}", path = path.display(), remedy = remedy(.source))]
    Read {
        /// Name of the sample or input.
        name: String,
        /// The file.
        path: PathBuf,
        /// Cause of the failure.
        source: io::Error,
    },
    /// The copy cannot be written.
    #[error("{name}: cannot write {path}: {source}; nothing is lost, make room and start again", path = path.display())]
    Write {
        /// Name of the sample or input.
        name: String,
        /// The copy.
        path: PathBuf,
        /// Cause of the failure.
        source: io::Error,
    },
    /// The copy would not lie in its folder.
    #[error("{name}: {file_name:?} is no name of a file in a folder: give a name without a slash")]
    Outside {
        /// Name of the sample or input.
        name: String,
        /// Name of its copy.
        file_name: String,
    },
    /// It is neither a file nor a folder, or not the one that is wanted.
    #[error("{name}: {path} is not a {wanted}", path = path.display())]
    WrongKind {
        /// Name of the sample or input.
        name: String,
        /// Path of what lies there.
        path: PathBuf,
        /// `file` or `folder`.
        wanted: &'static str,
    },
    /// It is too large.
    #[error("{name}: is larger than 1 GiB or has more than 10,000 files: give a smaller sample")]
    TooLarge {
        /// Name of the sample or input.
        name: String,
    },
    /// It has other bytes than the manifest says.
    #[error(
        "{name}: the content has sha256 {found}, the manifest says {wanted}: correct sha256 if the new content is right, or give the right file with --sample {name}=PATH"
    )]
    Digest {
        /// Name of the sample.
        name: String,
        /// Digest that it has.
        found: String,
        /// Digest that it must have.
        wanted: String,
    },
    /// Its address is not asked.
    #[error("{name}: {refused}, or the file with --sample {name}=PATH")]
    Refused {
        /// Name of the sample.
        name: String,
        /// Reason of the refusal.
        refused: Box<Refused>,
    },
    /// It cannot be downloaded.
    #[error(
        "{name}: cannot download {url}: {message}; try again, or give the file with --sample {name}=PATH"
    )]
    Download {
        /// Name of the sample.
        name: String,
        /// Address of the download.
        url: String,
        /// Cause of the failure.
        message: String,
    },
}

/// Access to downloads.
#[derive(Clone, Debug)]
pub struct DownloadAccess {
    /// Keeps them by digest.
    cache: PathBuf,
    /// Gate for the addresses that may be asked for them.
    gate: EgressGate,
}

impl DownloadAccess {
    /// Downloads from public addresses and the `opened` ones, kept in the folder `cache`.
    #[must_use]
    pub fn new(cache: PathBuf, opened: &[AllowedHost]) -> Self {
        let gate = EgressGate::of_command_line(opened);
        Self { cache, gate }
    }
}

/// Freezes everything of `plan` under `into` (folders `inputs` and `acceptance`).
pub async fn freeze(
    plan: &ReadPlan,
    into: &Path,
    downloads: &DownloadAccess,
) -> Result<FrozenFiles, FreezeError> {
    let mut frozen = FrozenFiles::default();
    for wanted in &plan.samples {
        frozen
            .samples
            .push(freeze_one(wanted, &into.join(INPUTS), downloads).await?);
    }
    for wanted in &plan.inputs {
        frozen
            .input_files
            .push(freeze_one(wanted, &into.join(INPUTS), downloads).await?);
    }
    if let Some(wanted) = &plan.acceptance_tests {
        frozen.acceptance_tests = Some(freeze_one(wanted, &into.join(ACCEPTANCE), downloads).await?);
    }
    Ok(frozen)
}

async fn freeze_one(
    wanted: &WantedSource,
    folder: &Path,
    downloads: &DownloadAccess,
) -> Result<FrozenFile, FreezeError> {
    let copier = Copier { name: &wanted.name };
    // Whoever asks for it, and wherever the name comes from.
    if !is_plain_name(&wanted.file_name) {
        return Err(FreezeError::Outside {
            name: wanted.name.clone(),
            file_name: wanted.file_name.clone(),
        });
    }
    let target = folder.join(&wanted.file_name);
    copier.create_parent(&target)?;
    let (sha256, bytes) = match &wanted.source {
        SourceOrigin::Bytes(bytes) => copier.copy(&mut bytes.as_slice(), &target, &target, LARGEST_SOURCE)?,
        SourceOrigin::File(path) => copier.copy_file(path, &target, LARGEST_SOURCE)?,
        SourceOrigin::Files(files) => copier.write_folder(files, &target)?,
        SourceOrigin::Folder(path) => copier.copy_folder(path, &target)?,
        SourceOrigin::Download(url) => {
            let digest = wanted.sha256.as_deref().unwrap_or_default();
            let cached = downloads.cache.join(digest);
            // A file of this name has this digest, whatever the address serves by now.
            if !cached.is_file() {
                download(&copier, &downloads.gate, (url, digest), &cached).await?;
            }
            copier.copy_file(&cached, &target, LARGEST_SOURCE)?
        }
        SourceOrigin::Claim { path, .. } => {
            let unmounted = io::Error::other("only a cluster mounts a claim");
            return Err(copier.read_error(Path::new(path), unmounted));
        }
    };
    if let Some(digest) = wanted.sha256.as_ref().filter(|digest| **digest != sha256) {
        return Err(FreezeError::Digest {
            name: wanted.name.clone(),
            found: sha256,
            wanted: digest.clone(),
        });
    }
    Ok(FrozenFile {
        name: wanted.name.clone(),
        file_name: wanted.file_name.clone(),
        sha256,
        bytes,
        is_dir: matches!(wanted.source, SourceOrigin::Files(_) | SourceOrigin::Folder(_)),
    })
}

struct Copier<'a> {
    name: &'a str,
}

impl Copier<'_> {
    fn read_error(&self, path: &Path, source: io::Error) -> FreezeError {
        FreezeError::Read {
            name: self.name.to_owned(),
            path: path.to_owned(),
            source,
        }
    }

    fn write_error(&self, path: &Path, source: io::Error) -> FreezeError {
        FreezeError::Write {
            name: self.name.to_owned(),
            path: path.to_owned(),
            source,
        }
    }

    fn create_parent(&self, target: &Path) -> Result<(), FreezeError> {
        target.parent().map_or(Ok(()), |folder| {
            fs::create_dir_all(folder).map_err(|source| self.write_error(folder, source))
        })
    }

    /// Copies at most `limit` bytes; gives digest and size of what was written.
    fn copy(
        &self,
        from: &mut dyn Read,
        from_path: &Path,
        target: &Path,
        limit: u64,
    ) -> Result<(String, u64), FreezeError> {
        // Never what is there, nor where a link leads.
        let created = File::create_new(target);
        let mut file = created.map_err(|source| self.write_error(target, source))?;
        let mut digest = Sha256::new();
        let mut buffer = vec![0; 256 * 1024];
        let mut bytes = 0;
        loop {
            let read = match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(source) => return Err(self.read_error(from_path, source)),
            };
            bytes += read as u64;
            if bytes > limit {
                return Err(FreezeError::TooLarge {
                    name: self.name.to_owned(),
                });
            }
            digest.update(&buffer[..read]);
            file.write_all(&buffer[..read])
                .map_err(|source| self.write_error(target, source))?;
        }
        // A revision that has its inputs does not copy them again, so that they must survive a power cut.
        file.sync_all()
            .map_err(|source| self.write_error(target, source))?;
        Ok((hex(&digest.finalize()), bytes))
    }

    fn copy_file(&self, path: &Path, target: &Path, limit: u64) -> Result<(String, u64), FreezeError> {
        let opened = opened(CWD, path, OFlags::empty()).map_err(|source| self.read_error(path, source))?;
        match opened {
            (file, FileType::RegularFile) => {
                self.copy(&mut BufReader::new(File::from(file)), path, target, limit)
            }
            _ => Err(self.wrong_kind(path, "file")),
        }
    }

    fn wrong_kind(&self, path: &Path, wanted: &'static str) -> FreezeError {
        FreezeError::WrongKind {
            name: self.name.to_owned(),
            path: path.to_owned(),
            wanted,
        }
    }

    fn write_folder(
        &self,
        files: &BTreeMap<String, Vec<u8>>,
        target: &Path,
    ) -> Result<(String, u64), FreezeError> {
        fs::create_dir_all(target).map_err(|source| self.write_error(target, source))?;
        let mut parts = Vec::new();
        let mut total = 0;
        for (key, bytes) in files {
            let path = target.join(file_name_of_key(key));
            let (digest, size) = self.copy(&mut bytes.as_slice(), &path, &path, LARGEST_SOURCE)?;
            total += size;
            parts.push((file_name_of_key(key), digest));
        }
        Ok((digest::of_folder(parts), total))
    }

    /// Copies what lies below `from`, each folder and file opened where it was listed: nothing that takes its place meanwhile is followed.
    fn copy_folder(&self, from: &Path, target: &Path) -> Result<(String, u64), FreezeError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source: io::Error| self.read_error(&path, source)
        };
        let (top, kind) = opened(CWD, from, OFlags::empty()).map_err(failed(from))?;
        if kind != FileType::Directory {
            return Err(self.wrong_kind(from, "folder"));
        }
        let mut parts = Vec::new();
        let mut total = 0;
        let mut open = vec![PathBuf::new()];
        while let Some(relative) = open.pop() {
            let (here, there) = (from.join(&relative), target.join(&relative));
            fs::create_dir_all(&there).map_err(|source| self.write_error(&there, source))?;
            let folder = beneath(&top, &relative).map_err(failed(&here))?;
            for entry in Dir::read_from(&folder).map_err(|error| failed(&here)(error.into()))? {
                let entry = entry.map_err(|error| failed(&here)(error.into()))?;
                let name = Path::new(OsStr::from_bytes(entry.file_name().to_bytes())).to_owned();
                if [Path::new("."), Path::new("..")].contains(&name.as_path()) {
                    continue;
                }
                let (path, relative) = (here.join(&name), relative.join(&name));
                match opened(folder.as_fd(), &name, OFlags::NOFOLLOW) {
                    Ok((_, FileType::Directory)) => {
                        open.push(relative);
                        continue;
                    }
                    Ok((file, FileType::RegularFile)) => {
                        let (mut file, target) = (BufReader::new(File::from(file)), target.join(&relative));
                        let (digest, size) = self.copy(&mut file, &path, &target, LARGEST_SOURCE - total)?;
                        total += size;
                        parts.push((relative.to_string_lossy().into_owned(), digest));
                    }
                    // A link may lead to a file that the user never meant to give.
                    Ok(_) => return Err(self.wrong_kind(&path, "file")),
                    Err(error) if is_link_or_socket(&error) => return Err(self.wrong_kind(&path, "file")),
                    Err(error) => return Err(self.read_error(&path, error)),
                }
                if parts.len() > MOST_FOLDER_FILES {
                    return Err(FreezeError::TooLarge {
                        name: self.name.to_owned(),
                    });
                }
            }
        }
        Ok((digest::of_folder(parts), total))
    }
}

/// Opens what lies at a path, and returns its kind too. Without blocking, for a pipe would wait for a writer.
fn opened(folder: BorrowedFd<'_>, path: &Path, how: OFlags) -> io::Result<(OwnedFd, FileType)> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | how;
    let found = openat(folder, path, flags, Mode::empty())?;
    let kind = FileType::from_raw_mode(fstat(&found)?.st_mode);
    Ok((found, kind))
}

/// The folder at `relative`, through folders alone.
fn beneath(top: &OwnedFd, relative: &Path) -> io::Result<OwnedFd> {
    let mut here = top.try_clone()?;
    for part in relative {
        (here, _) = opened(
            here.as_fd(),
            Path::new(part),
            OFlags::NOFOLLOW | OFlags::DIRECTORY,
        )?;
    }
    Ok(here)
}

/// Keys may not hold a slash in an API server; here nothing else has checked them.
fn file_name_of_key(key: &str) -> String {
    match key.replace(['/', '\0'], "_") {
        name if matches!(name.as_str(), "" | "." | "..") => format!("_{name}"),
        name => name,
    }
}

/// Streams `url` to `target`, which appears only when its digest is right.
async fn download(
    copier: &Copier<'_>,
    gate: &EgressGate,
    (url, digest): (&str, &str),
    target: &Path,
) -> Result<(), FreezeError> {
    let failed = |message: String| FreezeError::Download {
        name: copier.name.to_owned(),
        url: url.to_owned(),
        message,
    };
    let address = Url::parse(url).map_err(|error| failed(error.to_string()))?;
    let refused = |refused: Refused| FreezeError::Refused {
        name: copier.name.to_owned(),
        refused: Box::new(refused),
    };
    gate.check_url(&address).map_err(refused)?;
    copier.create_parent(target)?;
    let folder = target.parent().unwrap_or(Path::new("."));
    let mut file =
        tempfile::NamedTempFile::new_in(folder).map_err(|source| copier.write_error(target, source))?;
    let client = gate
        .client_builder()
        // The bytes as they are served have the digest, as those that curl writes.
        .no_gzip()
        .read_timeout(Duration::from_mins(1))
        .build()
        .map_err(|error| failed(with_causes(&error)))?;
    let mut response = client
        .get(address)
        .send()
        .await
        .and_then(reqwest::Response::error_for_status)
        .map_err(|error| match Refused::within(&error) {
            Some(found) => refused(found),
            None => failed(with_causes(&error.without_url())),
        })?;
    let mut hash = Sha256::new();
    let mut bytes = 0;
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|error| failed(with_causes(&error.without_url())))?
    {
        bytes += chunk.len() as u64;
        if bytes > LARGEST_SOURCE {
            return Err(FreezeError::TooLarge {
                name: copier.name.to_owned(),
            });
        }
        hash.update(&chunk);
        file.write_all(&chunk)
            .map_err(|source| copier.write_error(target, source))?;
    }
    let found = hex(&hash.finalize());
    if found != digest {
        let (name, wanted) = (copier.name.to_owned(), digest.to_owned());
        return Err(FreezeError::Digest { name, found, wanted });
    }
    // Only a file with the right digest gets the name that says so.
    file.persist(target)
        .map_err(|error| copier.write_error(target, error.error))?;
    Ok(())
}

#[cfg(test)]
mod tests;
