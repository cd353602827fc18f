//! Order of work: places for tasks, runs and calls, and what is waited for.

pub(super) mod calls;
pub(super) mod corrections;
pub(super) mod decisions;
pub(super) mod gate;
pub(super) mod interpreters;
pub(super) mod shared;
