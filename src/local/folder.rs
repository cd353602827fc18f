//! The output folder of a task: results where a person looks, the state of runs in `.runs`.
//!
//! ```text
//! codegen-out/penguin-masses/
//!   solution.py  test_solution.py  outputs/  data-context.txt  schemas.py
//!   conversation.jsonl  replies.jsonl  test-output.txt  attempts/  status.yaml
//!   run.sh  launcher.py  requirements.txt  requirements.lock  Dockerfile
//!   .runs/lock  .runs/published.json  .runs/latest  .runs/<first 12 hex of the decisive hash>/
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use thiserror::Error;

use super::freeze::{ACCEPTANCE, INPUTS};
use super::large::LargeResults;
use super::lock::{FolderLock, LockError};
use super::on_disk::StoredFiles;
use crate::pipeline::digest::{sha256_hex, sha256_of};

/// Where results go when `--output` says nothing, relative to the working folder.
pub const DEFAULT_OUTPUT: &str = "codegen-out";
/// Name of the folder with the state of revisions.
pub const REVISIONS: &str = ".runs";
/// Hex digits of the decisive hash that name a revision.
const REVISION_NAME_DIGITS: usize = 12;

/// Says which revision is the latest, by the name of its folder.
const LATEST: &str = "latest";
/// The resolved task of a revision, in the folder of the revision.
pub const TASK: &str = "task.json";
/// Progress, calls and documents of a revision, in its folder.
const RECORD: &str = "record";
/// Outputs that are too large for the record, in the folder of the revision.
const STORED: &str = "stored";

/// Digests of published results by name: two while a publication replaces another.
type Published = BTreeMap<String, BTreeSet<String>>;

