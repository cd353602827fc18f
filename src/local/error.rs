//! Errors: why a task could not be run to its end, and the exit code that follows.

use std::path::PathBuf;

use thiserror::Error;

use super::credentials::CredentialError;
use super::folder::FolderError;
use super::freeze::FreezeError;
use super::interrupt::INTERRUPTED;
use codegen_api::approval::Gate;
use codegen_core::causes::with_causes;
use codegen_core::task::ResolveError;
use codegen_data::DataError;
use codegen_engine::EngineError;
use codegen_sandbox::SandboxError;
use codegen_sources::SourceError;

/// A task that could not be run to its end.
#[derive(Debug, Error)]
pub enum TaskError {
    /// A source cannot be had.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A source cannot be frozen.
    #[error(transparent)]
    Freeze(#[from] FreezeError),
    /// A secret cannot be had.
    #[error(transparent)]
    Credential(#[from] CredentialError),
    /// The output folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The task names an agent that is not there.
    #[error(
        "spec.agentRef refers to CodeGenAgent {name}, which is not among the manifests{renamed}: add its document with -f, or write spec.model in the task"
    )]
    NoAgent {
        /// The agent.
        name: String,
        /// Name that kustomize made of it, in brackets, or nothing.
        renamed: String,
    },
    /// The task and its agent leave something open.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Unresolved(Vec<ResolveError>),
    /// The task asks for a sandbox that this machine does not have.
    #[error(transparent)]
    Sandbox(SandboxError),
    /// A sample cannot be described.
    #[error("sample {name}: {source}")]
    Sample {
        /// Its name.
        name: String,
        /// Reason of the refusal.
        source: DataError,
    },
    /// There is no room for a copy of the samples.
    #[error("cannot make a folder for temporary files: {0}; set TMPDIR to one that can be written")]
    NoTemporaryFolder(std::io::Error),
    /// This machine cannot run programs in isolation.
    #[error("{0}")]
    NoIsolation(String),
    /// The user stopped it.
    #[error("interrupted; the same command goes on from here, and no recorded reply is paid for again")]
    Interrupted,
    /// Somebody paused the task.
    #[error("spec.suspend is true: remove it, and the same command goes on")]
    Suspended,
    /// Nobody has decided at a gate.
    #[error(
        "it waits at the gate {0}: look at what is to be approved, then run the same command with --approve {0}, or at a terminal"
    )]
    Approval(Gate),
    /// The recorded replies cannot be read.
    #[error("--replay {}: {why}", .file.display())]
    Replay {
        /// The file.
        file: PathBuf,
        /// Reason of the refusal.
        why: String,
    },
    /// Refused retry: what was asked for cannot be tried again.
    #[error("--retry: {0}")]
    Retry(String),
    /// The acceptance tests can never pass.
    #[error("spec.acceptanceTests: {file} {why}")]
    AcceptanceTests {
        /// Its name.
        file: String,
        /// Reason of the refusal.
        why: String,
    },
    /// The model cannot be called with these settings.
    #[error("{0}")]
    Model(String),
    /// No proposal of outputs can be used.
    #[error(
        "{tries} replies that propose outputs could not be used, the last: {last} Name the outputs with --output"
    )]
    NoProposal {
        /// Number of replies.
        tries: usize,
        /// Description of the fault in the last one.
        last: String,
    },
    /// The record or the output folder fails while the task runs.
    #[error("{0}")]
    Stopped(String),
}

impl TaskError {
    /// Returns the messages, one for each fault.
    #[must_use]
    pub fn messages(&self) -> Vec<String> {
        match self {
            Self::Unresolved(faults) => faults.iter().map(ToString::to_string).collect(),
            error => vec![error.to_string()],
        }
    }

    /// The exit code of the command.
    #[must_use]
    pub const fn exit_code(&self) -> i32 {
        match self {
            Self::Source(_)
            | Self::Freeze(_)
            | Self::Credential(_)
            | Self::Folder(_)
            | Self::NoAgent { .. }
            | Self::Unresolved(_)
            | Self::Sandbox(_)
            | Self::Replay { .. }
            | Self::Retry(_)
            | Self::AcceptanceTests { .. }
            | Self::Model(_) => 2,
            Self::NoIsolation(_) => 3,
            Self::Interrupted => INTERRUPTED,
            Self::Sample { .. }
            | Self::NoTemporaryFolder(_)
            | Self::Suspended
            | Self::Approval(_)
            | Self::NoProposal { .. }
            | Self::Stopped(_) => 1,
        }
    }
}

/// Returns the error that ends a run whose record cannot be kept.
pub(super) fn stopped(error: impl Into<EngineError>) -> TaskError {
    let error: EngineError = error.into();
    TaskError::Stopped(with_causes(&error))
}
