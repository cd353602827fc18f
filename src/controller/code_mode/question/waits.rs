//! Waits of a question: for runs of its calls, or for a person.

use std::sync::Arc;

use kube::runtime::reflector::ObjectRef;

use super::QuestionPass;
use crate::controller::control::{PassResult, SAFETY_NET};
use crate::controller::runs;
use crate::controller::telemetry::metrics::Reconciled;
use codegen_api::CodeGenRun;
use codegen_api::code_mode::{CodeModeRunStatus, PendingCall};
use codegen_api::conditions::{STALLED, reason, run_reason};
use codegen_core::code_mode::QuestionProgress;
use codegen_core::status::{Hold, Until};
use codegen_ledger::Store as _;

impl QuestionPass<'_> {
    /// Says what the runs wait for that the program waits for, where that is a person.
    pub(super) async fn await_runs(&mut self, progress: &QuestionProgress) -> PassResult {
        let calls = &progress.waits.calls;
        if let Some(hold) = stalled(|name| self.child(name), calls) {
            return Err(hold.into());
        }
        if !self.says_what_it_waits_for() {
            let store = self.store();
            store.save(progress).await?;
            self.remember(store.into_object());
        }
        Ok((Some(SAFETY_NET), Reconciled::Pending))
    }

    /// Reports whether the question waits for a person who has not decided, and no run that it waits for besides has ended.
    pub(super) fn is_undecided(&self, progress: &QuestionProgress) -> bool {
        let Some(awaited) = &progress.waits.approval else {
            return false;
        };
        let decisions = &self.context.decisions;
        let waits_for_runs = progress.waits.calls.is_empty() || self.waits_for_runs(progress);
        waits_for_runs
            && self.says_what_it_waits_for()
            && decisions.about(&self.object, &awaited.asked).is_none()
    }

    /// Reports whether the status says what the question waits for, and not what held it before.
    fn says_what_it_waits_for(&self) -> bool {
        self.object.status.as_ref().is_some_and(|status| {
            !says_otherwise(status) && status.observed_generation == self.object.metadata.generation
        })
    }

    /// Reports whether every run that the program waits for is under way: the end of one brings the next pass.
    pub(super) fn waits_for_runs(&self, progress: &QuestionProgress) -> bool {
        let calls = &progress.waits.calls;
        if calls.is_empty() || progress.stage.is_terminal() {
            return false;
        }
        let is_under_way = |run: Arc<CodeGenRun>| -> bool { runs::status::ended_in(&run).is_none() };
        calls
            .iter()
            .all(|call| self.child(&call.run).is_some_and(is_under_way))
    }

    /// The run of that name, as the watch has it.
    fn child(&self, name: &str) -> Option<Arc<CodeGenRun>> {
        let name = ObjectRef::new(name).within(&self.owner.namespace);
        self.context.runs.named(&name)
    }
}

/// Finds the hold of the first of `calls` whose run, by its name, goes no further until a person mends something.
#[must_use]
fn stalled(named: impl Fn(&str) -> Option<Arc<CodeGenRun>>, calls: &[PendingCall]) -> Option<Hold> {
    calls.iter().find_map(|call| {
        let run = named(&call.run)?;
        let status = run.status.as_ref()?;
        let mut conditions = status.conditions.iter();
        if !conditions.any(|condition| condition.type_ == STALLED && condition.status == "True") {
            return None;
        }
        let why = status.message.as_deref().unwrap_or("it says nothing of why");
        Some(Hold {
            reason: run_reason::AWAITING_RUN,
            message: format!(
                "call {} of `{}` waits for the run {}, which waits itself: {why}",
                call.number, call.tool, call.run
            ),
            until: Until::Corrected,
        })
    })
}

/// Reports whether a status says something else than that the question waits for runs that go on, or for a person who decides.
#[must_use]
fn says_otherwise(status: &CodeModeRunStatus) -> bool {
    let mut conditions = status.conditions.iter();
    match status.reason.as_deref() {
        Some(reason::AWAITING_APPROVAL) => false,
        Some(run_reason::AWAITING_RUN) => {
            conditions.any(|condition| condition.type_ == STALLED && condition.status == "True")
        }
        _ => true,
    }
}
