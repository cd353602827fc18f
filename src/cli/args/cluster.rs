//! The command lines for a task in a cluster: watch, code, export, retry, approve and reject.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};

use super::values::{Color, duration, question_name};
use codegen_api::approval::Gate;

/// Exit codes of `watch`.
pub(super) const WATCH_EXIT_CODES: &str = "\
Exit codes:
  0    the task succeeded, or the results were listed
  1    it failed, was deleted, or has not ended within --timeout
  2    there is no such task or folder, the cluster cannot be reached, or the command line is wrong
  130  interrupted; the task goes on";

/// Examples of `watch`.
pub(super) const WATCH_EXAMPLES: &str = "\
Examples:
  # What the task does, until it has ended; of one that has ended, what it did
  kubectl-codegen watch penguin-masses

  # A question, and a local result
  kubectl-codegen watch codemoderun/shop-kvmcw
  kubectl-codegen watch codegen-out/penguin-masses

  # The results in codegen-out
  kubectl-codegen watch

  # In a script: wait for at most ten minutes
  kubectl-codegen watch penguin-masses --namespace data --timeout 10m";

/// Exit codes of `code`.
pub(super) const CODE_EXIT_CODES: &str = "\
Exit codes:
  0    the program was printed, and it passed
  1    there is no program yet, or the last one was printed and did not pass
  2    there is no such task, the cluster cannot be reached, or the command line is wrong";

/// Examples of `code`.
pub(super) const CODE_EXAMPLES: &str = "\
Examples:
  # The program of a task, also while it is still tested
  kubectl-codegen code penguin-masses > solution.py

  # The last program of a question
  kubectl-codegen code codemoderun/shop-kvmcw";

/// Exit codes of `export`.
pub(super) const EXPORT_EXIT_CODES: &str = "\
Exit codes:
  0    everything was written, and the program passed
  1    the task has not ended, or what it left was written and did not pass
  2    there is no such task, its results may not be read, the folder cannot be written, or the command line is wrong";

/// Examples of `export`.
pub(super) const EXPORT_EXAMPLES: &str = "\
Examples:
  # Everything that a task left, and its program run with plain Python
  kubectl-codegen export penguin-masses --output penguin-masses
  sh penguin-masses/run.sh out --measurements penguins.csv

  # A question: programs, answer, calls of tools, replies, conversation
  kubectl-codegen export codemoderun/shop-kvmcw";

/// Exit codes of `approve` and `reject`.
pub(super) const DECIDE_EXIT_CODES: &str = "\
Exit codes:
  0    the decision is recorded
  1    the task or question waits for no approval, at another gate, or somebody has decided already
  2    there is no such task or question, the cluster refuses or cannot be reached, or the command line is wrong";

/// Examples of `approve` and `reject`.
pub(super) const DECIDE_EXAMPLES: &str = "\
Examples:
  # Look at the plan of a task, and say yes or no
  kubectl-codegen approve penguin-masses --gate Plan

  # No, and why
  kubectl-codegen reject penguin-masses --gate Packages --reason 'scipy is not for this'

  # A call that the program of a question makes
  kubectl-codegen approve codemoderun/shop-kvmcw
  kubectl-codegen reject codemoderun/shop-kvmcw --reason 'not after 30 days'

  # In a script, which has looked at status.approval itself
  kubectl-codegen approve penguin-masses --gate Image --yes";

/// Exit codes of `retry`.
pub(super) const RETRY_EXIT_CODES: &str = "\
Exit codes:
  0    the task is tried again
  1    it cannot be tried again, and the message says why; or the operator does not answer
  2    there is no such task, the cluster refuses or cannot be reached, or the command line is wrong";

/// Examples of `retry`.
pub(super) const RETRY_EXAMPLES: &str = "\
Examples:
  # Again, with new replies for what went wrong
  kubectl-codegen retry penguin-masses

  # With a new plan, and something to go by
  kubectl-codegen retry penguin-masses --replan --hint 'the dates are day first'
  kubectl-codegen watch penguin-masses";

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

