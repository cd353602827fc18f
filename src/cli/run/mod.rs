//! Runs of a finished task's program, on this machine and in a cluster.

pub(super) mod cluster;
mod for_each;
pub(super) mod local;
mod print;
mod request;
