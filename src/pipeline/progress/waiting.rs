//! What a task waits for, and for how long.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::pipeline::stage::Category;

/// Longest pause before infrastructure that failed is tried again.
pub const LONGEST_PAUSE: SignedDuration = SignedDuration::from_secs(30);
/// Longest pause that a server is granted which asks for one.
pub const LONGEST_PAUSE_ASKED: SignedDuration = SignedDuration::from_mins(10);
/// Longest pause before it is checked again whether a person has acted.
pub const LONGEST_PAUSE_FOR_A_PERSON: SignedDuration = SignedDuration::from_hours(1);

/// What a task waits for.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Waiting {
    /// Infrastructure (tried again by itself) or configuration (a person must act).
    pub category: Category,
    /// What happened, to which object, and what to do.
    pub message: String,
    /// How often in a row.
    pub times: u32,
    /// When it is tried again.
    pub retry_at: Timestamp,
    /// What a person must change, where that has a name of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<WaitReason>,
}

impl Waiting {
    /// Whether it is time for another try. A moment further away than any pause is one of a clock that was set back since.
    #[must_use]
    pub fn is_over(&self, now: Timestamp) -> bool {
        let longest = match self.category {
            Category::Infrastructure => LONGEST_PAUSE_ASKED,
            Category::Configuration => LONGEST_PAUSE_FOR_A_PERSON,
        };
        let left = self.retry_at.duration_since(now);
        left <= SignedDuration::ZERO || left > longest
    }
}

/// What a person must change.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum WaitReason {
    /// An output is too large to be checked.
    OutputTooLarge,
}
