//! The folder of a task: written file by file, each whole, `kustomization.yaml` last.

use std::path::{Path, PathBuf};

use thiserror::Error;

use super::{Draft, FilePlace, KUSTOMIZATION, TASK};
use crate::local::folder::{FolderError, copy_whole, write_whole_with};

/// Permissions of the files, less what the umask takes: they are meant to be shared.
const MODE: u32 = 0o644;

/// A folder that cannot be written.
#[derive(Debug, Error)]
pub enum WriteError {
    /// Files lie there already.
    #[error(
        "{} there already: choose another folder with -o, or replace {} with --force",
        are_listed(.0), pronoun(.0)
    )]
    Present(Vec<PathBuf>),
    /// The operating system refuses.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

fn are_listed(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    let verb = if names.len() == 1 { "is" } else { "are" };
    format!("{} {verb}", names.join(", "))
}

const fn pronoun(paths: &[PathBuf]) -> &'static str {
    if paths.len() == 1 { "it" } else { "them" }
}

impl Draft {
    /// Refuses a folder in which something would be replaced.
    pub fn check_folder(&self, folder: &Path) -> Result<(), WriteError> {
        let data = self.files.iter().map(|file| file.file_name.as_str());
        let present: Vec<PathBuf> = data
            .chain([TASK, KUSTOMIZATION])
            .map(|name| folder.join(name))
            // A link that leads nowhere is there, too.
            .filter(|path| path.symlink_metadata().is_ok())
            .collect();
        if present.is_empty() {
            Ok(())
        } else {
            Err(WriteError::Present(present))
        }
    }

    /// Writes the folder; what lies in the place of its files is replaced.
    pub fn write(&self, folder: &Path) -> Result<(), WriteError> {
        for file in &self.files {
            let target = folder.join(&file.file_name);
            match &file.place {
                FilePlace::ConfigMap { bytes, .. } => write_whole_with(&target, bytes, MODE)?,
                FilePlace::Claim { source, .. } => copy_whole(source, &target, MODE)?,
            }
        }
        write_whole_with(&folder.join(TASK), self.task_yaml().as_bytes(), MODE)?;
        write_whole_with(
            &folder.join(KUSTOMIZATION),
            self.kustomization_yaml().as_bytes(),
            MODE,
        )?;
        Ok(())
    }
}
