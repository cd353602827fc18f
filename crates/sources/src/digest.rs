//! Identity of a source, the same wherever it is read.

pub use codegen_core::digest::of_folder;
