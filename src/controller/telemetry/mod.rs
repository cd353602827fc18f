//! Reports of the operator on its work: Events, metrics, its log.

pub mod events;
pub mod logging;
pub mod metrics;
