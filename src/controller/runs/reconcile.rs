//! One reconcile pass over one run: one decision is made, done and recorded. Nothing here sleeps.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{DeleteParams, PostParams};
use kube::runtime::reflector::ObjectRef;
use kube::{Api, ResourceExt as _};

use super::frozen::{FrozenRun, Packed};
use super::image;
use super::inputs::{Gathered, gather};
use super::origin::{self, program_of, task_of};
use super::outputs;
use super::owner;
use super::program::Program;
use super::reuse;
use super::status::{Adopted, Writer, ended_in};
use crate::api::common::CacheMode;
use crate::api::conditions::run_reason;
use crate::api::{CodeGenRun, CodeGenRunStatus, CodeGenTask};
use crate::controller::context::Context;
use crate::controller::control::{Pass, PassResult};
use crate::controller::error::ReconcileError;
use crate::controller::hold::{Blocked, queued, unavailable};
use crate::controller::record::cleanup;
use crate::controller::record::parts::Contents;
use crate::controller::schedule::waits::{self, Awaited};
use crate::controller::telemetry::metrics::Reconciled;
use crate::data::source::Source;
use crate::engine::run_data::RunData;
use crate::ledger::StoreError;
use crate::pipeline::bounds::{LONGEST_MESSAGE, cut};
use crate::pipeline::causes::with_causes;
use crate::pipeline::run::{FailureReason, ResolvedRun, refused};
use crate::pipeline::status::{Hold, Until};
use crate::sandbox::Progressing;
use crate::sandbox::kubernetes::Owner;

/// A pass without cause, should a watch have missed something.
pub(super) const SAFETY_NET: Duration = Duration::from_mins(5);
/// A Pod that cannot mount its claims says so in events alone, which are not watched.
pub(super) const READING: Duration = Duration::from_secs(16);

/// One pass over one run.
pub struct RunPass<'a> {
    /// The run as it was written last.
    pub object: CodeGenRun,
    pub context: &'a Context,
    /// What it reads and a person may have to mend.
    refers_to: BTreeSet<Awaited>,
}

/// The pause after which there is another pass although nothing has changed.
pub type Paused = Result<Option<Duration>, ReconcileError>;

impl<'a> RunPass<'a> {
    /// A pass over the run as it is.
    #[must_use]
    pub const fn new(object: CodeGenRun, context: &'a Context) -> Self {
        Self {
            object,
            context,
            refers_to: BTreeSet::new(),
        }
    }
}

impl Pass for RunPass<'_> {
    async fn act(&mut self) -> PassResult {
        Box::pin(self.decide_and_do())
            .await
            .map(|pause| (pause, Reconciled::Idle))
    }

    async fn hold(&mut self, hold: &Hold) -> PassResult {
        self.say_hold(hold).await.map(|pause| (pause, Reconciled::Idle))
    }

    fn may_hold(&self) -> bool {
        ended_in(&self.object).is_none()
    }
}