/// A task in a cluster.
#[derive(Args, Debug)]
pub struct TaskArgs {
    /// Name of the task; `export` takes questions too (codemoderun/NAME or cmr/NAME).
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Where it is.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// Options of `watch`.
#[derive(Args, Debug)]
pub struct WatchArgs {
    /// A task in a cluster by its name, a question (codemoderun/NAME or cmr/NAME), or the folder of a local result (codegen-out/NAME).
    /// Default: the results in codegen-out are listed.
    #[arg(value_name = "TASK|codemoderun/NAME|FOLDER/", value_hint = ValueHint::DirPath)]
    pub name: Option<String>,
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

/// Options of `export`.
#[derive(Args, Debug)]
pub struct ExportArgs {
    /// The task or question.
    #[command(flatten)]
    pub task: TaskArgs,
    /// The folder. What an earlier export left there is replaced; files that you changed are moved aside. Default: the name.
    #[arg(short = 'o', long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub output: Option<PathBuf>,
}

/// Options of `approve` and `reject`.
#[derive(Args, Debug)]
pub struct DecideArgs {
    /// The task that waits, or a question (codemoderun/NAME or cmr/NAME).
    #[arg(value_name = "TASK|codemoderun/NAME", value_parser = waiting)]
    pub waiting: WaitingArg,
    /// The gate that is meant, of a task. Default: the one that it waits at.
    #[arg(long, value_name = "GATE", ignore_case = true)]
    pub gate: Option<GateArg>,
    /// Why, in a sentence; it stands in the status of the task, and in the exception of a program whose call is rejected.
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Decide without being asked.
    #[arg(short, long)]
    pub yes: bool,
    /// Where it is.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// What waits for a decision in a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitingArg {
    /// A task.
    Task(String),
    /// A question.
    Question(String),
}

/// `NAME` of a task, or `TYPE/NAME` as kubectl takes it.
fn waiting(text: &str) -> Result<WaitingArg, String> {
    if let Some(name) = question_name(text) {
        return Ok(WaitingArg::Question(name.to_owned()));
    }
    let Some((type_, name)) = text.split_once('/') else {
        return Ok(WaitingArg::Task(text.to_owned()));
    };
    let type_ = type_.to_lowercase();
    let name = name.to_owned();
    match type_.split('.').next().unwrap_or_default() {
        _ if name.is_empty() => Err("a name is missing behind the slash".to_owned()),
        "codegentask" | "codegentasks" | "cgt" => Ok(WaitingArg::Task(name)),
        _ => Err("tasks and questions wait for decisions: write NAME or codemoderun/NAME".to_owned()),
    }
}

/// Options of `retry`.
#[derive(Args, Debug)]
pub struct RetryArgs {
    /// The task.
    #[command(flatten)]
    pub task: TaskArgs,
    /// With a new plan too. Default: what was of no use is asked for again, else a new program.
    #[arg(long)]
    pub replan: bool,
    /// A sentence that is added to the task for this try ("the dates are day first").
    #[arg(long, value_name = "TEXT")]
    pub hint: Option<String>,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_name_is_a_task_and_a_type_before_it_says_otherwise() {
        let task = |name: &str| Ok(WaitingArg::Task(name.to_owned()));
        let question = |name: &str| Ok(WaitingArg::Question(name.to_owned()));
        assert_eq!(waiting("shop"), task("shop"));
        assert_eq!(waiting("codegentask/shop"), task("shop"));
        for type_ in [
            "codemoderun",
            "CodeModeRuns",
            "cmr",
            "codemoderuns.codegen-operator.dev",
        ] {
            assert_eq!(waiting(&format!("{type_}/shop")), question("shop"), "{type_}");
        }
        for wrong in ["pod/shop", "cmr/"] {
            assert!(waiting(wrong).is_err(), "{wrong}");
        }
    }
}
