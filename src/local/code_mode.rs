//! Questions of code mode on this machine: `kubectl-codegen ask`.

pub(crate) mod answer;
pub(crate) mod begin;
mod caller;
mod clients;
pub(crate) mod error;
mod execute;
pub(crate) mod folder;
mod headers;
pub(crate) mod pick;
mod programs;
mod resolve;
pub(crate) mod results;
pub(crate) mod runner;
mod runs;
