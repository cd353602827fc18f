//! What tasks and runs refer to, read once: ConfigMaps, URLs, claims, Secrets.

pub mod credentials;
pub mod downloads;
pub mod read;
