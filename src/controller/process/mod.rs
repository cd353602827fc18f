//! What the operator needs as a process: replicas, health, its end.

pub mod health;
pub mod leader;
pub(super) mod stop;
