//! Cause and duration of a task's waiting.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::stage::Category;

/// Longest pause before infrastructure that failed is tried again.
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_secs(30);
/// Longest pause that a server is granted which asks for one.
const LONGEST_PAUSE_ASKED: SignedDuration = SignedDuration::from_mins(10);

/// Pause before the next try after `times` in a row that failed.
#[must_use]
pub fn pause_after(times: u32, category: Category) -> SignedDuration {
    match category {
        // Bounded, for it is the exponent of a shift.
        Category::Infrastructure => SignedDuration::from_secs(1 << times.min(10)).min(LONGEST_PAUSE),
        Category::Configuration => LONGEST_PAUSE,
    }
}

/// Returns the moment at which a server wants to be called again that asks for a pause of `asked`, at the latest after the longest pause
/// that it is granted.
#[must_use]
pub fn asked_moment(asked: Duration, now: Timestamp) -> Timestamp {
    let pause = SignedDuration::try_from(asked).unwrap_or(LONGEST_PAUSE_ASKED);
    now.checked_add(pause.min(LONGEST_PAUSE_ASKED)).unwrap_or(now)
}

/// Pause of a task, with its cause and its end.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Waiting {
    /// Infrastructure (tried again by itself) or configuration (a person must act).
    pub category: Category,
    /// Message about what happened, to which object, and what to do.
    pub message: String,
    /// Number of pauses in a row.
    pub times: u32,
    /// Time of the next try.
    pub retry_at: Timestamp,
    /// Time at which the pause began. States of earlier versions lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Cause that a person must remove, where it has a name of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<WaitReason>,
}

impl Waiting {
    /// Reports whether it is time for another try. A pause that has not begun yet is one of a clock that was set back since.
    #[must_use]
    pub fn is_over(&self, now: Timestamp) -> bool {
        let is_set_back = match self.since {
            Some(since) => now < since,
            None => self.retry_at.duration_since(now) > LONGEST_PAUSE_ASKED,
        };
        now >= self.retry_at || is_set_back
    }
}

/// Cause of a pause that a person must remove.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum WaitReason {
    /// An output is too large to be checked.
    OutputTooLarge,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::at;

    fn waiting(since: Option<Timestamp>) -> Waiting {
        Waiting {
            category: Category::Infrastructure,
            message: "the connection was dropped".to_owned(),
            times: 1,
            retry_at: at(1_002),
            since,
            reason: None,
        }
    }

    #[test]
    fn a_pause_is_over_at_its_end() {
        let waiting = waiting(Some(at(1_000)));
        assert!(!waiting.is_over(at(1_000)) && !waiting.is_over(at(1_001)));
        assert!(waiting.is_over(at(1_002)));
    }

    #[test]
    fn a_pause_of_seconds_is_over_at_once_when_the_clock_is_set_back_by_minutes() {
        assert!(waiting(Some(at(1_000))).is_over(at(520)));
    }

    #[test]
    fn a_pause_that_an_earlier_version_wrote_is_as_long_as_any_may_be() {
        let mut written = serde_json::to_value(waiting(Some(at(1_000)))).unwrap();
        written.as_object_mut().unwrap().remove("since");
        let earlier: Waiting = serde_json::from_value(written).unwrap();
        assert_eq!(earlier, waiting(None));
        assert!(!earlier.is_over(at(520)));
        assert!(earlier.is_over(at(401)) && earlier.is_over(at(1_002)));
    }
}
