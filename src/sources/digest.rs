//! Identity of a source, the same wherever it is read.

pub use crate::pipeline::digest::of_folder;
