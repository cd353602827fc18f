//! Performs a prepared task step by step until it ends, waits for a person, or is stopped.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::watch;
use tokio::time::Instant;

use super::adopt::adopt;
use super::client::{Clients, recorded};
use super::error::{TaskError, stopped};
use super::interrupt::StopSignal;
use super::on_disk::StoredFiles;
use super::options::TaskOptions;
use super::prepare::Prepared;
use super::shown::shown;
use codegen_api::approval::AwaitedApproval;
use codegen_api::common::CacheMode;
use codegen_api::retry::RetryStatus;
use codegen_core::budget;
use codegen_core::call::CallKind;
use codegen_core::causes::with_causes;
use codegen_core::machine::Outcome;
use codegen_core::progress::{Progress, Waiting};
use codegen_core::python::{Module, suite};
use codegen_core::redact::Redactor;
use codegen_core::retry::Retry;
use codegen_core::sandbox::{Job, Packages, Phase, Report};
use codegen_core::stage::{Category, Stage};
use codegen_core::stored_outputs::{OutputsAsked, RunOnDisk};
use codegen_data::profile::SampleProfile;
use codegen_data::worker::WorkerClient;
use codegen_egress::AllowedHost;
use codegen_engine::event::{Event, Observer};
use codegen_engine::reader::WorkerReader;
use codegen_engine::{Engine, EngineError, Step, Surroundings};
use codegen_ledger::{Entry, FolderStore, Ledger, Store};
use codegen_sandbox::{BuiltEnvironment, ImageSpec, LocalSandbox, Progressing, Sandbox, SandboxError};

/// Failures of infrastructure in a row after which the command ends; the same command goes on.
const MAX_WAITS: u32 = 3;
/// The hidden sub-command that reads data files.
pub const WORKER: &str = "worker";

/// Progress that a task came to, with its record.
pub struct ExecutedTask {
    /// The end, or where it stopped.
    pub progress: Progress,
    /// Error that stopped it before its end; `None` when it ended, or waits for something.
    pub stopped: Option<TaskError>,
    /// True where it had ended in an earlier run, so that nothing was left to do.
    pub had_ended: bool,
    /// The record.
    pub store: FolderStore,
    /// Every call.
    pub entries: Vec<Entry>,
    /// Notices for a person: whose result was taken over, which recorded replies answered other requests.
    pub notices: Vec<String>,
}

/// Runs a prepared task. `replayed` counts the recorded replies that earlier tasks of the command have used up.
pub async fn execute(
    prepared: &Prepared,
    options: &TaskOptions,
    replayed: &mut usize,
    observer: &dyn Observer,
    stop: &StopSignal,
) -> Result<ExecutedTask, TaskError> {
    let store = prepared.run.store().map_err(stopped)?;
    // Before a call is paid for: without isolation nothing of it could be run.
    let sandbox = Isolated::new(prepared, &options.allowed_hosts, observer)?;
    sandbox.check_builds(prepared, options.replay.is_none()).await?;
    let Earlier { recorded, active } = earlier(&store).await?;
    let model = model(prepared, options, *replayed + recorded, active)?;
    let sources = sources(prepared);
    let reader = WorkerReader {
        client: worker()?,
        sources: sources.clone(),
        profiles: None,
    };
    let surroundings = surroundings(prepared, &sources)?;
    let (in_call, calling) = watch::channel(false);
    let engine = Engine {
        task: &prepared.task,
        model: &model,
        store: &store,
        sandbox: &sandbox,
        data: &reader,
        surroundings: &surroundings,
        observer,
        clock: Timestamp::now,
        in_call: &in_call,
    };
    let (mut progress, adopted) = Box::pin(begin(&engine, prepared, options, recorded)).await?;
    let had_ended = progress.stage.is_terminal() && adopted.is_none();
    let drive = Drive {
        engine: &engine,
        store: &store,
        options,
        sandbox: &sandbox,
        is_suspended: prepared.is_suspended,
        stop,
        calling,
    };
    let why = Box::pin(drive.until_it_stops(&mut progress)).await;
    let entries = Ledger::new(&store)
        .entries(progress.sequence)
        .await
        .map_err(stopped)?;
    *replayed += entries.len();
    Ok(ExecutedTask {
        progress,
        stopped: why,
        had_ended,
        notices: adopted.into_iter().chain(model.mismatch()).collect(),
        store,
        entries,
    })
}

