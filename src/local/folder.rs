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
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use thiserror::Error;

use super::freeze::{ACCEPTANCE, INPUTS};
use super::large::LargeResults;
use super::lock::{FolderLock, LockError};
use super::on_disk::StoredFiles;
use super::trust::{Trust, foreign_notice};
use codegen_core::digest::{sha256_hex, sha256_of};
use codegen_core::progress::State;
use codegen_core::task::{FrozenFile, Task};
use codegen_ledger::{FolderStore, Key, KeyError, Seals, StoreError, digest_below, read_below, refuse_links};

/// Folder for results when `--output` says nothing, relative to the working folder.
pub const DEFAULT_OUTPUT: &str = "codegen-out";
/// Name of the folder with the state of revisions.
pub const REVISIONS: &str = ".runs";
/// Hex digits of the decisive hash that name a revision.
const REVISION_NAME_DIGITS: usize = 12;

/// Says which revision is the latest, by the name of its folder.
const LATEST: &str = "latest";
/// The resolved task of a revision, in the folder of the revision.
pub const TASK: &str = "task.json";
/// The frozen question of `ask`, in the folder of its state.
pub const QUESTION: &str = "question.json";
/// Progress, calls and documents of a revision, in its folder.
const RECORD: &str = "record";
/// The runs of programs that a question has made, in the folder of its state.
pub const CALLS: &str = "calls";
/// Digests of what was published.
const PUBLISHED: &str = "published.json";
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
        /// Path of the file or folder.
        path: PathBuf,
        /// Cause of the failure.
        source: io::Error,
    },
    /// A result's path would leave the folder.
    #[error("refused to write {path}: it leaves the output folder", path = path.display())]
    Outside {
        /// The path.
        path: PathBuf,
    },
    /// Link at a path that is written to.
    #[error("refused to write to {path}: it is a link, which may lead anywhere; remove it, or choose another folder with --output", path = path.display())]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// Its records are not this user's, and nobody has said that they are gone by.
    #[error("{}; look at them, then repeat with --trust", foreign_notice(results, *key_is_new))]
    Foreign {
        /// The folder of results.
        results: PathBuf,
        /// True where the user had no key before.
        key_is_new: bool,
    },
    /// One of this user's records is not as it was written.
    #[error("{path} is damaged: its seal does not match; restore it from a backup, or begin anew with --fresh", path = path.display())]
    Damaged {
        /// The record.
        path: PathBuf,
    },
    /// The user's key cannot be had.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A name in a record leads out of the folder that it is joined to.
    #[error("refused {name:?}, which {path} has as the name of a file, an input or an output: it leaves its folder", path = path.display())]
    Name {
        /// The name.
        name: String,
        /// The record.
        path: PathBuf,
    },
    /// A frozen input has other bytes than its record says.
    #[error("{path} is not what the task ran with: it was changed since; run the task again with kubectl-codegen local --fresh, or give the file with --input", path = path.display())]
    Changed {
        /// The input.
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
    key: Key,
    key_is_new: bool,
    /// The revision that this command goes by although it was made elsewhere.
    trusted: Option<String>,
    _lock: FolderLock,
}

impl TaskFolder {
    /// Creates the folder where it is missing and locks it; `command` is named to whoever finds it locked.
    pub fn open(root: &Path, command: &str) -> Result<Self, FolderError> {
        let state = root.join(REVISIONS);
        // Before anything is created: a link in the folder of somebody else would lead the writes away. Who names another folder means it.
        if root.starts_with(DEFAULT_OUTPUT) {
            root.ancestors().try_for_each(refuse_link)?;
        }
        refuse_link(&state)?;
        create(&state)?;
        // The lock is opened for writing.
        refuse_link(&state.join("lock"))?;
        let (key, key_is_new) = Key::find_or_create()?;
        let lock = FolderLock::take(root, &state, command, &of_state(&key))?;
        // The state holds rows of the user's data: for nobody else, and in no repository.
        fs::set_permissions(&state, fs::Permissions::from_mode(0o700))
            .map_err(io_error("protect", &state))?;
        write_whole(&state.join(".gitignore"), b"*\n")?;
        if root.starts_with(DEFAULT_OUTPUT) {
            // A folder that cannot be written may hold one that can.
            let _ = ignore(Path::new(DEFAULT_OUTPUT));
        }
        Ok(Self {
            root: root.to_owned(),
            key,
            key_is_new,
            trusted: None,
            _lock: lock,
        })
    }

