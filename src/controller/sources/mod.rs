//! What tasks and runs refer to, read once: `ConfigMap`s, URLs, claims, Secrets.

pub(crate) mod credentials;
pub(crate) mod downloads;
pub(crate) mod read;
