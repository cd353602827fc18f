//! A call is tried again where the tool cannot have had it, or does not mind to have it twice.

use std::future::Future;
use std::time::Duration;

use tokio::time::Instant;

use super::{Called, RaisedKind, Sent, ToolException};
use codegen_model::RetryPolicy;

/// A try that brought no answer to keep.
#[derive(Clone, Debug)]
pub(super) struct FailedTry {
    /// Exception that the program gets where it was the last one.
    pub raised: ToolException,
    /// Condition under which the call may be made again.
    pub repeat: Repeat,
    /// The pause that the server asks for.
    pub retry_after: Option<Duration>,
}

/// Condition under which a call may be made again after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeat {
    /// Another try would end the same.
    Never,
    /// Repeat only where the tool is idempotent: it may have had this one and has no harm from a second.
    IfIdempotent,
    /// Repeat for every tool: it did not have this one, or turned it away.
    Always,
}

impl From<ToolException> for FailedTry {
    /// A failure that another try would not change.
    fn from(raised: ToolException) -> Self {
        Self {
            raised,
            repeat: Repeat::Never,
            retry_after: None,
        }
    }
}

/// The tries that one call has.
pub(super) struct Tries {
    /// Time by which the call must have ended.
    pub deadline: Instant,
    /// Number and pace of the tries.
    pub policy: RetryPolicy,
    /// True where the tool has no harm from a second call.
    pub is_idempotent: bool,
}

impl Tries {
    /// Tries until there is an end, the tries are used up, or a pause would pass the deadline. Each try ends at the deadline by itself.
    pub async fn run<F>(&self, attempt: impl Fn() -> F) -> Called
    where
        F: Future<Output = Result<Called, FailedTry>>,
    {
        let mut tries = 0;
        let mut was_sent = Sent::No;
        loop {
            tries += 1;
            let mut failure = match attempt().await {
                Ok(called) => return called,
                Err(failure) => failure,
            };
            // What an earlier try may have done stays possible.
            was_sent = was_sent.max(failure.raised.was_sent);
            failure.raised.was_sent = was_sent;
            let pause = self.policy.pause(tries, failure.retry_after, fastrand::f64());
            if !self.allows_another(&failure, tries, pause) {
                return Called::Raised(failure.given_up(tries));
            }
            tracing::debug!(tries, ?pause, "tool call failed, will be repeated");
            tokio::time::sleep(pause).await;
        }
    }

    fn allows_another(&self, failure: &FailedTry, tries: u32, pause: Duration) -> bool {
        let is_of_use = match failure.repeat {
            Repeat::Never => false,
            Repeat::IfIdempotent => self.is_idempotent,
            Repeat::Always => true,
        };
        let resumes = Instant::now().checked_add(pause);
        is_of_use && tries < self.policy.max_tries && resumes.is_some_and(|at| at < self.deadline)
    }
}

impl FailedTry {
    /// A failure of a try that may be followed by another.
    pub fn new(raised: ToolException, repeat: Repeat) -> Self {
        Self {
            repeat,
            ..Self::from(raised)
        }
    }

    fn given_up(self, tries: u32) -> ToolException {
        let mut raised = self.raised;
        if tries > 1 {
            raised.message = format!("{} ({tries} tries)", raised.message);
        }
        if let Some(pause) = self.retry_after {
            let seconds = pause.as_secs_f64();
            raised.message = format!("{}; it asks to wait {seconds:.0} s", raised.message);
        }
        raised
    }
}

/// The class of the exception, whether the tool may have done what was asked, and whether it is asked again. `is_given_a_pause`: the
/// answer says when to come back.
pub(super) const fn meaning(status: u16, is_given_a_pause: bool) -> (RaisedKind, Sent, Repeat) {
    let kind = match status {
        401 | 403 => RaisedKind::PermissionError,
        400 | 422 => RaisedKind::ValueError,
        408 | 504 => RaisedKind::TimeoutError,
        _ => RaisedKind::RuntimeError,
    };
    let was_sent = match status {
        // A gateway that gave up says nothing of the server behind it.
        408 | 502 | 504 | 524 => Sent::Perhaps,
        _ => Sent::Answered,
    };
    let repeat = match status {
        429 => Repeat::Always,
        503 if is_given_a_pause => Repeat::Always,
        408 | 500..=599 => Repeat::IfIdempotent,
        _ => Repeat::Never,
    };
    (kind, was_sent, repeat)
}