type LocalEngine<'a> = Engine<'a, Clients, FolderStore, Isolated<'a>, WorkerReader>;

/// Begins the task where it stood, in another try, or with what it takes over; returns also whose that is.
async fn begin(
    engine: &LocalEngine<'_>,
    prepared: &Prepared,
    options: &TaskOptions,
    recorded: usize,
) -> Result<(Progress, Option<String>), TaskError> {
    let adopted = if options.starts_over() || prepared.is_suspended {
        None
    } else {
        let has_neighbours = options.has_neighbours && options.replay.is_none();
        let adopted = adopt(prepared, engine.store, has_neighbours).await;
        adopted.map_err(stopped)?
    };
    let asked = options.retry.as_ref().filter(|_| !prepared.is_suspended);
    let progress = Box::pin(resume(engine, asked, recorded)).await.map_err(stopped)?;
    Ok((Box::pin(retry(engine, asked, progress)).await?, adopted))
}

/// Resumes the task: what blocked it before is tried again, a raised limit lets it go on.
async fn resume(
    engine: &LocalEngine<'_>,
    retry: Option<&Retry>,
    recorded: usize,
) -> Result<Progress, EngineError> {
    let mut progress = engine.load(&engine.task.decisive_hash()).await?;
    // Nothing of it ran while this process was not there.
    progress.active_since = None;
    // Whoever runs the command again wants it tried now.
    if progress.waiting.is_some() {
        progress = engine.apply(progress, Outcome::Resumed).await?;
    }
    let is_asked_to_begin_anew = retry.is_some_and(|retry| !retry.is_plain());
    if progress.stopped_in.is_some()
        && !is_asked_to_begin_anew
        && budget::has_room_again(engine.task, &progress, Timestamp::now())
    {
        progress = engine.apply(progress, Outcome::LimitRaised).await?;
    }
    if recorded > 0 && !progress.stage.is_terminal() {
        engine.observer.event(&Event::Resumed {
            stage: progress.stage,
            replies: recorded,
        });
    }
    Ok(progress)
}

/// The same in another try, where one is asked for and the task has ended.
async fn retry(
    engine: &LocalEngine<'_>,
    retry: Option<&Retry>,
    progress: Progress,
) -> Result<Progress, TaskError> {
    let Some(retry) = retry else { return Ok(progress) };
    if !progress.stage.is_terminal() && is_under_way(retry, &progress) {
        return Ok(progress);
    }
    retry
        .start(engine.task, &progress, Timestamp::now())
        .map_err(TaskError::Retry)?;
    let retried = engine.apply(progress, Outcome::Retried(retry.clone())).await;
    retried.map_err(stopped)
}

/// Reports whether the task is in this very try already, or a try is asked for that only goes on: the same command goes on after an
/// interruption.
fn is_under_way(retry: &Retry, progress: &Progress) -> bool {
    let is_this = |last: &RetryStatus| {
        let hint = retry.hint.as_deref().map(str::trim);
        last.hint.as_deref() == hint && last.replan == retry.replan
    };
    retry.is_plain() || progress.retries.last().is_some_and(is_this)
}

/// The engine, and what may stop it.
struct Drive<'a> {
    engine: &'a LocalEngine<'a>,
    store: &'a FolderStore,
    options: &'a TaskOptions,
    sandbox: &'a Isolated<'a>,
    is_suspended: bool,
    stop: &'a StopSignal,
    calling: watch::Receiver<bool>,
}