    /// Sees to it that what is recorded of a revision is this user's, or gone by for this command: then nothing that is written to it is
    /// sealed, so that it stays what it is.
    pub async fn check_origin(&mut self, decisive_hash: &str, trust: &Trust) -> Result<(), FolderError> {
        match self.existing(decisive_hash) {
            Err(FolderError::Foreign { .. }) if trust.allows(&self.root).await => {
                self.trusted = Some(revision_name(decisive_hash));
                Ok(())
            }
            found => found.map(drop),
        }
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
        let there = self.existing(decisive_hash)?;
        let name = revision_name(decisive_hash);
        let new = || RevisionFolder {
            root: self.revision_path(decisive_hash),
            seals: Seals::new(&self.key, &name),
        };
        let revision = there.unwrap_or_else(new);
        let root = &revision.root;
        create(root)?;
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
        self.write_state(LATEST, name.as_bytes())?;
        Ok(revision)
    }

    /// The revision of a decisive hash, where an earlier command of this user has created it, or [`Self::check_origin`] has let it pass.
    pub fn existing(&self, decisive_hash: &str) -> Result<Option<RevisionFolder>, FolderError> {
        let root = self.revision_path(decisive_hash);
        if root.symlink_metadata().is_err() {
            return Ok(None);
        }
        let revision = RevisionFolder::at(root, Some(&self.key))?;
        if revision.is_foreign() && self.trusted != Some(revision_name(decisive_hash)) {
            return Err(FolderError::Foreign {
                results: self.root.clone(),
                key_is_new: self.key_is_new,
            });
        }
        Ok(Some(revision))
    }

    /// Moves the revision of a decisive hash aside, so that it starts over. Gives its new place, `None` when there is none.
    pub fn set_aside(&self, decisive_hash: &str) -> Result<Option<PathBuf>, FolderError> {
        let path = self.revision_path(decisive_hash);
        if path.symlink_metadata().is_err() {
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

    /// Nothing is known to be published by what somebody else has written.
    fn published(&self) -> Published {
        let read = read_below(&self.root.join(REVISIONS), Path::new(PUBLISHED));
        let opened = read
            .ok()
            .flatten()
            .and_then(|bytes| of_state(&self.key).open(PUBLISHED, bytes));
        opened
            .and_then(|text| serde_json::from_slice(&text).ok())
            .unwrap_or_default()
    }

    fn record(&self, published: &Published) -> Result<(), FolderError> {
        let text = serde_json::to_vec_pretty(published).map_err(io::Error::other);
        let text = text.map_err(io_error("write", &self.root.join(REVISIONS).join(PUBLISHED)))?;
        self.write_state(PUBLISHED, &text)
    }

    fn write_state(&self, name: &str, bytes: &[u8]) -> Result<(), FolderError> {
        write_record(&self.root.join(REVISIONS), name, bytes, &of_state(&self.key))
    }

    /// Removes a file that is as it was published, and the folders that are empty without it.
    fn remove_stale(&self, name: &str, known: &BTreeSet<String>) -> Result<(), FolderError> {
        let path = self.inside(name)?;
        // What cannot be read is not known to be ours, and stays; so does what a link in the place of a folder leads to.
        if self.blocking_parent(&path).is_none()
            && let Ok(Some(digest)) = digest_of(&path)
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
        self.blocking_parent(path).map(move_aside).transpose()
    }

    /// Finds the file or link in the place of a folder on the way to `path`.
    fn blocking_parent<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        path.ancestors()
            .skip(1)
            .take_while(|folder| *folder != self.root)
            .find(|folder| folder.symlink_metadata().is_ok_and(|found| !found.is_dir()))
    }

    fn inside(&self, name: &str) -> Result<PathBuf, FolderError> {
        inside(&self.root, name)
    }
}

/// Returns the path of a file or folder below `folder`; whoever names it may not have meant well.
pub(super) fn inside(folder: &Path, name: &str) -> Result<PathBuf, FolderError> {
    let path = Path::new(name);
    if !name.is_empty() && path.components().all(|part| matches!(part, Component::Normal(_))) {
        return Ok(folder.join(path));
    }
    Err(FolderError::Outside {
        path: path.to_owned(),
    })
}

/// The folder with the state of one revision.
#[derive(Clone, Debug)]
pub struct RevisionFolder {
    root: PathBuf,
    seals: Seals,
}

impl RevisionFolder {
    /// The revision that a task began last in the folder of its results, without locking it: what it has recorded stays as it
    /// is. `None` where there is none. One that [was made elsewhere](Self::is_foreign) is data.
    pub fn latest(results: &Path) -> Result<Option<Self>, FolderError> {
        let state = results.join(REVISIONS);
        refuse_link(&state)?;
        let path = state.join(LATEST);
        let Some(bytes) = read_below(&state, Path::new(LATEST))
            .or_else(absent)
            .map_err(io_error("read", &path))?
        else {
            return Ok(None);
        };
        let key = Key::find()?;
        let own = key
            .as_ref()
            .and_then(|key| of_state(key).open(LATEST, bytes.clone()));
        let key = key.filter(|_| own.is_some());
        let name = own
            .or_else(|| Seals::unverified().open(LATEST, bytes))
            .unwrap_or_default();
        let name = String::from_utf8_lossy(&name).into_owned();
        // Somebody else may have written it: a name with a slash would lead out of the folder.
        let is_name = name.bytes().all(|byte| byte.is_ascii_hexdigit()) && !name.is_empty();
        let root = is_name
            .then(|| state.join(name))
            .filter(|root| root.symlink_metadata().is_ok());
        root.map(|root| Self::at(root, key.as_ref())).transpose()
    }

