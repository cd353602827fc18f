//! Who may work now: places for tasks, runs and calls, and what is waited for.

pub(crate) mod waits;
pub(crate) mod calls;
pub(crate) mod decisions;
pub(crate) mod gate;
pub(crate) mod held;
pub(crate) mod shared;
