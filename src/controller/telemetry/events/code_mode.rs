//! The story of agents and questions of code mode.

use kube::ResourceExt as _;

use super::Events;
use super::notes::{Note, approval_awaited, decided, end, waiting};
use super::send::reference;
use codegen_api::approval::{ApprovalStatus, AwaitedApproval, QuestionGate};
use codegen_api::code_mode::{CodeModeAgent, CodeModeRun, CodeModeRunStatus};
use codegen_core::status::{Hold, Until};

impl Events {
    /// The agent is held; one Event for each cause.
    pub fn code_mode_agent_held(&self, agent: &CodeModeAgent, hold: &Hold) {
        tracing::info!(
            namespace = agent.namespace().unwrap_or_default(),
            agent = agent.name_any(),
            reason = hold.reason,
            message = hold.message,
            "the agent is not ready"
        );
        self.enqueue(reference(agent), waiting(hold, hold.until == Until::Corrected));
    }

    /// The question is held; one Event for each cause.
    pub fn code_mode_run_held(&self, run: &CodeModeRun, hold: &Hold) {
        tracing::info!(
            namespace = run.namespace().unwrap_or_default(),
            run = run.name_any(),
            reason = hold.reason,
            message = hold.message,
            "the question waits"
        );
        self.enqueue(reference(run), waiting(hold, hold.until == Until::Corrected));
    }

    /// A program was refused, or failed.
    pub fn program_failed(&self, run: &CodeModeRun, attempt: u32, error: &str) {
        let text = format!("Program {attempt}: {error}");
        self.enqueue(reference(run), Note::normal("ProgramFailed", "Run", text));
    }

    /// A person must decide about a call.
    pub fn call_awaits_approval(&self, run: &CodeModeRun, asked: &AwaitedApproval<QuestionGate>) {
        self.enqueue(reference(run), approval_awaited(asked));
    }

    /// A person has decided about a call.
    pub fn call_decided(&self, run: &CodeModeRun, decision: &ApprovalStatus<QuestionGate>) {
        self.enqueue(reference(run), decided(decision));
    }

    /// The question has ended, as its status says.
    pub fn code_mode_run_ended(&self, run: &CodeModeRun) {
        let Some(status) = &run.status else { return };
        let reason = status.reason.as_deref().unwrap_or_default();
        let text = status.message.clone().unwrap_or_default();
        let stage = if status.stage.as_deref() == Some("Succeeded") {
            "Succeeded"
        } else {
            "Failed"
        };
        self.metrics
            .code_mode()
            .ended(stage, reason_label(reason), spent(status));
        // The answer is no matter of a log.
        tracing::info!(
            namespace = run.namespace().unwrap_or_default(),
            run = run.name_any(),
            stage,
            attempt = status.attempt,
            reason,
            "the question has ended"
        );
        self.enqueue(reference(run), end(Some(stage), format!("{reason}: {text}")));
    }
}

/// Seconds from start to end, and tokens sent and received.
fn spent(status: &CodeModeRunStatus) -> Option<(f64, u64, u64)> {
    let (started, ended) = (status.started_at.as_ref()?, status.completed_at.as_ref()?);
    let seconds = ended.0.duration_since(started.0).as_secs_f64();
    let tokens = status.tokens.unwrap_or_default();
    let number = |tokens: i64| u64::try_from(tokens).unwrap_or_default();
    Some((seconds, number(tokens.input), number(tokens.output)))
}

/// The reason as a label, which has a bounded set of values.
fn reason_label(reason: &str) -> &'static str {
    const REASONS: [&str; 5] = [
        "Answered",
        "RetriesExhausted",
        "BudgetExceeded",
        "UnknownOutcome",
        "JournalMismatch",
    ];
    REASONS
        .into_iter()
        .find(|label| *label == reason)
        .unwrap_or("Other")
}
