//! Why an agent has to wait for its tools.

use crate::api::conditions::code_mode_reason;
use crate::controller::hold::Blocked;
use crate::pipeline::status::{Hold, Until};

/// Something that a person must change in the agent.
#[must_use]
pub(super) fn refused(message: String) -> Blocked {
    Blocked(Hold {
        reason: code_mode_reason::TOOLS_REFUSED,
        message,
        until: Until::Corrected,
    })
}

/// Something that may come by itself.
#[must_use]
pub(super) fn awaited(message: String) -> Blocked {
    Blocked(Hold {
        reason: code_mode_reason::TOOLS_AWAITED,
        message,
        until: Until::Room,
    })
}
