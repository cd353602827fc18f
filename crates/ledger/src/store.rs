//! Store of a run: one progress that is replaced, and named objects that never are.

use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use codegen_core::progress::{State, UnreadableState};

/// Storage of one run.
///
/// When a future of `save` or `create` completes, what it wrote survives the end of this process.
pub trait Store: Send + Sync {
    /// Progress that it stores.
    type Progress: State;

    /// The progress that was saved last. [`StoreError::State`] where there is one that cannot be gone on from.
    fn load(&self) -> impl Future<Output = Result<Option<Self::Progress>, StoreError>> + Send;

    /// Replaces the progress: afterwards it is the old one or the new one, never part of one.
    fn save(&self, progress: &Self::Progress) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Creates the object `name` (`calls/0003-code.json`) or leaves the one that is there as it is.
    fn create(&self, name: &str, bytes: &[u8]) -> impl Future<Output = Result<Created, StoreError>> + Send;

    /// Buffers an object whose predecessor could not be written; it is written when it is read. Only for stores that live on
    /// in memory after a failure.
    fn buffer(&self, _name: &str, _bytes: &[u8]) {}

    /// The object `name`, if there is one.
    fn read(&self, name: &str) -> impl Future<Output = Result<Option<Vec<u8>>, StoreError>> + Send;
}

/// Outcome of `create`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Created {
    /// Nothing: the object is new.
    New,
    /// An object, which is still there: its bytes.
    Existed(Vec<u8>),
}

/// Returns the remedy for a damaged object of which there is no backup. What an agent did is replayed from all of its records.
fn without_backup(name: &str) -> &'static str {
    let records = ["documents/step-", "documents/solution-s", "documents/tests-s"];
    let is_of_agent = name.ends_with("-turn.json") || records.iter().any(|record| name.starts_with(record));
    if is_of_agent {
        "begin the task anew, with another output folder or under another name: an agent's session is replayed from all of its records"
    } else {
        "remove it alone and run again: what it held is then made anew"
    }
}

/// A storage operation that failed.
#[derive(Debug, Error)]
pub enum StoreError {
    /// No room.
    #[error(
        "the disk is full: {} could not be written; what was recorded before is kept, \
         so free some space and run the same command again",
        .path.display()
    )]
    Full {
        /// File that was written.
        path: PathBuf,
    },
    /// No permission.
    #[error("no permission for {}; run as the user who owns it, or choose another folder", .path.display())]
    Denied {
        /// File or folder.
        path: PathBuf,
    },
    /// Any other fault of the file system.
    #[error("failed to {action} {}", .path.display())]
    Io {
        /// Operation that was tried (`write`).
        action: &'static str,
        /// File or folder.
        path: PathBuf,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
    /// An object whose bytes are not those that were written.
    #[error(
        "`{name}` is damaged: {detail}; restore it from a backup, or {}",
        without_backup(name)
    )]
    Damaged {
        /// Name of the object.
        name: String,
        /// Damage that was found.
        detail: String,
    },
    /// The progress of another version, or a damaged one.
    #[error(transparent)]
    State(#[from] UnreadableState),
    /// The API server did not do it.
    #[error("failed to {action}")]
    Remote {
        /// Operation that was tried, and its object.
        action: String,
        /// Error that it ended with.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Somebody else wrote the progress in the meantime.
    #[error("{object} changed while it was worked on; its new state is read and worked on instead")]
    Conflict {
        /// Object that changed.
        object: String,
    },
    /// A name that no object may have.
    #[error(
        "`{name}` cannot be the name of an object: use letters, digits, `.`, `_`, `-`, and `/` between parts"
    )]
    InvalidName {
        /// The name.
        name: String,
    },
    /// The injected end of a [`super::MemoryStore`].
    #[error("the store stopped at write {write}, as it was told to")]
    Stopped {
        /// The write at which it stopped, counted from 1.
        write: usize,
    },
}

impl StoreError {
    /// The error for what the system said about `path`.
    #[must_use]
    pub fn from_io(action: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full { path },
            io::ErrorKind::PermissionDenied => Self::Denied { path },
            _ => Self::Io { action, path, source },
        }
    }
}

/// Refuses names that could leave the store's folder or meet its own files, which begin with a dot.
pub(super) fn check_name(name: &str) -> Result<(), StoreError> {
    let allowed = |character: char| character.is_ascii_alphanumeric() || "._-".contains(character);
    let valid = name
        .split('/')
        .all(|part| !part.is_empty() && !part.starts_with('.') && part.chars().all(allowed));
    if valid {
        Ok(())
    } else {
        Err(StoreError::InvalidName {
            name: name.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_inside_the_store() {
        for name in ["calls/0003-code.json", "artifacts/solution-2.py", "plan"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        for name in [
            "",
            "/etc/passwd",
            "../x",
            "a/../b",
            "a//b",
            "a/",
            ".progress",
            "a\\b",
            "a b",
            "ä",
        ] {
            assert!(
                matches!(check_name(name), Err(StoreError::InvalidName { .. })),
                "{name}"
            );
        }
    }

    #[test]
    fn a_full_disk_and_a_missing_permission_say_what_to_do() {
        let path = Path::new("run/calls/0001-plan.json");
        let full = StoreError::from_io("write", path, io::Error::from_raw_os_error(28));
        assert_eq!(
            full.to_string(),
            "the disk is full: run/calls/0001-plan.json could not be written; what was recorded before is kept, \
             so free some space and run the same command again"
        );
        let denied = StoreError::from_io("write", path, io::Error::from_raw_os_error(13));
        assert!(matches!(denied, StoreError::Denied { .. }), "{denied}");
        let other = StoreError::from_io("write", path, io::Error::from_raw_os_error(5));
        assert!(matches!(other, StoreError::Io { .. }), "{other}");
    }
}
