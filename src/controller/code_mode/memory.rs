//! Memory of agents and questions while they are worked on, and of who waits for whom.

use std::sync::Arc;

use kube::ResourceExt as _;

use crate::controller::config::ConcurrencyLimits;
use crate::controller::context::Context;
use crate::controller::record::cache;
use crate::controller::record::documents::RevisionDocuments;
use crate::controller::schedule::gate::PlaceCount;
use crate::controller::schedule::shared::{Shared, SharedKind};
use crate::controller::telemetry::metrics::{Metrics, by_stage};
use codegen_api::CodeGenTask;
use codegen_api::code_mode::{CodeModeAgent, CodeModeRun, CodeModeRunSpec, CodeModeRunStatus};
use codegen_api::conditions::reason;
use codegen_core::code_mode::Question;

/// Memory of one question.
#[derive(Default)]
pub struct QuestionMemory {
    documents: Arc<RevisionDocuments>,
    question: Option<Arc<Question>>,
}

impl SharedKind for CodeModeAgent {
    type Memory = ();
    type Beside = ();

    /// Agents are resolved and do nothing else, so that none waits for a place.
    fn places(limits: ConcurrencyLimits) -> PlaceCount {
        PlaceCount::of_code_mode(limits)
    }

    fn has_begun(&self) -> bool {
        self.status.is_some()
    }

    fn is_under_way(&self) -> bool {
        false
    }
}

impl SharedKind for CodeModeRun {
    type Memory = QuestionMemory;
    type Beside = ();

    fn places(limits: ConcurrencyLimits) -> PlaceCount {
        PlaceCount::of_code_mode(limits)
    }

    fn count_queued(metrics: &Metrics, waiting: usize) {
        metrics.code_mode().set_queued(waiting);
    }

    fn has_begun(&self) -> bool {
        self.status
            .as_ref()
            .is_some_and(|status| status.progress.is_some())
    }

    fn is_under_way(&self) -> bool {
        let reason = self.status.as_ref().and_then(|status| status.reason.as_deref());
        self.has_begun()
            && ended_in(self).is_none()
            && self.spec.suspend != Some(true)
            && reason != Some(reason::AWAITING_APPROVAL)
    }

    fn was_worked_on(memory: &QuestionMemory) -> bool {
        memory.question.is_some()
    }
}

impl Shared<CodeModeAgent> {
    /// The tasks were listed anew: any of them may have ended meanwhile.
    pub fn tasks_are_there(&self) {
        self.wake_those(|agent| agent.spec.tools.iter().any(|tool| tool.task_ref.is_some()));
    }

    /// A task has ended: agents that offer it go on, and questions that wait for them.
    pub fn task_is_there(&self, task: &CodeGenTask) {
        if cache::ended_in(task).is_none() {
            return;
        }
        let (namespace, name) = (task.namespace(), task.name_any());
        let offers = |agent: &CodeModeAgent| {
            let mut tools = agent.spec.tools.iter();
            let is_offered = tools.any(|tool| tool.task_ref.as_ref().is_some_and(|task| task.name == name));
            agent.namespace() == namespace && is_offered
        };
        self.wake_those(offers);
    }
}

impl Shared<CodeModeRun> {
    /// The documents of a question that are in memory.
    pub fn documents(&self, uid: &str) -> Arc<RevisionDocuments> {
        self.with(uid, |memory| Arc::clone(&memory.documents))
    }

    /// Returns the frozen question, where it is in memory.
    #[must_use]
    pub fn question(&self, uid: &str) -> Option<Arc<Question>> {
        self.with(uid, |memory| memory.question.clone())
    }

    /// Caches what the question goes by.
    pub fn cache_question(&self, uid: &str, question: Arc<Question>) -> Arc<Question> {
        self.with(uid, |memory| memory.question = Some(Arc::clone(&question)));
        question
    }
}

/// Says whether it may wait for its agent, or for another question.
#[must_use]
pub fn has_not_begun(run: &CodeModeRun) -> bool {
    !run.has_begun() && ended_in(run).is_none()
}

/// The stage in which a question ended.
#[must_use]
pub fn ended_in(run: &CodeModeRun) -> Option<&str> {
    let stage = run.status.as_ref()?.stage.as_deref()?;
    ["Succeeded", "Failed"].contains(&stage).then_some(stage)
}

/// An agent is there, or has changed: questions that wait for it go on.
pub fn agent_has_changed(context: &Context, agent: &CodeModeAgent) {
    let (namespace, name) = (agent.namespace(), agent.name_any());
    context.code_mode_runs.wake_those(|run| {
        has_not_begun(run) && run.namespace() == namespace && run.spec.agent_ref.name == name
    });
}

/// A question has ended: those that continue its conversation go on.
pub fn question_has_changed(context: &Context, ended: &CodeModeRun) {
    if ended_in(ended).is_none() {
        return;
    }
    let (namespace, name) = (ended.namespace(), ended.name_any());
    context.code_mode_runs.wake_those(|run| {
        let continues = run.spec.continues.as_ref();
        has_not_begun(run)
            && run.namespace() == namespace
            && continues.is_some_and(|continued| continued.name == name)
    });
}

/// Drops what nobody asks a question in memory for.
pub fn trim(run: &mut CodeModeRun) {
    run.metadata.managed_fields = None;
    if ended_in(run).is_none() {
        return;
    }
    let Some(status) = run.status.take() else { return };
    run.status = Some(CodeModeRunStatus {
        stage: status.stage,
        completed_at: status.completed_at,
        result: status.result,
        ..CodeModeRunStatus::default()
    });
    let spec = std::mem::take(&mut run.spec);
    run.spec = CodeModeRunSpec {
        agent_ref: spec.agent_ref,
        ttl_seconds_after_finished: spec.ttl_seconds_after_finished,
        ..CodeModeRunSpec::default()
    };
    run.metadata.annotations = None;
    run.metadata.labels = None;
}

/// Counts the questions of each stage.
#[must_use]
pub fn counts(all: &[Arc<CodeModeRun>]) -> Vec<(&'static str, i64)> {
    let stages = all.iter().map(|run| run.status.as_ref()?.stage.as_deref());
    by_stage(&["Pending", "Writing", "Running", "Succeeded", "Failed"], stages)
}
