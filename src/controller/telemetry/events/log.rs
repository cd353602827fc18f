//! Log records of a task. No row of data and no text of a model.

use codegen_api::approval::ApprovalDecision;
use codegen_core::agent::{AgentStep, CallResult};
use codegen_core::stage::Category;
use codegen_engine::event::Event;

/// A log record.
pub(super) struct LogRecord {
    /// Event that is logged.
    pub(super) what: &'static str,
    /// The particulars.
    pub(super) detail: String,
}

/// Makes the log record of an event.
pub(super) fn record(event: &Event) -> LogRecord {
    LogRecord {
        what: what(event),
        detail: detail(event),
    }
}

fn what(event: &Event) -> &'static str {
    match event {
        Event::Resumed { .. } => "the task goes on",
        Event::StageEntered { .. } => "a stage was entered",
        Event::DataShown { .. } => "data is shown to a model",
        Event::CallStarted { .. } => "a model call starts",
        Event::CallFinished {
            from_ledger: true, ..
        } => "a recorded reply is used",
        Event::CallFinished { .. } => "a model call was answered",
        Event::RequestChanged { .. } => {
            "a request has changed since its reply was recorded; the reply is used"
        }
        Event::ReplyRejected { .. } => "a reply cannot be used and is asked for again",
        Event::BuildStarted { .. } => "the image builds",
        Event::BuildFinished { cached: true, .. } => "the image was there",
        Event::BuildFinished { .. } => "the image was built",
        Event::PackageDoubtful { .. } => "a package is doubtful",
        Event::ImageReplaced { .. } => "another image had the place of this one",
        Event::BuildFailed { .. } => "the image cannot be built",
        Event::TestsFinished { .. } => "the tests ran",
        Event::AgentMoved { .. } => "an agent's turn went on",
        Event::Diagnosed { .. } => "the failures have a diagnosis",
        Event::FixApplied { .. } => "a fix was applied",
        Event::IterationFinished { passed: true, .. } => "the attempt passed",
        Event::IterationFinished { .. } => "the attempt failed",
        Event::ApprovalAwaited(_) => "the task waits until a person has approved",
        Event::Retried { .. } => "the task is tried again",
        Event::RetryRefused { .. } => "the task is not tried again",
        Event::Published { .. } => "the program was published",
        Event::Decided(decision) => match decision.decision {
            ApprovalDecision::Approve => "a person has approved",
            ApprovalDecision::Reject => "a person has rejected",
        },
        Event::Waiting {
            category: Category::Configuration,
            ..
        } => "the task waits until something is mended",
        Event::Waiting { .. } => "the task waits and tries again",
    }
}

fn detail(event: &Event) -> String {
    match event {
        Event::Resumed { replies, .. } => format!("{replies} recorded replies"),
        Event::StageEntered { .. } => String::new(),
        Event::DataShown { text } => text.clone(),
        Event::CallStarted { kind, sequence } | Event::RequestChanged { kind, sequence } => {
            format!("call {sequence}: {kind}")
        }
        Event::CallFinished {
            kind,
            sequence,
            usage,
            seconds,
            ..
        } => format!(
            "call {sequence}: {kind}, {} + {} tokens, {seconds:.1} s",
            usage.input, usage.output
        ),
        Event::ReplyRejected { kind, .. } => kind.to_string(),
        Event::BuildStarted { packages } => packages.join(", "),
        Event::BuildFinished { seconds, .. } => format!("{seconds:.1} s"),
        Event::PackageDoubtful { message }
        | Event::ImageReplaced { message }
        | Event::BuildFailed { message }
        | Event::Waiting { message, .. } => message.clone(),
        Event::TestsFinished { failing, .. } => format!("{} failures", failing.len()),
        Event::AgentMoved { turn, step } => turn_line(*turn, step),
        Event::Diagnosed { failures, .. } => format!("{} failures", failures.len()),
        Event::FixApplied { kind, names } => format!("{kind}: {}", names.join(", ")),
        Event::IterationFinished {
            error_types,
            packages_added,
            ..
        } => particulars(error_types, packages_added),
        Event::ApprovalAwaited(asked) => format!("gate {}", asked.gate),
        Event::Retried { retry } => format!("after {}{}", retry.after, retry.with_a_plan()),
        Event::RetryRefused { why } => why.clone(),
        Event::Published {
            image,
            uploaded_bytes: bytes,
            ..
        } => format!("{image}, {bytes} bytes uploaded"),
        Event::Decided(decision) => format!("gate {}: {}", decision.gate, decision.decided_by),
    }
}

/// Describes what an agent did, in one line. Whoever may see Events need not be one who may see the samples.
pub(super) fn turn_line(turn: u32, step: &AgentStep) -> String {
    let calls: Vec<String> = step.calls().map(CallResult::outcome).collect();
    match calls.as_slice() {
        [] => format!("turn {turn}"),
        calls => format!("turn {turn}: {}", calls.join("; ")),
    }
}

/// Error types and added packages of an attempt.
pub(super) fn particulars(error_types: &[String], packages_added: &[String]) -> String {
    let mut parts = Vec::new();
    if !error_types.is_empty() {
        parts.push(format!("error types: {}", error_types.join(", ")));
    }
    if !packages_added.is_empty() {
        parts.push(format!("packages added: {}", packages_added.join(", ")));
    }
    parts.join("; ")
}