impl Drive<'_> {
    /// Steps until the task ends or waits for a person (`None`), or something stops it.
    async fn until_it_stops(&self, progress: &mut Progress) -> Option<TaskError> {
        if self.is_suspended && !progress.stage.is_terminal() {
            return Some(TaskError::Suspended);
        }
        let mut is_told = false;
        loop {
            self.announce_data(progress).await;
            let (next, came_to) = tokio::select! {
                // A step that has ended counts, also where a stop was asked for at the same moment: it is recorded.
                biased;
                performed = self.engine.step(progress.clone()) => match performed {
                    Ok(performed) => performed,
                    Err(error) => return Some(stopped(error)),
                },
                () = asked_to_stop(self.stop.clone(), self.calling.clone()) => return Some(TaskError::Interrupted),
            };
            *progress = next;
            if self.stop.is_requested() && !progress.stage.is_terminal() {
                return Some(TaskError::Interrupted);
            }
            match came_to {
                Step::Advanced => is_told = true,
                Step::Gate(asked) => {
                    // An earlier command has reached this gate, and nothing in this one has announced it.
                    if !is_told {
                        self.engine.observer.event(&Event::ApprovalAwaited(asked.clone()));
                    }
                    if let Err(error) = self.pass(progress, &asked).await {
                        return Some(error);
                    }
                }
                Step::Pending | Step::Unseen | Step::Queued(_) => tokio::task::yield_now().await,
                Step::Finished => match self.try_again(progress).await {
                    Ok(true) => {}
                    Ok(false) => return None,
                    Err(error) => return Some(error),
                },
                Step::Waiting(until) => {
                    // Waiting does not give this machine the isolation that it lacks.
                    if let Some(refusal) = self.sandbox.refusal.get() {
                        return Some(TaskError::NoIsolation(refusal.clone()));
                    }
                    if ends_here(progress.waiting.as_ref()) {
                        return None;
                    }
                    tokio::select! {
                        () = tokio::time::sleep(pause(until)) => {}
                        () = asked_to_stop(self.stop.clone(), self.calling.clone()) => return Some(TaskError::Interrupted),
                    }
                }
            }
        }
    }

    /// Tells what of the data the next call shows to a model, where it is the first.
    async fn announce_data(&self, progress: &Progress) {
        let asks = matches!(progress.stage, Stage::ReadingConstraints | Stage::Planning);
        let Some(document) = progress
            .documents
            .profiles
            .as_ref()
            .filter(|_| asks && progress.sequence == 1)
        else {
            return;
        };
        // A recorded reply answers on this machine. What cannot be read is the engine's to report.
        if self.options.replay.is_none()
            && let Ok(Some(bytes)) = self.store.read(&document.name).await
            && let Ok(profiles) = serde_json::from_slice::<Vec<SampleProfile>>(&bytes)
            && let Some(text) = shown(self.engine.task, &profiles)
        {
            self.engine.observer.event(&Event::DataShown { text });
        }
    }

    /// Begins the next of the tries that are to follow an end; says whether there is one.
    async fn try_again(&self, progress: &mut Progress) -> Result<bool, TaskError> {
        let Some(retry) = self.options.retries.get(progress.retries_so_far()) else {
            return Ok(false);
        };
        let retried = Outcome::Retried(retry.clone());
        *progress = Box::pin(self.engine.apply(progress.clone(), retried))
            .await
            .map_err(stopped)?;
        // It has ended otherwise than when it was recorded.
        Ok(progress.retry_refused.is_none())
    }

    /// Goes by what a person decides about `asked`.
    async fn pass(&self, progress: &mut Progress, asked: &AwaitedApproval) -> Result<(), TaskError> {
        let decision = tokio::select! {
            decided = self.options.approvals.decide(asked, progress, self.store) => decided?,
            () = asked_to_stop(self.stop.clone(), self.calling.clone()) => return Err(TaskError::Interrupted),
        };
        *progress = self
            .engine
            .apply(progress.clone(), Outcome::Decided(decision))
            .await
            .map_err(stopped)?;
        Ok(())
    }
}

