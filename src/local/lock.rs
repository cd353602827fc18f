//! One run of a task folder at a time. The operating system holds the lock, so that one of a killed run is gone.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use codegen_ledger::{Seals, read_below};

/// The file that is locked, with who holds it.
const LOCK: &str = "lock";

/// Holder of a lock.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Process id.
    pub pid: u32,
    /// Name of the machine.
    pub host: String,
    /// Command that it runs (`kubectl-codegen local`, task `penguin-masses`).
    pub command: String,
    /// Since when.
    pub since: Timestamp,
}

/// A folder that cannot be locked.
#[derive(Debug, Error)]
pub enum LockError {
    /// Another run holds it.
    #[error("{folder} is in use: {}; wait for it, stop it, or choose another folder with --output", describe(.holder.as_deref()), folder = folder.display())]
    Held {
        /// The folder.
        folder: PathBuf,
        /// Holder of the lock, when it has said so.
        holder: Option<Box<Holder>>,
    },
    /// The operating system refuses.
    #[error("cannot lock {path}: {source}", path = path.display())]
    Io {
        /// The lock file.
        path: PathBuf,
        /// Cause of the failure.
        source: io::Error,
    },
}

fn describe(holder: Option<&Holder>) -> String {
    holder.map_or_else(
        || "another run holds it".to_owned(),
        |holder| {
            let Holder {
                pid,
                host,
                command,
                since,
            } = holder;
            format!("{command} (process {pid} on {host}) holds it since {since:.0}")
        },
    )
}

/// A held lock; dropping it lets go.
#[derive(Debug)]
pub struct FolderLock {
    _file: File,
}

impl FolderLock {
    /// Locks `folder` through the file `lock` in `state`, at once or not at all.
    pub fn take(folder: &Path, state: &Path, command: &str, seals: &Seals) -> Result<Self, LockError> {
        let path = state.join(LOCK);
        let io_error = |source| LockError::Io {
            path: path.clone(),
            source,
        };
        let mut file = OpenOptions::new()
            .create(true)
            .read(true)
            .write(true)
            .truncate(false)
            .open(&path)
            .map_err(io_error)?;
        // The system's lock, not the presence of the file: it ends with the process, however that ends.
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let sealed = read_below(state, Path::new(LOCK)).ok().flatten();
                let text = sealed.and_then(|sealed| seals.open(LOCK, sealed));
                let holder = text.and_then(|text| serde_json::from_slice(&text).ok());
                return Err(LockError::Held {
                    folder: folder.to_owned(),
                    holder,
                });
            }
            Err(TryLockError::Error(source)) => return Err(io_error(source)),
        }
        let holder = Holder {
            pid: std::process::id(),
            host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            command: command.to_owned(),
            since: Timestamp::now(),
        };
        let text = serde_json::to_vec(&holder)
            .map_err(io::Error::other)
            .map_err(io_error)?;
        // Only the holder of the lock writes, so that the text is about the holder.
        file.set_len(0)
            .and_then(|()| file.write_all(&seals.seal(LOCK, &text)))
            .map_err(io_error)?;
        Ok(Self { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn seals() -> Seals {
        Seals::of_user("state").unwrap()
    }

    #[test]
    fn the_second_process_learns_who_holds_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let _held = FolderLock::take(
            folder.path(),
            folder.path(),
            "kubectl-codegen local, task sum",
            &seals(),
        )
        .unwrap();
        let error = FolderLock::take(folder.path(), folder.path(), "second", &seals())
            .unwrap_err()
            .to_string();
        let pid = std::process::id();
        assert!(
            error.contains(&format!("kubectl-codegen local, task sum (process {pid} on ")),
            "{error}"
        );
        assert!(error.contains("--output"), "{error}");
    }

    #[test]
    fn a_lock_that_was_let_go_can_be_taken() {
        let folder = tempfile::tempdir().unwrap();
        drop(FolderLock::take(folder.path(), folder.path(), "a command that is longer", &seals()).unwrap());
        let _held = FolderLock::take(folder.path(), folder.path(), "b", &seals()).unwrap();
        let text = seals()
            .open(LOCK, fs::read(folder.path().join(LOCK)).unwrap())
            .unwrap();
        let holder: Holder = serde_json::from_slice(&text).unwrap();
        assert_eq!(holder.command, "b");
    }
}
