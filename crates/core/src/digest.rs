//! SHA-256 as the lower-case hexadecimal text that names, statuses and records hold.

use std::fmt::Write as _;
use std::io::{self, Read};

use sha2::{Digest, Sha256};

/// Bytes of a stream that are hashed at a time.
const BUFFER_BYTES: usize = 256 * 1024;

/// SHA-256 of `bytes`, 64 lower-case hexadecimal digits.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// SHA-256 of all that `input` gives, which is never held as a whole.
pub fn sha256_of(input: &mut impl Read) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        match input.read(&mut buffer) {
            Ok(0) => return Ok(hex(&hasher.finalize())),
            Ok(read) => hasher.update(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// SHA-256 of a sequence of texts, 64 lower-case hexadecimal digits. Each text counts with its length, so that moving
/// characters from one to the next changes the digest.
#[must_use]
pub fn sha256_hex_of_parts(parts: &[&str]) -> String {
    // Without the lengths, `ab` and `c` would hash like `a` and `bc`.
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hex(&hasher.finalize())
}

/// Digest of a folder whose files have these relative paths and digests, hex.
#[must_use]
pub fn of_folder(mut files: Vec<(String, String)>) -> String {
    // The order in which a folder is listed is no part of what it holds.
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

/// Checks that a text has the form of a digest, and so names nothing but what has it: neither a path nor another spelling.
#[must_use]
pub fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Lower-case hexadecimal digits, two a byte.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            // Writing to a `String` cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_of_nothing_is_that_of_sha256() {
        assert_eq!(
            sha256_hex(b""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }

    #[test]
    fn parts_do_not_run_into_one_another() {
        assert_ne!(
            sha256_hex_of_parts(&["ab", "c"]),
            sha256_hex_of_parts(&["a", "bc"])
        );
    }
}
