//! Record batches of Arrow files (Feather version 2), one at a time.

use std::io::Read as _;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::{Block, root_as_footer, root_as_message};
use arrow_schema::{ArrowError, SchemaRef};

use crate::source::Seekable;

use super::guarded;

/// Largest record batch that is read, bytes as it stands in the file and unpacked: it is held whole.
const LARGEST_BATCH: u64 = 128 * MIB;
/// Rows that a batch may have beyond those that its bytes can hold: a column of missing values takes no byte.
const ROWS_WITHOUT_BYTES: u64 = 1_000_000;
const MIB: u64 = 1024 * 1024;
/// Bytes at the end: the length of the footer and the mark of the format.
const TRAILER: usize = 10;

/// An Arrow file whose footer was read.
pub(super) struct ArrowFile {
    bytes: Seekable,
    size: u64,
    decoder: FileDecoder,
    schema: SchemaRef,
    batches: Vec<Block>,
}

impl ArrowFile {
    pub(super) fn open(bytes: Seekable, size: u64) -> Result<Self, ArrowError> {
        let end = size.saturating_sub(TRAILER as u64);
        let mut trailer = [0; TRAILER];
        bytes.at(end).read_exact(&mut trailer)?;
        let length = read_footer_length(trailer)?;
        let start = end
            .checked_sub(length as u64)
            .ok_or_else(|| invalid("its footer is longer than the file".to_owned()))?;
        let mut footer = vec![0; length];
        bytes.at(start).read_exact(&mut footer)?;
        let footer = root_as_footer(&footer).map_err(|error| invalid(error.to_string()))?;
        let schema = footer
            .schema()
            .ok_or_else(|| invalid("its footer has no schema".to_owned()))?;
        if !schema.endianness().equals_to_target_endianness() {
            return Err(invalid(
                "its numbers are in the byte order of another machine".to_owned(),
            ));
        }
        let schema = Arc::new(try_fb_to_schema(schema)?);
        let mut decoder = FileDecoder::new(Arc::clone(&schema), footer.version());
        for block in footer.dictionaries().iter().flatten() {
            let (buffer, _) = read_block(&bytes, size, block)?;
            decoder.read_dictionary(block, &buffer)?;
        }
        let batches = footer.recordBatches().iter().flatten().copied().collect();
        Ok(Self {
            bytes,
            size,
            decoder,
            schema,
            batches,
        })
    }

    /// Returns its schema.
    pub(super) const fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns how many record batches it has.
    pub(super) const fn batches(&self) -> usize {
        self.batches.len()
    }

    /// Hands over some columns of a record batch, all rows or those of some ranges.
    pub(super) fn read(
        &self,
        number: usize,
        fields: &[usize],
        ranges: Option<&[Range<usize>]>,
        take: &mut impl FnMut(&RecordBatch),
    ) -> Result<(), String> {
        let read = || {
            let batch = self.read_batch(&self.batches[number])?;
            batch.map(|batch| batch.project(fields)).transpose()
        };
        let Some(batch) = guarded(read)? else {
            return Ok(());
        };
        match ranges {
            Some(ranges) => {
                for rows in ranges {
                    take(&batch.slice(rows.start, rows.len()));
                }
            }
            None => take(&batch),
        }
        Ok(())
    }

    fn read_batch(&self, block: &Block) -> Result<Option<RecordBatch>, ArrowError> {
        let (buffer, unpacked) = read_block(&self.bytes, self.size, block)?;
        let batch = self.decoder.read_record_batch(block, &buffer)?;
        let rows = batch.as_ref().map_or(0, RecordBatch::num_rows) as u64;
        // No value takes less than a bit; more rows are a claim that nothing but time would check.
        if rows > ROWS_WITHOUT_BYTES.saturating_add(unpacked.saturating_mul(8)) {
            return Err(invalid(format!(
                "it claims {rows} rows, and holds too few bytes for them"
            )));
        }
        Ok(batch)
    }
}

fn invalid(reason: String) -> ArrowError {
    ArrowError::ParseError(reason)
}

/// The bytes of a block and how many they are unpacked. A length that a hostile footer claims must not become an allocation.
fn read_block(bytes: &Seekable, size: u64, block: &Block) -> Result<(Buffer, u64), ArrowError> {
    let outside = || invalid("it lies beyond the end of the file".to_owned());
    let (Ok(start), Ok(metadata), Ok(body)) = (
        u64::try_from(block.offset()),
        usize::try_from(block.metaDataLength()),
        u64::try_from(block.bodyLength()),
    ) else {
        return Err(outside());
    };
    let length = body.saturating_add(metadata as u64);
    if start.saturating_add(length) > size {
        return Err(outside());
    }
    let too_large = |bytes: u64| {
        invalid(format!(
            "it takes {} MiB, and at most {} MiB of one are held; write the file in smaller batches",
            bytes.div_ceil(MIB),
            LARGEST_BATCH / MIB
        ))
    };
    if length > LARGEST_BATCH {
        return Err(too_large(length));
    }
    let mut read = Vec::new();
    bytes.at(start).take(length).read_to_end(&mut read)?;
    let unpacked = unpacked_bytes(&read, metadata)?.unwrap_or(body);
    if unpacked > LARGEST_BATCH {
        return Err(too_large(unpacked));
    }
    Ok((Buffer::from_vec(read), unpacked))
}

/// Returns the unpacked size of the buffers of a block, where they are compressed: each begins with its length.
fn unpacked_bytes(block: &[u8], metadata: usize) -> Result<Option<u64>, ArrowError> {
    let cut = || invalid("its header is cut".to_owned());
    let (header, body) = block.split_at_checked(metadata).ok_or_else(cut)?;
    let prefix = if header.starts_with(&[0xff; 4]) { 8 } else { 4 };
    let message =
        root_as_message(header.get(prefix..).ok_or_else(cut)?).map_err(|error| invalid(error.to_string()))?;
    let batch = message
        .header_as_record_batch()
        .or_else(|| message.header_as_dictionary_batch()?.data());
    let Some(batch) = batch.filter(|batch| batch.compression().is_some()) else {
        return Ok(None);
    };
    let claimed = |offset: i64| {
        let start = usize::try_from(offset).ok()?;
        let length = i64::from_le_bytes(*body.get(start..)?.first_chunk()?);
        u64::try_from(length).ok()
    };
    let Some(buffers) = batch.buffers() else {
        return Ok(None);
    };
    // A column without missing values has an empty buffer for them, which stands where the next one does.
    let filled = buffers.iter().filter(|buffer| buffer.length() > 0);
    let lengths = filled.filter_map(|buffer| claimed(buffer.offset()));
    Ok(Some(lengths.fold(0, u64::saturating_add)))
}

#[cfg(test)]
mod tests;
