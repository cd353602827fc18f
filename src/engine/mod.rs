//! Performs one step: asks the pipeline what is next, does it, hands the outcome back.

pub mod event;