/// An output folder that cannot be used.
#[derive(Debug, Error)]
pub enum FolderError {
    /// A file has the name.
    #[error("{path} is a file, and a folder is needed there: give another name, or move the file", path = path.display())]
    IsFile {
        /// The file.
        path: PathBuf,
    },
    /// The operating system refuses.
    #[error("cannot {action} {path}: {source}", path = path.display())]
    Io {
        /// `create`, `write`, `move`, ...
        action: &'static str,
        /// What.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A result's path would leave the folder.
    #[error("refused to write {path}: it leaves the output folder", path = path.display())]
    Outside {
        /// The path.
        path: PathBuf,
    },
    /// What is written to is a link.
    #[error("refused to write to {path}: it is a link, which may lead anywhere; remove it, or choose another folder with --output", path = path.display())]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// Another run holds the folder.
    #[error(transparent)]
    Lock(#[from] LockError),
}

/// A locked output folder.
#[derive(Debug)]
pub struct TaskFolder {
    root: PathBuf,
    _lock: FolderLock,
}

impl TaskFolder {
    /// Creates the folder where it is missing and locks it; `command` is named to whoever finds it locked.
    pub fn open(root: &Path, command: &str) -> Result<Self, FolderError> {
        let state = root.join(REVISIONS);
        // Before anything is created: a link in the folder of somebody else would lead the writes away.
        refuse_link(&state)?;
        create(&state)?;
        // The lock is opened for writing.
        refuse_link(&state.join("lock"))?;
        let lock = FolderLock::take(root, &state, command)?;
        // The state holds rows of the user's data: for nobody else, and in no repository.
        fs::set_permissions(&state, fs::Permissions::from_mode(0o700))
            .map_err(io_error("protect", &state))?;
        write_whole(&state.join(".gitignore"), b"*\n")?;
        Ok(Self {
            root: root.to_owned(),
            _lock: lock,
        })
    }

    /// The folder itself.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// An empty folder to freeze sources in before the revision has a name.
    pub fn staging(&self) -> Result<PathBuf, FolderError> {
        let path = self.root.join(REVISIONS).join("incoming");
        // A kill may have left one that is filled in part.
        remove_folder(&path)?;
        create(&path)?;
        Ok(path)
    }

    /// The revision of a decisive hash, created where it is missing. What was frozen in `staging` moves into it, and takes the
    /// place of what was frozen before: by the hash the same bytes, unless somebody has changed those since.
    pub fn revision(&self, decisive_hash: &str, staging: &Path) -> Result<RevisionFolder, FolderError> {
        let root = self.revision_path(decisive_hash);
        create(&root)?;
        for part in [INPUTS, ACCEPTANCE] {
            let (from, to) = (staging.join(part), root.join(part));
            if from.is_dir() {
                remove_folder(&to)?;
                fs::rename(&from, &to).map_err(io_error("move", &from))?;
            }
        }
        create(&root.join(INPUTS))?;
        remove_folder(staging)?;
        // Last: the revision that is named has its inputs.
        let latest = self.root.join(REVISIONS).join(LATEST);
        write_whole(&latest, revision_name(decisive_hash).as_bytes())?;
        Ok(RevisionFolder { root })
    }

    /// The revision of a decisive hash, where an earlier command has created it.
    #[must_use]
    pub fn existing(&self, decisive_hash: &str) -> Option<RevisionFolder> {
        let root = self.revision_path(decisive_hash);
        root.is_dir().then_some(RevisionFolder { root })
    }

    /// Moves the revision of a decisive hash aside, so that it starts over. Gives its new place, `None` when there is none.
    pub fn set_aside(&self, decisive_hash: &str) -> Result<Option<PathBuf>, FolderError> {
        let path = self.revision_path(decisive_hash);
        if !path.exists() {
            return Ok(None);
        }
        let aside = free_name(&path, "old");
        fs::rename(&path, &aside).map_err(io_error("move", &path))?;
        Ok(Some(aside))
    }

    fn revision_path(&self, decisive_hash: &str) -> PathBuf {
        self.root.join(REVISIONS).join(revision_name(decisive_hash))
    }

    /// Writes results by relative path, each whole or not at all, and removes those of an earlier run that are not
    /// among them. What is not as it was published belongs to the user: it is moved aside, and the result says where
    /// to.
    pub fn publish(&self, results: &BTreeMap<String, Vec<u8>>) -> Result<Vec<PathBuf>, FolderError> {
        self.publish_with(results, &LargeResults::default())
    }

    /// [`Self::publish`] with results that lie in files, which are moved.
    pub fn publish_with(
        &self,
        results: &BTreeMap<String, Vec<u8>>,
        large: &LargeResults,
    ) -> Result<Vec<PathBuf>, FolderError> {
        let mut digests = Published::new();
        // Only decides: all names are judged before anything is written.
        for (name, bytes) in results {
            self.inside(name)?;
            digests.insert(name.clone(), BTreeSet::from([sha256_hex(bytes)]));
        }
        for (name, file) in &large.files {
            self.inside(name)?;
            digests.insert(name.clone(), BTreeSet::from([file.sha256.clone()]));
        }
        let mut ours = self.published();
        digests.extend(large.published_before(&ours));
        for (name, digest) in &digests {
            ours.entry(name.clone()).or_default().extend(digest.clone());
        }
        // A kill from here on leaves files of either publication, and both are ours.
        self.record(&ours)?;
        // First, because a file may now be where a folder was, or the other way.
        for (name, known) in ours.iter().filter(|(name, _)| !digests.contains_key(*name)) {
            self.remove_stale(name, known)?;
        }
        let mut aside = Vec::new();
        for (name, bytes) in results {
            if let Some(path) = self.clear(name, &digests[name], &ours[name], &mut aside)? {
                write_whole_with(&path, bytes, mode_of(name))?;
            }
        }
        for (name, file) in &large.files {
            if let Some(path) = self.clear(name, &digests[name], &ours[name], &mut aside)? {
                create(path.parent().unwrap_or(&self.root))?;
                file.put(&path).map_err(io_error("write", &path))?;
            }
        }
        // The publication is complete: from here on these alone are ours.
        self.record(&digests)?;
        // Only now, for a kill before would have left one half here and one half there.
        large.forget_sources();
        Ok(aside)
    }

    /// Clears the place of a result: what is not ours is moved aside. `None` where the result is there already.
    fn clear(
        &self,
        name: &str,
        wanted: &BTreeSet<String>,
        ours: &BTreeSet<String>,
        aside: &mut Vec<PathBuf>,
    ) -> Result<Option<PathBuf>, FolderError> {
        let path = self.inside(name)?;
        aside.extend(self.clear_parents(&path)?);
        let present = digest_of(&path)?;
        if present.is_some() && present.as_ref() == wanted.first() {
            return Ok(None);
        }
        if present.is_some_and(|present| !ours.contains(&present)) {
            aside.push(move_aside(&path)?);
        }
        Ok(Some(path))
    }

    fn record_path(&self) -> PathBuf {
        self.root.join(REVISIONS).join("published.json")
    }

    fn published(&self) -> Published {
        let text = fs::read(self.record_path()).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    fn record(&self, published: &Published) -> Result<(), FolderError> {
        let path = self.record_path();
        let text = serde_json::to_vec_pretty(published).map_err(io::Error::other);
        write_whole(&path, &text.map_err(io_error("write", &path))?)
    }

    /// Removes a file that is as it was published, and the folders that are empty without it.
    fn remove_stale(&self, name: &str, known: &BTreeSet<String>) -> Result<(), FolderError> {
        let path = self.inside(name)?;
        // What cannot be read is not known to be ours, and stays.
        if let Ok(Some(digest)) = digest_of(&path)
            && known.contains(&digest)
        {
            fs::remove_file(&path).map_err(io_error("remove", &path))?;
        }
        let inner = path.ancestors().skip(1).take_while(|folder| *folder != self.root);
        for folder in inner {
            // Refused for a folder that holds something, which then stays.
            let _ = fs::remove_dir(folder);
        }
        Ok(())
    }

    /// Moves what is in the place of a folder on the way to `path` aside.
    fn clear_parents(&self, path: &Path) -> Result<Option<PathBuf>, FolderError> {
        path.ancestors()
            .skip(1)
            .take_while(|folder| *folder != self.root)
            .find(|folder| folder.symlink_metadata().is_ok_and(|found| !found.is_dir()))
            .map(move_aside)
            .transpose()
    }

    fn inside(&self, name: &str) -> Result<PathBuf, FolderError> {
        let path = Path::new(name);
        if !name.is_empty() && path.components().all(|part| matches!(part, Component::Normal(_))) {
            return Ok(self.root.join(path));
        }
        Err(FolderError::Outside {
            path: path.to_owned(),
        })
    }
}

/// The folder with the state of one revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevisionFolder {
    root: PathBuf,
}

impl RevisionFolder {
    /// The revision that a task began last in the folder of its results, without locking it: what it has recorded stays as it
    /// is. `None` where there is none.
    pub fn latest(results: &Path) -> Result<Option<Self>, FolderError> {
        let state = Self {
            root: results.join(REVISIONS),
        };
        let Some(name) = state.read(LATEST)? else {
            return Ok(None);
        };
        let name = String::from_utf8_lossy(&name).into_owned();
        // Somebody else may have changed it: a name with a slash would lead out of the folder.
        let is_name = name.bytes().all(|byte| byte.is_ascii_hexdigit()) && !name.is_empty();
        Ok(is_name.then(|| Self {
            root: state.root.join(name),
        }))
    }

    /// The folder itself.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where the record of its calls and documents lies.
    #[must_use]
    pub fn record(&self) -> PathBuf {
        self.root.join(RECORD)
    }

    /// Outputs that are too large for the record, until they are published.
    #[must_use]
    pub fn stored(&self) -> StoredFiles {
        StoredFiles::of(self.root.join(STORED))
    }

    /// A frozen sample or input.
    #[must_use]
    pub fn input(&self, file_name: &str) -> PathBuf {
        self.root.join(INPUTS).join(file_name)
    }

    /// The frozen acceptance tests.
    #[must_use]
    pub fn acceptance(&self, file_name: &str) -> PathBuf {
        self.root.join(ACCEPTANCE).join(file_name)
    }

    /// A file of the revision's state, `None` when it was never written.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>, FolderError> {
        let path = self.root.join(name);
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io_error("read", &path)(error)),
        }
    }

    /// Writes a file of the revision's state, whole or not at all.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), FolderError> {
        write_whole(&self.root.join(name), bytes)
    }
}

