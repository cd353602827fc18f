//! Arrow files that are not as they should be.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, NullArray, RecordBatch, StringArray};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};

use crate::format::FileFormat;
use crate::format::columnar::Columnar;
use crate::source::Source;

fn file(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer = FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    writer.into_inner().unwrap()
}

/// As `rows`, its buffers compressed.
fn compressed_rows(count: i64) -> Vec<u8> {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..count));
    let batch = RecordBatch::try_from_iter([("id", ids)]).unwrap();
    let options = IpcWriteOptions::default()
        .try_with_compression(Some(CompressionType::LZ4_FRAME))
        .unwrap();
    let mut writer = FileWriter::try_new_with_options(Vec::new(), &batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    writer.into_inner().unwrap()
}

fn records(bytes: &[u8]) -> Result<usize, String> {
    let file = Columnar::open(&Source::bytes(bytes), FileFormat::Arrow).unwrap()?;
    let mut records = 0;
    let fields: Vec<_> = file.leaves().iter().map(|leaf| leaf.field).collect();
    for part in 0..file.parts().len() {
        file.read(part, &fields, None, |rows| records += rows.count())?;
    }
    Ok(records)
}

fn rows(count: i64) -> Vec<u8> {
    let texts: Vec<_> = (0..count).map(|row| format!("n{row}")).collect();
    file(vec![
        ("id", Arc::new(Int64Array::from_iter_values(0..count))),
        ("name", Arc::new(StringArray::from_iter_values(texts))),
    ])
}

#[test]
fn rows_are_decoded_part_by_part() {
    assert_eq!(records(&rows(3_000)), Ok(3_000));
    assert_eq!(records(&rows(0)), Ok(0));
}

#[test]
fn a_file_that_is_cut_has_no_footer() {
    let bytes = rows(10);
    assert!(records(&bytes[..bytes.len() / 2]).is_err());
    assert!(records(b"ARROW1\0\0").is_err());
}

#[test]
fn a_footer_that_is_longer_than_the_file_is_refused() {
    let mut bytes = rows(10);
    let length = bytes.len() - 10;
    bytes[length..length + 4].copy_from_slice(&i32::MAX.to_le_bytes());
    assert_eq!(
        records(&bytes),
        Err("its footer is longer than the file".to_owned())
    );
}

#[test]
fn a_length_that_a_compressed_buffer_claims_is_no_allocation() {
    let mut bytes = compressed_rows(3_000);
    assert_eq!(records(&bytes), Ok(3_000));
    let claimed = 24_000_i64.to_le_bytes();
    let at = bytes.windows(8).position(|window| window == claimed).unwrap();
    bytes[at..at + 8].copy_from_slice(&(1_i64 << 40).to_le_bytes());
    let reason = records(&bytes).unwrap_err();
    assert!(
        reason.starts_with("record batch 1: it takes 1048576 MiB, and at most 128 MiB of one are held"),
        "{reason}"
    );
}

#[test]
fn more_rows_than_bytes_can_hold_are_refused() {
    let nothing: ArrayRef = Arc::new(NullArray::new(1 << 40));
    let reason = records(&file(vec![("nothing", nothing)])).unwrap_err();
    assert!(reason.contains("too few bytes for them"), "{reason}");
    let some: ArrayRef = Arc::new(NullArray::new(1_000));
    assert_eq!(records(&file(vec![("nothing", some)])), Ok(1_000));
}

#[test]
fn damaged_bytes_are_an_error_or_other_values() {
    let whole = rows(200);
    let mut random = fastrand::Rng::with_seed(5);
    for _ in 0..300 {
        let mut bytes = whole.clone();
        for _ in 0..random.usize(1..6) {
            let position = random.usize(..bytes.len());
            bytes[position] = random.u8(..);
        }
        let _ = records(&bytes);
    }
}
