//! The program of a task that has succeeded as an image, where that is asked for afterwards.
//!
//! The task stays succeeded: whoever waited for that, or runs its program, is not concerned by what a registry says. What becomes of the
//! image stands in the condition `Published` alone, and in memory the task is whole until that is true.

use jiff::Timestamp;
use kube::ResourceExt as _;
use tokio::sync::watch;

use super::PassResult;
use super::TaskPass;
use super::advanced;
use crate::controller::error::ReconcileError;
use crate::controller::hold::{misconfigured, queued};
use crate::controller::pooled_model::PooledModel;
use crate::controller::record::cache::{ended_in, is_publishing};
use crate::controller::record::progress::recorded;
use crate::controller::record::revision::Revision;
use crate::controller::record::size::truncated_status;
use crate::controller::record::store::replace_status;
use crate::controller::tasks::revision::{SampleFiles, asks_for_another};
use crate::controller::telemetry::metrics::Reconciled;
use codegen_api::CodeGenTask;
use codegen_api::retry::RETRY;
use codegen_core::progress::Progress;
use codegen_core::publication::{is_due, unapproved};
use codegen_core::stage::Stage;
use codegen_core::status::{Hold, ImageShown, seen};
use codegen_engine::{Engine, Step, Surroundings};

impl TaskPass<'_> {
    /// Reports whether the task has succeeded, and its spec asks for the same program.
    pub(super) fn has_succeeded(&self) -> bool {
        ended_in(&self.object) == Some(Stage::Succeeded) && !asks_for_another(&self.object)
    }

    /// Goes on with a task that has succeeded: its program is published, where that is asked for and is not done.
    pub(super) async fn publish_later(&self) -> PassResult {
        let wanted = self.object.spec.publish.as_ref();
        let Some(progress) = recorded_in(&self.object).filter(|_| wanted.is_some()) else {
            return self.see(None).await;
        };
        if !is_due(wanted, &progress) {
            return self.see(progress.published.as_ref().map(ImageShown::there)).await;
        }
        if self.object.spec.suspend == Some(true) {
            return Err(Hold::suspended().into());
        }
        // Writes the condition first: it keeps the task whole in memory, and the write triggers the pass that publishes.
        if !is_publishing(&self.object) {
            return self.see(Some(ImageShown::on_its_way())).await;
        }
        if let Some(limit) = self.context.tasks.admit(&self.object) {
            return Err(queued(limit).into());
        }
        Box::pin(self.publish()).await
    }

    async fn publish(&self) -> PassResult {
        // Reads: what an ended run had is in its result alone.
        let (run, documents) = Revision::of_result(self.context, &self.object).await?;
        let store = self.store(&run, self.object.clone());
        store.take_over(documents).await;
        let model = PooledModel::new(self.context, &run.task.namespace);
        let sandbox = self.context.sandbox(&run.task, &run.owner, &run.snapshot.inputs);
        let reader =
            SampleFiles::default().reader(self.context.worker.clone().in_turn_of(&run.task.namespace));
        let observer = self.context.events.observer(&self.object);
        let (in_call, _) = watch::channel(false);
        let engine = Engine {
            task: &run.task,
            model: &model,
            store: &store,
            sandbox: &sandbox,
            data: &reader,
            surroundings: &Surroundings::default(),
            observer: &observer,
            clock: Timestamp::now,
            in_call: &in_call,
        };
        let mut progress = engine.load(&run.owner.run).await?;
        if let Some(outcome) = self.what_changed(&run, &progress) {
            Box::pin(engine.apply(progress, outcome)).await?;
            self.remember_version(store);
            return Ok(advanced());
        }
        if let Some(why) = unapproved(&run.task, &progress) {
            return Err(misconfigured(why).into());
        }
        self.retry_if_corrected(&run, &mut progress).await;
        let came_to;
        // Acts and writes.
        (progress, came_to) = Box::pin(engine.step(progress)).await?;
        self.context.tasks.reset_backoff(&self.object);
        let is_for_a_person = self.leave_if_for_a_person(&progress);
        self.remember_version(store);
        Ok(match came_to {
            Step::Waiting(until) => {
                let pause = self
                    .context
                    .tasks
                    .pause_until(&self.object, until, is_for_a_person);
                (Some(pause), Reconciled::Waiting)
            }
            _ => advanced(),
        })
    }

    /// The same, and nothing is left to do for now.
    async fn see(&self, shown: Option<ImageShown>) -> PassResult {
        self.context.tasks.leave(&self.uid);
        self.say(shown.as_ref()).await?;
        Ok(advanced())
    }

    /// Reports whether the status says already what keeps the program from being an image, or nobody asks for one any more.
    pub(super) fn says_hold_of_image(&self, hold: &Hold) -> bool {
        if self.object.spec.publish.is_none() {
            return true;
        }
        self.object.status.as_ref().is_some_and(|status| {
            ImageShown::held(hold).is_said_by(&status.conditions)
                && status.observed_generation == self.object.metadata.generation
                && status.retry_handled.as_ref() == self.object.annotations().get(RETRY)
        })
    }

    /// Says that the spec was seen, and what is to be said of the image.
    pub(super) async fn say(&self, shown: Option<&ImageShown>) -> Result<(), ReconcileError> {
        let mut object = self.object.clone();
        if let Some(before) = object.status.take() {
            let status = seen(before, object.metadata.generation, shown, Timestamp::now());
            object.status = Some(truncated_status(status, &object)?);
        }
        if let Some(status) = &mut object.status {
            // Unless the request is recorded as handled, it starts one pass after the other.
            status.retry_handled = self.object.annotations().get(RETRY).cloned();
        }
        let written = replace_status(&self.context.client, &object).await?;
        self.context.tasks.wrote(&written);
        Ok(())
    }
}

pub(super) fn recorded_in(object: &CodeGenTask) -> Option<Progress> {
    recorded(object.status.as_ref()?).ok()?
}
