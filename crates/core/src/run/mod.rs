//! A run of a finished task's program on values and files of its own: what it is called with, what it came to, and what its
//! data is worth. The same in a cluster and on a laptop.
//!
//! ```text
//! faults    what is wrong with the given inputs, all at once, before any file is read
//! resolve   given values and frozen files + the task's samples and defaults -> ResolvedRun
//! checks    which data is checked, and what it means when a rule is broken
//! job       one phase: the program with its arguments
//! conclude  report + outputs as their types + findings -> RunEnd
//! status    what is said of the end
//! key       what decides the outputs: runs with the same one may share them
//! items     one program over many files: names, a line an item, one table
//! ```

pub mod checks;
mod conclude;
mod inputs;
mod items;
mod key;
mod outputs;
mod rehearsal;
mod resolve;
mod status;
#[cfg(test)]
mod tests;

pub use conclude::{FailureReason, RunEnd, RunFailure, conclude, program_end, refused};
pub use inputs::{GivenInput, InputFault, ProgramOptions, faults};
pub use items::{ItemRecord, LINES, TABLE, item_names, items_table};
pub use outputs::{OutputFile, OutputPlace, OutputRoom, OutputsRead, Stored, TypedOutput};
pub use resolve::{ResolvedInput, ResolvedRun, ResolvedValue, RunFault, RunSettings, resolve};
pub use status::{duration, redacted_finding};
