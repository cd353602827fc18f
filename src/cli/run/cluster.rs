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
use super::request::{Asked, Content, Program, Request, request};
use crate::api::common::LocalRef;
use crate::api::conditions::{OUTPUTS_PUSHED, run_reason};
use crate::api::run::{OutputArtifact, OutputClaim, RunOutputs};
use crate::api::values::ValueType;
use crate::api::{CodeGenRun, CodeGenRunStatus, CodeGenTask};
use crate::cli::args::{RunArgs, RunFormat};
use crate::cli::cluster::{Cluster, refusal};
use crate::cli::command::{TASK_FAILED, USAGE, fail, fail_each, runtime, warning};
use crate::cli::paint::Mark;
use crate::cli::progress::Progress;
use crate::cli::render::step;
use crate::controller::runs::outputs::{MOST_FILES, read};
use crate::controller::sources::downloads::LARGEST_FILE;
use crate::local::interrupt::INTERRUPTED;
use crate::local::run::given::{GivenFile, GivenInputs, file_name, sort, sort_unknown, stdin};
use crate::local::run::{LocalRunError, write};
use crate::pipeline::causes::with_causes;
use crate::pipeline::run::{Options, OutputFile, TypedOutput};
use crate::pipeline::stage::Stage;

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
    let progress = Progress::new(args.program.color);
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

async fn run_and_fetch(args: &RunArgs, progress: &Progress, made: &OnceLock<String>) -> Result<i32, Stopped> {
    let cluster = Cluster::connect(&args.cluster).await.map_err(Stopped::usage)?;
    let program = program(args);
    let given = match &program {
        Program::Task(name) => given_to_task(args, &cluster.task(name).await.map_err(Stopped::usage)?)?,
        Program::Image { .. } => sort_unknown(&args.program.inputs)?,
    };
    let request = request(asked(args, program.clone(), given)?, LARGEST_FILE).map_err(Stopped::usage)?;
    let folder = args.program.output_dir.as_deref();
    let _held = folder.map(write::hold).transpose().map_err(Stopped::usage)?;
    let run = create(&cluster, program.name(), request).await?;
    let name = run.name_any();
    let _ = made.set(name.clone());
    let run = follow(&cluster, &name, progress).await?;
    let (run, outputs) = fetch(&cluster, args, run).await?;
    let code = ended(progress, args.program.format, &run, &outputs);
    Ok(match pushing(&run) {
        Pushing::Done(artifact) => {
            progress.lines(&[step(Mark::Done, "pushed", artifact)]);
            code
        }
        Pushing::Refused(message) => {
            let told = format!(
                "the run {name} has succeeded, and {message} (it is tried again as long as the run is there)"
            );
            fail(progress, &told, TASK_FAILED)
        }
        Pushing::No | Pushing::Goes(_) => code,
    })
}

/// Which program is meant; the command line has one of both.
fn program(args: &RunArgs) -> Program {
    match (&args.image, &args.name) {
        (Some(reference), _) => Program::Image {
            reference: reference.clone(),
            pull_secret: args.pull_secret.clone(),
        },
        (None, name) => Program::Task(name.clone().unwrap_or_default()),
    }
}

/// What the program of a task is given, where that is what it takes.
fn given_to_task(args: &RunArgs, task: &CodeGenTask) -> Result<GivenInputs, Stopped> {
    if let Some(status) = task
        .status
        .as_ref()
        .filter(|status| status.stage.as_deref() == Some(Stage::Failed.as_str()))
    {
        let why = status.message.as_deref().unwrap_or_default();
        return Err(Stopped::usage(format!(
            "the task {} has failed, so it has no program to run: {why}",
            task.name_any()
        )));
    }
    if let Some(folder) = &args.program.output_dir {
        write::check(folder, &task.spec.outputs).map_err(Stopped::usage)?;
    }
    Ok(sort(&Options::from(&task.spec), &args.program.inputs)?)
}

/// The command line with its files read.
fn asked(args: &RunArgs, program: Program, given: GivenInputs) -> Result<Asked, Stopped> {
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
        program,
        values,
        contents,
        validation: args.program.validation.map(Into::into),
        timeout: args.program.timeout.clone(),
        keep: args.keep,
        outputs: places(args),
    })
}

