//! Every compression: whole, of several members, cut, damaged, larger than the bound.

use std::fmt::Write as _;
use std::io::Read as _;

use flate2::Crc;
use rstest::rstest;

use super::{Compression, UnpackFault};
use crate::source::Source;

const TEXT: &[u8] = b"id,city\n1,Bonn\n2,Ulm\n";

fn packed(compression: Compression, bytes: &[u8]) -> Vec<u8> {
    compression.pack(bytes, "x.csv").unwrap()
}

/// Unpacks some bytes, and returns the content and the fault that was met.
fn unpacked(bytes: &[u8], most: u64) -> (Vec<u8>, Option<UnpackFault>) {
    let source = Source::bytes(bytes);
    let mut content = Vec::new();
    source
        .open_up_to(most)
        .unwrap()
        .read_to_end(&mut content)
        .unwrap();
    let mut again = Vec::new();
    source.open_up_to(most).unwrap().read_to_end(&mut again).unwrap();
    assert!(content == again, "two passes read the same");
    source.settle().unwrap();
    (content, source.fault())
}

/// Lines that do not compress to nothing.
fn lines() -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(3);
    let mut text = String::new();
    for row in 0..20_000 {
        writeln!(text, "{row},{}", random.u64(..)).unwrap();
    }
    text.into_bytes()
}

#[rstest]
fn what_was_packed_is_unpacked(
    #[values(
        Compression::Gzip,
        Compression::Bzip2,
        Compression::Xz,
        Compression::Zstd,
        Compression::Zip
    )]
    compression: Compression,
) {
    for content in [TEXT.to_vec(), Vec::new(), lines()] {
        let bytes = packed(compression, &content);
        assert_eq!(Source::bytes(&bytes).compression().unwrap(), Some(compression));
        let (found, fault) = unpacked(&bytes, u64::MAX);
        assert!(found == content && fault.is_none(), "{fault:?}");
    }
}

#[rstest]
fn members_one_after_another_are_one_stream(
    #[values(Compression::Gzip, Compression::Bzip2, Compression::Xz, Compression::Zstd)]
    compression: Compression,
) {
    let zeros = [0; 4].as_slice();
    let two = [packed(compression, TEXT), packed(compression, b"3,Trier\n")].concat();
    let expected = [TEXT, b"3,Trier\n"].concat();
    assert_eq!(unpacked(&two, u64::MAX), (expected.clone(), None));
    assert_eq!(unpacked(&[&two, zeros].concat(), u64::MAX), (expected, None));
}

#[rstest]
fn bytes_that_follow_are_noted(
    #[values(Compression::Gzip, Compression::Bzip2, Compression::Xz, Compression::Zstd)]
    compression: Compression,
) {
    let bytes = [packed(compression, TEXT), b"rest".to_vec()].concat();
    assert_eq!(
        unpacked(&bytes, u64::MAX),
        (TEXT.to_vec(), Some(UnpackFault::Trailing))
    );
}

#[rstest]
fn a_file_that_is_cut_or_damaged_is_content_up_to_the_fault(
    #[values(Compression::Gzip, Compression::Bzip2, Compression::Xz, Compression::Zstd)]
    compression: Compression,
) {
    let content = lines();
    let bytes = packed(compression, &content);
    let (found, fault) = unpacked(&bytes[..bytes.len() / 2], u64::MAX);
    assert!(content.starts_with(&found) && found.len() < content.len());
    assert_eq!(fault, Some(UnpackFault::Truncated(found.len() as u64)));
    let mut damaged = bytes.clone();
    let middle = damaged.len() / 2;
    damaged[middle..middle + 40].fill(0xff);
    let (found, fault) = unpacked(&damaged, u64::MAX);
    // A frame of zstd has a checksum only where it was asked for one.
    if compression != Compression::Zstd {
        assert!(found.len() < content.len());
        assert!(
            matches!(fault, Some(UnpackFault::Damaged(_) | UnpackFault::Truncated(_))),
            "{fault:?}"
        );
    }
}

#[test]
fn the_file_of_an_archive_is_checked_by_its_checksum() {
    let content = lines();
    let mut bytes = packed(Compression::Zip, &content);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    let (_, fault) = unpacked(&bytes, u64::MAX);
    assert!(matches!(fault, Some(UnpackFault::Damaged(_))), "{fault:?}");
}

#[rstest]
fn no_more_is_unpacked_than_the_bound(
    #[values(
        Compression::Gzip,
        Compression::Bzip2,
        Compression::Xz,
        Compression::Zstd,
        Compression::Zip
    )]
    compression: Compression,
) {
    let bomb = packed(compression, &vec![b'1'; 4 << 20]);
    assert!(bomb.len() < 64 << 10, "{}", bomb.len());
    let (found, fault) = unpacked(&bomb, 1 << 20);
    assert!(found.len() <= 1 << 20);
    assert_eq!(fault, Some(UnpackFault::TooLarge));
    // What has just the size of the bound passes.
    assert_eq!(unpacked(&bomb, 4 << 20).1, None);
}

/// A frame header that asks for a window of 2 GiB, and one block.
#[test]
fn a_zstd_window_beyond_the_memory_of_a_reader_is_refused() {
    let frame = [0x28, 0xb5, 0x2f, 0xfd, 0, 0xa8, 9, 0, 0, b'a'];
    assert_eq!(
        unpacked(&frame, u64::MAX),
        (Vec::new(), Some(UnpackFault::TooMuchMemory))
    );
    let small = [0x28, 0xb5, 0x2f, 0xfd, 0, 0x58, 9, 0, 0, b'a'];
    assert_eq!(unpacked(&small, u64::MAX), (b"a".to_vec(), None));
}

/// The header of a block says how large its dictionary is.
#[test]
fn an_xz_dictionary_beyond_the_memory_of_a_reader_is_refused() {
    let mut bytes = packed(Compression::Xz, TEXT);
    let start = 12;
    let end = start + (usize::from(bytes[start]) + 1) * 4 - 4;
    let filter = (start..end)
        .find(|at| bytes[*at..].starts_with(&[0x21, 1]))
        .unwrap();
    // 40 is 4 GiB less a byte.
    bytes[filter + 2] = 40;
    let mut crc = Crc::new();
    crc.update(&bytes[start..end]);
    bytes[end..end + 4].copy_from_slice(&crc.sum().to_le_bytes());
    assert_eq!(
        unpacked(&bytes, u64::MAX),
        (Vec::new(), Some(UnpackFault::TooMuchMemory))
    );
}

#[rstest]
#[case("x.csv.gz", Some(("x.csv", Compression::Gzip)))]
#[case("X.CSV.BZ2", Some(("X.CSV", Compression::Bzip2)))]
#[case("x.zst", Some(("x", Compression::Zstd)))]
#[case("x.csv", None)]
#[case("gz", None)]
#[case("ü.xz", Some(("ü", Compression::Xz)))]
fn the_name_of_a_file_says_its_compression(
    #[case] name: &str,
    #[case] expected: Option<(&str, Compression)>,
) {
    assert_eq!(Compression::of_name(name), expected);
}
