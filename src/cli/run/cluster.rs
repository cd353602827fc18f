//! `kubectl-codegen run`: the program of a task in a cluster, as a `CodeGenRun` of its own.

mod create;
mod fetch;
mod follow;
mod given;

use std::sync::OnceLock;

use kube::ResourceExt as _;

use self::create::create;
use self::fetch::fetch;
pub(in crate::cli) use self::follow::follow;
use self::given::{asked, given_to_task};
use super::print::ended;
use super::request::request;
use crate::cli::args::RunArgs;
use crate::cli::cluster::Cluster;
use crate::cli::command::{self, CommandError, interruptible};
use crate::cli::progress::ProgressPrinter;
use crate::controller::sources::downloads::LARGEST_FILE;
use crate::local::run::given::sort_unknown;
use crate::local::run::write;

/// Runs the command.
pub(in crate::cli) fn run(args: &RunArgs) -> i32 {
    command::run(args.program.color, async |progress| {
        let made = OnceLock::new();
        interruptible(Box::pin(run_and_fetch(args, progress, &made)), || {
            let goes_on = |name: &String| format!("; the run {name} goes on: kubectl get codegenrun {name}");
            format!("interrupted{}", made.get().map(goes_on).unwrap_or_default())
        })
        .await
    })
}

async fn run_and_fetch(
    args: &RunArgs,
    progress: &ProgressPrinter,
    made: &OnceLock<String>,
) -> Result<i32, CommandError> {
    let cluster = Cluster::connect(&args.cluster).await?;
    let given = match &args.name {
        Some(name) => given_to_task(args, &cluster.task(name).await?)?,
        None => sort_unknown(&args.program.inputs)?,
    };
    let request = request(asked(args, given)?, LARGEST_FILE).map_err(CommandError::usage)?;
    let folder = args.program.output_dir.as_deref();
    // Before the run is created: a folder that is in use would be found out after the program has run.
    let _held = folder.map(write::hold).transpose().map_err(CommandError::usage)?;
    let run = create(&cluster, request).await?;
    let name = run.name_any();
    // An interrupt names the run from here on, for it goes on without this command.
    let _ = made.set(name.clone());
    let run = follow(&cluster, &name, progress).await?;
    let (run, outputs) = fetch(&cluster, args, run).await?;
    ended(progress, args.program.format, &run, &outputs)
}
