//! The command line of tasks on this machine: manifests, model and results.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};

use super::values::{Color, duration, http_address, name_and_path};
use super::{GateArg, LocalCommand, NetworkArgs};
use codegen_api::model::Provider;

/// Exit codes of `local`.
pub(super) const EXIT_CODES: &str = "\
Exit codes:
  0    every task succeeded
  1    a task failed, or waits until something is fixed: the same command goes on then; --again came to another end
  2    a manifest, a file or the command line is wrong
  3    this machine cannot isolate programs
  130  interrupted; the same command goes on from there";

/// Examples of `local`.
pub(super) const EXAMPLES: &str = "\
Examples:
  # A folder as it is applied to a cluster, with a kustomization or manifests; the key from OPENAI_API_KEY
  kubectl-codegen local examples/penguins

  # Another file in the place of a sample
  kubectl-codegen local -f task.yaml --sample measurements=./today.csv

  # A server on this machine instead of the manifest's model
  kubectl-codegen local -f task.yaml --model-url http://127.0.0.1:11434/v1 --model qwen3-coder

  # Again, with something to go by
  kubectl-codegen local -f task.yaml --retry --hint 'the dates are day first'

  # Recorded replies: no key, no model
  kubectl-codegen local -k examples/penguins --replay examples/penguins/replies.jsonl

  # A result once more on its recorded replies; the ends are compared
  kubectl-codegen local --again codegen-out/penguin-masses

  # For a script: one JSON document on stdout, everything else on stderr
  kubectl-codegen local -f task.yaml -o json | jq .status.stage";

/// Manifests and what stands in the place of their data.
#[derive(Args, Debug, Default, Clone)]
#[command(next_help_heading = "Manifests")]
pub struct ManifestArgs {
    /// Manifests: a file, a folder (its .yaml, .yml and .json files), or - for standard input. May be repeated.
    #[arg(short = 'f', long = "filename", value_name = "FILE|FOLDER|-", value_hint = ValueHint::AnyPath)]
    pub files: Vec<String>,
    /// A folder with a kustomization.yaml. May be repeated.
    #[arg(short = 'k', long = "kustomize", value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub kustomize: Vec<PathBuf>,
    /// The one task that is meant. Default: every task of the manifests, one after another.
    #[arg(long, value_name = "NAME")]
    pub task: Option<String>,
    /// What stands in the place of their data.
    #[command(flatten)]
    pub data: DataArgs,
}

/// Files and folders in the place of data that a task names.
#[derive(Args, Debug, Default, Clone)]
pub struct DataArgs {
    /// A file in the place of a sample. May be repeated.
    #[arg(long = "sample", value_name = "NAME=PATH", value_parser = name_and_path)]
    pub samples: Vec<(String, PathBuf)>,
    /// The content of a File or Dir input. May be repeated.
    #[arg(long = "input", value_name = "NAME=PATH", value_parser = name_and_path)]
    pub inputs: Vec<(String, PathBuf)>,
    /// A folder in the place of a PersistentVolumeClaim. May be repeated.
    #[arg(long = "claim", value_name = "NAME=FOLDER", value_parser = name_and_path)]
    pub claims: Vec<(String, PathBuf)>,
}