    /// The revision in a folder that is there: this user's where what it is of has the seal of `key`, else somebody's. No link in it is
    /// let pass.
    fn at(root: PathBuf, key: Option<&Key>) -> Result<Self, FolderError> {
        refuse_links(&root).map_err(io_error("use", &root))?;
        let name = root
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let seals = key.map_or_else(Seals::unverified, |key| Seals::new(key, &name));
        let mut is_recorded = [RECORD, CALLS].iter().any(|part| root.join(part).exists());
        for name in [TASK, QUESTION] {
            let path = root.join(name);
            let Some(bytes) = read_below(&root, Path::new(name)).map_err(io_error("read", &path))? else {
                continue;
            };
            if seals.open(name, bytes).is_none() {
                return Ok(Self {
                    root,
                    seals: Seals::unverified(),
                });
            }
            is_recorded = false;
        }
        // What nobody says what it is of is nobody's; a kill leaves that before there is anything to believe.
        let seals = if is_recorded { Seals::unverified() } else { seals };
        Ok(Self { root, seals })
    }

    /// True where nothing shows that it is this user's: then it is data, until somebody says that it is gone by.
    #[must_use]
    pub const fn is_foreign(&self) -> bool {
        self.seals.is_unverified()
    }

    /// The seals of its records.
    #[must_use]
    pub const fn seals(&self) -> &Seals {
        &self.seals
    }

    /// The folder itself.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The record of its calls and documents, created where it is missing.
    pub fn store<P: State>(&self) -> Result<FolderStore<P>, StoreError> {
        FolderStore::open(&self.record(), self.seals.clone())
    }

    /// The same as it is, to read from.
    #[must_use]
    pub fn existing_store<P: State>(&self) -> FolderStore<P> {
        FolderStore::existing(&self.record(), self.seals.clone())
    }

    /// The folder of that.
    #[must_use]
    pub fn record(&self) -> PathBuf {
        self.root.join(RECORD)
    }

    /// Outputs that are too large for the record, until they are published.
    #[must_use]
    pub fn stored(&self) -> StoredFiles {
        StoredFiles::of(self.root.join(STORED))
    }

    /// The task that it is of, `None` when that was never written. No name in it leads out of a folder: it may be somebody else's.
    pub fn task(&self) -> Result<Option<Task>, FolderError> {
        let Some(bytes) = self.read(TASK)? else {
            return Ok(None);
        };
        let path = self.root.join(TASK);
        let task: Task =
            serde_json::from_slice(&bytes).map_err(|error| io_error("read", &path)(error.into()))?;
        match task.outside_name() {
            None => Ok(Some(task)),
            Some(name) => Err(FolderError::Name {
                name: name.to_owned(),
                path,
            }),
        }
    }

