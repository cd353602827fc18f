//! Limit on the recorded length of a result: a function of what the session has recorded before it, so that a session stays small however
//! long it is.

use super::conversation::READ_BYTES;

/// Most bytes of a result that is recorded as it is, for the trace. The model reads [`READ_BYTES`] of it.
const WHOLE_BYTES: usize = 64 * 1024;
/// Bytes of results after which no more of one is recorded than the model reads.
const WHOLE_SESSION: usize = 64 * 1024;
/// Bytes of results after which of one only its beginning and its end are recorded, and read.
const READ_SESSION: usize = 1024 * 1024;
/// Most bytes of a result then.
const SHORT_BYTES: usize = 2 * 1024;

/// Most bytes of the next result in a session that has recorded so many.
pub(super) const fn room(recorded: usize) -> usize {
    if recorded < WHOLE_SESSION {
        WHOLE_BYTES
    } else if recorded < READ_SESSION {
        READ_BYTES
    } else {
        SHORT_BYTES
    }
}
