//! What a question says of the runs that its program waits for, where one of them waits for a person. Pure.

use std::sync::Arc;

use crate::api::CodeGenRun;
use crate::api::code_mode::{CodeModeRunStatus, PendingCall};
use crate::api::conditions::{STALLED, reason, run_reason};
use crate::pipeline::status::{Hold, Until};

/// What holds the first of `calls` whose run, by its name, goes no further until a person mends something.
#[must_use]
pub fn stalled(named: impl Fn(&str) -> Option<Arc<CodeGenRun>>, calls: &[PendingCall]) -> Option<Hold> {
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

/// Whether a status says something else than that the question waits for runs that go on, or for a person who decides.
#[must_use]
pub fn says_otherwise(status: &CodeModeRunStatus) -> bool {
    let mut conditions = status.conditions.iter();
    match status.reason.as_deref() {
        Some(reason::AWAITING_APPROVAL) => false,
        Some(run_reason::AWAITING_RUN) => {
            conditions.any(|condition| condition.type_ == STALLED && condition.status == "True")
        }
        _ => true,
    }
}
