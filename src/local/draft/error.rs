//! Files and options that no task can be made of.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use codegen_sources::remedy;

/// A file or an option that no task can be made of.
#[derive(Debug, Error)]
pub enum DraftError {
    /// It cannot be read.
    #[error("{option} {path}: cannot be read: {source}; {remedy}", path = path.display(), remedy = remedy(.source))]
    Read {
        /// The option that names it.
        option: &'static str,
        /// The file.
        path: PathBuf,
        /// Cause of the failure.
        source: io::Error,
    },
    /// It is a folder.
    #[error("{option} {path}: is a folder: name one file of it; each further one has an option of its own", path = path.display())]
    Folder {
        /// The option that names it.
        option: &'static str,
        /// The folder.
        path: PathBuf,
    },
    /// There is nothing in it.
    #[error("{option} {path}: is empty: give a file that shows what the data is like, a header and some rows", path = path.display())]
    Empty {
        /// The option that names it.
        option: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// A ConfigMap cannot hold it, and it is nothing that can be copied.
    #[error(
        "{option} {path}: has more than 1 MiB, which is all that a ConfigMap holds: {remedy}", path = path.display()
    )]
    TooLarge {
        /// The option that names it.
        option: &'static str,
        /// The file.
        path: PathBuf,
        /// The remedy.
        remedy: &'static str,
    },
    /// The acceptance tests are not text.
    #[error("--accept {path}: is not UTF-8 text: give a pytest file", path = path.display())]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// The acceptance tests can never pass.
    #[error("--accept {path}: {why}", path = path.display())]
    AcceptanceTests {
        /// The file.
        path: PathBuf,
        /// Reason of the refusal.
        why: String,
    },
    /// An address without the name of a model there.
    #[error("--model-url needs --model: write the name by which that server knows the model")]
    NoModel,
    /// An address that would bring a secret into the folder.
    #[error(
        "--model-url holds a user name, a password or a query, and the folder keeps no secret: leave them out, and name the variable \
         that holds the key with --model-key-env"
    )]
    SecretAddress,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_file_that_may_not_be_read_the_path_is_not_called_wrong() {
        let message = |kind: io::ErrorKind| {
            let error = DraftError::Read {
                option: "--sample",
                path: PathBuf::from("s.csv"),
                source: kind.into(),
            };
            error.to_string()
        };
        assert!(message(io::ErrorKind::NotFound).ends_with("; correct the path"));
        let refused = message(io::ErrorKind::PermissionDenied);
        assert!(
            refused.contains("chmod u+r") && !refused.contains("correct the path"),
            "{refused}"
        );
    }
}
