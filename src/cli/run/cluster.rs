//! `kubectl-codegen run`: the program of a task in a cluster, as a `CodeGenRun` of its own.

use std::collections::BTreeMap;
use std::path::Path;
use std::pin::pin;
use std::sync::OnceLock;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Resource as _, ResourceExt as _};
use serde_json::json;

use super::print::{Outputs, ended};
use super::request::{Asked, Content, Request, request};
use crate::api::conditions::run_reason;
use crate::api::values::ValueType;
use crate::api::{CodeGenRun, CodeGenRunStatus, CodeGenTask};
use crate::cli::args::{RunArgs, RunFormat};
use crate::cli::cluster::{Cluster, refusal};
use crate::cli::command::{TASK_FAILED, USAGE, fail, runtime, warning};
use crate::cli::progress::Progress;
use crate::controller::runs::outputs::read;
use crate::controller::sources::LARGEST_FILE;
use crate::local::interrupt::INTERRUPTED;
use crate::local::run::given::{GivenFile, GivenInputs, file_name, sort, stdin};
use crate::local::run::write;
use crate::pipeline::causes::with_causes;
use crate::pipeline::run::{Options, OutputFile, TypedOutput};
use crate::pipeline::stage::Stage;

/// A run that could not be made, followed or fetched: what to say, and the exit code.
struct Stopped {
    message: String,
    code: i32,
}

impl Stopped {
    fn usage(message: impl std::fmt::Display) -> Self {
        Self {
            message: message.to_string(),
            code: USAGE,
        }
    }

    fn failed(message: impl std::fmt::Display) -> Self {
        Self {
            message: message.to_string(),
            code: TASK_FAILED,
        }
    }
}

