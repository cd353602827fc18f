//! The conditions of an object, and when each of them changed.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use super::hold::Until;
use crate::progress::Build;
use codegen_api::conditions::{
    IMAGE_READY, ISOLATION_VERIFIED, READY, RECONCILING, STALLED, SUCCEEDED, reason,
};

/// The state of an object, as kstatus defines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadyState {
    /// It goes on by itself.
    Working,
    /// A person must change something.
    WaitingForPerson,
    /// A person wants it to pause.
    Suspended,
    /// It ended well.
    Succeeded,
    /// It ended otherwise.
    Failed,
}

impl From<Until> for ReadyState {
    fn from(until: Until) -> Self {
        match until {
            Until::Room => Self::Working,
            Until::Corrected => Self::WaitingForPerson,
            Until::Resumed => Self::Suspended,
        }
    }
}

/// The four conditions of an object; `before` are those that it has. All have the reason. The message is that of `Ready`, and of those that
/// somebody asks why of: a `Succeeded` that is false, a `Reconciling` or `Stalled` that is true.
#[must_use]
pub fn conditions(
    kind: ReadyState,
    (reason, message): (&str, &str),
    generation: Option<i64>,
    before: &[Condition],
    now: Timestamp,
) -> Vec<Condition> {
    let (ready, succeeded, reconciling, stalled) = match kind {
        ReadyState::Working => ("False", "Unknown", "True", "False"),
        ReadyState::WaitingForPerson => ("False", "Unknown", "False", "True"),
        ReadyState::Suspended => ("False", "Unknown", "False", "False"),
        ReadyState::Succeeded => ("True", "True", "False", "False"),
        ReadyState::Failed => ("False", "False", "False", "True"),
    };
    let stamp = ConditionStamp {
        generation,
        before,
        now,
    };
    [
        (READY, ready),
        (SUCCEEDED, succeeded),
        (RECONCILING, reconciling),
        (STALLED, stalled),
    ]
    .into_iter()
    .map(|(type_, status)| {
        let is_asked_why = match type_ {
            RECONCILING | STALLED => status == "True",
            SUCCEEDED => status == "False",
            _ => true,
        };
        stamp.condition(type_, status, reason, if is_asked_why { message } else { "" })
    })
    .collect()
}

/// Isolation by the cluster of what the task runs, as far as it was shown, in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IsolationShown {
    /// It was seen to.
    Verified(String),
    /// It does not, or need not.
    Refuted(String),
    /// It is not checked yet.
    Awaited(String),
}

impl IsolationShown {
    /// Reads it from `conditions`.
    #[must_use]
    pub fn said(conditions: &[Condition]) -> Option<Self> {
        let said = conditions.iter().find(|said| said.type_ == ISOLATION_VERIFIED)?;
        let message = said.message.clone();
        Some(match said.status.as_str() {
            "True" => Self::Verified(message),
            "False" => Self::Refuted(message),
            _ => Self::Awaited(message),
        })
    }
}

/// Values that all conditions of one status share.
#[derive(Clone, Copy)]
pub(super) struct ConditionStamp<'a> {
    pub generation: Option<i64>,
    pub before: &'a [Condition],
    pub now: Timestamp,
}

impl ConditionStamp<'_> {
    pub(super) fn condition(&self, type_: &str, status: &str, reason: &str, message: &str) -> Condition {
        // A transition time moves with the status alone, as Kubernetes has it for conditions.
        let unchanged = self
            .before
            .iter()
            .find(|old| old.type_ == type_ && old.status == status);
        Condition {
            type_: type_.into(),
            status: status.into(),
            reason: reason.into(),
            message: message.into(),
            observed_generation: self.generation,
            last_transition_time: unchanged.map_or(Time(self.now), |old| old.last_transition_time.clone()),
        }
    }

    pub(super) fn isolation(&self, shown: &IsolationShown) -> Condition {
        let (status, reason, message) = match shown {
            IsolationShown::Verified(message) => ("True", reason::ISOLATED, message),
            IsolationShown::Refuted(message) => ("False", reason::ISOLATION_NOT_ENFORCED, message),
            IsolationShown::Awaited(message) => ("Unknown", reason::ISOLATION_AWAITED, message),
        };
        self.condition(ISOLATION_VERIFIED, status, reason, message)
    }

    pub(super) fn image(&self, wanted: &Build) -> Condition {
        // In this order: an image that holds everything stands, whatever an older build lacked.
        match (wanted.ready(), wanted.present_fault()) {
            (Some(_), _) => self.condition(
                IMAGE_READY,
                "True",
                reason::IMAGE_FOUND,
                "the image holds every package that is needed",
            ),
            (None, Some(fault)) => {
                self.condition(IMAGE_READY, "False", reason::PACKAGE_UNAVAILABLE, &fault.message)
            }
            (None, None) => self.condition(
                IMAGE_READY,
                "Unknown",
                reason::IMAGE_AWAITED,
                "the image is made when the program is written",
            ),
        }
    }
}