impl RunPass<'_> {
    pub fn uid(&self) -> &str {
        self.object.metadata.uid.as_deref().unwrap_or_default()
    }

    async fn decide_and_do(&mut self) -> Paused {
        if ended_in(&self.object).is_some() {
            return self.look_after().await;
        }
        let Some(name) = self.status().snapshot else {
            return Box::pin(self.start()).await;
        };
        let frozen = if let Some(frozen) = self.context.runs.frozen(self.uid()) {
            frozen
        } else {
            let owner = owner(&self.object, "");
            let frozen = Arc::new(FrozenRun::read(&self.context.client, &owner, &name).await?);
            self.context.runs.keep(self.uid(), Arc::clone(&frozen));
            frozen
        };
        self.refers_to = waits::of_run(&frozen.task);
        if let Some(limit) = self.context.runs.admit(&self.object) {
            return self.say_hold(&queued(limit)).await;
        }
        Box::pin(self.step(&frozen)).await
    }

    /// Finds what the run is of, and begins it; or takes what another run wrote for the same.
    async fn start(&mut self) -> Paused {
        let context = self.context;
        let task = match &self.object.spec.task_ref {
            Some(reference) => Some(task_of(context, &self.object, &reference.name).await?),
            None => None,
        };
        let task = task.as_ref();
        if let Some(limit) = context.runs.admit(&self.object) {
            return self.say_hold(&queued(limit)).await;
        }
        self.refers_to = waits::of_inputs(&self.object);
        let program = if let Some(task) = task {
            self.refers_to.extend(waits::of_start(task));
            program_of(context, task).await?
        } else {
            let namespace = self.object.namespace().unwrap_or_default();
            let secret = self.object.spec.pull_secret_ref.iter();
            self.refers_to
                .extend(secret.flat_map(|secret| waits::of_secret(&namespace, &secret.name)));
            image::program_in(context, &self.object).await?
        };
        let reading = owner(&self.object, "reading");
        let gathered = gather(context, &self.object, task, &program, &reading);
        let Gathered { run, contents } = match Box::pin(gathered).await? {
            Progressing::Done(gathered) => gathered,
            Progressing::Queued(why) => return self.say_hold(&queued(why)).await,
            Progressing::Pending | Progressing::Unseen => {
                let hold = Hold {
                    reason: run_reason::READING_INPUTS,
                    message: "what lies on claims is being read".to_owned(),
                    until: Until::Room,
                };
                self.say_hold(&hold).await?;
                return Ok(Some(READING));
            }
        };
        image::check_variables(&program, &run)?;
        let key = run.key(&program.sha256, &program.image);
        let mut status = begun(self.status(), task, &program, &run, &key);
        if let Some(adopted) = self.adoptable(&key).await {
            let owner = owner(&self.object, &key);
            let kept = outputs::keep(&context.client, &owner, 0, adopted.outputs.clone()).await?;
            return self.end(self.writer().adopted(status, &adopted, kept)).await;
        }
        status.findings = self.findings(&program, &run, &contents).await?;
        status.started_at = Some(Time(Timestamp::now()));
        if let Some(failure) = refused(&status.findings) {
            return self.end(self.writer().failed(status, &failure, None)).await;
        }
        let owner = owner(&self.object, &key);
        let packed = FrozenRun::pack(&owner, &program, run, contents);
        self.begin_program(status, &owner, packed).await
    }

    /// A run of the same, whose outputs this one may take. What lies on a claim is not copied, and a run that names one is to write there.
    async fn adoptable(&self, key: &str) -> Option<Adopted> {
        let spec = &self.object.spec;
        if spec.cache.unwrap_or_default() != CacheMode::Auto || spec.output_claim().is_some() {
            return None;
        }
        reuse::find(self.context, &self.object, key).await
    }

    /// Starts the program beside the write of its snapshot, and records both.
    async fn begin_program(&mut self, mut status: CodeGenRunStatus, owner: &Owner, packed: Packed) -> Paused {
        let context = self.context;
        let (frozen, name, write) = packed.write(&context.client, owner);
        // A kill before the status is written leaves a Pod that the next pass takes for its own, if nothing has changed, and
        // that goes with the end of the run in any case. So nobody waits for the status.
        let has_begun = Box::pin(self.begin(&frozen, owner, write)).await?;
        let frozen = Arc::new(frozen);
        status.snapshot = Some(name);
        self.write(self.writer().running(status)).await?;
        context.runs.keep(self.uid(), Arc::clone(&frozen));
        context.runs.goes_on(&self.object);
        context.downloads.forget(self.uid());
        if has_begun {
            return Ok(Some(SAFETY_NET));
        }
        Box::pin(self.step(&frozen)).await
    }

    /// What is wrong with the data that the run gives. What lies on claims is not looked at.
    async fn findings(
        &self,
        program: &Program,
        run: &ResolvedRun,
        contents: &std::collections::BTreeMap<String, Contents>,
    ) -> Result<Vec<crate::api::run_status::Finding>, Blocked> {
        let data = RunData {
            client: &self.context.worker,
            columns: &program.columns,
            checks: &program.checks,
        };
        let found = data.inputs(run, |input, _| {
            let files = contents.get(&input.name)?.files();
            files.first().map(|file| Source::bytes(&file.bytes))
        });
        found.await.map_err(|error| {
            unavailable(&format!(
                "the inputs cannot be looked at: {}",
                with_causes(&error)
            ))
        })
    }

    /// The status, with what the run is of.
    pub fn status(&self) -> CodeGenRunStatus {
        self.object.status.clone().unwrap_or_default()
    }

    pub fn writer(&self) -> Writer {
        Writer {
            generation: self.object.metadata.generation,
            now: Timestamp::now(),
        }
    }

    /// Writes the status over the version that it was computed from.
    pub async fn write(&mut self, status: CodeGenRunStatus) -> Result<(), StoreError> {
        let object = CodeGenRun {
            status: Some(status),
            ..self.object.clone()
        };
        let written = replace_status(self.context, &object).await?;
        self.context.runs.wrote(&written);
        self.object = written;
        Ok(())
    }

    /// Writes the end, and removes what the run needed on its way.
    pub async fn end(&mut self, status: CodeGenRunStatus) -> Paused {
        self.write(status).await?;
        self.count();
        self.context.events.run_ended(&self.object);
        self.context.runs.leave(&self.object.uid().unwrap_or_default());
        self.clear().await;
        Ok(None)
    }

    /// Counts the end of the run.
    fn count(&self) {
        let Some(stage) = ended_in(&self.object) else {
            return;
        };
        let status = self.status();
        let reason = known_reason(status.reason.as_deref().unwrap_or_default());
        let seconds = match (&status.started_at, &status.completed_at) {
            (Some(started), Some(ended)) if status.adopted_from.is_none() => {
                Some(ended.0.duration_since(started.0).as_secs_f64())
            }
            _ => None,
        };
        self.context.metrics.run_ended(stage.as_str(), reason, seconds);
    }

    /// While it waits for a person or another object, its place is for others; what it refers to is looked at.
    fn wait(&self, hold: &Hold) {
        let uid = self.object.uid().unwrap_or_default();
        let runs = &self.context.runs;
        let is_in_others_hands = [run_reason::AWAITING_TASK, run_reason::AWAITING_RUN].contains(&hold.reason);
        if hold.until == Until::Mended || is_in_others_hands {
            runs.leave(&uid);
        }
        if hold.until == Until::Mended {
            let refers_to = self.refers_to.clone();
            runs.waits
                .wait(&uid, ObjectRef::from_obj(&self.object), refers_to);
        } else {
            runs.waits.stop(&uid);
        }
    }

    /// Says in the status what holds the run, unless it says so already.
    pub async fn say_hold(&mut self, hold: &Hold) -> Paused {
        self.wait(hold);
        let hold = &Hold {
            message: cut(&hold.message, LONGEST_MESSAGE),
            ..hold.clone()
        };
        let before = self.status();
        let says_so =
            before.reason.as_deref() == Some(hold.reason) && before.message.as_deref() == Some(&hold.message);
        if !says_so {
            self.write(self.writer().held(before, hold)).await?;
            self.context.events.run_held(&self.object, hold);
        }
        let is_watched = [
            run_reason::AWAITING_TASK,
            run_reason::TASK_NOT_FOUND,
            run_reason::TASK_NOT_SUCCEEDED,
            run_reason::AWAITING_RUN,
            run_reason::INVALID_INPUTS,
        ]
        .contains(&hold.reason);
        Ok((!is_watched).then(|| self.context.runs.pause(&self.object)))
    }

    /// Looks after a run that has ended: deletes it when its time has come.
    async fn look_after(&mut self) -> Paused {
        let uid = self.object.uid().unwrap_or_default();
        let has_missed = self.context.runs.has_missed(&self.object);
        if has_missed && let Some(run) = self.whole().await? {
            self.object = run;
            self.count();
            self.context.events.run_ended(&self.object);
        }
        self.context.runs.forget(&uid);
        let ended = self
            .object
            .status
            .as_ref()
            .and_then(|status| status.completed_at.clone());
        let Some(ended) = ended else { return Ok(None) };
        if has_missed || cleanup::may_be_uncleared(ended.0, self.context.since) {
            let _place = self.context.clearing.acquire().await;
            self.clear().await;
        }
        // Until they are pushed, the run is all there is of its outputs.
        if let Some(pause) = Box::pin(self.push_outputs()).await? {
            return Ok(Some(pause));
        }
        let Some(ttl) = self.object.spec.ttl_seconds_after_finished else {
            return Ok(None);
        };
        let end = ended.0.checked_add(SignedDuration::from_secs(ttl.into())).ok();
        let Some(end) = end else { return Ok(None) };
        let left = Duration::try_from(end.duration_since(Timestamp::now())).unwrap_or_default();
        if left > Duration::ZERO {
            return Ok(Some(left));
        }
        let (namespace, name) = (
            self.object.namespace().unwrap_or_default(),
            self.object.name_any(),
        );
        let runs: Api<CodeGenRun> = Api::namespaced(self.context.client.clone(), &namespace);
        match runs.delete(&name, &DeleteParams::background()).await {
            Ok(_) => Ok(None),
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(None),
            Err(error) => Err(StoreError::Remote {
                action: format!("delete CodeGenRun {namespace}/{name}, which is kept no longer"),
                source: Box::new(error),
            }
            .into()),
        }
    }

    /// The run as it is kept: what is in memory of one that has ended is not all of it. `None` where it is there no more.
    pub async fn whole(&self) -> Result<Option<CodeGenRun>, StoreError> {
        let (namespace, name) = (
            self.object.namespace().unwrap_or_default(),
            self.object.name_any(),
        );
        let runs: Api<CodeGenRun> = Api::namespaced(self.context.client.clone(), &namespace);
        let found = runs.get_opt(&name).await;
        let found = found.map_err(|error| StoreError::Remote {
            action: format!("read CodeGenRun {namespace}/{name}"),
            source: Box::new(error),
        })?;
        Ok(found.filter(|run| run.uid() == self.object.uid()))
    }

    async fn clear(&self) {
        let (namespace, name) = (
            self.object.namespace().unwrap_or_default(),
            self.object.name_any(),
        );
        let uid = self.object.uid().unwrap_or_default();
        cleanup::clear_run(&self.context.client, &namespace, &name, &uid).await;
    }

    /// The program is under way, and what held it before holds it no more.
    pub async fn goes_on(&mut self) -> Result<(), StoreError> {
        let before = self.status();
        if before.reason.as_deref() == Some(run_reason::RUNNING) {
            return Ok(());
        }
        self.context.runs.goes_on(&self.object);
        self.write(self.writer().running(before)).await
    }
}

