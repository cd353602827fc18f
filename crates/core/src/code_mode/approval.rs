//! Calls that wait for a person: of what exactly somebody decides, how it is shown, and what a decision means to the program.

use serde_json::Value;

use super::progress::{AwaitedCall, QuestionProgress};
use super::question::{SourcedTool, UnresolvedTool};
use crate::bounds::cut;
use crate::digest::{sha256_hex, sha256_hex_of_parts};
use crate::terminal::{is_obeyed, spelled_out};
use codegen_api::approval::{ApprovalDecision, ApprovalStatus, AwaitedApproval, QuestionGate};
use codegen_code_mode::journal::{Call, CallOutcome, canonical};
use codegen_code_mode::signature::Toolbox;

/// Bytes of an argument that are shown whole.
const SHOWN_BYTES: usize = 300;
/// Bytes of a parameter's name.
const NAME_BYTES: usize = 60;
/// Arguments that have a line of their own.
const SHOWN_ARGUMENTS: usize = 16;
/// Caution for somebody who is to approve of texts that a terminal would not show as they are.
const CAUTION: &str =
    "caution: an argument holds characters that a terminal obeys or hides, written as \\u... above";
/// Decisions that the status shows.
const MOST_DECISIONS: usize = 8;
/// Bytes of the name of whoever decided.
const DECIDED_BY_BYTES: usize = 100;
/// Bytes of the reason of a decision.
const REASON_BYTES: usize = 400;

/// Hash of exactly this call, hex. No call of another question, of another program or in another place has it, nor one with other arguments.
#[must_use]
pub fn call_hash(uid: &str, attempt: u32, call: &Call) -> String {
    let (attempt, number) = (attempt.to_string(), call.number.to_string());
    let arguments = canonical(&call.arguments);
    let gate = QuestionGate::ToolCall.to_string();
    sha256_hex_of_parts(&[&gate, uid, &attempt, &number, &call.tool, &arguments])
}

/// Returns the question to a person about a call of the program `attempt`.
#[must_use]
pub fn asked(
    uid: &str,
    attempt: u32,
    call: &Call,
    tool: Option<&SourcedTool>,
) -> AwaitedApproval<QuestionGate> {
    let source = tool.map_or("built in", |tool| tool.origin.as_str());
    let mut what = vec![
        format!("tool: {} ({source})", call.tool),
        format!("program {attempt}, call {}", call.number),
    ];
    let arguments = call.arguments.iter();
    what.extend(
        arguments
            .take(SHOWN_ARGUMENTS)
            .map(|(name, value)| argument_line(name, value)),
    );
    let hidden = call.arguments.len().saturating_sub(SHOWN_ARGUMENTS);
    if hidden > 0 {
        what.push(format!("... and {hidden} more arguments"));
    }
    if call
        .arguments
        .iter()
        .any(|(name, value)| is_obeyed_in(name) || is_obeyed_by(value))
    {
        what.push(CAUTION.to_owned());
    }
    AwaitedApproval {
        gate: QuestionGate::ToolCall,
        hash: call_hash(uid, attempt, call),
        what,
    }
}

/// Reports whether less than all of a call is shown.
#[must_use]
pub fn is_cut(call: &Call) -> bool {
    let is_long = |(name, value): (&String, &Value)| {
        shown_name(name).len() > NAME_BYTES || shown_value(value).len() > SHOWN_BYTES
    };
    call.arguments.len() > SHOWN_ARGUMENTS || call.arguments.iter().any(is_long)
}

