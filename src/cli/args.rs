//! The command line of `kubectl-codegen`.

mod cluster;
mod context;
mod local;
mod run;
mod values;

use clap::{Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

pub(crate) use cluster::{
    ClusterArgs, DecideArgs, ExportArgs, FromArg, GateArg, RetryArgs, TaskArgs, WatchArgs,
};
pub(crate) use context::{ContextArgs, ContextFormat};
pub(crate) use local::{Format, LocalArgs, ManifestArgs};
pub(crate) use run::{LocalCommand, LocalRunArgs, ProgramArgs, RunArgs, RunFormat};
pub(crate) use values::Color;

/// Turns a prompt, sample data and typed outputs into a tested Python program.
#[derive(Parser, Debug)]
#[command(name = "kubectl-codegen", version, about, after_long_help = local::EXIT_CODES, disable_help_subcommand = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Run tasks on this machine, without a cluster.
    #[command(after_help = local::EXAMPLES, after_long_help = with_exit_codes(local::EXAMPLES, local::EXIT_CODES))]
    Local(Box<LocalArgs>),
    /// Print what the model would see of sample data; nothing is sent.
    #[command(after_help = context::EXAMPLES, after_long_help = with_exit_codes(context::EXAMPLES, context::EXIT_CODES))]
    Context(Box<ContextArgs>),
    /// Run the program of a task that has succeeded in a cluster, on values and files of your own.
    #[command(after_help = run::EXAMPLES, after_long_help = with_exit_codes(run::EXAMPLES, run::EXIT_CODES))]
    Run(Box<RunArgs>),
    /// Show what a task in a cluster does, until it has ended.
    #[command(after_help = cluster::WATCH_EXAMPLES, after_long_help = with_exit_codes(cluster::WATCH_EXAMPLES, cluster::WATCH_EXIT_CODES))]
    Watch(Box<WatchArgs>),
    /// Print the program of a task that has ended in a cluster.
    #[command(after_help = cluster::CODE_EXAMPLES, after_long_help = with_exit_codes(cluster::CODE_EXAMPLES, cluster::CODE_EXIT_CODES))]
    Code(Box<TaskArgs>),
    /// Write everything that a task in a cluster left to a folder: program, tests, attempts, conversation, Dockerfile.
    #[command(after_help = cluster::EXPORT_EXAMPLES, after_long_help = with_exit_codes(cluster::EXPORT_EXAMPLES, cluster::EXPORT_EXIT_CODES))]
    Export(Box<ExportArgs>),
    /// Try a task in a cluster again that has ended, with new replies; what came before stays recorded.
    #[command(after_help = cluster::RETRY_EXAMPLES, after_long_help = with_exit_codes(cluster::RETRY_EXAMPLES, cluster::RETRY_EXIT_CODES))]
    Retry(Box<RetryArgs>),
    /// Approve of what a task in a cluster waits with at a gate.
    #[command(after_help = cluster::DECIDE_EXAMPLES, after_long_help = with_exit_codes(cluster::DECIDE_EXAMPLES, cluster::DECIDE_EXIT_CODES))]
    Approve(Box<DecideArgs>),
    /// Reject what a task in a cluster waits with at a gate, which ends the task.
    #[command(after_help = cluster::DECIDE_EXAMPLES, after_long_help = with_exit_codes(cluster::DECIDE_EXAMPLES, cluster::DECIDE_EXIT_CODES))]
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