/// A person must act, or the same infrastructure failed often enough.
pub(super) fn ends_here(waiting: Option<&Waiting>) -> bool {
    waiting.is_none_or(|waiting| waiting.category == Category::Configuration || waiting.times >= MAX_WAITS)
}

/// Returns the time until that moment.
pub(super) fn pause(until: Timestamp) -> Duration {
    Duration::try_from(until.duration_since(Timestamp::now())).unwrap_or_default()
}

/// Ends when the user wants to stop and no call is in flight.
pub(super) async fn asked_to_stop(mut stop: StopSignal, mut calling: watch::Receiver<bool>) {
    stop.requested().await;
    // An error means that the engine is gone, and no call with it.
    let _ = calling.wait_for(|calling| !*calling).await;
}

/// Results of earlier commands for the task.
struct Earlier {
    /// Replies that are recorded.
    recorded: usize,
    /// Seconds of its deadline that are spent.
    active: f64,
}

/// Reads what earlier commands did, by the progress that was saved last. A damaged one is the engine's to report.
async fn earlier(store: &FolderStore) -> Result<Earlier, TaskError> {
    let progress = store.load().await.map_err(stopped)?;
    // Places after the saved progress are read too, for the progress may be older than the last call.
    let last = progress.as_ref().map_or(1, |progress| progress.sequence + 1);
    Ok(Earlier {
        recorded: Ledger::new(store).entries(last).await.map_err(stopped)?.len(),
        active: progress.map_or(0.0, |progress| progress.spent.active_seconds),
    })
}

fn model(
    prepared: &Prepared,
    options: &TaskOptions,
    skip: usize,
    active_seconds: f64,
) -> Result<Clients, TaskError> {
    if let Some(recorded) = recorded(options)? {
        let is_of_a_task = |kind| CallKind::of_a_task().contains(&kind);
        return Ok(Clients::recorded(recorded.only(is_of_a_task).skip(skip)));
    }
    let rest = (prepared.task.limits.deadline_seconds - active_seconds).max(0.0);
    // A deadline beyond what a clock can say is none.
    let deadline = Duration::try_from_secs_f64(rest)
        .ok()
        .and_then(|rest| Instant::now().checked_add(rest));
    Clients::of_task(&prepared.task, &prepared.credentials, options, deadline)
}

pub(super) fn worker() -> Result<WorkerClient, TaskError> {
    let program = std::env::current_exe()
        .map_err(|error| TaskError::Stopped(format!("cannot find this program: {error}")))?;
    Ok(WorkerClient::new(&program, [WORKER]))
}

/// Returns the paths of all frozen samples and inputs.
fn sources(prepared: &Prepared) -> BTreeMap<String, PathBuf> {
    prepared
        .task
        .frozen_inputs()
        .map(|file| (file.name.clone(), prepared.run.input(&file.file_name)))
        .collect()
}

fn surroundings(prepared: &Prepared, sources: &BTreeMap<String, PathBuf>) -> Result<Surroundings, TaskError> {
    let acceptance_tests = match &prepared.task.acceptance_tests {
        Some(file) => {
            let path = prepared.run.acceptance(&file.file_name);
            let text = std::fs::read_to_string(&path)
                .map_err(|error| TaskError::Stopped(format!("cannot read {}: {error}", path.display())))?;
            check_acceptance_tests(&text).map_err(|why| TaskError::AcceptanceTests {
                file: file.file_name.clone(),
                why,
            })?;
            Some(text)
        }
        None => None,
    };
    let secrets = prepared.secret_variables.iter();
    let secret_env: BTreeMap<String, String> = secrets
        .map(|(name, value)| (name.clone(), value.expose().to_owned()))
        .collect();
    Ok(Surroundings {
        sources: sources
            .iter()
            .map(|(name, path)| (name.clone(), path.display().to_string()))
            .collect(),
        acceptance_tests,
        redactor: Redactor::new(secret_env.iter()),
        secret_env,
        denied_commands: Vec::new(),
    })
}

