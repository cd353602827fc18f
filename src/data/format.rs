//! Readers of the formats: each streams the records of a file and knows nothing of statistics.

pub mod delimited;
pub(crate) mod dialect;
pub mod json;
pub(crate) mod shape;
