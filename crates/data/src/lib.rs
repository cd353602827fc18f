//! The profile of a file: its format, columns, statistics, representative rows, schema, checks on its values, and the
//! typed outputs of a program.
//!
//! Every reader streams with bounded memory and answers each oddity with a remark. `worker` runs all of it in a child
//! process under limits; the other modules are synchronous and know nothing of processes.

#![warn(unreachable_pub)]

mod calendar;
pub mod checks;
mod column;
pub mod context;
pub mod describe;
mod detect;
pub mod escape;
pub mod exposure;
pub mod format;
pub mod joins;
mod keys;
mod lines;
pub mod outputs;
pub mod profile;
mod remark;
mod rows;
pub mod scalar;
pub mod schema;
pub mod source;
pub mod turns;
pub mod value_type;
pub mod worker;

#[cfg(test)]
mod tests;

use std::io;

use source::UnreadableSource;

/// Reason for which a file could not be described or checked.
#[derive(thiserror::Error, Debug)]
pub enum DataError {
    /// The file could not be opened or read.
    #[error("cannot read {file}: {source}")]
    Read {
        /// File name as the user knows it.
        file: String,
        /// Error of the system.
        source: io::Error,
    },
    /// The file is larger than what is read.
    #[error(
        "cannot read {file}: it has {bytes} bytes, and at most {} are read; give a part of it, as `head -n 100000` writes it",
        source::LARGEST_FILE
    )]
    TooLarge {
        /// File name as the user knows it.
        file: String,
        /// Its size, or how much of it was read.
        bytes: u64,
    },
    /// Somebody wrote to the file while it was read.
    #[error("{file} changed while it was read; run again when nothing writes to it, or give a copy")]
    Changed {
        /// File name as the user knows it.
        file: String,
    },
    /// The file is of a format whose values cannot be checked.
    #[error(
        "cannot check columns of {file}: it is {format}, not a table; use CSV, TSV, JSON, JSONLines, Parquet, Arrow or Excel"
    )]
    NotATable {
        /// File name as the user knows it.
        file: String,
        /// Format of the file.
        format: String,
    },
    /// The file whose values are to be checked has none.
    #[error("{file} is empty; give a header and rows")]
    Empty {
        /// File name as the user knows it.
        file: String,
    },
    /// The file is not what its format says.
    #[error("cannot read {file} as {format}: {reason}")]
    Malformed {
        /// File name as the user knows it.
        file: String,
        /// The format it should have.
        format: String,
        /// Fault with its place.
        reason: String,
    },
    /// A regular expression of a check does not compile.
    #[error("cannot check column {column}: {reason}")]
    Check {
        /// The column.
        column: String,
        /// Fault of the check.
        reason: String,
    },
    /// The child process met a limit.
    #[error("reading {file} met the limit of {limit}; give a part of it as the sample")]
    Limit {
        /// File name as the user knows it.
        file: String,
        /// The limit, in words (`256 MiB of memory`).
        limit: String,
    },
    /// The child process was killed from outside: by the system for want of memory, or by a person.
    #[error(
        "the process that read {file} was killed from outside, as the system does when memory runs out; free some and run again"
    )]
    Killed {
        /// File name as the user knows it.
        file: String,
    },
    /// The child process ran out of stack.
    #[error(
        "{file} cannot be read: its content, or the schema of a Parquet file, may be nested too deeply; give it with fewer levels"
    )]
    TooDeep {
        /// File name as the user knows it.
        file: String,
    },
    /// The child process ended without an answer.
    #[error(
        "the process that read {file} ended without an answer ({reason}); give another form of the file, and report this one"
    )]
    Crashed {
        /// File name as the user knows it.
        file: String,
        /// End of the process.
        reason: String,
    },
    /// The child process answered with an error.
    #[error("{0}")]
    Reported(String),
    /// The child process could not be started or spoken to.
    #[error("cannot run the reader of data files: {0}")]
    Worker(#[from] io::Error),
}

impl DataError {
    /// Reports whether the file has no part in it: the same may work at another time.
    #[must_use]
    pub const fn is_passing(&self) -> bool {
        matches!(self, Self::Killed { .. } | Self::Worker(_))
    }

    fn read(file: &str) -> impl FnOnce(io::Error) -> Self {
        move |source| {
            let file = file.to_owned();
            // The cause is found in the chain, since readers of formats wrap it.
            match UnreadableSource::within(&source) {
                Some(UnreadableSource::Changed) => Self::Changed { file },
                Some(UnreadableSource::TooLarge(bytes)) => Self::TooLarge { file, bytes },
                Some(UnreadableSource::NotAFile(_)) | None => Self::Read { file, source },
            }
        }
    }
}
