//! The command line of `kubectl-codegen`.

mod run;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;

use crate::api::approval::Gate;
use crate::api::common::Exposure;
use crate::api::duration;
use crate::api::model::Provider;

pub use run::{LocalCommand, LocalRunArgs, ProgramArgs, RunArgs, RunFormat, ValidationArg};

const EXIT_CODES: &str = "\
Exit codes:
  0    every task succeeded
  1    a task failed, or waits until something is mended: the same command goes on then
  2    a manifest, a file or the command line is wrong
  3    this machine cannot isolate programs
  130  interrupted; the same command goes on from there";

const EXAMPLES: &str = "\
Examples:
  # A task with its ConfigMaps and Secrets in one file; the key from OPENAI_API_KEY
  kubectl-codegen local -f task.yaml

  # A folder with a kustomization, as it is applied to a cluster
  kubectl-codegen local -k examples/penguins

  # Another file in the place of a sample
  kubectl-codegen local -f task.yaml --sample measurements=./today.csv

  # A server on this machine instead of the manifest's model
  kubectl-codegen local -f task.yaml --model-url http://127.0.0.1:11434/v1 --model qwen3-coder

  # Recorded replies: no key, no model
  kubectl-codegen local -k examples/penguins --replay examples/penguins/replies.jsonl

  # For a script: one JSON document on stdout, everything else on stderr
  kubectl-codegen local -f task.yaml -o json | jq .status.stage";

const CONTEXT_EXIT_CODES: &str = "\
Exit codes:
  0    every sample was read
  1    a sample cannot be described: its content is damaged or too large
  2    a manifest, a path or the command line is wrong
  130  interrupted";

const CONTEXT_EXAMPLES: &str = "\
Examples:
  # What a task would send of its samples, before anything is paid for
  kubectl-codegen context -k examples/penguins

  # Some files, with small distributions
  kubectl-codegen context --plot examples/multi-input/orders.csv examples/multi-input/customers.csv

  # As data: the profile of every column
  kubectl-codegen context -o json orders.csv | jq '.samples[].content'

  # The inferred schema as Pandera code
  kubectl-codegen context -o pandera orders.csv > schemas.py";

const WATCH_EXIT_CODES: &str = "\
Exit codes:
  0    the task succeeded
  1    it failed, was deleted, or has not ended within --timeout
  2    there is no such task, the cluster cannot be reached, or the command line is wrong
  130  interrupted; the task goes on";

const WATCH_EXAMPLES: &str = "\
Examples:
  # What the task does, until it has ended
  kubectl-codegen watch penguin-masses

  # In a script: wait for at most ten minutes
  kubectl-codegen watch penguin-masses --namespace data --timeout 10m";

const CODE_EXIT_CODES: &str = "\
Exit codes:
  0    the program was printed, and it passed
  1    there is no program yet, or the last one was printed and did not pass
  2    there is no such task, the cluster cannot be reached, or the command line is wrong";

const CODE_EXAMPLES: &str = "\
Examples:
  # The program of a task that has ended
  kubectl-codegen code penguin-masses > solution.py";

const EXPORT_EXIT_CODES: &str = "\
Exit codes:
  0    everything was written, and the program passed
  1    the task has not ended, or what it left was written and did not pass
  2    there is no such task, its results may not be read, the folder cannot be written, or the command line is wrong";

const EXPORT_EXAMPLES: &str = "\
Examples:
  # Everything that a task left, and its program run with plain Python
  kubectl-codegen export penguin-masses --output penguin-masses
  sh penguin-masses/run.sh out --measurements penguins.csv";

const DECIDE_EXIT_CODES: &str = "\
Exit codes:
  0    the decision is recorded
  1    the task waits for no approval, at another gate, or somebody has decided already
  2    there is no such task, the cluster refuses or cannot be reached, or the command line is wrong";

const DECIDE_EXAMPLES: &str = "\
Examples:
  # Look at the plan of a task, and say yes or no
  kubectl-codegen approve penguin-masses --gate Plan

  # No, and why
  kubectl-codegen reject penguin-masses --gate Packages --reason 'scipy is not for this'

  # In a script, which has looked at status.approval itself
  kubectl-codegen approve penguin-masses --gate Image --yes";