/// Options of `local`.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub struct LocalArgs {
    /// What else to do.
    #[command(subcommand)]
    pub command: Option<LocalCommand>,
    /// A folder with a kustomization.yaml or with manifests, or a manifest. Default: this folder.
    #[arg(value_name = "FOLDER|FILE", value_hint = ValueHint::AnyPath, conflicts_with_all = ["files", "kustomize", "again"])]
    pub place: Option<PathBuf>,
    /// The tasks.
    #[command(flatten)]
    pub manifests: ManifestArgs,
    /// The model, what is sent to it and what is replayed instead.
    #[command(flatten)]
    pub model: ModelArgs,
    /// What is reached besides the public internet.
    #[command(flatten)]
    pub network: NetworkArgs,
    /// Folder of the results; with several tasks, one folder each in it. Default: codegen-out/<task name>.
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath, help_heading = "Results")]
    pub output: Option<PathBuf>,
    /// Run a result that has ended once more, on its recorded replies, and compare the ends; nothing of it is changed. -f has the Secrets of
    /// its sandbox then, --sample and --input what the result does not hold, --output where this run leaves its own.
    #[arg(
        long,
        value_name = "FOLDER",
        value_hint = ValueHint::DirPath,
        help_heading = "Results",
        conflicts_with_all = [
            "kustomize", "task", "claims", "model_url", "model", "provider", "model_key_env", "model_timeout", "replay", "record",
            "fresh", "retry", "approve", "format"
        ]
    )]
    pub again: Option<PathBuf>,
    /// With --again: package index in the place of the task's, which may be one that a cluster alone reaches; - for that of this machine.
    #[arg(long, value_name = "URL|-", requires = "again", help_heading = "Results")]
    pub index_url: Option<String>,
    /// Start over: what an earlier run left is moved aside, and its recorded replies are not used.
    #[arg(long, help_heading = "Results")]
    pub fresh: bool,
    /// Try a task again that has ended, with new replies; what came before stays recorded. One that a limit ended goes on where that was raised.
    #[arg(long, conflicts_with = "fresh", help_heading = "Results")]
    pub retry: bool,
    /// With --retry: with a new plan too. Default: what was of no use is asked for again, else a new program.
    #[arg(long, requires = "retry", help_heading = "Results")]
    pub replan: bool,
    /// With --retry: a sentence that is added to the task for this try ("the dates are day first").
    #[arg(long, value_name = "TEXT", requires = "retry", help_heading = "Results")]
    pub hint: Option<String>,
    /// Go by records that were made elsewhere (another user, another machine), for this command alone. Look at them first: they decide what
    /// runs, and what counts as tested. They do not become yours.
    #[arg(long, help_heading = "Results")]
    pub trust: bool,
    /// Gates of the task's approvals that are passed whatever they show (Plan,Packages). At the others somebody at the terminal is asked.
    #[arg(
        long,
        value_name = "GATES",
        value_delimiter = ',',
        ignore_case = true,
        help_heading = "Results"
    )]
    pub approve: Vec<GateArg>,
    /// What goes to stdout: a summary for people, or the task with its status.
    #[arg(
        short = 'o',
        long = "format",
        value_name = "FORMAT",
        default_value = "text",
        help_heading = "Results"
    )]
    pub format: OutputFormat,
    /// Show more: -v what is decided, -vv everything.
    #[arg(short, long, action = clap::ArgAction::Count, help_heading = "Results")]
    pub verbose: u8,
    /// Colours on stderr. `auto`: on a terminal, unless `NO_COLOR` is set.
    #[arg(long, value_name = "WHEN", default_value = "auto", help_heading = "Results")]
    pub color: Color,
}

/// The model, what is sent to it and what is replayed instead.
#[derive(Args, Debug, Default, Clone)]
#[command(next_help_heading = "Model")]
pub struct ModelArgs {
    /// Base address of the model's API, in the place of the manifest's (`http://127.0.0.1:8080/v1`).
    #[arg(long, value_name = "URL", value_parser = http_address)]
    pub model_url: Option<String>,
    /// Name of the model, in the place of the manifest's.
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Protocol of the endpoint, in the place of the manifest's. Drops the manifest's address and key.
    #[arg(long, value_name = "PROTOCOL")]
    pub provider: Option<ProviderArg>,
    /// Environment variable that holds the API key. Default: the manifest's Secret, then `OPENAI_API_KEY` or `ANTHROPIC_API_KEY`.
    #[arg(long, value_name = "NAME")]
    pub model_key_env: Option<String>,
    /// Longest time of one model call, its repeats included (30s, 5m). Default: 2m.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub model_timeout: Option<Duration>,
    /// Take the model's replies from a file of recorded ones (JSON Lines); nothing is sent.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "model_url")]
    pub replay: Option<PathBuf>,
    /// With --replay: a request that differs from the recorded one is an error, not a warning.
    #[arg(long, requires = "replay")]
    pub replay_strict: bool,
    /// Write the model's replies to a file that --replay reads; what it held is replaced.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub record: Option<PathBuf>,
}

/// Protocols.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderArg {
    /// Chat completions.
    Openai,
    /// Messages.
    Anthropic,
}

impl From<ProviderArg> for Provider {
    fn from(provider: ProviderArg) -> Self {
        match provider {
            ProviderArg::Openai => Self::OpenAI,
            ProviderArg::Anthropic => Self::Anthropic,
        }
    }
}

/// What goes to stdout.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    /// What is for people.
    Text,
    /// All of it as one JSON document.
    Json,
    /// All of it as one YAML document.
    Yaml,
}
