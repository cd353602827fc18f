//! The command line that judges commands of agents.

use clap::{Args, ValueEnum};

/// Exit codes of `policy`.
pub(super) const EXIT_CODES: &str = "\
Exit codes:
  0    no command is denied
  1    a command is denied
  2    the command line is wrong";

/// Examples of `policy`.
pub(super) const EXAMPLES: &str = "\
Examples:
  # One command
  kubectl-codegen policy 'cd /sandbox && python solution.py 2>&1 | tail -5'

  # One a line, and what would be executed of each
  kubectl-codegen policy - -o json < commands.txt | jq -c '[.class, .command]'

  # As on a cluster whose administrator denies more
  kubectl-codegen policy --deny jq 'jq . data.json'";

/// Options of `policy`.
#[derive(Args, Debug)]
pub struct PolicyArgs {
    /// The command as an agent would write it, or - for one a line from standard input.
    #[arg(value_name = "COMMAND|-")]
    pub command: String,
    /// Programs that are denied besides, as an administrator may set it.
    #[arg(long, value_name = "PROGRAMS", value_delimiter = ',')]
    pub deny: Vec<String>,
    /// What goes to stdout.
    #[arg(short = 'o', long = "format", value_name = "FORMAT", default_value = "text")]
    pub format: PolicyFormat,
}

/// How judgements are printed.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyFormat {
    /// Class, rule, command and reason.
    Text,
    /// One JSON object a line: command, class, rule, reason, parsed.
    Json,
}
