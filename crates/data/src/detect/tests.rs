//! Formats by content and name.

use rstest::rstest;

use super::*;

fn found(bytes: &[u8], file_name: &str) -> Detection {
    detect(&Source::bytes(bytes), file_name).unwrap()
}

#[rstest]
#[case(b"a,b\n1,2\n", "x.csv", FileFormat::CSV)]
#[case(b"a,b\n1,2\n", "sample", FileFormat::CSV)]
#[case(b"a\tb\n1\t2\n", "x.csv", FileFormat::TSV)]
#[case(b"{\"a\":1}\n", "sample", FileFormat::JSON)]
#[case(b"{\"a\":1}\n{\"a\":2}\n", "sample", FileFormat::JSONLines)]
#[case(b"{\"a\":1}\n{\"a\":2}\n", "x.json", FileFormat::JSONLines)]
#[case(b"[\n{\"a\":1}]\n", "sample", FileFormat::JSON)]
#[case(b"[12:00] INFO start\n[12:01] INFO end\n", "x.log", FileFormat::Text)]
#[case(b"{\"a\":", "x.json", FileFormat::JSON)]
#[case(b"plain words\n", "x.txt", FileFormat::Text)]
#[case(b"", "x.csv", FileFormat::Text)]
#[case(b"<!DOCTYPE html><html>a,b</html>", "x.csv", FileFormat::Text)]
#[case(b"PAR1\x15\x04", "x.csv", FileFormat::Parquet)]
#[case(b"PK\x03\x04....", "x.xlsx", FileFormat::Excel)]
#[case(b"\x1f\x8b\x08\0", "x.csv", FileFormat::Binary)]
#[case(b"\0\x01\x02\x03abc", "x.bin", FileFormat::Binary)]
fn content_decides_before_the_name(#[case] bytes: &[u8], #[case] name: &str, #[case] format: FileFormat) {
    assert_eq!(found(bytes, name).format, format);
}

#[test]
fn html_named_csv_is_said() {
    assert_eq!(
        found(b"<html></html>", "x.csv").remarks,
        ["its content is HTML, whatever its name says"]
    );
}

#[test]
fn a_few_nul_bytes_leave_a_table_with_a_remark() {
    let found = found(b"id,name\n1,a\0b\n2,cde\n3,fgh\n4,ijk\n", "x.csv");
    assert_eq!(found.format, FileFormat::CSV);
    assert_eq!(found.remarks, ["NUL bytes: 1 (line 2)"]);
}
