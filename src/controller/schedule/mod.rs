//! Who may work now: places for tasks, runs and calls, and what is waited for.

pub mod admission;
pub mod awaited;
pub mod calls;
pub mod decisions;
pub mod gate;
pub mod held;
