//! The command line of `ask`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::cluster::ClusterArgs;
use super::local::{ModelArgs, OutputFormat};
use super::values::Color;
use codegen_api::duration;
use codegen_egress::AllowedHost;

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

  # The same in a cluster, by names; the second run is deleted a day after its end
  kubectl-codegen ask shop --run late \"What is late?\"
  kubectl-codegen ask shop --continues late --ttl 24h \"And last week?\"

  # A call waits for a decision (requireApproval), and nobody sits at a terminal
  kubectl-codegen ask -f agents.yaml \"Refund order 7\" --approve 5c0d...

  # A server that is a program of this machine, and nobody sits at a terminal
  kubectl-codegen ask -f agents.yaml --allow-command \"What is late?\"

  # Recorded replies: no key, no model; for a script
  kubectl-codegen ask -f agents.yaml --replay replies.jsonl -o json \"What is late?\" | jq .value";

/// Options of `ask`.
#[derive(Args, Debug)]
#[group(id = "asked", multiple = true, args = ["files", "kustomize"])]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
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
    /// Name of the `CodeModeRun` that is made. Default: the agent's, and five characters.
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with = "asked",
        help_heading = "Run in a cluster"
    )]
    pub run: Option<String>,
    /// The run whose conversation goes on with this question (spec.continues); it is waited for.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["asked", "history"], help_heading = "Run in a cluster")]
    pub continues: Option<String>,
    /// Delete the run this long after its end (30m, 24h; spec.ttlSecondsAfterFinished). Default: it stays.
    #[arg(long, value_name = "DURATION", value_parser = ttl, conflicts_with = "asked", help_heading = "Run in a cluster")]
    pub ttl: Option<i32>,
    /// Approve of the call that has this hash and waits for a decision. May be repeated.
    #[arg(long, requires = "asked", value_name = "HASH", value_parser = hash, help_heading = "Decisions")]
    pub approve: Vec<String>,
    /// Reject it: the program gets a `PermissionError`. May be repeated.
    #[arg(long, requires = "asked", value_name = "HASH", value_parser = hash, help_heading = "Decisions")]
    pub reject: Vec<String>,
    /// Start the MCP servers that the manifests name as a program of this machine (mcp.command), which may do there what you may. Without it
    /// each is asked about once, at a terminal.
    #[arg(long, requires = "asked", help_heading = "Decisions")]
    pub allow_command: bool,
    /// A host, an address or a range that tools and programs may reach although it is not of the public internet (`127.0.0.1:8000`,
    /// `tools.lan`, `10.1.0.0/16`). May be repeated.
    #[arg(
        long,
        requires = "asked",
        value_name = "HOST[:PORT]|CIDR",
        help_heading = "Decisions"
    )]
    pub allow_host: Vec<AllowedHost>,
    /// Go by records that were made elsewhere (another user, another machine), for this command alone. Look at them first: they decide what
    /// runs, and what counts as tested. They do not become yours.
    #[arg(long, requires = "asked", help_heading = "Decisions")]
    pub trust: bool,
    /// The model, what is sent to it and what is replayed instead.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Folder of the results. Default: codegen-out/ask/<agent>-<hash of the question>.
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath, requires = "asked", help_heading = "Results")]
    pub output: Option<PathBuf>,
    /// Where the conversation with this question and its answer is written, as --history of the next one takes it.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Results")]
    pub save_history: Option<PathBuf>,
    /// Ask anew also where an earlier command was interrupted: it is moved aside, and its recorded replies and calls are not used.
    #[arg(long, requires = "asked", help_heading = "Results")]
    pub fresh: bool,
    /// Print the answer of an earlier command, and how old it is, where there is one: nothing is called.
    #[arg(long, requires = "asked", conflicts_with = "fresh", help_heading = "Results")]
    pub cached: bool,
    /// What goes to stdout: the answer alone, or a document with program, calls and status.
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

/// Whole seconds of a duration, at least one: a run that is gone at its end has no answer to read.
fn ttl(text: &str) -> Result<i32, String> {
    let duration = duration::parse(text).map_err(|error| error.to_string())?;
    match i32::try_from(duration.as_secs()) {
        Ok(0) => Err(
            "a run that is gone at its end has no answer to read: write 10m or 24h, or leave --ttl out"
                .to_owned(),
        ),
        Ok(seconds) => Ok(seconds),
        Err(_) => Err("no run stays for that long: leave --ttl out".to_owned()),
    }
}

/// The hash of a call, as it is shown.
fn hash(text: &str) -> Result<String, String> {
    let is_hash = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hash {
        return Ok(text.to_ascii_lowercase());
    }
    Err("write the 64 hexadecimal digits that stand behind hash".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use rstest::rstest;

    use super::*;
    use crate::cli::args::{Cli, Command};

    fn parsed(arguments: &[&str]) -> Result<AskArgs, clap::Error> {
        let line = ["kubectl-codegen", "ask"].iter().chain(arguments);
        match Cli::try_parse_from(line)?.command {
            Command::Ask(args) => Ok(*args),
            other => panic!("{other:?}"),
        }
    }

    #[rstest]
    #[case::manifests_make_no_run(&["-f", "shop.yaml", "--run", "late", "What is late?"])]
    #[case::one_conversation(&["shop", "--continues", "late", "--history", "talk.json", "And now?"])]
    #[case::no_time(&["shop", "--ttl", "0s", "What is late?"])]
    fn what_does_not_go_together_is_refused(#[case] arguments: &[&str]) {
        assert!(parsed(arguments).is_err());
    }

    #[test]
    fn a_run_is_named_and_lives_as_long_as_is_said() {
        let args = parsed(&["shop", "--run", "late", "--ttl", "24h", "What is late?"]).unwrap();
        assert_eq!(args.run.as_deref(), Some("late"));
        assert_eq!(args.ttl, Some(86_400));
    }
}