/// Turns a prompt, sample data and typed outputs into a tested Python program.
#[derive(Parser, Debug)]
#[command(name = "kubectl-codegen", version, about, after_long_help = EXIT_CODES, disable_help_subcommand = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Run tasks on this machine, without a cluster.
    #[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
    Local(Box<LocalArgs>),
    /// Print what the model would be told of sample data; nothing is sent.
    #[command(after_help = CONTEXT_EXAMPLES, after_long_help = format!("{CONTEXT_EXAMPLES}\n\n{CONTEXT_EXIT_CODES}"))]
    Context(Box<ContextArgs>),
    /// Run the program of a task that has succeeded in a cluster, on values and files of your own.
    #[command(after_help = run::EXAMPLES, after_long_help = format!("{}\n\n{}", run::EXAMPLES, run::EXIT_CODES))]
    Run(Box<RunArgs>),
    /// Show what a task in a cluster does, until it has ended.
    #[command(after_help = WATCH_EXAMPLES, after_long_help = format!("{WATCH_EXAMPLES}\n\n{WATCH_EXIT_CODES}"))]
    Watch(Box<WatchArgs>),
    /// Print the program of a task that has ended in a cluster.
    #[command(after_help = CODE_EXAMPLES, after_long_help = format!("{CODE_EXAMPLES}\n\n{CODE_EXIT_CODES}"))]
    Code(Box<CodeArgs>),
    /// Write everything that a task in a cluster left to a folder: program, tests, attempts, conversation, Dockerfile.
    #[command(after_help = EXPORT_EXAMPLES, after_long_help = format!("{EXPORT_EXAMPLES}\n\n{EXPORT_EXIT_CODES}"))]
    Export(Box<ExportArgs>),
    /// Approve of what a task in a cluster waits with at a gate.
    #[command(after_help = DECIDE_EXAMPLES, after_long_help = format!("{DECIDE_EXAMPLES}\n\n{DECIDE_EXIT_CODES}"))]
    Approve(Box<DecideArgs>),
    /// Reject what a task in a cluster waits with at a gate, which ends the task.
    #[command(after_help = DECIDE_EXAMPLES, after_long_help = format!("{DECIDE_EXAMPLES}\n\n{DECIDE_EXIT_CODES}"))]
    Reject(Box<DecideArgs>),
    /// Print a completion script for a shell.
    Completion {
        /// The shell.
        shell: Shell,
    },
    /// Print the manual page.
    #[command(hide = true)]
    Man,
    /// Print a page of the documentation that is written from the code.
    #[command(hide = true)]
    Docs {
        /// Which page.
        page: Page,
    },
    /// Read data files for the parent process, under limits of its own.
    #[command(hide = true)]
    Worker,
}

/// Pages that are written from the code.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub enum Page {
    /// Kinds of model call and their schemas.
    ModelProtocol,
}

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
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[group(id = "manifests", required = true, multiple = true, args = ["files", "kustomize"])]
pub struct LocalArgs {
    /// What else to do.
    #[command(subcommand)]
    pub command: Option<LocalCommand>,
    /// The tasks.
    #[command(flatten)]
    pub manifests: ManifestArgs,
    /// The model, what is sent to it and what is replayed instead.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Folder of the results; with several tasks, one folder each in it. Default: codegen-out/<task name>.
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath, help_heading = "Results")]
    pub output: Option<PathBuf>,
    /// Start over: what an earlier run left is moved aside, and its recorded replies are not used.
    #[arg(long, help_heading = "Results")]
    pub fresh: bool,
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
    pub format: Format,
    /// Show more: -v what is decided, -vv everything.
    #[arg(short, long, action = clap::ArgAction::Count, help_heading = "Results")]
    pub verbose: u8,
    /// Colours on stderr. `auto`: on a terminal, unless `NO_COLOR` is set.
    #[arg(long, value_name = "WHEN", default_value = "auto", help_heading = "Results")]
    pub color: Color,
}

/// Options of `context`.
#[derive(Args, Debug)]
#[group(id = "looked_at", required = true, multiple = true, args = ["data", "files", "kustomize"])]
pub struct ContextArgs {
    /// Data files, in the place of a task. Each is a sample named after its file.
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["files", "kustomize", "task", "samples", "inputs", "claims"])]
    pub data: Vec<PathBuf>,
    /// The tasks.
    #[command(flatten)]
    pub manifests: ManifestArgs,
    /// Most representative rows of a sample, in the place of the task's `maxSampleRows`. Default: 100.
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(i32).range(0..=10_000), help_heading = "Context")]
    pub max_sample_rows: Option<i32>,
    /// Most tokens of the context, estimated, in the place of the task's `limits.maxContextTokens`. Default: 4000.
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(i32).range(200..=1_000_000), help_heading = "Context")]
    pub max_context_tokens: Option<i32>,
    /// What of the samples may be told, in the place of the task's `exposure`. Default: `Rows`.
    #[arg(long, value_name = "LEVEL", ignore_case = true, help_heading = "Context")]
    pub exposure: Option<ExposureArg>,
    /// What goes to stdout.
    #[arg(
        short = 'o',
        long = "format",
        value_name = "FORMAT",
        default_value = "text",
        help_heading = "Results"
    )]
    pub format: ContextFormat,
    /// Draw small distributions below the columns; they are for people and never sent.
    #[arg(long, help_heading = "Results")]
    pub plot: bool,
    /// Colours. `auto`: on a terminal, unless `NO_COLOR` is set.
    #[arg(long, value_name = "WHEN", default_value = "auto", help_heading = "Results")]
    pub color: Color,
}

