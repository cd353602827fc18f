//! One reconcile pass over one run: one decision is made, done and recorded. Nothing here sleeps.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt as _;

use super::frozen::{FrozenRun, UnstoredRun};
use super::image;
use super::inputs::{PreparedRun, read_inputs};
use super::origin::{self, program_of, task_of};
use super::outputs;
use super::owner;
use super::program::FinishedProgram;
use super::reuse;
use super::status::{AdoptedRun, Writer, ended_in};
use crate::controller::api;
use crate::controller::context::Context;
use crate::controller::control::finish::finish;
use crate::controller::control::{self, Pass, PassResult, READING, SAFETY_NET};
use crate::controller::error::ReconcileError;
use crate::controller::hold::{Blocked, is_said, queued, unavailable};
use crate::controller::record::cleanup;
use crate::controller::record::parts::Contents;
use crate::controller::telemetry::metrics::Reconciled;
use codegen_api::common::CacheMode;
use codegen_api::conditions::run_reason;
use codegen_api::{CodeGenRun, CodeGenRunStatus, CodeGenTask};
use codegen_core::causes::with_causes;
use codegen_core::run::{FailureReason, ResolvedRun, refused};
use codegen_core::status::{Hold, Until};
use codegen_data::source::Source;
use codegen_engine::run_data::{CheckedInputs, RunData};
use codegen_ledger::StoreError;
use codegen_sandbox::Progressing;
use codegen_sandbox::kubernetes::Owner;
use codegen_sandbox::kubernetes::names::Component;

/// One pass over one run.
pub struct RunPass<'a> {
    /// The run as it was written last.
    pub object: CodeGenRun,
    pub context: &'a Context,
}

/// The pause after which there is another pass although nothing has changed.
pub type Paused = Result<Option<Duration>, ReconcileError>;

impl<'a> RunPass<'a> {
    /// A pass over the run as it is.
    #[must_use]
    pub const fn new(object: CodeGenRun, context: &'a Context) -> Self {
        Self { object, context }
    }
}

impl Pass for RunPass<'_> {
    type Of = CodeGenRun;

    fn object(&self) -> &CodeGenRun {
        &self.object
    }

    fn context(&self) -> &Context {
        self.context
    }

    async fn act(&mut self) -> PassResult {
        Box::pin(self.decide_and_do())
            .await
            .map(|pause| (pause, Reconciled::Idle))
    }

    fn says_hold(&self, hold: &Hold) -> bool {
        self.object.status.as_ref().is_some_and(|status| {
            let said = (status.reason.as_deref(), status.message.as_deref());
            is_said(hold, said, status.observed_generation, &self.object)
        })
    }

    async fn write_hold(&mut self, hold: &Hold) -> Result<(), ReconcileError> {
        self.write(self.writer().held(self.status(), hold)).await?;
        self.context.events.run_held(&self.object, hold);
        Ok(())
    }

    fn may_hold(&self) -> bool {
        ended_in(&self.object).is_none()
    }

    fn leaves_place(&self, hold: &Hold) -> bool {
        // A wait for another object may take hours, in which others can use the place.
        hold.until != Until::Room
            || [run_reason::AWAITING_TASK, run_reason::AWAITING_RUN].contains(&hold.reason)
    }

    fn is_watched(&self, hold: &Hold) -> bool {
        // Tasks and runs are watched, and inputs that are wrong stay wrong: a run is not changed.
        [
            run_reason::AWAITING_TASK,
            run_reason::TASK_NOT_FOUND,
            run_reason::TASK_NOT_SUCCEEDED,
            run_reason::AWAITING_RUN,
            run_reason::INVALID_INPUTS,
        ]
        .contains(&hold.reason)
    }
}

