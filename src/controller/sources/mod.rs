//! Sources that tasks and runs refer to, read once: `ConfigMap`s, URLs, claims, Secrets.

pub(super) mod credentials;
pub(crate) mod downloads;
pub(crate) mod read;
