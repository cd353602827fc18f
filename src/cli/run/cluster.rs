//! `kubectl-codegen run`: the program of a task in a cluster, as a `CodeGenRun` of its own.

mod create;
mod fetch;
mod follow;
mod given;

use std::sync::OnceLock;

use kube::ResourceExt as _;

use self::create::create;
use self::fetch::fetch;
use self::follow::follow;
use self::given::{asked, given_to_task, program};
use super::print::ended;
use super::request::{ProgramArgument, request};
use crate::cli::args::RunArgs;
use crate::cli::cluster::Cluster;
use crate::cli::command::{TASK_FAILED, USAGE, fail, fail_each, runtime};
use crate::cli::ended::Absent;
use crate::cli::progress::ProgressPrinter;
use crate::controller::sources::downloads::LARGEST_FILE;
use crate::local::interrupt::INTERRUPTED;
use crate::local::run::given::sort_unknown;
use crate::local::run::{LocalRunError, write};

/// A run that could not be made, followed or fetched: what to say, and the exit code.
struct Stopped {
    messages: Vec<String>,
    code: i32,
}

impl Stopped {
    fn usage(message: impl std::fmt::Display) -> Self {
        Self {
            messages: vec![message.to_string()],
            code: USAGE,
        }
    }

    fn failed(message: impl std::fmt::Display) -> Self {
        Self {
            messages: vec![message.to_string()],
            code: TASK_FAILED,
        }
    }
}

/// Waits until a run has ended; says meanwhile what it waits for.
pub(in crate::cli) async fn until_its_end(
    cluster: &Cluster,
    name: &str,
    progress: &ProgressPrinter,
) -> Result<(), Absent> {
    let followed = follow(cluster, name, progress).await;
    progress.stop();
    match followed {
        Ok(_) => Ok(()),
        Err(Stopped { messages, code }) => Err(Absent::new(messages.join("\n"), code)),
    }
}

/// Inputs that are not what the program takes: a message for each fault.
impl From<LocalRunError> for Stopped {
    fn from(error: LocalRunError) -> Self {
        Self {
            messages: error.messages(),
            code: USAGE,
        }
    }
}

/// Runs the command.
pub(in crate::cli) fn run(args: &RunArgs) -> i32 {
    let progress = ProgressPrinter::new(args.program.color);
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&progress, &format!("cannot start: {error}"), TASK_FAILED),
    };
    let made = OnceLock::new();
    runtime.block_on(async {
        let running = Box::pin(run_and_fetch(args, &progress, &made));
        tokio::select! {
            ran = running => ran.unwrap_or_else(|Stopped { messages, code }| {
                progress.stop();
                fail_each(&progress, &messages, code)
            }),
            _ = tokio::signal::ctrl_c() => {
                progress.stop();
                let message = made.get().map_or_else(
                    || "interrupted".to_owned(),
                    |name: &String| format!("interrupted; the run {name} goes on: kubectl get codegenrun {name}"),
                );
                fail(&progress, &message, INTERRUPTED)
            }
        }
    })
}

async fn run_and_fetch(
    args: &RunArgs,
    progress: &ProgressPrinter,
    made: &OnceLock<String>,
) -> Result<i32, Stopped> {
    let cluster = Cluster::connect(&args.cluster).await.map_err(Stopped::usage)?;
    let program = program(args);
    let given = match &program {
        ProgramArgument::Task(name) => {
            given_to_task(args, &cluster.task(name).await.map_err(Stopped::usage)?)?
        }
        ProgramArgument::Image { .. } => sort_unknown(&args.program.inputs)?,
    };
    let request = request(asked(args, program.clone(), given)?, LARGEST_FILE).map_err(Stopped::usage)?;
    let folder = args.program.output_dir.as_deref();
    // Before the run is created: a folder that is in use would be found out after the program has run.
    let _held = folder.map(write::hold).transpose().map_err(Stopped::usage)?;
    let run = create(&cluster, request).await?;
    let name = run.name_any();
    // An interrupt names the run from here on, for it goes on without this command.
    let _ = made.set(name.clone());
    let run = follow(&cluster, &name, progress).await?;
    let (run, outputs) = fetch(&cluster, args, run).await?;
    Ok(ended(progress, args.program.format, &run, &outputs))
}
