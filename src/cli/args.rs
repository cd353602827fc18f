//! The command line of `kubectl-codegen`.

mod ask;
mod cluster;
mod context;
mod local;
mod network;
mod new;
mod run;
mod values;
mod verbs;

use clap::{Parser, Subcommand, ValueEnum};

pub(crate) use ask::AskArgs;
pub(crate) use cluster::{ClusterArgs, DecideArgs, ExportArgs, GateArg, RetryArgs, WaitingArg, WatchArgs};
pub(crate) use context::{ContextArgs, ContextFormat, ExposureArg};
pub(crate) use local::{DataArgs, LocalArgs, ManifestArgs, ModelArgs, OutputFormat};
pub(crate) use network::NetworkArgs;
pub(crate) use new::NewArgs;
pub(crate) use run::{ForEachArgs, LocalCommand, LocalRunArgs, ProgramArgs, RunArgs, RunFormat};
pub(crate) use values::{Color, question_name};
pub(crate) use verbs::{CostArgs, CostBy, DiffArgs, ListFormat, LogsArgs, RecordArgs, TestsArgs};

/// Turns a prompt, sample data and typed outputs into a tested Python program.
#[derive(Parser, Debug)]
#[command(name = "kubectl-codegen", version, about, after_long_help = local::EXIT_CODES, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Write a task from a sentence and data: a folder for `local`, kubectl and git.
    #[command(after_help = new::EXAMPLES, after_long_help = with_exit_codes(new::EXAMPLES, new::EXIT_CODES))]
    New(Box<NewArgs>),
    /// Run tasks on this machine, without a cluster.
    #[command(after_help = local::EXAMPLES, after_long_help = with_exit_codes(local::EXAMPLES, local::EXIT_CODES))]
    Local(Box<LocalArgs>),
    /// Ask an agent of code mode: the model writes a short program that calls the agent's tools, and its value is the answer.
    #[command(after_help = ask::EXAMPLES, after_long_help = with_exit_codes(ask::EXAMPLES, ask::EXIT_CODES))]
    Ask(Box<AskArgs>),
    /// Print what the model would see of sample data; nothing is sent.
    #[command(after_help = context::EXAMPLES, after_long_help = with_exit_codes(context::EXAMPLES, context::EXIT_CODES))]
    Context(Box<ContextArgs>),
    /// Run the program of a task that has succeeded in a cluster, on values and files of your own.
    #[command(after_help = run::EXAMPLES, after_long_help = with_exit_codes(run::EXAMPLES, run::EXIT_CODES))]
    Run(Box<RunArgs>),
    /// Show what a task or a question does until it has ended, or what a result on this machine came from; without a name, list the results.
    #[command(after_help = cluster::WATCH_EXAMPLES, after_long_help = with_exit_codes(cluster::WATCH_EXAMPLES, cluster::WATCH_EXIT_CODES))]
    Watch(Box<WatchArgs>),
    /// Print the program of a task or a question, under way or ended.
    #[command(after_help = cluster::CODE_EXAMPLES, after_long_help = with_exit_codes(cluster::CODE_EXAMPLES, cluster::CODE_EXIT_CODES))]
    Code(Box<RecordArgs>),
    /// Show the tests of an attempt, or one of them with its traceback.
    #[command(after_help = verbs::TESTS_EXAMPLES, after_long_help = with_exit_codes(verbs::TESTS_EXAMPLES, verbs::TESTS_EXIT_CODES))]
    Tests(Box<TestsArgs>),
    /// Print what builds and attempts of a task print, or what the programs of a question called and printed.
    #[command(after_help = verbs::LOGS_EXAMPLES, after_long_help = with_exit_codes(verbs::LOGS_EXAMPLES, verbs::SHOW_EXIT_CODES))]
    Logs(Box<LogsArgs>),
    /// Show what changed of program and suite between two attempts.
    #[command(after_help = verbs::DIFF_EXAMPLES, after_long_help = with_exit_codes(verbs::DIFF_EXAMPLES, verbs::DIFF_EXIT_CODES))]
    Diff(Box<DiffArgs>),
    /// Add up calls and tokens, and what they cost by a table of prices.
    #[command(after_help = verbs::COST_EXAMPLES, after_long_help = with_exit_codes(verbs::COST_EXAMPLES, verbs::SHOW_EXIT_CODES))]
    Cost(Box<CostArgs>),
    /// Write everything that a task or a question in a cluster left to a folder: program, tests, attempts, conversation, Dockerfile.
    #[command(after_help = cluster::EXPORT_EXAMPLES, after_long_help = with_exit_codes(cluster::EXPORT_EXAMPLES, cluster::EXPORT_EXIT_CODES))]
    Export(Box<ExportArgs>),
    /// Try a task in a cluster again that has ended, with new replies; what came before stays recorded.
    #[command(after_help = cluster::RETRY_EXAMPLES, after_long_help = with_exit_codes(cluster::RETRY_EXAMPLES, cluster::RETRY_EXIT_CODES))]
    Retry(Box<RetryArgs>),
    /// Approve of what a task in a cluster waits with at a gate, or of a call that a question waits with.
    #[command(after_help = cluster::DECIDE_EXAMPLES, after_long_help = with_exit_codes(cluster::DECIDE_EXAMPLES, cluster::DECIDE_EXIT_CODES))]
    Approve(Box<DecideArgs>),
    /// Reject what a task in a cluster waits with at a gate, which ends the task, or a call of a question.
    #[command(after_help = cluster::DECIDE_EXAMPLES, after_long_help = with_exit_codes(cluster::DECIDE_EXAMPLES, cluster::DECIDE_EXIT_CODES))]
    Reject(Box<DecideArgs>),
    /// Print a completion script for a shell, or the program by which kubectl completes `kubectl codegen`.
    #[command(after_help = COMPLETION_EXAMPLES)]
    Completion {
        /// What completes.
        #[arg(value_name = "SHELL")]
        completion: Completion,
    },
    /// Explain a field of a manifest (spec.limits, CodeGenRun.spec), a stage, or the reason of an end.
    Explain {
        /// The field, by its path behind a kind (default: CodeGenTask), or the word.
        #[arg(value_name = "[KIND.]FIELD|WORD")]
        asked: String,
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

/// Examples of `completion`.
const COMPLETION_EXAMPLES: &str = "\
Examples:
  # Bash, in ~/.bashrc
  source <(kubectl-codegen completion bash)

  # Zsh, in a folder of $fpath; fish
  kubectl-codegen completion zsh > ~/.zsh/completions/_kubectl-codegen
  kubectl-codegen completion fish > ~/.config/fish/completions/kubectl-codegen.fish

  # `kubectl codegen`, in every shell in which kubectl's own completion is set up
  kubectl-codegen completion kubectl > ~/.local/bin/kubectl_complete-codegen
  chmod +x ~/.local/bin/kubectl_complete-codegen";

/// What completes command lines.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// Bash.
    Bash,
    /// Elvish.
    Elvish,
    /// Fish.
    Fish,
    /// PowerShell.
    Powershell,
    /// Z shell.
    Zsh,
    /// kubectl: the program `kubectl_complete-codegen`, which needs Bash.
    Kubectl,
}

/// Pages that are written from the code.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub enum Page {
    /// Kinds of model call and their schemas.
    ModelProtocol,
}

/// What stands below the long help of a command.
fn with_exit_codes(examples: &str, exit_codes: &str) -> String {
    format!("{examples}\n\n{exit_codes}")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