/// Checks that acceptance tests can pass: those that never can are refused before anything is paid for.
pub(super) fn check_acceptance_tests(text: &str) -> Result<(), String> {
    match Module::parse(text) {
        Err(fault) => Err(format!("does not parse: {fault}")),
        Ok(module) if !suite::may_have_tests(&module) => {
            Err("has no test: write functions whose names start with test_".to_owned())
        }
        Ok(_) => Ok(()),
    }
}

/// The local sandbox, which remembers that this machine cannot isolate.
struct Isolated<'a> {
    observer: &'a dyn Observer,
    sandbox: LocalSandbox,
    /// Store for outputs that are too large for a report.
    stored: StoredFiles,
    /// Starts the child that reads them.
    worker: WorkerClient,
    refusal: OnceLock<String>,
}

impl<'a> Isolated<'a> {
    fn new(
        prepared: &Prepared,
        opened: &[AllowedHost],
        observer: &'a dyn Observer,
    ) -> Result<Self, TaskError> {
        let task = &prepared.task;
        let sandbox = LocalSandbox::for_user().map_err(|error| TaskError::NoIsolation(error.to_string()))?;
        let sandbox = sandbox.opening(opened);
        let sandbox = match task.cache {
            CacheMode::Auto => sandbox,
            CacheMode::Override => sandbox.replacing(),
            CacheMode::Disable => sandbox.apart(&task.decisive_hash()),
        };
        sandbox
            .probe()
            .and_then(|()| LocalSandbox::check_network(&task.sandbox.network))
            .map_err(|error| TaskError::NoIsolation(error.to_string()))?;
        Ok(Self {
            observer,
            sandbox,
            stored: prepared.run.stored(),
            worker: worker()?,
            refusal: OnceLock::new(),
        })
    }

    /// Refuses where no environment could be built. A replay pays for nothing, so that its first build may find out what the index does.
    async fn check_builds(&self, prepared: &Prepared, is_paid: bool) -> Result<(), TaskError> {
        let task = &prepared.task;
        let spec = ImageSpec::new(task.language, &task.image, &Packages::default());
        match self.sandbox.check_builds(&spec, is_paid).await {
            Ok(()) => Ok(()),
            Err(error @ SandboxError::Cache { .. }) => Err(TaskError::Sandbox(error)),
            Err(error) => Err(TaskError::Stopped(with_causes(&error))),
        }
    }

    fn note<T>(&self, result: Result<T, SandboxError>) -> Result<T, SandboxError> {
        result.inspect_err(|error| {
            if matches!(error, SandboxError::IsolationUnavailable { .. }) {
                let _ = self.refusal.set(error.to_string());
            }
        })
    }
}

impl Sandbox for Isolated<'_> {
    async fn build(
        &self,
        spec: &ImageSpec,
        repeat: u32,
    ) -> Result<Progressing<BuiltEnvironment>, SandboxError> {
        self.note(self.sandbox.build(spec, repeat).await)
    }

    async fn run(&self, image: &str, job: &Job, repeat: u32) -> Result<Progressing<Report>, SandboxError> {
        for phase in &job.phases {
            if let Phase::Commands(phase) = phase {
                self.observer.commands_start(phase.commands.len());
            }
        }
        self.note(self.sandbox.run(image, job, repeat).await)
    }

    async fn run_on_disk(
        &self,
        image: &str,
        job: &Job,
        asked: &OutputsAsked,
        _repeat: u32,
    ) -> Result<Progressing<RunOnDisk>, SandboxError> {
        let done = self
            .stored
            .run(&self.sandbox, &self.worker, image, job, asked)
            .await;
        self.note(done.map(Progressing::Done))
    }
}
