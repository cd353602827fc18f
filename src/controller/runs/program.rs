//! A finished program.

use codegen_core::checks::ColumnCheck;
use codegen_core::task::Task;
use codegen_engine::run_data::ColumnsByInput;

/// A finished program, and what its task knows of the data.
#[derive(Debug)]
pub struct FinishedProgram {
    /// The task as it was resolved.
    pub task: Task,
    /// Source of the program.
    pub source: String,
    /// SHA-256 of it, hex.
    pub sha256: String,
    /// The image that holds its packages, by digest.
    pub image: String,
    /// The constraints on columns.
    pub checks: Vec<ColumnCheck>,
    /// Variables from Secrets that its tests ran with, where its task does not give them.
    pub variables: Vec<String>,
    /// Columns of the samples, by the input's name.
    pub columns: ColumnsByInput,
}
