//! Documents in little room.

use std::io::{self, Read as _, Write as _};

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

/// Unfolds compressed bytes; fails where they come to more than `longest` bytes, of which no more are unfolded.
pub fn unpacked(bytes: &[u8], longest: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    let mut decoder = GzDecoder::new(bytes).take(longest.saturating_add(1));
    if decoder.read_to_end(&mut content)? as u64 > longest {
        let message = format!("it unfolds to more than {longest} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_unfolds_to_more_than_the_limit_is_an_error_and_not_cut() {
        let packed = pack(&[b'x'; 100]);
        assert_eq!(unpacked(&packed, 100).unwrap(), [b'x'; 100]);
        let error = unpacked(&packed, 99).unwrap_err().to_string();
        assert_eq!(error, "it unfolds to more than 99 bytes");
    }
}
