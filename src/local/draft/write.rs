//! The folder of a task: written file by file, each whole, `kustomization.yaml` last.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::{DataFile, Draft, FilePlace, KUSTOMIZATION, TASK};
use crate::local::folder::{FolderError, copy_whole, write_whole_with};
use crate::local::manifest;
use crate::local::objects::Objects;
use codegen_core::digest::sha256_of;

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

fn digest(path: &Path) -> Option<String> {
    sha256_of(&mut File::open(path).ok()?).ok()
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
        // What an earlier command has written is what this one would write.
        let present = if self.is_in(folder) { Vec::new() } else { present };
        if present.is_empty() {
            Ok(())
        } else {
            Err(WriteError::Present(present))
        }
    }

    /// Reports whether the folder holds the very files of this task.
    fn is_in(&self, folder: &Path) -> bool {
        let is_same = |file: &DataFile| {
            let target = folder.join(&file.file_name);
            match &file.place {
                FilePlace::ConfigMap { bytes, .. } => fs::read(target).is_ok_and(|there| there == *bytes),
                FilePlace::Claim { source, .. } => {
                    digest(&target).is_some_and(|there| Some(there) == digest(source))
                }
            }
        };
        let holds =
            |name: &str, text: &str| fs::read(folder.join(name)).is_ok_and(|there| there == text.as_bytes());
        self.files.iter().all(is_same)
            && holds(TASK, &self.task_yaml())
            && holds(KUSTOMIZATION, &self.kustomization_yaml())
    }

    /// Takes the outputs that were proposed for this very task, where an earlier command has written it into the folder.
    pub fn take_outputs(&mut self, folder: &Path) {
        let read = fs::read_to_string(folder.join(TASK)).ok();
        let documents = read.and_then(|text| manifest::parse(TASK, &text).ok());
        let there = documents.and_then(|documents| Objects::collect(documents).ok());
        let Some(task) = there.and_then(|objects| objects.tasks.into_iter().next()) else {
            return;
        };
        let own = std::mem::replace(&mut self.task.spec.outputs, task.spec.outputs);
        if !self.is_in(folder) {
            self.task.spec.outputs = own;
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
