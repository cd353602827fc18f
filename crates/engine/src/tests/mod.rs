//! The engine over a world in memory: whole tasks, a kill after every write, and the figures of calls and tokens.

mod agent;
mod cases;
mod clock;
mod constraints;
mod crash;
mod escalation;
pub(crate) mod figures;
mod suites;
mod near_misses;
mod order;
mod packages;
mod paths;
mod retry;
mod run_data;
mod session_figures;
