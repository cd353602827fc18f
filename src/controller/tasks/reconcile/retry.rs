//! Requests since the last step: a raised limit, the same once more, or another try after an end.

use jiff::Timestamp;
use kube::ResourceExt as _;

use super::image::recorded_in;
use super::{PassResult, READING, SAFETY_NET, TaskPass, advanced};
use crate::controller::error::ReconcileError;
use crate::controller::record::cache::{is_publishing, retry_asked};
use crate::controller::record::cleanup::{self, CleanupTarget};
use crate::controller::record::revision::Revision;
use crate::controller::record::store::replace_status;
use crate::controller::tasks::revision::Started;
use crate::controller::telemetry::metrics::Reconciled;
use codegen_api::CodeGenTask;
use codegen_api::retry::{RETRY, RETRY_HINT, RETRY_REPLAN};
use codegen_api::status::CodeGenTaskStatus;
use codegen_core::budget;
use codegen_core::machine::{Outcome, advance};
use codegen_core::progress::Progress;
use codegen_core::retry::Retry;
use codegen_core::stage::Stage;
use codegen_engine::event::Observer as _;
use codegen_engine::{EngineError, retried, store_retries};
use codegen_ledger::Store as _;
use codegen_sandbox::kubernetes::names::Component;

/// Reason for which a task that has succeeded is not tried again with other inputs.
const CHANGED: &str = "its samples, inputs or its agent are not what they were when it succeeded: change the spec to start over";

impl TaskPass<'_> {
    /// Returns the outcome of what somebody asked for since the last step.
    pub(super) fn what_changed(&self, run: &Revision, progress: &Progress) -> Option<Outcome> {
        let status = self.object.status.as_ref()?;
        let is_new_spec = status.observed_generation != self.object.metadata.generation;
        let asked = asked_retry(&self.object);
        let is_plain = asked.as_ref().is_some_and(Retry::is_plain);
        if progress.waiting.is_some() && (is_new_spec || is_plain) {
            return Some(Outcome::Resumed);
        }
        let has_room =
            progress.stopped_in.is_some() && budget::has_room_again(&run.task, progress, Timestamp::now());
        if has_room && (is_plain || (is_new_spec && asked.is_none())) {
            return Some(Outcome::LimitRaised);
        }
        let is_another_try = |retry: &Retry| progress.stage == Stage::Failed || !retry.is_plain();
        asked.filter(is_another_try).map(Outcome::Retried)
    }

    /// Another try that is asked for of a task that has succeeded; what concerns its image alone is none.
    pub(super) fn asked_after_success(&self) -> Option<Retry> {
        let is_of_image = |retry: &Retry| retry.is_plain() && is_publishing(&self.object);
        asked_retry(&self.object).filter(|retry| !is_of_image(retry))
    }

    /// Tries a task again that has succeeded. Its sources are read once more, and must be what they were.
    pub(super) async fn retry_succeeded(&self, retry: Retry) -> PassResult {
        let Some(before) = recorded_in(&self.object) else {
            return self.refuse_retry("its state cannot be read").await;
        };
        // A bare wish needs nothing to be read.
        if let Err(why) = retry.check(&before) {
            return self.refuse_retry(&why).await;
        }
        if self.object.spec.suspend == Some(true) {
            return self.refuse_retry("spec.suspend is true: remove it first").await;
        }
        // Whoever gives up a place wakes it.
        if self.context.tasks.admit(&self.object).is_some() {
            return Ok((Some(SAFETY_NET), Reconciled::Waiting));
        }
        // Reads all sources and writes the snapshot.
        let run = match Box::pin(Revision::start(self.context, &self.object, false)).await {
            Ok(Started::Revision(run, _)) => run,
            Ok(Started::Reading | Started::Queued(_)) => return Ok((Some(READING), Reconciled::Pending)),
            // A hold would be told as one of its image.
            Err(ReconcileError::Blocked(blocked)) => return self.refuse_retry(&blocked.to_string()).await,
            Err(error) => return Err(error),
        };
        // Only decides.
        let now = Timestamp::now();
        let is_as_it_was = run.owner.run == before.run;
        let refused = if is_as_it_was {
            retry.start(&run.task, &before, now).err()
        } else {
            Some(CHANGED.to_owned())
        };
        if let Some(why) = refused {
            self.drop_new_snapshot(&run).await;
            return self.refuse_retry(&why).await;
        }
        let (_, documents) = Revision::of_result(self.context, &self.object).await?;
        let mut progress =
            advance(&run.task, &before, Outcome::Retried(retry), now).map_err(EngineError::from)?;
        progress.active_since = Some(now);
        let store = self.store(&run, without_end(&self.object));
        store.take_over(documents).await;
        store_retries(&store, &before, &progress).await?;
        // The one write: until then the end stands, and the result that it names holds everything from before.
        store.save(&progress).await?;
        if let Some(event) = retried(&progress) {
            self.context.events.observer(&self.object).event(&event);
        }
        self.remember_version(store);
        self.context.downloads.forget(&self.uid);
        if run.has_claims() {
            cleanup::clear_readers(&self.context.client, &run).await;
        }
        Ok(advanced())
    }

    /// Removes what was read for another try that is refused; what runs take their defaults from stays.
    async fn drop_new_snapshot(&self, run: &Revision) {
        let status = self.object.status.as_ref();
        let of_success = status.and_then(|status| status.snapshot.as_ref());
        let stays = of_success
            .filter(|_| run.task.has_sources())
            .map(|snapshot| snapshot.name.as_str());
        let task = CleanupTarget::of(&run.owner);
        cleanup::clear_components(&self.context.client, task, &[Component::Snapshot], stays).await;
    }

    /// Says why there is no other try; the end stays as it is.
    async fn refuse_retry(&self, why: &str) -> PassResult {
        self.context.tasks.leave(&self.uid);
        let mut object = self.object.clone();
        if let Some(status) = &mut object.status {
            status.retry_handled = object
                .metadata
                .annotations
                .as_ref()
                .and_then(|all| all.get(RETRY).cloned());
            status.retry_refused = Some(why.to_owned());
        }
        let written = replace_status(&self.context.client, &object).await?;
        self.context.tasks.wrote(&written);
        Ok(advanced())
    }
}

/// The wish for another try that was not acted on yet.
fn asked_retry(object: &CodeGenTask) -> Option<Retry> {
    retry_asked(object)?;
    let said = |name: &str| object.annotations().get(name).cloned();
    Some(Retry {
        replan: said(RETRY_REPLAN).is_some_and(|replan| replan == "true"),
        hint: said(RETRY_HINT),
    })
}

/// The task with nothing of its end but where the results lie.
fn without_end(object: &CodeGenTask) -> CodeGenTask {
    let before = object.status.clone().unwrap_or_default();
    CodeGenTask {
        status: Some(CodeGenTaskStatus {
            result: before.result,
            conditions: before.conditions,
            ..CodeGenTaskStatus::default()
        }),
        ..object.clone()
    }
}
