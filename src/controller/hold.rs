//! Reasons for which a task cannot go on although nothing of it has failed.

use kube::Resource;

use codegen_api::conditions::reason;
use codegen_core::bounds::message_shown;
use codegen_core::status::{Hold, Until};

/// Something outside of the task's own steps prevents it from going on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.message)]
pub struct Blocked(pub Hold);

/// Reports whether a status with this reason and message, of this generation of its object, says what holds it.
pub fn is_said(
    hold: &Hold,
    (reason, message): (Option<&str>, Option<&str>),
    generation: Option<i64>,
    object: &impl Resource,
) -> bool {
    reason == Some(hold.reason)
        && message == Some(message_shown(&hold.message).as_str())
        && generation == object.meta().generation
}

/// A person must change something.
#[must_use]
pub fn misconfigured(message: String) -> Blocked {
    Blocked(Hold {
        reason: reason::CONFIGURATION,
        message,
        until: Until::Corrected,
    })
}

/// The API server did not do it; it is tried again.
#[must_use]
pub fn unreachable(action: &str, error: &kube::Error) -> Blocked {
    // A missing permission or a quota: another try is refused as well until somebody changes that.
    if let kube::Error::Api(status) = error
        && status.is_forbidden()
    {
        return misconfigured(format!(
            "the operator may not {action}: {}; give its service account that permission",
            status.message
        ));
    }
    unavailable(&format!("failed to {action}: {error}"))
}

/// Something that may work at another time.
#[must_use]
pub fn unavailable(message: &str) -> Blocked {
    Blocked(Hold {
        reason: reason::INFRASTRUCTURE,
        message: format!("{message}; it is tried again"),
        until: Until::Room,
    })
}

/// Others take the room that the task needs.
#[must_use]
pub fn queued(message: String) -> Hold {
    Hold {
        reason: reason::QUEUED,
        message,
        until: Until::Room,
    }
}
