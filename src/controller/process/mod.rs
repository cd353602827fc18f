//! Process of the operator: its replicas, its health, its end.

pub mod health;
pub mod leader;
pub(super) mod stop;
