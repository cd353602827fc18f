//! Errors: why the program of a finished task could not be run, and the exit code that follows.

use std::path::PathBuf;

use thiserror::Error;

use crate::local::credentials::CredentialError;
use crate::local::folder::FolderError;
use crate::local::freeze::FreezeError;
use codegen_core::causes::with_causes;
use codegen_core::run::{InputFault, RunFault};
use codegen_data::DataError;
use codegen_ledger::StoreError;
use codegen_sandbox::SandboxError;

/// A program that could not be run. One that ran and failed is no error.
#[derive(Debug, Error)]
pub enum LocalRunError {
    /// No task has left anything in the folder.
    #[error(
        "{folder} holds no finished task: write its program first with kubectl-codegen local, or name the folder of its results",
        folder = .folder.display()
    )]
    NoTask {
        /// The folder.
        folder: PathBuf,
    },
    /// The task has not succeeded.
    #[error(
        "the task in {folder} has not succeeded, it is in stage {stage}: a program runs once its tests have passed; go on with kubectl-codegen local",
        folder = .folder.display()
    )]
    NotSucceeded {
        /// The folder.
        folder: PathBuf,
        /// Stage that it has reached.
        stage: String,
    },
    /// Damage: what the task left cannot be read.
    #[error("what the task left in {folder} cannot be read: {why}; run the task again with kubectl-codegen local --fresh", folder = .folder.display())]
    Damaged {
        /// The folder.
        folder: PathBuf,
        /// Description of the fault.
        why: String,
    },
    /// The inputs or settings are wrong.
    #[error("{}", .0.iter().map(fault_text).collect::<Vec<_>>().join("\n"))]
    Faults(Vec<RunFault>),
    /// A file cannot be had.
    #[error(transparent)]
    Freeze(#[from] FreezeError),
    /// Standard input was asked for twice.
    #[error("{first} and {second} both read standard input with @-: give one of them as a file")]
    StdinTwice {
        /// One input.
        first: String,
        /// The other one.
        second: String,
    },
    /// Standard input cannot be read.
    #[error("input {name}: cannot read standard input: {source}")]
    Stdin {
        /// The input.
        name: String,
        /// Cause of the failure.
        source: std::io::Error,
    },
    /// A secret cannot be had.
    #[error(transparent)]
    Credential(#[from] CredentialError),
    /// A folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A folder for an output holds something already.
    #[error("{folder} is not empty, and the output {output} is a folder of its own: remove it, or give another --output-dir", folder = .folder.display())]
    NotEmpty {
        /// The output.
        output: String,
        /// The folder.
        folder: PathBuf,
    },
    /// Another run writes to the same folder.
    #[error("{folder} is in use, another run writes its outputs there: wait for it, stop it, or give another --output-dir", folder = .folder.display())]
    InUse {
        /// The folder.
        folder: PathBuf,
    },
    /// A folder for the results of many files holds something else.
    #[error("{folder} holds files, and no items.jsonl of an earlier command with --for-each: give a folder that is empty or new with --output-dir", folder = .folder.display())]
    NotOfItems {
        /// The folder.
        folder: PathBuf,
    },
    /// A pattern names no file.
    #[error("--for-each {input}={pattern}: {why}; correct the pattern")]
    Pattern {
        /// The input.
        input: String,
        /// The pattern.
        pattern: String,
        /// Description of the fault.
        why: String,
    },
    /// There is no room for the files that a run reads.
    #[error("cannot make a folder for temporary files: {0}; set TMPDIR to one that can be written")]
    NoTemporaryFolder(std::io::Error),
    /// The sandbox refuses.
    #[error("{}", with_causes(.0))]
    Sandbox(#[from] SandboxError),
    /// Data cannot be checked.
    #[error(transparent)]
    Data(#[from] DataError),
    /// Something of this machine failed.
    #[error("{0}")]
    Stopped(String),
}

/// A fault, with how a command line says what is wanted.
fn fault_text(fault: &RunFault) -> String {
    match fault {
        RunFault::Input(InputFault::NoContent { text, .. }) => format!("{fault}, as @{text}"),
        fault => fault.to_string(),
    }
}

impl LocalRunError {
    /// Returns the messages, one for each fault.
    #[must_use]
    pub fn messages(&self) -> Vec<String> {
        match self {
            Self::Faults(faults) => faults.iter().map(fault_text).collect(),
            error => vec![error.to_string()],
        }
    }

    /// The exit code of the command.
    #[must_use]
    pub const fn exit_code(&self) -> i32 {
        match self {
            Self::Sandbox(SandboxError::IsolationUnavailable { .. }) => 3,
            Self::NoTask { .. }
            | Self::NotSucceeded { .. }
            | Self::Faults(_)
            | Self::Freeze(_)
            | Self::StdinTwice { .. }
            | Self::Stdin { .. }
            | Self::Credential(_)
            | Self::Folder(_)
            | Self::NotEmpty { .. }
            | Self::InUse { .. }
            | Self::NotOfItems { .. }
            | Self::Pattern { .. }
            | Self::Sandbox(SandboxError::NetworkList) => 2,
            Self::Damaged { .. }
            | Self::NoTemporaryFolder(_)
            | Self::Sandbox(_)
            | Self::Data(_)
            | Self::Stopped(_) => 1,
        }
    }

    /// Reports whether it is about the inputs or the sandbox of one run, so that other runs may fare better.
    pub(super) const fn is_of_one_run(&self) -> bool {
        match self {
            Self::Faults(_) | Self::Data(_) => true,
            Self::Freeze(error) => !matches!(error, FreezeError::Write { .. }),
            Self::Sandbox(error) => matches!(
                error,
                SandboxError::Input { .. } | SandboxError::NoReport(_) | SandboxError::Lost { .. }
            ),
            _ => false,
        }
    }

    /// Returns the error about what the record of a task could not give.
    pub(super) fn damaged(folder: &std::path::Path, why: impl std::fmt::Display) -> Self {
        Self::Damaged {
            folder: folder.to_owned(),
            why: why.to_string(),
        }
    }

    /// Returns a converter of errors about what the task's store could not give.
    pub(super) fn stored(folder: &std::path::Path) -> impl Fn(StoreError) -> Self + use<> {
        let folder = folder.to_owned();
        move |error| Self::damaged(&folder, with_causes(&error))
    }
}
