//! Who may work now: places for tasks, runs and calls, and what is waited for.

pub(super) mod waits;
pub(super) mod calls;
pub(super) mod decisions;
pub(super) mod gate;
pub(super) mod held;
pub(super) mod interpreters;
pub(super) mod shared;
