//! Questions of code mode on this machine: `kubectl-codegen ask`.

pub(crate) mod begin;
mod clients;
pub(crate) mod error;
mod execute;
pub(crate) mod pick;
mod programs;
mod resolve;
pub(crate) mod results;
pub(crate) mod runner;
mod runs;
