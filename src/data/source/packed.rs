//! Gzip: unpacked as it is read, up to a bound. What stops it before its end is noted, and what stood before is the content.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::OnceLock;

use flate2::bufread::GzDecoder;
use serde::{Deserialize, Serialize};

use super::Pass;

/// Most bytes that are unpacked.
pub(crate) const LARGEST_UNPACKED: u64 = 1024 * 1024 * 1024;
const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];
const BUFFER_BYTES: usize = 64 * 1024;

/// How the bytes of a file are packed.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum Compression {
    /// Gzip, of one member or several.
    Gzip,
}

impl Compression {
    /// Judges the first bytes of a file.
    #[must_use]
    pub fn of(start: &[u8]) -> Option<Self> {
        start.starts_with(&MAGIC).then_some(Self::Gzip)
    }
}

/// Why unpacking stopped before the end of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The file ends inside the packed data, after this many unpacked bytes.
    Truncated(u64),
    /// The packed data is damaged after this many unpacked bytes.
    Damaged(u64),
    /// Bytes follow that are not packed data.
    Trailing,
    /// More than `LARGEST_UNPACKED` bytes.
    TooLarge,
}

impl Fault {
    /// The remark on it.
    #[must_use]
    pub(crate) fn remark(self) -> String {
        let stops = |how: &str, at: u64| {
            format!(
                "its gzip data {how}: only the {at} bytes unpacked before are described, and a program that unpacks all fails"
            )
        };
        match self {
            Self::Truncated(at) => stops("breaks off", at),
            Self::Damaged(at) => stops("is damaged", at),
            Self::Trailing => "bytes that are no gzip data follow its gzip data: they are not described, and Python's gzip fails at them".into(),
            Self::TooLarge => format!(
                "it unpacks to more than {} GiB and is not read; give a part of it as the sample",
                LARGEST_UNPACKED >> 30
            ),
        }
    }
}

/// Unpacks member after member, always in pieces of one size: the bytes before a fault are the same in every pass.
pub(super) struct Unpacked {
    decoder: Option<GzDecoder<BufReader<Pass>>>,
    buffer: Vec<u8>,
    position: usize,
    filled: usize,
    total: u64,
}

impl Unpacked {
    pub(super) fn new(packed: Pass) -> Self {
        Self {
            decoder: Some(GzDecoder::new(BufReader::with_capacity(BUFFER_BYTES, packed))),
            buffer: vec![0; BUFFER_BYTES],
            position: 0,
            filled: 0,
            total: 0,
        }
    }

    fn refill(&mut self) -> io::Result<()> {
        (self.position, self.filled) = (0, 0);
        while let Some(decoder) = &mut self.decoder {
            match decoder.read(&mut self.buffer) {
                Ok(0) => self.next_member()?,
                // Before the bytes are passed on: no reader sees more than the bound.
                Ok(count) if self.total + count as u64 > LARGEST_UNPACKED => {
                    return self.stop(Fault::TooLarge);
                }
                Ok(count) => {
                    self.total += count as u64;
                    self.filled = count;
                    return Ok(());
                }
                // The file could not be read, which says nothing of what it holds.
                Err(error) if error.raw_os_error().is_some() || super::is_own(&error) => return Err(error),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return self.stop(Fault::Truncated(self.total));
                }
                Err(_) => return self.stop(Fault::Damaged(self.total)),
            }
        }
        Ok(())
    }

    /// Zeros may stand between members and after them.
    fn next_member(&mut self) -> io::Result<()> {
        let Some(decoder) = self.decoder.take() else {
            return Ok(());
        };
        let mut packed = decoder.into_inner();
        loop {
            let ahead = packed.fill_buf()?;
            if ahead.is_empty() {
                return Ok(());
            }
            let zeros = ahead.iter().take_while(|byte| **byte == 0).count();
            let is_packed = ahead.get(zeros) == Some(&MAGIC[0]);
            let is_read = zeros == ahead.len();
            packed.consume(zeros);
            if !is_read {
                // Several members one after another are one stream, as `cat` of packed files makes it.
                let decoder = self.decoder.insert(GzDecoder::new(packed));
                return if is_packed {
                    Ok(())
                } else {
                    decoder_stop(decoder, Fault::Trailing).map(|()| self.decoder = None)
                };
            }
        }
    }

    fn stop(&mut self, fault: Fault) -> io::Result<()> {
        let Some(mut decoder) = self.decoder.take() else {
            return Ok(());
        };
        decoder_stop(&mut decoder, fault)
    }
}

/// Notes the fault and reads the rest of the packed bytes, so that the pass is over the whole file.
fn decoder_stop(decoder: &mut GzDecoder<BufReader<Pass>>, fault: Fault) -> io::Result<()> {
    let packed = decoder.get_mut();
    packed.get_ref().note(fault);
    io::copy(packed, &mut io::sink()).map(|_| ())
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
pub(super) type NotedFault = OnceLock<Fault>;
