//! Outputs of a rehearsal that are too large for its report: written to a disk, checked there, and kept in the revision's folder by what
//! they hold until they are published.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::process::{getegid, geteuid};
use tempfile::TempDir;

use codegen_core::run::program_end;
use codegen_core::sandbox::Job;
use codegen_core::stored_outputs::{FoundOutput, OutputsAsked, RunOnDisk};
use codegen_data::worker::WorkerClient;
use codegen_sandbox::{LocalSandbox, SandboxError};
use codegen_sources::reading::claim_outputs;

/// Outputs of a revision, a file or a folder each, by digest and name.
#[derive(Clone, Debug)]
pub struct StoredFiles {
    folder: PathBuf,
}

impl StoredFiles {
    /// Those in this folder, which is made when it is needed.
    pub const fn of(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Returns the path of the output of this name and digest, once it is there.
    pub fn place(&self, name: &str, sha256: &str) -> PathBuf {
        self.folder.join(format!("{sha256}.{name}"))
    }

    /// Runs a program that writes here, checks what it wrote, and keeps it. What an earlier execution left goes: nothing refers to it once
    /// this one is recorded.
    pub async fn run(
        &self,
        sandbox: &LocalSandbox,
        worker: &WorkerClient,
        image: &str,
        job: &Job,
        asked: &OutputsAsked,
    ) -> Result<RunOnDisk, SandboxError> {
        let folder = self.empty_folder().map_err(self.failed("create a folder in"))?;
        let report = sandbox.run_in(image, job, folder.path()).await?;
        let mut found = Vec::new();
        if program_end(&report).is_ok() {
            found = check(folder.path(), asked, worker).await?;
            self.keep(folder.path(), asked, &found)
                .map_err(self.failed("keep outputs in"))?;
        }
        Ok(RunOnDisk { report, found })
    }

    /// A new folder, with nothing beside it that a killed command has left.
    fn empty_folder(&self) -> io::Result<TempDir> {
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder)?;
        }
        fs::create_dir_all(&self.folder)?;
        fs::set_permissions(&self.folder, Permissions::from_mode(0o700))?;
        tempfile::Builder::new()
            .prefix("written-")
            .tempdir_in(&self.folder)
    }

    /// Keeps what is as the task declares it.
    fn keep(&self, written: &Path, asked: &OutputsAsked, found: &[FoundOutput]) -> io::Result<()> {
        for (output, found) in asked.outputs.iter().zip(found) {
            if let FoundOutput::Read { sha256, .. } = found {
                let path = written.join(&output.name);
                make_own(&path)?;
                fs::rename(&path, self.place(&output.name, sha256))?;
            }
        }
        Ok(())
    }

    fn failed(&self, action: &'static str) -> impl FnOnce(io::Error) -> SandboxError + use<> {
        SandboxError::io(action, &self.folder)
    }
}

/// Checks what lies at the outputs that the program wrote to `folder`.
pub async fn check(
    folder: &Path,
    asked: &OutputsAsked,
    worker: &WorkerClient,
) -> Result<Vec<FoundOutput>, SandboxError> {
    let found = claim_outputs::check(folder, asked, worker).await;
    found.map_err(|reason| SandboxError::Lost {
        child: "the check of the outputs".to_owned(),
        reason,
    })
}

/// Makes files that a sandbox wrote this user's own, and nobody else's to read: whatever modes the program gave them. Only files and
/// folders lie there, as their check has found, and nothing runs any more that could change it.
pub fn make_own(path: &Path) -> io::Result<()> {
    let is_dir = path.symlink_metadata()?.is_dir();
    if geteuid().is_root() {
        std::os::unix::fs::lchown(path, Some(geteuid().as_raw()), Some(getegid().as_raw()))?;
    }
    let mode = if is_dir { 0o700 } else { 0o600 };
    fs::set_permissions(path, Permissions::from_mode(mode))?;
    if is_dir {
        for entry in fs::read_dir(path)? {
            make_own(&entry?.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn files_of_a_sandbox_become_the_users_own_whatever_modes_they_had() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("pages/deep");
        fs::create_dir_all(&inner).unwrap();
        for (name, mode) in [("open", 0o4777), ("closed", 0o000)] {
            fs::write(inner.join(name), "x").unwrap();
            fs::set_permissions(inner.join(name), Permissions::from_mode(mode)).unwrap();
        }
        make_own(&folder.path().join("pages")).unwrap();
        for name in ["open", "closed"] {
            let metadata = fs::metadata(inner.join(name)).unwrap();
            assert_eq!(
                (metadata.mode() & 0o7777, metadata.uid()),
                (0o600, geteuid().as_raw())
            );
        }
        assert_eq!(fs::metadata(inner).unwrap().mode() & 0o7777, 0o700);
    }
}
