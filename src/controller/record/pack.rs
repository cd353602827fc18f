//! Documents in little room.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

/// Most bytes that a packed document may unfold to.
// A few KiB may unfold to gigabytes, and a Secret may be somebody else's work.
pub const LARGEST_DOCUMENT: u64 = 64 * 1024 * 1024;

/// Compressed.
#[must_use]
pub fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // Writing to memory cannot fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

/// What was compressed, cut after `longest` bytes.
pub fn unpacked(bytes: &[u8], longest: u64) -> std::io::Result<Vec<u8>> {
    let mut content = Vec::new();
    GzDecoder::new(bytes).take(longest).read_to_end(&mut content)?;
    Ok(content)
}
