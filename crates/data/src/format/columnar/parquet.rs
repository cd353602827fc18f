//! Parquet: the footer, and row groups as record batches.

use std::collections::BTreeSet;
use std::io::{self, Read as _};
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowSelection,
};
use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, Length};
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};

use crate::profile::ColumnType;
use crate::source::Seekable;

use super::leaf::{self, Leaf};
use super::value::TextForm;
use super::{Part, guarded};

/// Records that are decoded at once.
const BATCH: usize = 1_024;

/// A Parquet file whose footer was read.
pub(super) struct ParquetFile {
    input: Input,
    /// The types that its columns declare.
    declared: ArrowReaderMetadata,
    /// The types that are read: the texts of a file need not be valid, so they are bytes.
    read: ArrowReaderMetadata,
}

/// Input of the reader: the bytes of the file.
#[derive(Clone)]
struct Input {
    bytes: Seekable,
    size: u64,
}

impl Length for Input {
    fn len(&self) -> u64 {
        self.size
    }
}

impl ChunkReader for Input {
    type T = io::BufReader<Seekable>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        Ok(io::BufReader::new(self.bytes.at(start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        // A length that a hostile header claims must not become an allocation.
        if start.saturating_add(length as u64) > self.size {
            return Err(ParquetError::EOF(format!(
                "{length} bytes at {start} lie beyond the end of the file"
            )));
        }
        let mut bytes = vec![0; length];
        self.bytes.at(start).read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}

impl ParquetFile {
    pub(super) fn open(bytes: Seekable, size: u64) -> Result<Self, ArrowError> {
        let input = Input { bytes, size };
        let plain = || ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        // The schema that Arrow adds to a file may not be that of its columns.
        let declared = ArrowReaderMetadata::load(&input, ArrowReaderOptions::new())
            .or_else(|_| ArrowReaderMetadata::load(&input, plain()))?;
        let root = without_texts(declared.parquet_schema().root_schema_ptr())?;
        let options = plain().with_parquet_schema(Arc::new(SchemaDescriptor::new(root)));
        let read = ArrowReaderMetadata::load(&input, options)?;
        Ok(Self {
            read: with_own_types(&read)?,
            declared,
            input,
        })
    }

    /// Returns the schema that its columns declare.
    pub(super) fn schema(&self) -> &SchemaRef {
        self.declared.schema()
    }

    /// Lists its columns.
    pub(super) fn leaves(&self) -> Vec<Leaf> {
        let mut leaves = leaf::leaves(self.schema().fields());
        for (leaf, column) in leaves.iter_mut().zip(self.declared.parquet_schema().columns()) {
            match column.logical_type_ref() {
                Some(LogicalType::Uuid) => {
                    leaf.form = TextForm::Uuid;
                    "uuid".clone_into(&mut leaf.declared);
                }
                _ if column.converted_type() == ConvertedType::JSON => {
                    "json".clone_into(&mut leaf.declared);
                }
                _ => {}
            }
            if is_text(column.self_type()) {
                leaf.form = TextForm::Text;
                leaf.type_ = ColumnType::Text;
                if leaf.declared == "binary" {
                    "string".clone_into(&mut leaf.declared);
                }
            }
        }
        leaves
    }

    /// Lists its row groups, as the footer has them.
    pub(super) fn groups(&self) -> Vec<Part> {
        let part = |group: &RowGroupMetaData| Part {
            rows: u64::try_from(group.num_rows()).unwrap_or(0),
            bytes: u64::try_from(group.total_byte_size()).unwrap_or(0),
        };
        self.read.metadata().row_groups().iter().map(part).collect()
    }

    /// Returns the most bytes that a column takes in a row group without compression.
    pub(super) fn largest_chunk(&self, column: usize) -> u64 {
        let groups = self.read.metadata().row_groups().iter();
        let sizes = groups.filter_map(|group| group.columns().get(column));
        let largest = sizes.map(ColumnChunkMetaData::uncompressed_size).max();
        largest.and_then(|size| u64::try_from(size).ok()).unwrap_or(0)
    }

    /// Returns its codecs, one after another.
    pub(super) fn compression(&self) -> String {
        let groups = self.read.metadata().row_groups().iter();
        let chunks = groups.flat_map(RowGroupMetaData::columns);
        let codecs: BTreeSet<String> = chunks
            .map(|chunk| chunk.compression_codec().to_string())
            .collect();
        if codecs.is_empty() {
            return "no compression".to_owned();
        }
        codecs.into_iter().collect::<Vec<_>>().join(" and ")
    }

    /// Hands over some columns of a row group, all rows or those of some ranges.
    pub(super) fn read(
        &self,
        group: usize,
        fields: &[usize],
        ranges: Option<&[Range<usize>]>,
        take: &mut impl FnMut(&RecordBatch),
    ) -> Result<(), String> {
        let claimed = usize::try_from(self.read.metadata().row_group(group).num_rows()).unwrap_or(0);
        let mut reader = guarded(|| {
            let fields = ProjectionMask::roots(self.read.parquet_schema(), fields.iter().copied());
            let mut builder =
                ParquetRecordBatchReaderBuilder::new_with_metadata(self.input.clone(), self.read.clone())
                    .with_batch_size(BATCH)
                    .with_row_groups(vec![group])
                    .with_projection(fields);
            if let Some(ranges) = ranges {
                let ranges = ranges.iter().cloned();
                builder = builder.with_row_selection(RowSelection::from_consecutive_ranges(ranges, claimed));
            }
            Ok(builder.build()?)
        })?;
        let mut rows = 0;
        while let Some(batch) = guarded(|| reader.next().transpose())? {
            rows += batch.num_rows();
            take(&batch);
        }
        if ranges.is_none() && rows != claimed {
            return Err(format!("it has {rows} rows, and the footer says {claimed}"));
        }
        Ok(())
    }
}

fn is_text(type_: &Type) -> bool {
    matches!(
        type_.get_basic_info().converted_type(),
        ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON
    )
}

/// The same schema with bytes in the place of texts, which the reader would refuse where they are not valid.
fn without_texts(type_: TypePtr) -> ParquetResult<TypePtr> {
    let info = type_.get_basic_info().clone();
    Ok(Arc::new(match &*type_ {
        Type::GroupType { fields, .. } => Type::GroupType {
            basic_info: info,
            fields: fields
                .iter()
                .cloned()
                .map(without_texts)
                .collect::<ParquetResult<_>>()?,
        },
        Type::PrimitiveType { .. } if is_text(&type_) => {
            Type::primitive_type_builder(type_.name(), Physical::BYTE_ARRAY)
                .with_repetition(info.repetition())
                .build()?
        }
        Type::PrimitiveType { .. } => return Ok(type_),
    }))
}

/// Reads moments of 96 bits in microseconds, as nanoseconds of 64 bits end in the year 2262, and bytes without a copy: a dictionary may hold
/// a long text that stands in every row.
fn with_own_types(read: &ArrowReaderMetadata) -> ParquetResult<ArrowReaderMetadata> {
    let columns = read.parquet_schema().root_schema().get_fields();
    let is_wide = |column: &TypePtr| column.is_primitive() && column.get_physical_type() == Physical::INT96;
    let fields = read.schema().fields().iter().zip(columns);
    let fields = fields.map(|(field, column)| {
        let type_ = match field.data_type() {
            DataType::Binary => DataType::BinaryView,
            _ if is_wide(column) => DataType::Timestamp(TimeUnit::Microsecond, None),
            other => other.clone(),
        };
        Field::clone(field).with_data_type(type_)
    });
    let schema = Schema::new(fields.collect::<Vec<_>>());
    let options = ArrowReaderOptions::new().with_schema(Arc::new(schema));
    ArrowReaderMetadata::try_new(Arc::clone(read.metadata()), options)
}
