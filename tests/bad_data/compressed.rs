//! Compressed files that take much to unpack, under the real limits.

use std::fs;

use codegen_operator::data::source::{Compression, Source};
use codegen_operator::data::worker::Limits;

use crate::reading::{client, context_of_bytes, context_or_error};

#[test]
fn a_zstd_bomb_is_reported_and_not_unpacked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let frame = Compression::Zstd.pack(&vec![b'1'; 64 << 20], "x").unwrap();
    let packed = frame.repeat(17);
    assert!(packed.len() < 1 << 20, "{}", packed.len());
    fs::write(&path, &packed).unwrap();
    // The real limit of memory; a build without optimization may need more than the real limit of time.
    let patient = client().with_limits(Limits {
        seconds: 600,
        ..Limits::default()
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let told = runtime.block_on(context_or_error(&patient, Source::path(&path), "x.csv.zst"));
    assert!(
        told.starts_with("## sample (x.csv.zst): zstd data that unpacks to more than 1 GiB, "),
        "{told}"
    );
    assert!(
        told.ends_with("it unpacks to more than 1 GiB and is not read; give a part of it as the sample."),
        "{told}"
    );
}

/// A frame that asks for the window of `--long`, 128 MiB; the dictionary of `xz -9`, 64 MiB.
#[test]
fn what_the_highest_levels_ask_for_is_there() {
    let frame = [&[0x28, 0xb5, 0x2f, 0xfd, 0, 0x88, 0x41, 0, 0][..], b"a,b\n1,2\n"].concat();
    assert_eq!(
        context_of_bytes(&frame, "x.csv.zst"),
        "## sample (x.csv.zst): zstd-compressed CSV, 1 row, 2 columns\n\
         Remark: to read zstd data pandas needs the package zstandard."
    );
    let mut stream = Compression::Xz.pack(b"a,b\n1,2\n", "x").unwrap();
    let (start, end) = (12, 12 + usize::from(stream[12]) * 4);
    let filter = (start..end)
        .find(|at| stream[*at..].starts_with(&[0x21, 1]))
        .unwrap();
    stream[filter + 2] = 28;
    let mut crc = flate2::Crc::new();
    crc.update(&stream[start..end]);
    stream[end..end + 4].copy_from_slice(&crc.sum().to_le_bytes());
    assert_eq!(
        context_of_bytes(&stream, "x.csv.xz"),
        "## sample (x.csv.xz): xz-compressed CSV, 1 row, 2 columns"
    );
}
