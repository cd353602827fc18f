//! Reasons for which an agent has to wait for its tools.

use crate::controller::hold::{Blocked, unavailable};
use codegen_api::conditions::code_mode_reason;
use codegen_core::code_mode::UnresolvedTool;
use codegen_core::status::{Hold, Until};
use codegen_tools::ToolError;

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

impl From<UnresolvedTool> for Blocked {
    fn from(error: UnresolvedTool) -> Self {
        if error.is_awaited {
            awaited(error.message)
        } else {
            refused(error.message)
        }
    }
}

impl From<ToolError> for Blocked {
    /// A server that is not there yet may come by itself.
    fn from(error: ToolError) -> Self {
        if error.is_transient() {
            unavailable(&error.to_string())
        } else {
            refused(error.to_string())
        }
    }
}
