//! Notes to the cluster about a task or a run.

use std::fmt::Display;

use super::log::{particulars, turn_line};
use codegen_api::approval::{ApprovalDecision, ApprovalStatus, AwaitedApproval};
use codegen_api::conditions::reason;
use codegen_api::status::{AgentStatus, CodeGenTaskStatus};
use codegen_core::stage::{Category, Stage};
use codegen_core::status::Hold;
use codegen_engine::event::Event;

/// Event about a task, before it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) is_warning: bool,
    pub(super) reason: &'static str,
    /// Action that was done or could not be done, one word.
    pub(super) action: &'static str,
    pub(super) text: String,
    /// True where the same again is counted, or was said already.
    pub(super) repeats: bool,
}

impl Note {
    pub(super) fn normal(reason: &'static str, action: &'static str, text: String) -> Self {
        Self {
            is_warning: false,
            reason,
            action,
            text,
            repeats: false,
        }
    }

    fn warning(reason: &'static str, action: &'static str, text: String) -> Self {
        Self {
            is_warning: true,
            ..Self::normal(reason, action, text)
        }
    }
}

/// The Event for something that the engine did; `None` where the status or the log says enough.
pub(super) fn note(event: &Event) -> Option<Note> {
    Some(match event {
        Event::BuildFinished {
            python,
            packages,
            seconds,
            cached,
        } => image_is_there(python, *packages, (!cached).then_some(*seconds)),
        Event::PackageDoubtful { message } => Note::warning("PackageDoubtful", "Build", message.clone()),
        Event::ImageReplaced { message } => Note::warning("ImageReplaced", "Build", message.clone()),
        Event::BuildFailed { message } => Note::warning("ImageFailed", "Build", message.clone()),
        Event::IterationFinished {
            attempt,
            passed,
            error_types,
            packages_added,
        } => attempt_ended(*attempt, *passed, &particulars(error_types, packages_added)),
        Event::ApprovalAwaited(asked) => approval_awaited(asked),
        Event::Decided(decision) => decided(decision),
        Event::Retried { retry } => Note::normal("Retried", "Retry", retry.to_string()),
        Event::RetryRefused { why } => Note::warning("RetryRefused", "Retry", why.clone()),
        Event::Published { image, tag, .. } => Note::normal(
            "Published",
            "Publish",
            format!("The program is the image {image} ({tag})"),
        ),
        Event::Waiting {
            category, message, ..
        } => waiting_for(*category, message),
        // A step without a result begins a turn; what it comes to is told.
        Event::AgentMoved { step, .. } if step.calls().next().is_none() => return None,
        Event::AgentMoved { turn, step } => Note::normal("AgentTurn", "Work", turn_line(*turn, step)),
        Event::Resumed { .. }
        | Event::StageEntered { .. }
        | Event::DataShown { .. }
        | Event::CallStarted { .. }
        | Event::CallFinished { .. }
        | Event::RequestChanged { .. }
        | Event::ReplyRejected { .. }
        | Event::BuildStarted { .. }
        | Event::TestsFinished { .. }
        | Event::Diagnosed { .. }
        | Event::FixApplied { .. } => return None,
    })
}

/// `seconds` is how long it was built for, where it was.
fn image_is_there(python: &str, packages: usize, seconds: Option<f64>) -> Note {
    match seconds {
        None => Note::normal(
            "ImageFound",
            "Build",
            format!("The image was there: Python {python}, {packages} packages"),
        ),
        Some(seconds) => Note::normal(
            "ImageBuilt",
            "Build",
            format!("Built the image in {seconds:.0} s: Python {python}, {packages} packages"),
        ),
    }
}

fn waiting_for(category: Category, message: &str) -> Note {
    let reason = match category {
        Category::Configuration => reason::CONFIGURATION,
        Category::Infrastructure => reason::INFRASTRUCTURE,
    };
    Note {
        repeats: true,
        ..Note::warning(reason, "Wait", message.to_owned())
    }
}

fn attempt_ended(attempt: u32, passed: bool, particulars: &str) -> Note {
    let (reason, verb) = if passed {
        ("AttemptPassed", "passed")
    } else {
        ("AttemptFailed", "failed")
    };
    let text = format!("Attempt {attempt} {verb}; {particulars}");
    Note {
        is_warning: !passed,
        ..Note::normal(reason, "Test", text.trim_end_matches("; ").to_owned())
    }
}

/// The end of a task or a run.
pub(super) fn end(stage: Option<&str>, text: String) -> Note {
    if stage == Some(Stage::Succeeded.as_str()) {
        Note::normal("Succeeded", "End", text)
    } else {
        Note::warning("Failed", "End", text)
    }
}

/// Describes what an agent did and what its program needs.
pub(super) fn agent_work(agent: &AgentStatus, status: &CodeGenTaskStatus) -> String {
    let calls: Vec<String> = agent
        .tool_calls
        .iter()
        .map(|(tool, calls)| format!("{calls} {tool}"))
        .collect();
    let calls = if calls.is_empty() {
        "no call".to_owned()
    } else {
        calls.join(", ")
    };
    let mut parts = vec![format!(
        "{} turns: {calls}; {} denied, {} failed",
        agent.turns, agent.denied, agent.failed
    )];
    parts.extend(status.image.iter().map(|image| format!("image {image}")));
    let packages: Vec<&str> = status
        .packages
        .iter()
        .chain(&status.system_packages)
        .map(String::as_str)
        .collect();
    if !packages.is_empty() {
        parts.push(format!("packages {}", packages.join(", ")));
    }
    parts.join("; ")
}

/// Makes the note about what holds a task or a run.
pub(super) fn waiting(hold: &Hold, is_warning: bool) -> Note {
    Note {
        is_warning,
        repeats: true,
        ..Note::normal(hold.reason, "Wait", hold.message.clone())
    }
}

/// Somebody must decide at a gate.
pub(super) fn approval_awaited<G: Display>(asked: &AwaitedApproval<G>) -> Note {
    Note::normal(
        reason::AWAITING_APPROVAL,
        "Wait",
        format!("Gate {} asks for an approval of {}", asked.gate, asked.hash),
    )
}

/// Somebody has decided at a gate.
pub(super) fn decided<G: Display>(decision: &ApprovalStatus<G>) -> Note {
    let ApprovalStatus {
        gate,
        decided_by,
        hash,
        verified,
        ..
    } = decision;
    let sure = if *verified { "" } else { " (name not verified)" };
    match decision.decision {
        ApprovalDecision::Approve => Note::normal(
            "Approved",
            "Decide",
            format!("Gate {gate}: approved by {decided_by}{sure}: {hash}"),
        ),
        ApprovalDecision::Reject => Note::warning(
            reason::REJECTED,
            "Decide",
            format!("Gate {gate}: rejected by {decided_by}{sure}: {hash}"),
        ),
    }
}
