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
use std::io::{self, IsTerminal as _, Write};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use self::args::{Cli, Command, LocalCommand, Page};
use self::command::USAGE;
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
        return exit_code(USAGE);
    }
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(error) => {
            // clap decides between stdout (help) and stderr (errors); a closed one ends nothing.
            let _ = error.print();
            return exit_code(error.exit_code());
        }
    };
    match cli.command {
        Command::Local(args) => match &args.command {
            Some(LocalCommand::Run(args)) => exit_code(run::local::run(args)),
            None => exit_code(local::run(&args)),
        },
        Command::Ask(args) => exit_code(ask::run(&args)),
        Command::New(args) => exit_code(new::run(&args)),
        Command::Context(args) => exit_code(context::run(&args)),
        Command::Run(args) => exit_code(run::cluster::run(&args)),
        Command::Watch(args) => exit_code(watch::run(&args)),
        Command::Code(args) => exit_code(code::run(&args)),
        Command::Tests(args) => exit_code(test_list::run(&args)),
        Command::Logs(args) => exit_code(logs::run(&args)),
        Command::Diff(args) => exit_code(diff::run(&args)),
        Command::Cost(args) => exit_code(cost::run(&args)),
        Command::Export(args) => exit_code(export::run(&args)),
        Command::Retry(args) => exit_code(retry::run(&args)),
        Command::Approve(args) => exit_code(approve::run(&args, ApprovalDecision::Approve)),
        Command::Reject(args) => exit_code(approve::run(&args, ApprovalDecision::Reject)),
        Command::Docs {
            page: Page::ModelProtocol,
        } => printed(codegen_core::protocol::page().as_bytes()),
        Command::Completion { completion } => printed(&completion::script(completion)),
        Command::Explain { asked } => match explain::text(&asked, text::columns()) {
            Ok(text) => printed(text.as_bytes()),
            Err(message) => {
                let _ = writeln!(io::stderr().lock(), "error: {message}");
                exit_code(USAGE)
            }
        },
        Command::Worker => match worker::serve(io::stdin().lock(), io::stdout().lock()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => complaint(&error),
        },
        Command::Man => {
            let mut page = Vec::new();
            match clap_mangen::Man::new(Cli::command()).render(&mut page) {
                Ok(()) => printed(&page),
                Err(error) => complaint(&error),
            }
        }
    }
}

/// Writes to stdout. A reader that has had enough is no error.
pub(crate) fn print(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Writes what a program or a model wrote: to a file or a pipe as it is, to a terminal with nothing that it would obey.
pub(crate) fn print_as_it_is(bytes: &[u8]) -> io::Result<()> {
    match std::str::from_utf8(bytes) {
        Ok(text) if io::stdout().is_terminal() => print(text::spelled_out(text).as_bytes()),
        _ => print(bytes),
    }
}

fn printed(bytes: &[u8]) -> ExitCode {
    match print(bytes) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complaint(&error),
    }
}

fn complaint(error: &io::Error) -> ExitCode {
    let _ = writeln!(io::stderr().lock(), "error: {error}");
    exit_code(1)
}

fn exit_code(code: i32) -> ExitCode {
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