/// Reports whether a text in it holds what a terminal obeys, which is shown in other characters.
fn is_obeyed_by(value: &Value) -> bool {
    match value {
        Value::String(text) => is_obeyed_in(text),
        Value::Array(values) => values.iter().any(is_obeyed_by),
        Value::Object(fields) => fields
            .iter()
            .any(|(name, value)| is_obeyed_in(name) || is_obeyed_by(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn is_obeyed_in(text: &str) -> bool {
    text.chars()
        .any(|character| is_obeyed(character) && !matches!(character, '\n' | '\t'))
}

fn argument_line(name: &str, value: &Value) -> String {
    let name = cut(&shown_name(name), NAME_BYTES);
    let value = shown_value(value);
    if value.len() <= SHOWN_BYTES {
        return format!("{name}: {value}");
    }
    let end = value.floor_char_boundary(SHOWN_BYTES);
    format!(
        "{name}: {}... ({} of {} bytes are not shown; sha256 of all of them {})",
        value.get(..end).unwrap_or_default(),
        value.len() - end,
        value.len(),
        sha256_hex(value.as_bytes())
    )
}

/// As JSON, in one line, in which nothing is left that a terminal obeys.
fn shown_value(value: &Value) -> String {
    spelled_out(&value.to_string())
}

fn shown_name(name: &str) -> String {
    let quoted = shown_value(&Value::String(name.to_owned()));
    quoted.trim_matches('"').to_owned()
}

/// Returns the outcome of a call that a decision refuses: an exception that the program can catch.
#[must_use]
pub fn refusal(call: &Call, decision: &ApprovalStatus<QuestionGate>) -> CallOutcome {
    let reason = decision.reason.as_deref().map(str::trim).unwrap_or_default();
    let reason = if reason.is_empty() {
        "no reason given"
    } else {
        reason
    };
    CallOutcome::Raised {
        kind: "PermissionError".to_owned(),
        message: spelled_out(&format!(
            "the call {call} was refused by {}: {reason}",
            decision.decided_by
        )),
    }
}

/// Refuses an agent whose calls would wait under the name of a tool that it has not.
pub fn check_required(names: &[String], toolbox: &Toolbox) -> Result<(), UnresolvedTool> {
    let unknown: Vec<String> = names
        .iter()
        .filter(|name| toolbox.find(name).is_none())
        .map(|name| format!("`{name}`"))
        .collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let there = toolbox.names().join(", ");
    Err(UnresolvedTool {
        message: format!(
            "spec.requireApproval names {}, and programs can call no such tool: write the names that they call them by ({there}), or remove it",
            unknown.join(", ")
        ),
        is_awaited: false,
    })
}

impl QuestionProgress {
    /// The decision about exactly the call of that hash, until the program has taken note of it.
    #[must_use]
    pub fn decision(&self, hash: &str) -> Option<&ApprovalStatus<QuestionGate>> {
        self.decided.as_ref().filter(|decision| decision.hash == hash)
    }

    /// A decision about the call that is shown now; one about anything else changes nothing.
    pub(super) fn take_decision(&mut self, mut decision: ApprovalStatus<QuestionGate>) {
        let is_of_this = |awaited: &AwaitedCall| awaited.asked.hash == decision.hash;
        if !self.waits.approval.as_ref().is_some_and(is_of_this) {
            return;
        }
        self.waits.approval = None;
        decision.decided_by = cut(&decision.decided_by, DECIDED_BY_BYTES);
        decision.reason = decision.reason.map(|reason| cut(&reason, REASON_BYTES));
        self.approvals.push(decision.clone());
        self.decided = Some(decision);
        let surplus = self.approvals.len().saturating_sub(MOST_DECISIONS);
        self.approvals.drain(..surplus);
    }
}

/// Reports whether the call is made.
#[must_use]
pub fn is_approved(decision: &ApprovalStatus<QuestionGate>) -> bool {
    decision.decision == ApprovalDecision::Approve
}

/// Returns the status text about a call that waits. `how` is how somebody decides.
#[must_use]
pub(super) fn message(awaited: &AwaitedCall, how: &str) -> String {
    let (number, tool) = (awaited.number, &awaited.tool);
    let more = match awaited.more {
        0 => String::new(),
        1 => "; 1 more call waits after it".to_owned(),
        more => format!("; {more} more calls wait after it"),
    };
    format!(
        "call {number} of `{tool}` waits until a person has decided about what status.approval shows: {how}{more}"
    )
}

#[cfg(test)]
mod tests;
