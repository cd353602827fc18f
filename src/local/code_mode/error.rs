//! Errors: why a question could not be asked, or not be followed to its end, and the exit code that follows.

use crate::local::commands::NotAllowed;
use crate::local::credentials::CredentialError;
use crate::local::error::TaskError;
use crate::local::folder::FolderError;
use crate::local::run::LocalRunError;
use codegen_api::validate::SpecFault;
use codegen_core::causes::with_causes;
use codegen_core::code_mode::{QuestionResolveError, UnresolvedTool};
use codegen_engine::EngineError;
use codegen_tools::ToolError;

/// A question that could not be asked, or not be followed to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AskError {
    /// Faulty request: what is asked, of whom, or what the manifests refer to has to be changed. Holds the whole message.
    #[error("{0}")]
    Request(String),
    /// The question is none that a cluster would take.
    #[error("{}", .0.iter().map(said).collect::<Vec<_>>().join("\n"))]
    Question(Vec<SpecFault>),
    /// A setting of the agent cannot be used.
    #[error("{0}")]
    Unresolved(#[from] QuestionResolveError),
    /// A tool's server is a program that nobody has allowed to be started.
    #[error(transparent)]
    Command(#[from] NotAllowed),
    /// Damage: what a task left cannot be used.
    #[error(transparent)]
    Program(Box<LocalRunError>),
    /// A tool cannot be used.
    #[error("{0}")]
    Tool(#[from] ToolError),
    /// The tools of a server cannot be used, or all of them not together.
    #[error("{0}")]
    Tools(#[from] UnresolvedTool),
    /// A Secret cannot be had.
    #[error(transparent)]
    Credential(Box<CredentialError>),
    /// No program can be run here.
    #[error("{0}")]
    NoInterpreter(String),
    /// Error that every local command may meet.
    #[error(transparent)]
    Local(Box<TaskError>),
}

impl AskError {
    /// The exit code of the command.
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::Local(error) => error.exit_code(),
            Self::Program(error) => error.exit_code(),
            Self::NoInterpreter(_) => 3,
            Self::Tool(error) if error.is_transient() => 1,
            _ => 2,
        }
    }
}

impl From<TaskError> for AskError {
    fn from(error: TaskError) -> Self {
        Self::Local(Box::new(error))
    }
}

impl From<CredentialError> for AskError {
    fn from(error: CredentialError) -> Self {
        Self::Credential(Box::new(error))
    }
}

impl From<FolderError> for AskError {
    fn from(error: FolderError) -> Self {
        TaskError::from(error).into()
    }
}

impl From<EngineError> for AskError {
    fn from(error: EngineError) -> Self {
        stopped(&error)
    }
}

/// Returns the error that ends a command whose record cannot be read or written.
pub(super) fn stopped(error: &(dyn std::error::Error + 'static)) -> AskError {
    TaskError::Stopped(with_causes(error)).into()
}

fn said(fault: &SpecFault) -> String {
    match fault.path.as_str() {
        "spec.message" => format!("the question: {}", fault.message),
        path => match path.strip_prefix("spec.") {
            Some(rest) if rest.starts_with("history") => format!("--history, {rest}: {}", fault.message),
            _ => fault.to_string(),
        },
    }
}
