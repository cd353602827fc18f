//! One reconcile pass over one task: one decision is made, done and recorded.
//!
//! Nothing here sleeps or polls. What changes an answer (the task, its children) is watched; a pause asks for another pass
//! only where the world outside of the cluster must be tried again.

mod image;
mod retry;

use std::time::Duration;

use jiff::Timestamp;
use kube::ResourceExt as _;
use tokio::sync::watch;

use crate::controller::approvals::decided;
use crate::controller::context::Context;
use crate::controller::control::finish::finish;
use crate::controller::control::{self, MOMENT, Pass, PassResult, READING, SAFETY_NET};
use crate::controller::error::ReconcileError;
use crate::controller::hold::{is_said, misconfigured, queued};
use crate::controller::isolation;
use crate::controller::pooled_model::PooledModel;
use crate::controller::record::cache::{ended_in, is_at_rest};
use crate::controller::record::progress::{paused, recorded};
use crate::controller::record::revision::Revision;
use crate::controller::record::size::truncated_status;
use crate::controller::record::store::{KubernetesStore, replace_status};
use crate::controller::record::{cleanup, result};
use crate::controller::schedule::corrections::{retry_if_corrected, secrets_of_task, waits_for_a_person};
use crate::controller::tasks::reuse::AdoptedResult;
use crate::controller::tasks::revision::Started;
use crate::controller::telemetry::metrics::Reconciled;
use codegen_api::CodeGenTask;
use codegen_api::approval::AwaitedApproval;
use codegen_api::conditions::reason;
use codegen_api::status::CodeGenTaskStatus;
use codegen_core::active::seconds_left;
use codegen_core::causes::with_causes;
use codegen_core::machine::{Decision, Outcome};
use codegen_core::models::model_for;
use codegen_core::progress::Progress;
use codegen_core::status::{Hold, ImageShown, Until, held};
use codegen_engine::reader::WorkerReader;
use codegen_engine::{Engine, Step};
use codegen_sandbox::KubernetesSandbox;

const fn idle() -> (Option<Duration>, Reconciled) {
    (None, Reconciled::Idle)
}

const fn advanced() -> (Option<Duration>, Reconciled) {
    (None, Reconciled::Advanced)
}

type TaskEngine<'a> = Engine<'a, PooledModel<'a>, KubernetesStore<'a>, KubernetesSandbox<'a>, WorkerReader>;

/// One pass over one task.
pub struct TaskPass<'a> {
    object: CodeGenTask,
    context: &'a Context,
    uid: String,
}

impl<'a> TaskPass<'a> {
    /// A pass over the task as it is.
    #[must_use]
    pub fn new(object: CodeGenTask, context: &'a Context) -> Self {
        Self {
            uid: object.uid().unwrap_or_default(),
            object,
            context,
        }
    }
}

impl Pass for TaskPass<'_> {
    type Of = CodeGenTask;

    fn object(&self) -> &CodeGenTask {
        &self.object
    }

    fn context(&self) -> &Context {
        self.context
    }

    async fn act(&mut self) -> PassResult {
        Box::pin(self.decide_and_do()).await
    }

    fn says_hold(&self, hold: &Hold) -> bool {
        if self.has_succeeded() {
            return self.says_hold_of_image(hold);
        }
        self.object.status.as_ref().is_some_and(|status| {
            let said = (status.reason.as_deref(), status.message.as_deref());
            is_said(hold, said, status.observed_generation, &self.object)
        })
    }

    async fn write_hold(&mut self, hold: &Hold) -> Result<(), ReconcileError> {
        if self.has_succeeded() {
            self.say(Some(&ImageShown::held(hold))).await?;
        } else {
            let (mut object, now) = (self.object.clone(), Timestamp::now());
            let before = object.status.take().unwrap_or_default();
            let status = paused(held(before, object.metadata.generation, hold, now), now);
            object.status = Some(truncated_status(status, &self.object)?);
            let written = replace_status(&self.context.client, &object).await?;
            self.context.tasks.wrote(&written);
        }
        self.context.events.held(&self.object, hold);
        Ok(())
    }

    /// In memory there is not all of a task at rest, so that a hold would take the place of its end.
    fn may_hold(&self) -> bool {
        !is_at_rest(&self.object)
    }

    fn leaves_place(&self, hold: &Hold) -> bool {
        hold.until != Until::Room || self.has_succeeded() && hold.reason != reason::QUEUED
    }
}

