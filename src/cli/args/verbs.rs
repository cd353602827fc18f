//! The command lines of what is recorded of tasks: tests, logs, diff and cost.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::cluster::ClusterArgs;
use crate::cli::prices::{NamedPrice, named_price};

/// Exit codes of the commands that show what is recorded.
pub(super) const SHOW_EXIT_CODES: &str = "\
Exit codes:
  0    it was shown
  1    what was asked for is not recorded (yet)
  2    there is no such task or folder, the cluster refuses or cannot be reached, or the command line is wrong";

/// Exit codes of `tests`.
pub(super) const TESTS_EXIT_CODES: &str = "\
Exit codes:
  0    everything passed that was asked for
  1    something failed, or no attempt is recorded yet
  2    there is no such task or folder, the cluster refuses or cannot be reached, or the command line is wrong";

/// Exit codes of `diff`.
pub(super) const DIFF_EXIT_CODES: &str = "\
Exit codes:
  0    the two attempts ran the same program and the same suite
  1    they differ, as it was shown
  2    there is no such task, folder or attempt, its record may not be read, or the command line is wrong";

/// Examples of `tests`.
pub(super) const TESTS_EXAMPLES: &str = "\
Examples:
  # The tests of the last attempt
  kubectl-codegen tests penguin-masses

  # What failed in the first attempt of a local result
  kubectl-codegen tests codegen-out/penguin-masses --attempt 1 --failed

  # One test with its traceback
  kubectl-codegen tests penguin-masses test_mean_of_one_row";

/// Examples of `logs`.
pub(super) const LOGS_EXAMPLES: &str = "\
Examples:
  # What builds and the last attempt printed
  kubectl-codegen logs penguin-masses

  # From now on, until the task has ended
  kubectl-codegen logs penguin-masses -f

  # A run of its program that has failed
  kubectl-codegen logs penguin-masses --run today

  # Every attempt of a local result
  kubectl-codegen logs codegen-out/penguin-masses --all

  # What the programs of a question called and printed
  kubectl-codegen logs codemoderun/shop-kvmcw --all";

/// Examples of `diff`.
pub(super) const DIFF_EXAMPLES: &str = "\
Examples:
  # What changed before the last attempt
  kubectl-codegen diff penguin-masses

  # Between the first and the third one
  kubectl-codegen diff codegen-out/penguin-masses 1 3";

/// Examples of `cost`.
pub(super) const COST_EXAMPLES: &str = "\
Examples:
  # Calls and tokens of a task by kind of call
  kubectl-codegen cost penguin-masses

  # What the tasks of all namespaces came to, by agent
  kubectl-codegen cost -A --by agent --prices prices.yaml

  # A price for one model: input and output, per million tokens
  kubectl-codegen cost codegen-out/penguin-masses --price some-model=2.50/10

  # One question
  kubectl-codegen cost codemoderun/shop-kvmcw --prices prices.yaml

  # prices.yaml
  currency: EUR
  models:
    some-model: {input: 2.50, output: 10}";

/// A task or a question in a cluster, or the folder of a local result.
#[derive(Args, Debug)]
pub struct RecordArgs {
    /// A task in a cluster by its name, a question (codemoderun/NAME or cmr/NAME), or the folder of a local result: what else has a slash is
    /// a folder (codegen-out/NAME).
    #[arg(value_name = "TASK|codemoderun/NAME|FOLDER/", value_hint = ValueHint::DirPath)]
    pub task: String,
    /// Where it is.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// How a list is printed.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListFormat {
    /// Columns.
    Table,
    /// More columns, and nothing is cut.
    Wide,
    /// Names alone, one a line.
    Name,
    /// One JSON document.
    Json,
    /// One YAML document.
    Yaml,
}

/// Options of `tests`.
#[derive(Args, Debug)]
pub struct TestsArgs {
    /// The task.
    #[command(flatten)]
    pub record: RecordArgs,
    /// One test, whole or by the end of its name: it is shown with its traceback and what it printed.
    #[arg(value_name = "TEST")]
    pub test: Option<String>,
    /// The attempt, counted from 1. Default: the last one that is recorded.
    #[arg(long, value_name = "N")]
    pub attempt: Option<u32>,
    /// What did not pass alone.
    #[arg(long)]
    pub failed: bool,
    /// How the list is printed.
    #[arg(
        short = 'o',
        long = "format",
        value_name = "FORMAT",
        default_value = "table",
        conflicts_with = "test"
    )]
    pub format: ListFormat,
}

/// Options of `logs`.
#[derive(Args, Debug)]
pub struct LogsArgs {
    /// The task.
    #[command(flatten)]
    pub record: RecordArgs,
    /// The attempt, or the program of a question, whose output is shown, counted from 1. Default: the last one that is recorded.
    #[arg(long, value_name = "N", conflicts_with_all = ["all", "follow"])]
    pub attempt: Option<u32>,
    /// The output of every attempt, or of every program of a question.
    #[arg(long)]
    pub all: bool,
    /// In the place of the task a run of its program (`CodeGenRun`): the last lines of one that has failed.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["attempt", "all"])]
    pub run: Option<String>,
    /// Go on with what comes, until the task has ended; of a run, wait for its end.
    #[arg(short = 'f', long)]
    pub follow: bool,
}

/// Options of `diff`.
#[derive(Args, Debug)]
pub struct DiffArgs {
    /// The task.
    #[command(flatten)]
    pub record: RecordArgs,
    /// The attempts to compare, counted from 1; one alone is compared with the one before it. Default: the last two.
    #[arg(value_name = "ATTEMPT", num_args = 1..=2)]
    pub attempts: Vec<u32>,
}

/// By what costs are added up.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum CostBy {
    /// The kinds of call of one task.
    Kind,
    /// Tasks and questions.
    Task,
    /// `CodeGenAgent`s, and `CodeModeAgent`s of questions.
    Agent,
    /// Namespaces.
    Namespace,
}

/// Options of `cost`.
#[derive(Args, Debug)]
pub struct CostArgs {
    /// A task in a cluster by its name, a question (codemoderun/NAME), or the folder of a local result (codegen-out/NAME). Default: all
    /// tasks and questions of the namespace.
    #[arg(value_name = "TASK|codemoderun/NAME|FOLDER/", value_hint = ValueHint::DirPath)]
    pub task: Option<String>,
    /// The tasks and questions of all namespaces.
    #[arg(short = 'A', long, conflicts_with_all = ["task", "namespace"])]
    pub all_namespaces: bool,
    /// Those with such labels, as kubectl selects them.
    #[arg(short = 'l', long, value_name = "LABELS", conflicts_with = "task")]
    pub selector: Option<String>,
    /// By what it is added up. Default: `kind` for one task, else `task`.
    #[arg(long, value_name = "WHAT")]
    pub by: Option<CostBy>,
    /// A file with prices (YAML or JSON): currency, and for each model what a million input and output tokens cost.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub prices: Option<PathBuf>,
    /// The price of a model, of a million input and output tokens (some-model=2.50/10). Goes before the file. May be repeated.
    #[arg(long = "price", value_name = "MODEL=INPUT/OUTPUT", value_parser = named_price)]
    pub price: Vec<NamedPrice>,
    /// How the list is printed.
    #[arg(short = 'o', long = "format", value_name = "FORMAT", default_value = "table")]
    pub format: ListFormat,
    /// Where they are.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}
