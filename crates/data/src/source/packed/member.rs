//! Decoders of one member each: a gzip member, a stream, a frame, the file of an archive.

use std::io::{self, BufReader, Read, Take};

use bzip2::bufread::BzDecoder;
use flate2::Crc;
use flate2::bufread::{DeflateDecoder, GzDecoder};
use lzma_rust2::XzReader;

use super::Compression;
use super::archive::Member;
use crate::source::Seekable;

/// Most memory that the dictionary of xz data takes, KiB; its highest level has one of 64 MiB.
const XZ_MEMORY: u32 = 80 * 1024;
/// Largest window of zstd data, as a power of two: 128 MiB, what its highest level and `--long` write.
const ZSTD_WINDOW: u32 = 27;

type Packed = BufReader<Seekable>;

/// Unpacks one member; at its end the packed bytes stand behind it.
pub(super) enum Decoder {
    Gzip(GzDecoder<Packed>),
    Bzip2(BzDecoder<Packed>),
    Xz(Box<XzReader<Packed>>),
    Zstd(Box<zstd::stream::read::Decoder<'static, Packed>>),
    Deflated(Checked<DeflateDecoder<Take<Packed>>>),
    Stored(Checked<Take<Packed>>),
}

impl Decoder {
    /// A decoder of the member that begins here.
    pub(super) fn new(compression: Compression, packed: Packed) -> io::Result<Self> {
        Ok(match compression {
            // An archive is never read on as a stream: `of_member` is its way.
            Compression::Gzip | Compression::Zip => Self::Gzip(GzDecoder::new(packed)),
            Compression::Bzip2 => Self::Bzip2(BzDecoder::new(packed)),
            Compression::Xz => Self::Xz(Box::new(XzReader::new_mem_limit(packed, false, XZ_MEMORY))),
            Compression::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(packed)?.single_frame();
                decoder.window_log_max(ZSTD_WINDOW)?;
                Self::Zstd(Box::new(decoder))
            }
        })
    }

    /// A decoder of the file of an archive, whose packed bytes are read from their start.
    pub(super) fn of_member(mut packed: Packed, member: Member) -> io::Result<Self> {
        io::copy(&mut packed.by_ref().take(member.start), &mut io::sink())?;
        let packed = packed.take(member.packed);
        Ok(if member.is_stored {
            Self::Stored(Checked::new(packed, member.crc))
        } else {
            Self::Deflated(Checked::new(DeflateDecoder::new(packed), member.crc))
        })
    }

    /// The packed bytes.
    pub(super) fn packed(&mut self) -> &mut Packed {
        match self {
            Self::Gzip(decoder) => decoder.get_mut(),
            Self::Bzip2(decoder) => decoder.get_mut(),
            Self::Xz(decoder) => decoder.inner_mut(),
            Self::Zstd(decoder) => decoder.get_mut(),
            Self::Deflated(checked) => checked.input.get_mut().get_mut(),
            Self::Stored(checked) => checked.input.get_mut(),
        }
    }

    /// The packed bytes behind the member.
    pub(super) fn into_packed(self) -> Packed {
        match self {
            Self::Gzip(decoder) => decoder.into_inner(),
            Self::Bzip2(decoder) => decoder.into_inner(),
            Self::Xz(decoder) => decoder.into_inner(),
            Self::Zstd(decoder) => decoder.finish(),
            Self::Deflated(checked) => checked.input.into_inner().into_inner(),
            Self::Stored(checked) => checked.input.into_inner(),
        }
    }
}

impl Read for Decoder {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Gzip(decoder) => decoder.read(buffer),
            Self::Bzip2(decoder) => decoder.read(buffer),
            Self::Xz(decoder) => decoder.read(buffer),
            Self::Zstd(decoder) => decoder.read(buffer),
            Self::Deflated(checked) => checked.read(buffer),
            Self::Stored(checked) => checked.read(buffer),
        }
    }
}

/// Reads bytes whose checksum is known; at their end another one is an error.
pub(super) struct Checked<R> {
    input: R,
    crc: Crc,
    expected: u32,
}

impl<R> Checked<R> {
    fn new(input: R, expected: u32) -> Self {
        Self {
            input,
            crc: Crc::new(),
            expected,
        }
    }
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        if count == 0 && !buffer.is_empty() && self.crc.sum() != self.expected {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "another checksum"));
        }
        self.crc.update(&buffer[..count]);
        Ok(count)
    }
}