/// Where outputs go besides.
fn places(args: &RunArgs) -> Option<RunOutputs> {
    let claim = args.output_claim.clone().map(|(claim_name, path)| OutputClaim {
        claim_name,
        path,
        fs_group: None,
    });
    let artifact = args.push.clone().map(|(repository, tag)| OutputArtifact {
        repository,
        tag,
        push_secret_ref: args.push_secret.clone().map(|name| LocalRef { name }),
    });
    (claim.is_some() || artifact.is_some()).then_some(RunOutputs {
        persistent_volume_claim: claim,
        artifact,
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
            Ok(watcher::Event::Apply(run) | watcher::Event::InitApply(run)) => match news(name, &run) {
                News::Ended => return Ok(run),
                News::Never(message) => return Err(Stopped::usage(message)),
                News::Waits(message) if message != told => {
                    progress.lines(&warning(&message));
                    told = message;
                }
                News::Waits(_) => {}
                News::Works(label) => progress.run(&format!("run {name}: {label}")),
            },
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

fn news(name: &str, run: &CodeGenRun) -> News {
    let none = CodeGenRunStatus::default();
    let status = run.status.as_ref().unwrap_or(&none);
    let stage = status.stage.as_deref().unwrap_or_default();
    if stage == Stage::Failed.as_str() {
        return News::Ended;
    }
    if stage == Stage::Succeeded.as_str() {
        return match pushing(run) {
            Pushing::Goes(None) => News::Works("the outputs are being pushed".to_owned()),
            Pushing::Goes(Some(message)) => News::Waits(message.to_owned()),
            Pushing::No | Pushing::Done(_) | Pushing::Refused(_) => News::Ended,
        };
    }
    let message = status.message.clone().unwrap_or_default();
    let is_stalled = status
        .conditions
        .iter()
        .any(|condition| condition.type_ == "Stalled" && condition.status == "True");
    match status.reason.as_deref() {
        Some(
            run_reason::INVALID_INPUTS
            | run_reason::TASK_NOT_SUCCEEDED
            | run_reason::NO_PROGRAM
            | run_reason::IMAGE_GONE,
        ) => News::Never(format!(
            "{message} (the run {name} stays: kubectl delete codegenrun {name})"
        )),
        Some(run_reason::AWAITING_TASK | run_reason::AWAITING_RUN) => News::Waits(message),
        _ if is_stalled => News::Waits(message),
        _ if message.is_empty() => News::Works("waiting for the operator".to_owned()),
        _ => News::Works(message),
    }
}

/// What becomes of the outputs in a registry.
#[derive(Debug, PartialEq, Eq)]
enum Pushing<'a> {
    /// Nobody asked for that, or the program has failed.
    No,
    /// They are not there yet; why, where something keeps them.
    Goes(Option<&'a str>),
    /// They are there: the artifact by digest.
    Done(&'a str),
    /// Not before somebody has changed something.
    Refused(&'a str),
}

fn pushing(run: &CodeGenRun) -> Pushing<'_> {
    let outputs = run.spec.outputs.as_ref();
    let is_asked_for = outputs.is_some_and(|outputs| outputs.artifact.is_some());
    let Some(status) = run.status.as_ref().filter(|_| is_asked_for) else {
        return Pushing::No;
    };
    if status.stage.as_deref() != Some(Stage::Succeeded.as_str()) {
        return Pushing::No;
    }
    if let Some(artifact) = &status.artifact {
        return Pushing::Done(artifact);
    }
    let said = status.conditions.iter().find(|said| said.type_ == OUTPUTS_PUSHED);
    match said.map(|said| (said.reason.as_str(), said.message.as_str())) {
        None => Pushing::Goes(None),
        Some((run_reason::PUSH_REFUSED | run_reason::OUTPUTS_GONE, message)) => Pushing::Refused(message),
        Some((_, message)) => Pushing::Goes(Some(message)),
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
    if let Some(message) = too_many_files(&name, status) {
        return Err(Stopped::usage(message));
    }
    let folder = args.program.output_dir.as_deref();
    if let Some(folder) = folder.filter(|_| args.image.is_some()) {
        let folders = status
            .outputs
            .iter()
            .filter(|output| output.type_ == ValueType::Dir);
        let checked = write::check_folders(folder, folders.map(|output| output.name.as_str()));
        checked.map_err(|error| Stopped::usage(format!("the run {name} has succeeded, and {error}")))?;
    }
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

/// Why the files of a run are not read, where its status names more of them than the operator writes.
fn too_many_files(run: &str, status: &CodeGenRunStatus) -> Option<String> {
    let files: usize = status.outputs.iter().map(|output| output.files.len()).sum();
    (files > MOST_FILES).then(|| {
        format!(
            "the run {run} has succeeded, and its status names {files} files, where the operator writes no more than {MOST_FILES}: somebody has changed it; see who may write the status of runs here, and run it again"
        )
    })
}

/// A value that is too long for a status.
fn text(files: &[OutputFile]) -> Option<String> {
    files
        .first()
        .map(|file| String::from_utf8_lossy(&file.bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

    use super::*;
    use crate::api::run::CodeGenRunSpec;

    fn condition(type_: &str, status: &str, reason: &str) -> Condition {
        Condition {
            type_: type_.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: "what happened".to_owned(),
            observed_generation: None,
            last_transition_time: Time(jiff::Timestamp::UNIX_EPOCH),
        }
    }

    fn run(stage: &str, reason: &str, stalled: &str) -> CodeGenRun {
        let mut run = CodeGenRun::new("a", CodeGenRunSpec::default());
        run.status = Some(CodeGenRunStatus {
            stage: Some(stage.to_owned()),
            reason: Some(reason.to_owned()),
            message: Some("what happened".to_owned()),
            conditions: vec![condition("Stalled", stalled, reason)],
            ..CodeGenRunStatus::default()
        });
        run
    }

    #[test]
    fn a_run_is_followed_until_it_has_ended_or_never_will() {
        let message = || "what happened".to_owned();
        assert_eq!(
            news("a", &CodeGenRun::new("a", CodeGenRunSpec::default())),
            News::Works("waiting for the operator".to_owned())
        );
        assert_eq!(
            news("a", &run("Running", "Running", "False")),
            News::Works(message())
        );
        assert_eq!(
            news("a", &run("Pending", "TaskNotFound", "True")),
            News::Waits(message())
        );
        assert_eq!(
            news("a", &run("Pending", "AwaitingTask", "False")),
            News::Waits(message())
        );
        assert_eq!(news("a", &run("Failed", "ProgramFailed", "True")), News::Ended);
        assert_eq!(
            news("a", &run("Succeeded", "ProgramSucceeded", "False")),
            News::Ended
        );
        for reason in ["InvalidInputs", "NoProgram", "ImageGone"] {
            assert_eq!(
                news("a", &run("Pending", reason, "True")),
                News::Never("what happened (the run a stays: kubectl delete codegenrun a)".to_owned())
            );
        }
    }

    #[test]
    fn outputs_that_are_to_be_pushed_are_waited_for_until_they_are_or_somebody_must_help() {
        let mut pushed = run("Succeeded", "ProgramSucceeded", "False");
        pushed.spec.outputs = Some(RunOutputs {
            artifact: Some(OutputArtifact::default()),
            ..RunOutputs::default()
        });
        assert!(matches!(news("a", &pushed), News::Works(_)));
        let said = |reason: &str| {
            let mut run = pushed.clone();
            let status = run.status.as_mut().unwrap();
            status
                .conditions
                .push(condition("OutputsPushed", "False", reason));
            run
        };
        let unreachable = said("RegistryUnreachable");
        assert_eq!(news("a", &unreachable), News::Waits("what happened".to_owned()));
        for reason in ["PushRefused", "OutputsGone"] {
            assert_eq!(news("a", &said(reason)), News::Ended);
            assert_eq!(pushing(&said(reason)), Pushing::Refused("what happened"));
        }
        pushed.status.as_mut().unwrap().artifact = Some("registry.example/o@sha256:1".to_owned());
        assert_eq!(news("a", &pushed), News::Ended);
        assert_eq!(pushing(&pushed), Pushing::Done("registry.example/o@sha256:1"));
        let failed = run("Failed", "ProgramFailed", "True");
        pushed.status = failed.status;
        assert_eq!((news("a", &pushed), pushing(&pushed)), (News::Ended, Pushing::No));
    }

    #[test]
    fn a_status_with_more_files_than_the_operator_writes_is_not_followed() {
        let status = |files: usize| {
            let file = json!({"path": "a", "secret": "s", "key": "file.1"});
            let output = json!({"name": "d", "type": "Dir", "sha256": "", "bytes": 0, "fileName": "d", "files": vec![file; files]});
            serde_json::from_value::<CodeGenRunStatus>(json!({"outputs": [output]})).unwrap()
        };
        assert_eq!(too_many_files("a", &status(MOST_FILES)), None);
        let message = too_many_files("a", &status(MOST_FILES + 1)).unwrap();
        assert!(
            message.starts_with("the run a ") && message.contains("129 files"),
            "{message}"
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
