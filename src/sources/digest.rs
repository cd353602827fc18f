//! What identifies a source, wherever it is read.

pub use crate::pipeline::digest::of_folder;
