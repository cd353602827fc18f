//! The command lines that run the program of a finished task.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::{ClusterArgs, Color};
use crate::api::duration;
use crate::api::run::Validation;

const LOCAL_RUN_EXIT_CODES: &str = "\
Exit codes:
  0    the program ran, and every output is there
  1    the program failed, or its data breaks a rule that is enforced
  2    an input, a path or the command line is wrong, or there is no finished task
  3    this machine cannot isolate programs
  130  interrupted";

/// Exit codes of `run`.
pub(super) const EXIT_CODES: &str = "\
Exit codes:
  0    the program ran, and every output is there
  1    the program failed, its data breaks a rule that is enforced, or the run was deleted
  2    an input or the command line is wrong, there is no such program, or the cluster cannot be reached
  130  interrupted; the run goes on";

/// Examples of `run`.
pub(super) const EXAMPLES: &str = "\
Examples:
  # The program of a task that has succeeded, on another file
  kubectl-codegen run penguin-masses --input decimals=2 --input measurements=@today.csv --output-dir out

  # One value for a script: what is bare on stdout, one line an output
  kubectl-codegen run word-count --input text=@book.txt -o value

  # The run stays, for others to read its outputs
  kubectl-codegen run penguin-masses --namespace data --keep -o json";

const LOCAL_RUN_EXAMPLES: &str = "\
Examples:
  # The program of a finished task on another file, its outputs in a folder
  kubectl-codegen local run codegen-out/penguin-masses --input measurements=@today.csv --output-dir out

  # One value for a script: what is bare on stdout, one line an output
  kubectl-codegen local run codegen-out/word-count --input text=@book.txt -o value

  # From standard input
  zcat today.csv.gz | kubectl-codegen local run codegen-out/penguin-masses --input measurements=@-

  # With the Secrets that the task's sandbox takes, and data that breaks a constraint refused
  kubectl-codegen local run -f task.yaml --validation enforce";

/// What else `local` does.
#[derive(Subcommand, Debug)]
pub enum LocalCommand {
    /// Run the program of a finished task on this machine, on values and files of your own.
    #[command(after_help = LOCAL_RUN_EXAMPLES, after_long_help = format!("{LOCAL_RUN_EXAMPLES}\n\n{LOCAL_RUN_EXIT_CODES}"))]
    Run(Box<LocalRunArgs>),
}

/// What a run is given, and what goes where.
#[derive(Args, Debug, Clone)]
pub struct ProgramArgs {
    /// A value of the program, or a file or folder (@PATH; @- is standard input). What is not given is the task's sample or
    /// default. May be repeated.
    #[arg(long = "input", value_name = "NAME=VALUE|@PATH", value_parser = name_and_value)]
    pub inputs: Vec<(String, String)>,
    /// Folder for the files and folders that the program writes; files of the same names are replaced. Default: they are not
    /// kept.
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath, help_heading = "Results")]
    pub output_dir: Option<PathBuf>,
    /// What data means that breaks a constraint or has other types than the samples. Default: inputs are warned of, outputs
    /// fail the run.
    #[arg(long, value_name = "MODE")]
    pub validation: Option<ValidationArg>,
    /// Longest time that the program may run (30s, 5m), in the place of the task's `sandbox.timeout`.
    #[arg(long, value_name = "DURATION", value_parser = checked_duration)]
    pub timeout: Option<String>,
    /// What goes to stdout.
    #[arg(
        short = 'o',
        long = "format",
        value_name = "FORMAT",
        default_value = "table",
        help_heading = "Results"
    )]
    pub format: RunFormat,
    /// Colours. `auto`: on a terminal, unless `NO_COLOR` is set.
    #[arg(long, value_name = "WHEN", default_value = "auto", help_heading = "Results")]
    pub color: Color,
}

/// Options of `run`.
#[derive(Args, Debug)]
pub struct RunArgs {
    /// Name of the task.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Where it is.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Keep the run and its outputs in the cluster. Default: they are deleted an hour after the end.
    #[arg(long)]
    pub keep: bool,
    /// The run.
    #[command(flatten)]
    pub program: ProgramArgs,
}

/// Options of `local run`.
#[derive(Args, Debug)]
#[group(id = "finished", required = true, multiple = true, args = ["folder", "files", "kustomize"])]
pub struct LocalRunArgs {
    /// Folder of the task's results. Default: codegen-out/<task name>.
    #[arg(value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub folder: Option<PathBuf>,
    /// Manifests with the task, and with the Secrets that its sandbox takes. May be repeated.
    #[arg(short = 'f', long = "filename", value_name = "FILE|FOLDER|-", value_hint = ValueHint::AnyPath)]
    pub files: Vec<String>,
    /// A folder with a kustomization.yaml, in the place of manifests. May be repeated.
    #[arg(short = 'k', long = "kustomize", value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub kustomize: Vec<PathBuf>,
    /// The one task that is meant, where the manifests hold several.
    #[arg(long, value_name = "NAME")]
    pub task: Option<String>,
    /// The run.
    #[command(flatten)]
    pub program: ProgramArgs,
}

/// What a run writes to stdout.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunFormat {
    /// One line an output, for people.
    Table,
    /// The bare value of an only output (of a File its bytes, unless --output-dir takes them); of several one line each, in
    /// declared order.
    Value,
    /// The run with its status as one JSON document.
    Json,
    /// The same as one YAML document.
    Yaml,
}

/// What is done about data that breaks a rule.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValidationArg {
    /// The run fails.
    Enforce,
    /// It is said.
    Warn,
    /// Nobody looks.
    Off,
}

impl From<ValidationArg> for Validation {
    fn from(validation: ValidationArg) -> Self {
        match validation {
            ValidationArg::Enforce => Self::Enforce,
            ValidationArg::Warn => Self::Warn,
            ValidationArg::Off => Self::Off,
        }
    }
}

fn name_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(
            "write name=value, or name=@path for a file, for example decimals=2 or measurements=@today.csv"
                .to_owned(),
        ),
    }
}

fn checked_duration(text: &str) -> Result<String, String> {
    match duration::parse(text) {
        Ok(Duration::ZERO) => Err("no program runs in no time: write 30s or 5m".to_owned()),
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