/// The reason as a label of a metric has it.
fn known_reason(reason: &str) -> &'static str {
    let of_failures = FailureReason::ALL.iter().map(|failure| failure.as_str());
    of_failures
        .chain([run_reason::PROGRAM_SUCCEEDED, run_reason::OUTPUTS_ADOPTED])
        .find(|known| *known == reason)
        .unwrap_or_default()
}

/// What a status says from the beginning on.
fn begun(
    before: CodeGenRunStatus,
    task: Option<&CodeGenTask>,
    program: &Program,
    run: &ResolvedRun,
    key: &str,
) -> CodeGenRunStatus {
    CodeGenRunStatus {
        task: task.map(origin::reference_to),
        image: Some(program.image.clone()),
        inputs: run
            .inputs
            .iter()
            .map(crate::pipeline::run::ResolvedInput::status)
            .collect(),
        key: Some(key.to_owned()),
        ..before
    }
}

async fn replace_status(context: &Context, run: &CodeGenRun) -> Result<CodeGenRun, StoreError> {
    let (namespace, name) = (run.namespace().unwrap_or_default(), run.name_any());
    let runs: Api<CodeGenRun> = Api::namespaced(context.client.clone(), &namespace);
    let object = format!("CodeGenRun {namespace}/{name}");
    match runs.replace_status(&name, &PostParams::default(), run).await {
        Ok(written) => Ok(written),
        Err(kube::Error::Api(status)) if status.is_conflict() || status.is_not_found() => {
            Err(StoreError::Conflict { object })
        }
        Err(error) => Err(StoreError::Remote {
            action: format!("write the status of {object}"),
            source: Box::new(error),
        }),
    }
}
