//! What identifies a source, wherever it is read.

use sha2::{Digest as _, Sha256};

use crate::pipeline::digest::hex;

/// Digest of a folder whose files have these relative paths and digests, hex.
#[must_use]
pub fn of_folder(mut files: Vec<(String, String)>) -> String {
    files.sort();
    let mut digest = Sha256::new();
    for (path, content) in files {
        digest.update(path.as_bytes());
        digest.update([0]);
        digest.update(content.as_bytes());
        digest.update(b"\n");
    }
    hex(&digest.finalize())
}
