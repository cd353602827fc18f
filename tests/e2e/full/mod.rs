//! What takes long: `make e2e-full` runs each of these by itself, with the whole cluster to it.

mod enforcement;
mod faults;
mod kills;
mod many;
pub mod operator;
mod server;
mod seen;
