//! Compressed files that take much to unpack, under the real limits.

use codegen_data::source::Compression;

use crate::reading::{context_of_bomb, context_of_bytes};

#[test]
fn a_zstd_bomb_is_reported_and_not_unpacked() {
    let frame = Compression::Zstd.pack(&vec![b'1'; 64 << 20], "x").unwrap();
    let packed = frame.repeat(17);
    assert!(packed.len() < 1 << 20, "{}", packed.len());
    let told = context_of_bomb(&packed, "x.csv.zst");
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