impl TaskPass<'_> {
    async fn decide_and_do(&mut self) -> PassResult {
        // Decides what kind of pass this is; each kind acts and writes by itself.
        if is_at_rest(&self.object) {
            return Ok((finish(self).await?, Reconciled::Idle));
        }
        // What another version has written is left as it is.
        if let Some(Err(why)) = self.object.status.as_ref().map(recorded) {
            return Err(misconfigured(why.to_string()).into());
        }
        if self.has_succeeded() {
            return match self.asked_after_success() {
                Some(retry) => Box::pin(self.retry_succeeded(retry)).await,
                None => Box::pin(self.publish_later()).await,
            };
        }
        // Before a place is asked for: a suspended task needs none.
        if self.object.spec.suspend == Some(true) {
            return Err(Hold::suspended().into());
        }
        // The watch of decisions wakes it, so that its place is for others.
        if is_undecided(self.context, &self.object) {
            self.context.tasks.leave(&self.uid);
            return Ok((Some(SAFETY_NET), Reconciled::Waiting));
        }
        if let Some(limit) = self.context.tasks.admit(&self.object) {
            // Whoever gives up a place wakes it.
            let came_to = control::record_hold(self, &queued(limit)).await?;
            return Ok((Some(SAFETY_NET), came_to));
        }
        // Reads the snapshot, where it is not in memory.
        let Some(run) = Revision::present(self.context, &self.object).await? else {
            return Box::pin(self.start()).await;
        };
        Box::pin(self.step(run)).await
    }

    /// Freezes the inputs and records the first progress.
    async fn start(&self) -> PassResult {
        // Reads all sources and writes the snapshot.
        let (run, adopted) = match Box::pin(Revision::start(self.context, &self.object, true)).await? {
            Started::Revision(run, adopted) => (run, adopted),
            Started::Reading => return Ok((Some(READING), Reconciled::Pending)),
            Started::Queued(why) => return Err(queued(why).into()),
        };
        let mut object = self.object.clone();
        // Removes what the run before has left, since no status refers to it once the new one is recorded.
        if object.status.take().is_some_and(|status| status.run.is_some()) {
            cleanup::clear_all(&self.context.client, &run).await;
        } else {
            // Nothing is written of a task before its first status.
            self.context
                .tasks
                .documents(&self.uid, &run.owner.run)
                .set_all(true);
        }
        let (store, progress) = match adopted {
            None => {
                let progress = Progress::start(run.owner.run.clone(), Timestamp::now());
                (self.store(&run, object), progress)
            }
            Some(adopted) => Box::pin(self.adopt(&run, object, *adopted)).await?,
        };
        // Writes the first status of the run: from here on the snapshot counts.
        codegen_ledger::Store::save(&store, &progress).await?;
        self.remember_version(store);
        self.context.downloads.forget(&self.uid);
        // Only now: after a kill before that write the report of the reader is read again.
        if run.has_claims() {
            cleanup::clear_readers(&self.context.client, &run).await;
        }
        Ok(advanced())
    }

    /// Makes what is taken over the task's own, so that nothing of the origin is needed from then on.
    async fn adopt<'a>(
        &self,
        run: &'a Revision,
        mut object: CodeGenTask,
        adopted: AdoptedResult,
    ) -> Result<(KubernetesStore<'a>, Progress), ReconcileError> {
        let AdoptedResult { progress, documents } = adopted;
        self.context.events.adopted(&self.object, &progress);
        if !progress.stage.is_terminal() {
            // No end has attempt 0, so the result of this run itself gets another name.
            let none_has_run = Progress {
                attempt: 0,
                ..progress.clone()
            };
            let kept = result::archive(&self.context.client, run, &none_has_run, documents.clone()).await?;
            object.status = Some(CodeGenTaskStatus {
                result: Some(kept.name),
                ..CodeGenTaskStatus::default()
            });
        }
        let store = self.store(run, object);
        store.take_over(documents).await;
        Ok((store, progress))
    }

    /// Performs the next step of the run.
    async fn step(&mut self, run: Revision) -> PassResult {
        if self.context.tasks.has_missed(&self.object) {
            // Another process may have written what this one does not know.
            self.context
                .tasks
                .documents(&self.uid, &run.owner.run)
                .set_all(false);
        }
        // Only reads, until the step is taken.
        let store = self.store(&run, self.object.clone());
        let surroundings = run.surroundings(self.context).await?;
        let files = run.files(self.context).await?;
        let reader = files.reader(self.context.worker.clone().in_turn_of(&run.task.namespace));
        let model = PooledModel::new(self.context, &run.task.namespace);
        let sandbox = self.context.sandbox(&run.task, &run.owner, &run.snapshot.inputs);
        let observer = self.context.events.observer(&self.object);
        let (in_call, _) = watch::channel(false);
        let engine = Engine {
            task: &run.task,
            model: &model,
            store: &store,
            sandbox: &sandbox,
            data: &reader,
            surroundings: &surroundings,
            observer: &observer,
            clock: Timestamp::now,
            in_call: &in_call,
        };
        let done = Box::pin(self.take_step(&engine, &run)).await;
        let object = self.remember_version(store);
        if done.is_err() {
            // What holds the task is said over the last state: the step may have recorded what it was about to do.
            self.object = object;
        }
        done
    }

    /// Goes by what has changed, what is decided next, and what holds it; the store has the result.
    async fn take_step(&self, engine: &TaskEngine<'_>, run: &Revision) -> PassResult {
        // Reads.
        let mut progress = engine.load(&run.owner.run).await?;
        // What a person changed goes before whatever would be next.
        if let Some(outcome) = self.what_changed(run, &progress) {
            clear_sandboxes(engine.sandbox).await;
            Box::pin(engine.apply(progress, outcome)).await?;
            return Ok(advanced());
        }
        if progress.stage.is_terminal() {
            // The spec changed and nothing follows from it: that it was seen is all there is to say.
            engine.save(&progress).await?;
            return Ok(advanced());
        }
        self.retry_if_corrected(run, &mut progress).await;
        let now = Timestamp::now();
        // Only decides.
        let mut decision = engine.decide(&progress);
        if let Decision::AwaitApproval(asked) = &decision {
            Box::pin(self.at_gate(engine, progress, asked)).await?;
            return Ok(advanced());
        }
        // Before the intent of a call, so that a task that is held spends nothing.
        if let Some(hold) = isolation::what_holds(self.context, engine.task, &decision) {
            return Err(hold.into());
        }
        let left = seconds_left(engine.task, &progress, now);
        if asks_the_model(&decision) {
            let index = model_for(engine.task, &progress);
            let model = (index, engine.task.settings_of(index));
            if !engine.model.prepare(model, left).await? {
                return Ok(idle());
            }
            // The wait for a place may have taken the time that the task had left.
            decision = engine.decide(&progress);
        }
        // Acts and writes.
        let (progress, step) = Box::pin(engine.perform(progress, decision)).await?;
        self.after_step(engine, progress, step).await
    }

    /// Decides when the next pass is due.
    async fn after_step(&self, engine: &TaskEngine<'_>, progress: Progress, step: Step) -> PassResult {
        self.context.tasks.reset_backoff(&self.object);
        let goes_on = matches!(step, Step::Pending | Step::Unseen | Step::Queued(_));
        let is_for_a_person = !goes_on && self.leave_if_for_a_person(&progress);
        Ok(match step {
            Step::Advanced | Step::Gate(_) | Step::Finished => advanced(),
            Step::Waiting(until) => {
                let pause = self
                    .context
                    .tasks
                    .pause_until(&self.object, until, is_for_a_person);
                (Some(pause), Reconciled::Waiting)
            }
            Step::Unseen => (Some(MOMENT), Reconciled::Pending),
            // Nothing else brings a pass when the deadline of the task ends before its child.
            Step::Pending => {
                let left = Box::pin(self.count(engine, progress)).await?;
                (Some(left.min(SAFETY_NET)), Reconciled::Pending)
            }
            Step::Queued(why) => return Err(queued(why).into()),
        })
    }

    /// Goes by what a person decided, or says what is to be approved. The next pass, if nobody has decided, waits.
    async fn at_gate(
        &self,
        engine: &TaskEngine<'_>,
        progress: Progress,
        asked: &AwaitedApproval,
    ) -> Result<(), ReconcileError> {
        if let Some(decision) = decided(self.context, &self.object, asked).await? {
            Box::pin(engine.apply(progress, Outcome::Decided(decision))).await?;
        } else {
            engine.save(&progress).await?;
        }
        Ok(())
    }

    fn store<'a>(&self, run: &'a Revision, object: CodeGenTask) -> KubernetesStore<'a> {
        let documents = self.context.tasks.documents(&self.uid, &run.owner.run);
        let isolation = isolation::shown(self.context, &run.task);
        KubernetesStore::new(self.context.client.clone(), run, documents, isolation, object)
    }

    /// A child runs: its time counts, and what held the task before holds it no more. Gives the time that the task has left.
    async fn count(
        &self,
        engine: &TaskEngine<'_>,
        mut progress: Progress,
    ) -> Result<Duration, ReconcileError> {
        let now = Timestamp::now();
        let status = self.object.status.as_ref();
        let was_queued = status.and_then(|status| status.reason.as_deref()) == Some(reason::QUEUED);
        // What it waited for before is there, or its child would not run.
        let has_waited = progress.waiting.take().is_some();
        if was_queued || has_waited || progress.is_overdue(now) {
            progress.go_on_at(now);
            engine.save(&progress).await?;
        }
        // A deadline beyond what a clock can say is none.
        let left = seconds_left(engine.task, &progress, now);
        Ok(Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX))
    }

    /// Remembers which version was written, so that no older one is acted on.
    fn remember_version(&self, store: KubernetesStore<'_>) -> CodeGenTask {
        let object = store.into_object();
        self.context.tasks.wrote(&object);
        // Later writes of an ended task announce nothing.
        if ended_in(&object).is_some() && ended_in(&self.object).is_none() {
            self.context.events.ended(&object);
        }
        object
    }

    /// Tries again at once what a person has corrected.
    async fn retry_if_corrected(&self, run: &Revision, progress: &mut Progress) {
        let (client, task) = (&self.context.client, &run.task);
        let waiting = progress.waiting.as_mut();
        retry_if_corrected(client, &task.namespace, &secrets_of_task(task), waiting).await;
    }

    /// While it waits for a person, its place is for others.
    fn leave_if_for_a_person(&self, progress: &Progress) -> bool {
        let is_for_a_person = progress.waiting.as_ref().is_some_and(waits_for_a_person);
        if is_for_a_person {
            self.context.tasks.leave(&self.uid);
        }
        is_for_a_person
    }
}

/// Removes the sandboxes of the old spec: it may have made what the new one is to mend.
async fn clear_sandboxes(sandbox: &KubernetesSandbox<'_>) {
    if let Err(error) = sandbox.clear_sandboxes().await {
        tracing::warn!(
            error = with_causes(&error),
            "a sandbox of the spec before could not be removed"
        );
    }
}

/// Reports whether the task says that it waits for a person, and nobody has decided.
fn is_undecided(context: &Context, task: &CodeGenTask) -> bool {
    let Some(status) = &task.status else { return false };
    // Another spec may ask for something else, so that the task has to be decided anew.
    status.reason.as_deref() == Some(reason::AWAITING_APPROVAL)
        && status.observed_generation == task.metadata.generation
        && status
            .approval
            .as_ref()
            .is_some_and(|asked| context.decisions.about(task, asked).is_none())
}

const fn asks_the_model(decision: &Decision) -> bool {
    matches!(decision, Decision::Call(_) | Decision::CallBesideBuild(_))
}
