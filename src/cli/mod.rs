//! The command line: `kubectl-codegen`, also reached as `kubectl codegen`.

mod approve;
pub mod args;
mod ask;
mod cluster;
mod code;
mod command;
mod completion;
mod context;
mod cost;
mod diff;
mod ended;
mod explain;
mod export;
mod follow;
mod local;
mod logs;
mod new;
mod paint;
mod plot;
mod prices;
mod progress;
mod recorded;
mod render;
mod replace;
mod replay;
mod retry;
mod run;
mod summary;
mod table;
mod test_list;
mod text;
mod watch;

use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use self::args::{Cli, Command, LocalCommand, Page};
use self::command::{TASK_FAILED, USAGE, print, unprinted};
use codegen_api::approval::ApprovalDecision;
use codegen_data::worker;

/// Verbs that are gone, and what does their work.
const GONE: [(&str, &str); 3] = [
    (
        "events",
        "kubectl-codegen watch NAME shows what a task or a question did, kubectl events the Events of its Pods and Jobs",
    ),
    (
        "list",
        "kubectl get codegentasks,codegenruns,codemoderuns lists what a cluster has, kubectl-codegen watch the results in codegen-out",
    ),
    (
        "replay",
        "kubectl-codegen local --again FOLDER runs a result once more, kubectl-codegen export NAME makes one of a task in a cluster",
    ),
];

/// Runs a command line, its first word the program's name.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let words: Vec<OsString> = args.into_iter().collect();
    let verb = words.get(1).and_then(|verb| verb.to_str());
    if let Some((gone, successor)) = GONE.iter().find(|(gone, _)| verb == Some(*gone)) {
        let _ = writeln!(
            io::stderr().lock(),
            "error: there is no {gone} any more: {successor}"
        );
        return exit(USAGE);
    }
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(error) => {
            // clap decides between stdout (help) and stderr (errors); a closed one ends nothing.
            let _ = error.print();
            return exit(error.exit_code());
        }
    };
    exit(match cli.command {
        Command::Local(args) => match &args.command {
            Some(LocalCommand::Run(args)) => run::local::run(args),
            None => local::run(&args),
        },
        Command::Ask(args) => ask::run(&args),
        Command::New(args) => new::run(&args),
        Command::Context(args) => context::run(&args),
        Command::Run(args) => run::cluster::run(&args),
        Command::Watch(args) => watch::run(&args),
        Command::Code(args) => code::run(&args),
        Command::Tests(args) => test_list::run(&args),
        Command::Logs(args) => logs::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Cost(args) => cost::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Retry(args) => retry::run(&args),
        Command::Approve(args) => approve::run(&args, ApprovalDecision::Approve),
        Command::Reject(args) => approve::run(&args, ApprovalDecision::Reject),
        Command::Docs {
            page: Page::ModelProtocol,
        } => ended(print(codegen_core::protocol::page().as_bytes())),
        Command::Completion { completion } => ended(print(&completion::script(completion))),
        Command::Explain { asked } => explain::run(&asked),
        Command::Worker => ended(worker::serve(io::stdin().lock(), io::stdout().lock())),
        Command::Man => {
            let mut page = Vec::new();
            let rendered = clap_mangen::Man::new(Cli::command()).render(&mut page);
            let rendered = rendered.map_err(|error| unprinted(&error));
            ended(rendered.and_then(|()| print(&page)))
        }
    })
}

/// Returns the exit code of a command for programs, after what went wrong.
fn ended(ended: Result<(), impl Display>) -> i32 {
    let Err(error) = ended else { return 0 };
    let _ = writeln!(io::stderr().lock(), "error: {error}");
    TASK_FAILED
}

fn exit(code: i32) -> ExitCode {
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
