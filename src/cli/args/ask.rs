//! The command line of `ask`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::cluster::ClusterArgs;
use super::local::{Format, ModelArgs};
use super::values::Color;

/// Exit codes of `ask`.
pub(super) const EXIT_CODES: &str = "\
Exit codes:
  0    it was answered
  1    no program gave an answer, or something must be fixed first: with manifests the same command goes on then
  2    a manifest, a file, a tool or the command line is wrong, or the cluster cannot be reached
  3    this machine cannot run programs
  130  interrupted; the same command goes on from there, and a run in a cluster by itself";

/// Examples of `ask`.
pub(super) const EXAMPLES: &str = "\
Examples:
  # An agent in a cluster
  kubectl-codegen ask shop \"Which order is worth most in euros?\"

  # The only agent of a folder; the key from OPENAI_API_KEY
  kubectl-codegen ask -k shop \"Which order is worth most in euros?\"

  # One of several agents, with a server on this machine as the model
  kubectl-codegen ask -f agents.yaml --agent shop --model-url http://127.0.0.1:11434/v1 \"What is late?\"

  # A conversation: each question goes on from the one before
  kubectl-codegen ask shop --save-history talk.json \"What is late?\"
  kubectl-codegen ask shop --history talk.json --save-history talk.json \"And last week?\"

  # A call waits for a decision (requireApproval), and nobody sits at a terminal
  kubectl-codegen ask -f agents.yaml \"Refund order 7\" --approve 5c0d...

  # Recorded replies: no key, no model; for a script
  kubectl-codegen ask -f agents.yaml --replay replies.jsonl -o json \"What is late?\" | jq .value";

/// Options of `ask`.
#[derive(Args, Debug)]
#[group(id = "asked", multiple = true, args = ["files", "kustomize"])]
pub struct AskArgs {
    /// An agent of the cluster, before the question; with manifests the question alone. Default then: the message of the `CodeModeRun` among
    /// them.
    #[arg(value_name = "AGENT|QUESTION")]
    pub first: Option<String>,
    /// What the agent of the cluster is asked.
    #[arg(value_name = "QUESTION", conflicts_with = "asked")]
    pub second: Option<String>,
    /// Where the agent is.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Manifests: a file, a folder (its .yaml, .yml and .json files), or - for standard input. May be repeated.
    #[arg(short = 'f', long = "filename", value_name = "FILE|FOLDER|-", value_hint = ValueHint::AnyPath, help_heading = "Manifests")]
    pub files: Vec<String>,
    /// A folder with a kustomization.yaml. May be repeated.
    #[arg(short = 'k', long = "kustomize", value_name = "FOLDER", value_hint = ValueHint::DirPath, help_heading = "Manifests")]
    pub kustomize: Vec<PathBuf>,
    /// The `CodeModeAgent` that is asked, where the manifests hold several.
    #[arg(long, requires = "asked", value_name = "NAME", help_heading = "Manifests")]
    pub agent: Option<String>,
    /// The conversation before the question: the conversation.json of another one, or a list of messages with role and content.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Manifests")]
    pub history: Option<PathBuf>,
    /// Approve of the call that has this hash and waits for a decision. May be repeated.
    #[arg(long, requires = "asked", value_name = "HASH", value_parser = hash, help_heading = "Decisions")]
    pub approve: Vec<String>,
    /// Reject it: the program gets a `PermissionError`. May be repeated.
    #[arg(long, requires = "asked", value_name = "HASH", value_parser = hash, help_heading = "Decisions")]
    pub reject: Vec<String>,
    /// The model, what is sent to it and what is replayed instead.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Folder of the results. Default: codegen-out/ask/<agent>-<hash of the question>.
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath, requires = "asked", help_heading = "Results")]
    pub output: Option<PathBuf>,
    /// Where the conversation with this question and its answer is written, as --history of the next one takes it.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Results")]
    pub save_history: Option<PathBuf>,
    /// Ask again: what was answered before is moved aside, and its recorded replies and calls are not used.
    #[arg(long, requires = "asked", help_heading = "Results")]
    pub fresh: bool,
    /// What goes to stdout: the answer alone, or a document with program, calls and status.
    #[arg(
        short = 'o',
        long = "format",
        value_name = "FORMAT",
        default_value = "text",
        help_heading = "Results"
    )]
    pub format: Format,
    /// Show more: -v what is decided, -vv everything.
    #[arg(short, long, action = clap::ArgAction::Count, help_heading = "Results")]
    pub verbose: u8,
    /// Colours on stderr. `auto`: on a terminal, unless `NO_COLOR` is set.
    #[arg(long, value_name = "WHEN", default_value = "auto", help_heading = "Results")]
    pub color: Color,
}

/// The hash of a call, as it is shown.
fn hash(text: &str) -> Result<String, String> {
    let is_hash = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hash {
        return Ok(text.to_ascii_lowercase());
    }
    Err("write the 64 hexadecimal digits that stand behind hash".to_owned())
}