/// Which cluster and namespace, as kubectl takes them.
#[derive(Args, Debug, Default, Clone)]
#[command(next_help_heading = "Cluster")]
pub struct ClusterArgs {
    /// Namespace of the task. Default: the context's.
    #[arg(short = 'n', long, value_name = "NAME")]
    pub namespace: Option<String>,
    /// Context of the kubeconfig. Default: the current one.
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// The kubeconfig. Default: the files of `KUBECONFIG`, else ~/.kube/config, else the Pod's service account.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub kubeconfig: Option<PathBuf>,
}

/// Options of `watch`.
#[derive(Args, Debug)]
pub struct WatchArgs {
    /// Name of the task.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Where it is.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Stop watching after this time (30s, 5m). Default: when the task has ended.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub timeout: Option<Duration>,
    /// Colours. `auto`: on a terminal, unless `NO_COLOR` is set.
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
}

/// Options of `code`.
#[derive(Args, Debug)]
pub struct CodeArgs {
    /// Name of the task.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Where it is.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// Options of `approve` and `reject`.
#[derive(Args, Debug)]
pub struct DecideArgs {
    /// Name of the task.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The gate that is meant. Default: the one that the task waits at.
    #[arg(long, value_name = "GATE", ignore_case = true)]
    pub gate: Option<GateArg>,
    /// Why, in a sentence; it stands in the status of the task.
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Decide without being asked.
    #[arg(short, long)]
    pub yes: bool,
    /// Where it is.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// Gates, in the words of a manifest.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
#[value(rename_all = "PascalCase")]
pub enum GateArg {
    /// Before any code.
    Plan,
    /// Before an image is built.
    Packages,
    /// Before anything runs.
    Image,
    /// Before the task succeeds.
    Result,
}

impl From<GateArg> for Gate {
    fn from(gate: GateArg) -> Self {
        match gate {
            GateArg::Plan => Self::Plan,
            GateArg::Packages => Self::Packages,
            GateArg::Image => Self::Image,
            GateArg::Result => Self::Result,
        }
    }
}

/// Options of `export`.
#[derive(Args, Debug)]
pub struct ExportArgs {
    /// Name of the task.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Where it is.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// The folder. What an earlier export left there is replaced; files that you changed are moved aside. Default: the task's name.
    #[arg(short = 'o', long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub output: Option<PathBuf>,
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
pub enum Format {
    /// A summary for people.
    Text,
    /// The task with its status as one JSON document.
    Json,
    /// The task with its status as one YAML document.
    Yaml,
}

/// What of the samples may be told, in the words of a manifest.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
#[value(rename_all = "PascalCase")]
pub enum ExposureArg {
    /// Names, types and counts.
    SchemaOnly,
    /// Also ranges, averages and frequent values.
    Statistics,
    /// Also rows with letters and digits masked.
    RedactedRows,
    /// Also rows as they are.
    Rows,
}

impl From<ExposureArg> for Exposure {
    fn from(exposure: ExposureArg) -> Self {
        match exposure {
            ExposureArg::SchemaOnly => Self::SchemaOnly,
            ExposureArg::Statistics => Self::Statistics,
            ExposureArg::RedactedRows => Self::RedactedRows,
            ExposureArg::Rows => Self::Rows,
        }
    }
}

/// What `context` writes to stdout.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContextFormat {
    /// The text as it stands in prompts.
    Text,
    /// Text, budget and the profile of every sample as one JSON document.
    Json,
    /// The same as one YAML document.
    Yaml,
    /// The inferred schemas as Python code for Pandera.
    Pandera,
}

/// When colours are used.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

fn name_and_path(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, path)) if !name.is_empty() && !path.is_empty() => Ok((name.to_owned(), path.into())),
        _ => Err("write name=path, for example measurements=./today.csv".to_owned()),
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    match duration::parse(text) {
        Ok(Duration::ZERO) => Err("no call is answered in no time: write 30s or 5m".to_owned()),
        Ok(duration) => Ok(duration),
        Err(error) => Err(error.to_string()),
    }
}

fn http_address(text: &str) -> Result<String, String> {
    match reqwest::Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => {
            Ok(text.trim_end_matches('/').to_owned())
        }
        _ => Err(
            "write an address that begins with http:// or https://, for example http://127.0.0.1:8080/v1"
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_sample_is_a_name_and_a_path_that_may_hold_an_equals_sign() {
        assert_eq!(
            name_and_path("a=b=c").unwrap(),
            ("a".to_owned(), PathBuf::from("b=c"))
        );
        assert!(name_and_path("a=").is_err());
        assert!(name_and_path("a").is_err());
    }

    #[test]
    fn an_address_loses_its_last_slash() {
        assert_eq!(
            http_address("http://127.0.0.1:1/v1/").unwrap(),
            "http://127.0.0.1:1/v1"
        );
        assert!(http_address("127.0.0.1:1").is_err());
        assert!(http_address("file:///etc").is_err());
    }
}
