//! The command lines that run the program of a finished task.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::{ClusterArgs, Color, NetworkArgs, with_exit_codes};
use codegen_api::duration;
use codegen_api::run::Validation;

const LOCAL_RUN_EXIT_CODES: &str = "\
Exit codes:
  0    the program ran, and every output is there
  1    the program failed, or its data breaks a rule that is enforced; with --for-each, for one file at least
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
  kubectl-codegen run penguin-masses --namespace data --keep -o json

  # A published program, without its task
  kubectl-codegen run --image registry.example.com/team/penguins:v1 --pull-secret registry --input measurements=@today.csv

  # Outputs that are too large for the cluster, on a claim
  kubectl-codegen run penguin-masses --output-claim results:2027";

const LOCAL_RUN_EXAMPLES: &str = "\
Examples:
  # The program of a finished task on another file, its outputs in a folder
  kubectl-codegen local run codegen-out/penguin-masses --input measurements=@today.csv --output-dir out

  # One value for a script: what is bare on stdout, one line an output
  kubectl-codegen local run codegen-out/word-count --input text=@book.txt -o value

  # From standard input
  zcat today.csv.gz | kubectl-codegen local run codegen-out/penguin-masses --input measurements=@-

  # Once for each of many files; the same command goes on after a Ctrl-C
  kubectl-codegen local run codegen-out/penguin-masses --for-each 'measurements=data/*.csv' --output-dir out

  # With the Secrets that the task's sandbox takes, and data that breaks a constraint refused
  kubectl-codegen local run -f task.yaml --validation enforce";

/// What else `local` does.
#[derive(Subcommand, Debug)]
pub enum LocalCommand {
    /// Run the program of a finished task on this machine, on values and files of your own.
    #[command(after_help = LOCAL_RUN_EXAMPLES, after_long_help = with_exit_codes(LOCAL_RUN_EXAMPLES, LOCAL_RUN_EXIT_CODES))]
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
#[group(id = "which", required = true, multiple = false, args = ["name", "image"])]
pub struct RunArgs {
    /// Name of the task.
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// A program that a task has published (its `status.programImage`), in the place of a task. An input that begins with @ is a
    /// file or folder then.
    #[arg(long, value_name = "IMAGE", value_parser = NonEmptyStringValueParser::new())]
    pub image: Option<String>,
    /// Secret to pull the image with, labelled codegen-operator.dev/use: registry. Default: none.
    #[arg(long, value_name = "NAME", requires = "image", conflicts_with = "name")]
    pub pull_secret: Option<String>,
    /// Where it is.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Keep the run and its outputs in the cluster. Default: they are deleted an hour after the end.
    #[arg(long)]
    pub keep: bool,
    /// A PersistentVolumeClaim for outputs that are too large to be kept in the cluster, and a folder on it. Where they lie is
    /// printed; they are not fetched.
    #[arg(long, value_name = "NAME[:FOLDER]", value_parser = claim_and_folder, help_heading = "Results")]
    pub output_claim: Option<(String, Option<String>)>,
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
    /// What is reached besides the public internet.
    #[command(flatten)]
    pub network: NetworkArgs,
    /// Go by records that were made elsewhere (another user, another machine), for this command alone. Look at them first: they decide what
    /// runs, and what counts as tested. They do not become yours.
    #[arg(long)]
    pub trust: bool,
    /// Many files.
    #[command(flatten)]
    pub each: ForEachArgs,
    /// The run.
    #[command(flatten)]
    pub program: ProgramArgs,
}

/// A run for each of many files.
#[derive(Args, Debug)]
#[command(next_help_heading = "Many files")]
pub struct ForEachArgs {
    /// Run the program once for each file of a pattern (`'measurements=data/*.csv'` in quotes; `**` is folders of any depth), every
    /// other input being the same, and print a line about each; `-o value` has an item and its outputs in a line, with tabs between.
    /// --output-dir gets a folder of each file's outputs, `items.jsonl` and `items.csv`.
    #[arg(long, value_name = "NAME=PATTERN", value_parser = name_and_pattern)]
    pub for_each: Option<(String, String)>,
    /// Most runs at once. Default: as many as the machine has cores.
    #[arg(long, value_name = "N", requires = "for_each")]
    pub parallelism: Option<NonZeroUsize>,
    /// Run those again too that failed. A file that has a line in `items.jsonl` with the same program, inputs and --validation is not run
    /// again, whether it succeeded or failed; with this, only where it succeeded.
    #[arg(long, requires_all = ["for_each", "output_dir"])]
    pub failed: bool,
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
    /// Nothing is checked.
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

fn name_and_pattern(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, pattern)) if !name.is_empty() && !pattern.is_empty() => {
            Ok((name.to_owned(), pattern.to_owned()))
        }
        _ => Err("write name=pattern in quotes, for example 'measurements=data/*.csv'".to_owned()),
    }
}

fn claim_and_folder(text: &str) -> Result<(String, Option<String>), String> {
    let (claim, folder) = match text.split_once(':') {
        Some((claim, folder)) => (claim, Some(folder)),
        None => (text, None),
    };
    if claim.is_empty() || folder == Some("") {
        return Err(
            "write the name of a claim, or claim:folder, for example results or results:2027".to_owned(),
        );
    }
    Ok((claim.to_owned(), folder.map(str::to_owned)))
}

fn checked_duration(text: &str) -> Result<String, String> {
    match duration::parse(text) {
        Ok(Duration::ZERO) => Err("no program runs in no time: write 30s or 5m".to_owned()),
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use rstest::rstest;

    use super::*;
    use crate::cli::args::{Cli, Command};

    fn parsed(arguments: &[&str]) -> Result<RunArgs, clap::Error> {
        let line = ["kubectl-codegen", "run"].iter().chain(arguments);
        match Cli::try_parse_from(line)?.command {
            Command::Run(args) => Ok(*args),
            other => panic!("{other:?}"),
        }
    }

    #[rstest]
    #[case::neither(&[])]
    #[case::both(&["a", "--image", "registry.example/a:v1"])]
    #[case::a_secret_for_no_image(&["a", "--pull-secret", "registry"])]
    #[case::no_image(&["--image", ""])]
    fn what_does_not_go_together_is_refused(#[case] arguments: &[&str]) {
        assert!(parsed(arguments).is_err());
    }

    #[test]
    fn a_program_is_that_of_a_task_or_an_image() {
        assert_eq!(parsed(&["a"]).unwrap().name.as_deref(), Some("a"));
        let by_image = parsed(&["--image", "registry.example/a:v1", "--pull-secret", "registry"]).unwrap();
        assert_eq!(by_image.image.as_deref(), Some("registry.example/a:v1"));
        assert_eq!(
            (by_image.name, by_image.pull_secret.as_deref()),
            (None, Some("registry"))
        );
    }

    #[rstest]
    #[case("results", Some(("results", None)))]
    #[case("results:2027/may", Some(("results", Some("2027/may"))))]
    #[case("results:", None)]
    #[case(":2027", None)]
    fn a_claim_may_have_a_folder(#[case] text: &str, #[case] expected: Option<(&str, Option<&str>)>) {
        let found = claim_and_folder(text).ok();
        let found = found
            .as_ref()
            .map(|(claim, folder)| (claim.as_str(), folder.as_deref()));
        assert_eq!(found, expected);
    }
}