/// Runs the command.
pub(in crate::cli) fn run(args: &RunArgs) -> i32 {
    let progress = Progress::new(args.program.color);
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&progress, &format!("cannot start: {error}"), TASK_FAILED),
    };
    let made = OnceLock::new();
    runtime.block_on(async {
        let running = Box::pin(run_and_fetch(args, &progress, &made));
        tokio::select! {
            ran = running => ran.unwrap_or_else(|Stopped { message, code }| {
                progress.stop();
                fail(&progress, &message, code)
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

async fn run_and_fetch(args: &RunArgs, progress: &Progress, made: &OnceLock<String>) -> Result<i32, Stopped> {
    let cluster = Cluster::connect(&args.cluster).await.map_err(Stopped::usage)?;
    let task = cluster.task(&args.name).await.map_err(Stopped::usage)?;
    if let Some(status) = task
        .status
        .as_ref()
        .filter(|status| status.stage.as_deref() == Some(Stage::Failed.as_str()))
    {
        let why = status.message.as_deref().unwrap_or_default();
        return Err(Stopped::usage(format!(
            "the task {} has failed, so it has no program to run: {why}",
            args.name
        )));
    }
    if let Some(folder) = &args.program.output_dir {
        write::check(folder, &task.spec.outputs).map_err(Stopped::usage)?;
    }
    let asked = asked(args, &task)?;
    let request = request(asked, LARGEST_FILE).map_err(Stopped::usage)?;
    let run = create(&cluster, &args.name, request).await?;
    let name = run.name_any();
    let _ = made.set(name.clone());
    let run = follow(&cluster, &name, progress).await?;
    let (run, outputs) = fetch(&cluster, args, run).await?;
    Ok(ended(progress, args.program.format, &run, &outputs))
}

/// The command line with its files read.
fn asked(args: &RunArgs, task: &CodeGenTask) -> Result<Asked, Stopped> {
    let given = sort(&Options::from(&task.spec), &args.program.inputs).map_err(Stopped::usage)?;
    let GivenInputs { values, files } = given;
    let mut contents = Vec::new();
    for (name, file) in files {
        let content = match file {
            GivenFile::Stdin => Content::File(name.clone(), stdin(&name).map_err(Stopped::usage)?),
            GivenFile::Path(path) => content(&name, &path).map_err(Stopped::usage)?,
        };
        contents.push((name, content));
    }
    Ok(Asked {
        task: args.name.clone(),
        values,
        contents,
        validation: args.program.validation.map(Into::into),
        timeout: args.program.timeout.clone(),
        keep: args.keep,
    })
}

/// What lies at a path. A file that is too large is not read.
fn content(name: &str, path: &Path) -> Result<Content, String> {
    let unreadable = |path: &Path, error: std::io::Error| {
        format!(
            "{name}: cannot read {}: {error}; correct the path",
            path.display()
        )
    };
    let too_large = |bytes: u64| {
        format!(
            "{name}: {} has {bytes} bytes, and at most {LARGEST_FILE} go to a cluster from here: put it on a PersistentVolumeClaim, and \
             name that in a CodeGenRun of your own (inputs[].source.persistentVolumeClaim)",
            path.display()
        )
    };
    let file = |path: &Path| {
        let size = std::fs::metadata(path)
            .map_err(|error| unreadable(path, error))?
            .len();
        if size > LARGEST_FILE as u64 {
            return Err(too_large(size));
        }
        std::fs::read(path).map_err(|error| unreadable(path, error))
    };
    let metadata = std::fs::metadata(path).map_err(|error| unreadable(path, error))?;
    if !metadata.is_dir() {
        return Ok(Content::File(file_name(path, name), file(path)?));
    }
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(path).map_err(|error| unreadable(path, error))? {
        let entry = entry.map_err(|error| unreadable(path, error))?;
        // A link may lead to a file that the user never meant to give.
        if !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            return Err(format!(
                "{name}: {} is no plain file, and a folder goes to a cluster as a ConfigMap, which holds files alone: put it on a \
                 PersistentVolumeClaim",
                entry.path().display()
            ));
        }
        files.insert(
            entry.file_name().to_string_lossy().into_owned(),
            file(&entry.path())?,
        );
    }
    Ok(Content::Folder(files))
}

/// Creates the run and each `ConfigMap` that it reads, which then belong to it.
async fn create(cluster: &Cluster, task: &str, mut request: Request) -> Result<CodeGenRun, Stopped> {
    let refused = |error: &kube::Error| Stopped::usage(refusal(error, task, &cluster.namespace));
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let mut names = Vec::new();
    for (input, map) in std::mem::take(&mut request.config_maps) {
        match maps.create(&PostParams::default(), &map).await {
            Ok(map) => {
                request.refer(input, &map.name_any());
                names.push(map.name_any());
            }
            Err(error) => {
                remove(&maps, &names).await;
                return Err(refused(&error));
            }
        }
    }
    let runs = cluster.runs();
    let run = match runs.create(&PostParams::default(), &request.run).await {
        Ok(run) => run,
        Err(error) => {
            remove(&maps, &names).await;
            return Err(refused(&error));
        }
    };
    let owner = run.owner_ref(&()).map(|mut owner| {
        owner.controller = None;
        owner
    });
    let patch = json!({"metadata": {"ownerReferences": [owner]}});
    for name in &names {
        maps.patch_metadata(name, &PatchParams::default(), &Patch::Merge(&patch))
            .await
            .map_err(|error| refused(&error))?;
    }
    Ok(run)
}

/// Takes back what a run that was not created would have read. What cannot be removed does no harm.
async fn remove(maps: &Api<ConfigMap>, names: &[String]) {
    for name in names {
        let _ = maps.delete(name, &DeleteParams::default()).await;
    }
}

/// Shows what the run waits for until it has ended.
async fn follow(cluster: &Cluster, name: &str, progress: &Progress) -> Result<CodeGenRun, Stopped> {
    let one = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let mut events = pin!(watcher(cluster.runs(), one).default_backoff());
    let mut told = String::new();
    progress.run(&format!("run {name}"));
    while let Some(event) = events.next().await {
        match event {
            Ok(watcher::Event::Apply(run) | watcher::Event::InitApply(run)) => {
                let status = run.status.clone().unwrap_or_default();
                match news(name, &status) {
                    News::Ended => return Ok(run),
                    News::Never(message) => return Err(Stopped::usage(message)),
                    News::Waits(message) if message != told => {
                        progress.lines(&warning(&message));
                        told = message;
                    }
                    News::Waits(_) => {}
                    News::Works(label) => progress.run(&format!("run {name}: {label}")),
                }
            }
            Ok(watcher::Event::Delete(_)) => break,
            Ok(watcher::Event::Init | watcher::Event::InitDone) => {}
            Err(error) => {
                let message = format!("the cluster does not answer, trying again: {error}");
                if message != told {
                    progress.lines(&warning(&message));
                    told = message;
                }
            }
        }
    }
    Err(Stopped::failed(format!(
        "the run {name} was deleted before it had ended"
    )))
}

/// What a status says to whoever waits for the end.
#[derive(Debug, PartialEq, Eq)]
enum News {
    Ended,
    /// It never starts, as it stands.
    Never(String),
    /// It goes on once another object is there, or somebody has done something.
    Waits(String),
    Works(String),
}

fn news(name: &str, status: &CodeGenRunStatus) -> News {
    let stage = status.stage.as_deref().unwrap_or_default();
    if [Stage::Succeeded, Stage::Failed]
        .iter()
        .any(|end| end.as_str() == stage)
    {
        return News::Ended;
    }
    let message = status.message.clone().unwrap_or_default();
    let is_stalled = status
        .conditions
        .iter()
        .any(|condition| condition.type_ == "Stalled" && condition.status == "True");
    match status.reason.as_deref() {
        Some(run_reason::INVALID_INPUTS | run_reason::TASK_NOT_SUCCEEDED) => News::Never(format!(
            "{message} (the run {name} stays: kubectl delete codegenrun {name})"
        )),
        Some(run_reason::AWAITING_TASK | run_reason::AWAITING_RUN) => News::Waits(message),
        _ if is_stalled => News::Waits(message),
        _ if message.is_empty() => News::Works("waiting for the operator".to_owned()),
        _ => News::Works(message),
    }
}

/// Reads what the run wrote, as far as it is wanted here.
async fn fetch(
    cluster: &Cluster,
    args: &RunArgs,
    mut run: CodeGenRun,
) -> Result<(CodeGenRun, Outputs), Stopped> {
    let mut outputs = Outputs::default();
    let name = run.name_any();
    let secrets: Api<Secret> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let Some(status) = &mut run.status else {
        return Ok((run, outputs));
    };
    let folder = args.program.output_dir.as_deref();
    let is_only = status.outputs.len() == 1;
    let mut written = Vec::new();
    for output in &mut status.outputs {
        let holds_files = matches!(output.type_, ValueType::File | ValueType::Dir);
        let is_bare = is_only
            && folder.is_none()
            && output.type_ == ValueType::File
            && args.program.format == RunFormat::Value;
        let is_wanted = if holds_files {
            folder.is_some() || is_bare
        } else {
            output.value.is_none()
        };
        // It is as large as a volume may be, and mounted by who needs it.
        if !is_wanted || output.claim.is_some() {
            continue;
        }
        let files = match read(&secrets, output).await {
            Ok(Some(files)) => files,
            Ok(None) => {
                return Err(Stopped::failed(format!(
                    "the output {} of the run {name} is gone: its Secret was deleted; run it again",
                    output.name
                )));
            }
            Err(error) => {
                return Err(Stopped::usage(format!(
                    "the run {name} succeeded, and its output {} cannot be read: {}; what a run wrote may hold data, so it is a Secret",
                    output.name,
                    with_causes(&error)
                )));
            }
        };
        if !holds_files {
            output.value = text(&files);
        } else if is_bare {
            outputs.only = files.into_iter().next().map(|file| file.bytes);
        } else {
            written.push(TypedOutput {
                name: output.name.clone(),
                type_: output.type_,
                value: None,
                file_name: output.file_name.clone(),
                files,
                on_claim: None,
            });
        }
    }
    if let Some(folder) = folder {
        outputs.places = write::write(folder, &written).map_err(Stopped::usage)?;
    }
    Ok((run, outputs))
}

/// A value that is too long for a status.
fn text(files: &[OutputFile]) -> Option<String> {
    files
        .first()
        .map(|file| String::from_utf8_lossy(&file.bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

    fn status(stage: &str, reason: &str, stalled: &str) -> CodeGenRunStatus {
        CodeGenRunStatus {
            stage: Some(stage.to_owned()),
            reason: Some(reason.to_owned()),
            message: Some("what happened".to_owned()),
            conditions: vec![Condition {
                type_: "Stalled".to_owned(),
                status: stalled.to_owned(),
                reason: reason.to_owned(),
                message: String::new(),
                observed_generation: None,
                last_transition_time: Time(jiff::Timestamp::UNIX_EPOCH),
            }],
            ..CodeGenRunStatus::default()
        }
    }

    #[test]
    fn a_run_is_followed_until_it_has_ended_or_never_will() {
        let message = || "what happened".to_owned();
        assert_eq!(
            news("a", &CodeGenRunStatus::default()),
            News::Works("waiting for the operator".to_owned())
        );
        assert_eq!(
            news("a", &status("Running", "Running", "False")),
            News::Works(message())
        );
        assert_eq!(
            news("a", &status("Pending", "TaskNotFound", "True")),
            News::Waits(message())
        );
        assert_eq!(
            news("a", &status("Pending", "AwaitingTask", "False")),
            News::Waits(message())
        );
        assert_eq!(news("a", &status("Failed", "ProgramFailed", "True")), News::Ended);
        assert_eq!(
            news("a", &status("Pending", "InvalidInputs", "True")),
            News::Never("what happened (the run a stays: kubectl delete codegenrun a)".to_owned())
        );
    }

    #[test]
    fn a_folder_is_read_without_what_is_no_file() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), "x").unwrap();
        let files = BTreeMap::from([("a.txt".to_owned(), b"x".to_vec())]);
        assert_eq!(content("notes", folder.path()).unwrap(), Content::Folder(files));
        std::fs::create_dir(folder.path().join("inner")).unwrap();
        let refusal = content("notes", folder.path()).unwrap_err();
        assert!(refusal.contains("inner is no plain file"), "{refusal}");
        let absent = content("notes", &folder.path().join("absent")).unwrap_err();
        assert!(absent.starts_with("notes: cannot read"), "{absent}");
    }
}
