//! The operator: what runs in a cluster around the engine.

pub mod config;
pub mod health;
pub mod leader;
pub mod metrics;