impl RunPass<'_> {
    pub fn uid(&self) -> &str {
        self.object.metadata.uid.as_deref().unwrap_or_default()
    }

    async fn decide_and_do(&mut self) -> Paused {
        // Writes only what follows an end.
        if ended_in(&self.object).is_some() {
            return finish(self).await;
        }
        let Some(name) = self.status().snapshot else {
            return Box::pin(self.start()).await;
        };
        // Reads, once: from here on the run goes by its copy, whatever becomes of the task and the inputs.
        let frozen = if let Some(frozen) = self.context.runs.frozen(self.uid()) {
            frozen
        } else {
            let owner = owner(&self.object, "");
            let frozen = Arc::new(FrozenRun::read(&self.context.client, &owner, &name).await?);
            self.context.runs.cache_frozen(self.uid(), Arc::clone(&frozen));
            frozen
        };
        if let Some(limit) = self.context.runs.admit(&self.object) {
            return Err(queued(limit).into());
        }
        // Acts and writes.
        Box::pin(self.step(&frozen)).await
    }

    /// Finds what the run is of, and begins it; or takes what another run wrote for the same.
    async fn start(&mut self) -> Paused {
        let context = self.context;
        // Reads task, program and inputs; for what lies on claims it creates a Pod that does so.
        let task = match &self.object.spec.task_ref {
            Some(reference) => Some(task_of(context, &self.object, &reference.name).await?),
            None => None,
        };
        let task = task.as_ref();
        // Asked after the task is there: a run that waits for its task takes no place.
        if let Some(limit) = context.runs.admit(&self.object) {
            return Err(queued(limit).into());
        }
        let program = if let Some(task) = task {
            program_of(context, task).await?
        } else {
            image::program_of_run(context, &self.object).await?
        };
        // The key, which names everything else, follows from the inputs that are read here.
        let reading = owner(&self.object, "reading");
        let gathered = read_inputs(context, &self.object, task, &program, &reading);
        let PreparedRun { run, contents } = match Box::pin(gathered).await? {
            Progressing::Done(gathered) => gathered,
            Progressing::Queued(why) => return Err(queued(why).into()),
            Progressing::Pending | Progressing::Unseen => {
                let hold = Hold {
                    reason: run_reason::READING_INPUTS,
                    message: "what lies on claims is being read".to_owned(),
                    until: Until::Room,
                };
                control::record_hold(self, &hold).await?;
                return Ok(Some(READING));
            }
        };
        // Only decides, until something is adopted or begun.
        image::check_variables(&program, &run)?;
        let key = run.key(&program.sha256, &program.image);
        let mut status = begun(self.status(), task, &program, &run, &key);
        // Before the data is checked: that of the other run was, for validation is part of the key.
        if let Some(adopted) = self.adoptable(&key).await {
            let owner = owner(&self.object, &key);
            // Copied, since the other run may be deleted.
            let kept = outputs::store(&context.client, &owner, 0, adopted.outputs.clone()).await?;
            return self.end(self.writer().adopted(status, &adopted, kept)).await;
        }
        let checked = self.check_inputs(&program, &run, &contents).await?;
        checked.mark(&mut status.inputs);
        status.findings = checked.findings;
        status.started_at = Some(Time(Timestamp::now()));
        if let Some(failure) = refused(&status.findings) {
            return self.end(self.writer().failed(status, &failure, None)).await;
        }
        let owner = owner(&self.object, &key);
        let packed = FrozenRun::pack(&owner, &program, run, contents);
        self.begin_program(status, &owner, packed).await
    }

    /// A run of the same, whose outputs this one may take. What lies on a claim is not copied, and a run that names one is to write there.
    async fn adoptable(&self, key: &str) -> Option<AdoptedRun> {
        let spec = &self.object.spec;
        if spec.cache.unwrap_or_default() != CacheMode::Auto || spec.output_claim().is_some() {
            return None;
        }
        reuse::find(self.context, &self.object, key).await
    }

    /// Starts the program beside the write of its snapshot, and records both.
    async fn begin_program(
        &mut self,
        mut status: CodeGenRunStatus,
        owner: &Owner,
        packed: UnstoredRun,
    ) -> Paused {
        let context = self.context;
        let (frozen, name, write) = packed.write(&context.client, owner);
        // A kill before the status is written leaves a Pod that the next pass takes for its own, if nothing has changed, and
        // that goes with the end of the run in any case. So nobody waits for the status.
        let has_begun = Box::pin(self.begin(&frozen, owner, write)).await?;
        let frozen = Arc::new(frozen);
        status.snapshot = Some(name);
        self.write(self.writer().running(status)).await?;
        context.runs.cache_frozen(self.uid(), Arc::clone(&frozen));
        context.runs.reset_backoff(&self.object);
        // The downloads are part of the snapshot by now.
        context.downloads.forget(self.uid());
        // The end of the Pod brings the next pass.
        if has_begun {
            return Ok(Some(SAFETY_NET));
        }
        // The program could not start: this meets the cause again, and says it.
        Box::pin(self.step(&frozen)).await
    }

    /// Holds the data that the run gives to the rules of its task. What lies on claims is not looked at.
    async fn check_inputs(
        &self,
        program: &FinishedProgram,
        run: &ResolvedRun,
        contents: &std::collections::BTreeMap<String, Contents>,
    ) -> Result<CheckedInputs, Blocked> {
        let client = self
            .context
            .worker
            .clone()
            .in_turn_of(&self.object.namespace().unwrap_or_default());
        let data = RunData {
            client: &client,
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
        let written = api::replace_status(&self.context.client, &object).await?;
        // The cache still has the version before this write, which must not be acted on.
        self.context.runs.wrote(&written);
        self.object = written;
        Ok(())
    }

    /// Writes the end, and removes what the run needed on its way.
    pub async fn end(&mut self, status: CodeGenRunStatus) -> Paused {
        // The end is recorded first: after a kill before that, the next pass needs what is removed here.
        self.write(status).await?;
        self.count();
        self.context.events.run_ended(&self.object);
        self.context.runs.leave(&self.object.uid().unwrap_or_default());
        self.remove_components().await;
        Ok(None)
    }

    /// Counts the end of the run.
    pub(super) fn count(&self) {
        let Some(stage) = ended_in(&self.object) else {
            return;
        };
        let status = self.status();
        let reason = reason_label(status.reason.as_deref().unwrap_or_default());
        let seconds = match (&status.started_at, &status.completed_at) {
            (Some(started), Some(ended)) if status.adopted_from.is_none() => {
                Some(ended.0.duration_since(started.0).as_secs_f64())
            }
            _ => None,
        };
        self.context.metrics.run_ended(stage.as_str(), reason, seconds);
    }

    /// Removes what was needed while the run was under way.
    pub(super) async fn remove_components(&self) {
        let (namespace, name) = (
            self.object.namespace().unwrap_or_default(),
            self.object.name_any(),
        );
        let run = cleanup::CleanupTarget {
            namespace: &namespace,
            name: &name,
            uid: self.uid(),
        };
        let superfluous = [Component::Sandbox, Component::Reader, Component::Snapshot];
        cleanup::clear_components(&self.context.client, run, &superfluous, None).await;
    }

    /// The program is under way, and what held it before holds it no more.
    pub async fn goes_on(&mut self) -> Result<(), StoreError> {
        let before = self.status();
        if before.reason.as_deref() == Some(run_reason::RUNNING) {
            return Ok(());
        }
        self.context.runs.reset_backoff(&self.object);
        self.write(self.writer().running(before)).await
    }
}

/// The reason as a label of a metric has it.
fn reason_label(reason: &str) -> &'static str {
    let of_failures = FailureReason::ALL.iter().map(|failure| failure.as_str());
    of_failures
        .chain([run_reason::PROGRAM_SUCCEEDED, run_reason::OUTPUTS_ADOPTED])
        .find(|known| *known == reason)
        .unwrap_or_default()
}

/// Returns the status of a run that begins, with the fields that it keeps to its end.
fn begun(
    before: CodeGenRunStatus,
    task: Option<&CodeGenTask>,
    program: &FinishedProgram,
    run: &ResolvedRun,
    key: &str,
) -> CodeGenRunStatus {
    CodeGenRunStatus {
        task: task.map(origin::reference_to),
        image: Some(program.image.clone()),
        inputs: run
            .inputs
            .iter()
            .map(codegen_core::run::ResolvedInput::status)
            .collect(),
        key: Some(key.to_owned()),
        ..before
    }
}
