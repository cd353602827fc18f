//! Outcomes of calls, as they are recorded, told to the program, or end the run.

use codegen_interpreter as interpreter;

use super::journal::MOST_MEBIBYTES;
use super::tools::Made;
use codegen_code_mode::journal::{Call, CallOutcome};
use codegen_core::bounds::cut;
use codegen_core::code_mode::{QuestionStop, QuestionStopReason};

/// A call that was made.
pub(super) struct MadeCall {
    /// Its outcome.
    pub made: Made,
    /// True where it is the outcome of an equal call of an earlier program.
    pub is_copy: bool,
    /// Time at which it was made, RFC 3339.
    pub started_at: String,
    /// Duration in seconds.
    pub seconds: f64,
}

/// An exception of the program.
pub(super) fn raised(kind: &str, message: String) -> CallOutcome {
    CallOutcome::Raised {
        kind: kind.to_owned(),
        message,
    }
}

/// Returns the outcome of a call once those before have filled the journal.
pub(super) fn no_room() -> CallOutcome {
    let message = format!(
        "the calls of one program may give {MOST_MEBIBYTES} MiB in all, and these have: ask the tools for less"
    );
    raised("RuntimeError", message)
}

/// Reason for which the outcomes of calls are unknown that were in flight when their program was left.
pub(super) const INTERRUPTED: &str = "what ran the program ended before their outcomes were recorded";
/// Bytes of a message for the calls whose outcomes nobody knows, so that each has its place in it.
const UNKNOWN_BYTES: usize = 700;

/// Builds the stop of a run with calls of unknown outcome, each with its reason.
pub(super) fn unknown_outcomes(calls: &[(Call, String)]) -> QuestionStop {
    let listed = listed(calls);
    let message = match calls {
        [(_, why)] => format!(
            "{listed} was sent and nobody knows what it came to: {why}. Look at the tool's own records. It is not made twice; a tool that \
             bears it says so with onUnknownOutcome: Retry."
        ),
        several => {
            let mut reasons: Vec<&str> = several.iter().map(|(_, why)| why.as_str()).collect();
            reasons.dedup();
            let why = cut(&reasons.join("; "), UNKNOWN_BYTES / 4);
            format!(
                "{} calls were sent and nobody knows what they came to: {listed} ({why}). Look at the tools' own records. They are not made \
                 twice; a tool that bears it says so with onUnknownOutcome: Retry.",
                several.len()
            )
        }
    };
    QuestionStop {
        reason: QuestionStopReason::UnknownOutcome,
        message,
    }
}

fn listed(calls: &[(Call, String)]) -> String {
    let bytes = UNKNOWN_BYTES / calls.len().max(1);
    let calls = calls
        .iter()
        .map(|(call, _)| cut(&format!("call {}, {call}", call.number), bytes));
    calls.collect::<Vec<_>>().join("; ")
}

/// An outcome as the interpreter takes it.
pub(super) fn to_interpreter(outcome: CallOutcome) -> interpreter::ReplyOutcome {
    match outcome {
        CallOutcome::Returned(value) => interpreter::ReplyOutcome::Return(value),
        CallOutcome::Raised { kind, message } => interpreter::ReplyOutcome::Raise { kind, message },
    }
}
