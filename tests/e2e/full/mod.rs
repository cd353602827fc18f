//! What takes long: `make e2e-full` runs each of these by itself, with the whole cluster to it.

mod agent_kills;
mod agent_protocols;
mod enforcement;
mod faults;
mod kills;
mod many;
pub mod operator;
pub mod server;
pub mod seen;