fn revision_name(decisive_hash: &str) -> String {
    decisive_hash.chars().take(REVISION_NAME_DIGITS).collect()
}

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FolderError + use<> {
    let path = path.to_owned();
    move |source| FolderError::Io { action, path, source }
}

/// Creates a folder and those that it lies in, where they are missing.
pub fn create(path: &Path) -> Result<(), FolderError> {
    fs::create_dir_all(path).map_err(|error| match path.ancestors().find(|part| part.exists()) {
        Some(part) if !part.is_dir() => FolderError::IsFile {
            path: part.to_owned(),
        },
        _ => io_error("create", path)(error),
    })
}

/// A folder of results may be somebody else's: no link in it is followed by a write.
fn refuse_link(path: &Path) -> Result<(), FolderError> {
    let is_link = path
        .symlink_metadata()
        .is_ok_and(|found| found.file_type().is_symlink());
    if is_link {
        return Err(FolderError::Link {
            path: path.to_owned(),
        });
    }
    Ok(())
}

fn remove_folder(path: &Path) -> Result<(), FolderError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Writes beside the target and renames: a full disk or a kill leaves what was there. What a power cut takes, the same
/// command writes again from the record.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), FolderError> {
    write_whole_with(path, bytes, 0o600)
}

/// For nobody else, as all results; a script may be run.
fn mode_of(name: &str) -> u32 {
    let is_script = Path::new(name).extension().is_some_and(|end| end == "sh");
    if is_script { 0o700 } else { 0o600 }
}

/// As `write_whole`, with the permissions of `mode` that the user's umask leaves.
pub(super) fn write_whole_with(path: &Path, bytes: &[u8], mode: u32) -> Result<(), FolderError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    create(folder)?;
    let write = || -> io::Result<()> {
        // In the same folder, for a rename is atomic on one file system only.
        let mut file = tempfile::Builder::new()
            .prefix(".writing-")
            .permissions(fs::Permissions::from_mode(mode))
            .tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(io_error("write", path))
}

/// `None` when there is nothing; empty, which is no digest, for a folder.
fn digest_of(path: &Path) -> Result<Option<String>, FolderError> {
    match File::open(path).and_then(|mut file| sha256_of(&mut file)) {
        Ok(sha256) => Ok(Some(sha256)),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(None),
            io::ErrorKind::IsADirectory => Ok(Some(String::new())),
            _ => Err(io_error("read", path)(error)),
        },
    }
}

/// Gives what belongs to the user another name beside its own.
fn move_aside(path: &Path) -> Result<PathBuf, FolderError> {
    let free = free_name(path, "yours");
    fs::rename(path, &free).map_err(io_error("move", path))?;
    Ok(free)
}

/// The first of `path.<word>-1`, `path.<word>-2`, ... that is free.
fn free_name(path: &Path, word: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    (1_u32..=u32::MAX)
        .map(|number| path.with_file_name(format!("{name}.{word}-{number}")))
        .find(|path| !path.exists())
        .unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests;
