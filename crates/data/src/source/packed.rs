//! Compressed files: unpacked as they are read, up to a bound. What stops it before its end is noted, and what stood before is
//! the content.

mod archive;
mod compression;
mod member;

use std::io::{self, BufRead as _, BufReader, Read};
use std::sync::OnceLock;

use super::Seekable;

pub(crate) use archive::Packing;
pub use compression::Compression;
use member::Decoder;

/// Most bytes that are unpacked.
pub(crate) const LARGEST_UNPACKED: u64 = 1024 * 1024 * 1024;
const BUFFER_BYTES: usize = 64 * 1024;

/// Reason for which unpacking stopped before the end of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnpackFault {
    /// The file ends inside the packed data, after this many unpacked bytes.
    Truncated(u64),
    /// The packed data is damaged after this many unpacked bytes.
    Damaged(u64),
    /// Bytes follow that are not packed data.
    Trailing,
    /// More than `LARGEST_UNPACKED` bytes.
    TooLarge,
    /// Unpacking would take more memory than a reader has.
    TooMuchMemory,
}

impl UnpackFault {
    /// The remark on it.
    #[must_use]
    pub(crate) fn remark(self, compression: Compression) -> String {
        let name = compression.name();
        let stops = |how: &str, at: u64| {
            format!(
                "its {name} data {how}: only the {at} bytes unpacked before are described, and a program that unpacks all fails"
            )
        };
        match self {
            Self::Truncated(at) => stops("breaks off", at),
            Self::Damaged(at) => stops("is damaged", at),
            Self::Trailing => format!(
                "bytes that are no {name} data follow its {name} data: they are not described, and {}",
                compression.at_trailing_bytes()
            ),
            Self::TooLarge => format!(
                "it unpacks to more than {} GiB and is not read; give a part of it as the sample",
                LARGEST_UNPACKED >> 30
            ),
            Self::TooMuchMemory => format!(
                "unpacking its {name} data takes more memory than its reader has; compress it again at a lower level, or give a part of it as the sample"
            ),
        }
    }
}

/// Unpacks member after member, always in pieces of one size: the bytes before a fault are the same in every pass.
pub(super) struct Unpacked {
    compression: Compression,
    decoder: Option<Decoder>,
    limit: u64,
    buffer: Vec<u8>,
    position: usize,
    filled: usize,
    total: u64,
}

impl Unpacked {
    /// Unpacks a file, at most `limit` bytes of its content.
    pub(super) fn open(file: Seekable, packing: &Packing, limit: u64) -> io::Result<Box<dyn Read>> {
        let Some(compression) = packing.compression() else {
            return Ok(Box::new(file));
        };
        let packed = BufReader::with_capacity(BUFFER_BYTES, file);
        let decoder = match packing {
            Packing::Member(member) => Decoder::of_member(packed, *member)?,
            _ => Decoder::new(compression, packed)?,
        };
        Ok(Box::new(Self {
            compression,
            decoder: Some(decoder),
            limit,
            buffer: vec![0; BUFFER_BYTES],
            position: 0,
            filled: 0,
            total: 0,
        }))
    }

    fn refill(&mut self) -> io::Result<()> {
        (self.position, self.filled) = (0, 0);
        while let Some(decoder) = &mut self.decoder {
            match decoder.read(&mut self.buffer) {
                Ok(0) => self.next_member()?,
                // Before the bytes are passed on: no reader sees more than the bound.
                Ok(count) if self.total + count as u64 > self.limit => {
                    self.stop(UnpackFault::TooLarge);
                }
                Ok(count) => {
                    self.total += count as u64;
                    self.filled = count;
                    return Ok(());
                }
                // The file could not be read, which says nothing of what it holds.
                Err(error) if error.raw_os_error().is_some() || super::is_own(&error) => return Err(error),
                Err(error) => self.stop(fault(&error, self.total)),
            }
        }
        Ok(())
    }

    /// Zeros may stand between members and after them.
    fn next_member(&mut self) -> io::Result<()> {
        let Some(decoder) = self.decoder.take() else {
            return Ok(());
        };
        let mut packed = decoder.into_packed();
        if self.compression == Compression::Zip {
            // Behind the one member stands the directory.
            return Ok(());
        }
        loop {
            let ahead = packed.fill_buf()?;
            if ahead.is_empty() {
                return Ok(());
            }
            let zeros = ahead.iter().take_while(|byte| **byte == 0).count();
            let is_packed = ahead
                .get(zeros)
                .is_some_and(|byte| self.compression.may_begin_with(*byte));
            let is_read = zeros == ahead.len();
            packed.consume(zeros);
            if is_read {
                continue;
            }
            if !is_packed {
                packed.get_ref().note(UnpackFault::Trailing);
                return Ok(());
            }
            // Several members one after another are one stream, as `cat` of packed files makes it.
            self.decoder = Some(Decoder::new(self.compression, packed)?);
            return Ok(());
        }
    }

    fn stop(&mut self, fault: UnpackFault) {
        if let Some(mut decoder) = self.decoder.take() {
            decoder.packed().get_ref().note(fault);
        }
    }
}

/// Returns the fault of the packed data that the error of a decoder shows.
fn fault(error: &io::Error, unpacked: u64) -> UnpackFault {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => UnpackFault::Truncated(unpacked),
        io::ErrorKind::OutOfMemory => UnpackFault::TooMuchMemory,
        // The zstd library has no kind for it, only words.
        _ if error.to_string().contains("memory") => UnpackFault::TooMuchMemory,
        _ => UnpackFault::Damaged(unpacked),
    }
}

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.position == self.filled {
            self.refill()?;
        }
        let count = buffer.len().min(self.filled - self.position);
        buffer[..count].copy_from_slice(&self.buffer[self.position..self.position + count]);
        self.position += count;
        Ok(count)
    }
}

/// The first fault that a pass met.
pub(super) type NotedFault = OnceLock<UnpackFault>;

#[cfg(test)]
mod tests;