    /// A frozen sample or input.
    #[must_use]
    pub fn input(&self, file_name: &str) -> PathBuf {
        self.root.join(INPUTS).join(file_name)
    }

    /// Refuses a frozen sample or input that is not what the task recorded of it.
    pub fn check_input(&self, file: &FrozenFile) -> Result<(), FolderError> {
        let path = self.input(&file.file_name);
        let found = digest_below(&self.root, &Path::new(INPUTS).join(&file.file_name), file.is_dir);
        if found.map_err(io_error("read", &path))? == file.sha256 {
            return Ok(());
        }
        Err(FolderError::Changed { path })
    }

    /// The frozen acceptance tests.
    #[must_use]
    pub fn acceptance(&self, file_name: &str) -> PathBuf {
        self.root.join(ACCEPTANCE).join(file_name)
    }

    /// A file of the revision's state, `None` when it was never written.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>, FolderError> {
        let path = self.root.join(name);
        let bytes = read_below(&self.root, Path::new(name)).map_err(io_error("read", &path))?;
        let opened = bytes.map(|bytes| self.seals.open(name, bytes).ok_or(FolderError::Damaged { path }));
        opened.transpose()
    }

    /// Writes a file of the revision's state, whole or not at all.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), FolderError> {
        write_record(&self.root, name, bytes, &self.seals)
    }
}

/// The seals of records that are of the folder of results, and of no revision.
fn of_state(key: &Key) -> Seals {
    Seals::new(key, REVISIONS)
}

/// Nothing where there is no folder.
fn absent(error: io::Error) -> io::Result<Option<Vec<u8>>> {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(None),
        _ => Err(error),
    }
}

/// Writes a record as [`write_whole`] does, sealed, and so that a power cut takes no part of it: one that is torn would not be the user's.
fn write_record(folder: &Path, name: &str, bytes: &[u8], seals: &Seals) -> Result<(), FolderError> {
    write_synced(&folder.join(name), &seals.seal(name, bytes), 0o600, true)
}

fn revision_name(decisive_hash: &str) -> String {
    decisive_hash.chars().take(REVISION_NAME_DIGITS).collect()
}

/// Returns the error about what the operating system refuses.
pub(super) fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FolderError + use<> {
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

/// Leaves what is in a folder out of repositories, unless the user has said something else there.
fn ignore(folder: &Path) -> Result<(), FolderError> {
    let file = folder.join(".gitignore");
    if file.symlink_metadata().is_ok() {
        return Ok(());
    }
    write_whole(&file, b"*\n")
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
    write_synced(path, bytes, mode, false)
}

/// Copies a file as `write_whole_with` writes one.
pub(super) fn copy_whole(from: &Path, path: &Path, mode: u32) -> Result<(), FolderError> {
    let mut source = File::open(from).map_err(io_error("read", from))?;
    write_from(path, &mut source, mode, false)
}

fn write_synced(path: &Path, bytes: &[u8], mode: u32, is_synced: bool) -> Result<(), FolderError> {
    write_from(path, &mut &*bytes, mode, is_synced)
}

fn write_from(
    path: &Path,
    source: &mut impl io::Read,
    mode: u32,
    is_synced: bool,
) -> Result<(), FolderError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    create(folder)?;
    let mut write = || -> io::Result<()> {
        // In the same folder, for a rename is atomic on one file system only.
        let mut file = tempfile::Builder::new()
            .prefix(".writing-")
            .permissions(fs::Permissions::from_mode(mode))
            .tempfile_in(folder)?;
        io::copy(source, &mut file)?;
        if is_synced {
            file.as_file().sync_data()?;
        }
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(io_error("write", path))
}

/// `None` when there is nothing; empty, which is no digest, for a folder and whatever else is no file.
fn digest_of(path: &Path) -> Result<Option<String>, FolderError> {
    if path.symlink_metadata().is_ok_and(|found| !found.is_file()) {
        return Ok(Some(String::new()));
    }
    match File::open(path).and_then(|mut file| sha256_of(&mut file)) {
        Ok(sha256) => Ok(Some(sha256)),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(None),
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
