//! What an HTTP status other than 2xx means for a call. Pure.

use super::tries::Repeat;
use super::{RaisedKind, Sent};

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
