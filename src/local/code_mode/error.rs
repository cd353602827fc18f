//! Why a question could not be asked, or not be followed to its end, and the exit code that follows.

use crate::api::secret_use::SecretRefusal;
use crate::api::validate::Fault;
use crate::engine::code_mode::CodeModeError;
use crate::local::commands::NotAllowed;
use crate::local::credentials::CredentialError;
use crate::local::error::TaskError;
use crate::local::folder::FolderError;
use crate::local::run::LocalRunError;
use crate::pipeline::causes::with_causes;
use crate::pipeline::code_mode::{ResolveError, UnresolvedTool};
use crate::tools::ToolError;

/// A question that could not be asked, or not be followed to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AskError {
    /// No manifest is an agent.
    #[error("the manifests hold no CodeModeAgent: write one, with the tools that it may call")]
    NoAgent,
    /// None has that name.
    #[error("the manifests hold no CodeModeAgent named {name}: there is {}", .present.join(", "))]
    NoSuchAgent {
        /// The name asked for.
        name: String,
        /// Those that there are.
        present: Vec<String>,
    },
    /// There are several.
    #[error("the manifests hold several agents ({}): name one with --agent", .0.join(", "))]
    SeveralAgents(Vec<String>),
    /// Nothing is asked.
    #[error("nothing is asked: give a question, or a CodeModeRun among the manifests, whose message is one")]
    NoQuestion,
    /// Several things are asked.
    #[error("the manifests hold several questions ({}): give the one that is meant on the command line, or name their agent with --agent", .0.join(", "))]
    SeveralQuestions(Vec<String>),
    /// The question is none that a cluster would take.
    #[error("{}", .0.iter().map(said).collect::<Vec<_>>().join("\n"))]
    Question(Vec<Fault>),
    /// The question goes on with a run of a cluster.
    #[error(
        "CodeModeRun {run}: spec.continues names the run {continues}, which a cluster has: give its conversation with --history"
    )]
    Continues {
        /// The question.
        run: String,
        /// What it goes on with.
        continues: String,
    },
    /// The file of the conversation cannot be used.
    #[error("--history {file}: {why}")]
    History {
        /// The file.
        file: String,
        /// Why not.
        why: String,
    },
    /// The agent names a shared one that is not there.
    #[error(
        "spec.agentRef refers to CodeGenAgent {name}, which is not among the manifests{renamed}: add its document with -f, or write spec.model in the CodeModeAgent"
    )]
    NoSharedAgent {
        /// The agent.
        name: String,
        /// What kustomize made of the name, in brackets, or nothing.
        renamed: String,
    },
    /// A skill is not there.
    #[error("{field} refers to {what}: {remedy}")]
    NoSkill {
        /// The field.
        field: String,
        /// What is not there.
        what: String,
        /// What to do.
        remedy: String,
    },
    /// A setting of the agent cannot be used.
    #[error("{0}")]
    Unresolved(#[from] ResolveError),
    /// A tool only a cluster has.
    #[error(
        "programImage of tool `{tool}`: a published program runs in a cluster, and this command pulls no images; leave the tool out here"
    )]
    ProgramImage {
        /// The tool.
        tool: String,
    },
    /// A tool's server is a program that nobody has allowed to be started.
    #[error(transparent)]
    Command(#[from] NotAllowed),
    /// A tool names a task that is not there.
    #[error(
        "taskRef of tool `{tool}` refers to CodeGenTask {task}, which is not among the manifests{renamed}: add its document with -f"
    )]
    NoTask {
        /// The tool.
        tool: String,
        /// The task.
        task: String,
        /// What kustomize made of the name, in brackets, or nothing.
        renamed: String,
    },
    /// A tool names a task whose program is not finished.
    #[error(
        "taskRef of tool `{tool}`: CodeGenTask {task} is not finished, {why}; finish it with: kubectl-codegen local {manifests} --task {task}"
    )]
    Unfinished {
        /// The tool.
        tool: String,
        /// The task.
        task: String,
        /// What there is instead.
        why: String,
        /// The manifests as the command line names them.
        manifests: String,
    },
    /// The program of a task is another one than when the question was asked.
    #[error(
        "taskRef of tool `{tool}`: the program of CodeGenTask {task} is another one than when this was asked; --fresh asks with the new one"
    )]
    OtherProgram {
        /// The tool.
        tool: String,
        /// The task.
        task: String,
    },
    /// What a task left cannot be used.
    #[error(transparent)]
    Program(Box<LocalRunError>),
    /// A tool cannot be used.
    #[error("{0}")]
    Tool(#[from] ToolError),
    /// The tools of a server cannot be used.
    #[error("{0}")]
    Server(#[from] UnresolvedTool),
    /// The tools do not go together.
    #[error("spec.tools: {0}")]
    Tools(String),
    /// A Secret cannot be had.
    #[error(transparent)]
    Credential(Box<CredentialError>),
    /// A Secret may not be used so.
    #[error("{field}: {refusal}")]
    Secret {
        /// The field.
        field: String,
        /// Why not.
        refusal: Box<SecretRefusal>,
    },
    /// No program can be run here.
    #[error("{0}")]
    NoInterpreter(String),
    /// What every local command may meet.
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

impl From<CodeModeError> for AskError {
    fn from(error: CodeModeError) -> Self {
        stopped(&error)
    }
}

/// What ends a command whose record cannot be read or written.
pub(super) fn stopped(error: &(dyn std::error::Error + 'static)) -> AskError {
    TaskError::Stopped(with_causes(error)).into()
}

fn said(fault: &Fault) -> String {
    match fault.path.as_str() {
        "spec.message" => format!("the question: {}", fault.message),
        path => match path.strip_prefix("spec.") {
            Some(rest) if rest.starts_with("history") => format!("--history, {rest}: {}", fault.message),
            _ => fault.to_string(),
        },
    }
}
