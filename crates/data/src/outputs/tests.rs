//! Outputs of every type, as they should be and as they should not.

use rstest::rstest;

use super::*;

fn output(type_: ValueType, format: Option<FileFormat>) -> Declared {
    Declared {
        name: "result".into(),
        type_,
        format,
    }
}

fn file(bytes: &[u8]) -> OutputContent {
    OutputContent::File(STANDARD.encode(bytes))
}

fn text(type_: ValueType, written: &str) -> Option<String> {
    parse(&output(type_, None), &file(written.as_bytes()))
        .ok()
        .and_then(|value| value.text())
}

#[rstest]
#[case(ValueType::String, "a\nb\n", Some("a\nb\n"))]
#[case(ValueType::String, "", Some(""))]
#[case(ValueType::Int, "42\n", Some("42"))]
#[case(ValueType::Int, "-7\r\n", Some("-7"))]
#[case(ValueType::Int, "4.0", None)]
#[case(ValueType::Int, "", None)]
#[case(ValueType::Int, "42\n\n", None)]
#[case(ValueType::Float, "0.5", Some("0.5"))]
#[case(ValueType::Float, "1e-3\n", Some("0.001"))]
#[case(ValueType::Float, "3", Some("3"))]
#[case(ValueType::Float, "nan", None)]
#[case(ValueType::Float, "inf", None)]
#[case(ValueType::Float, "1e999", None)]
#[case(ValueType::Bool, "True\n", Some("true"))]
#[case(ValueType::Bool, "FALSE", Some("false"))]
#[case(ValueType::Bool, "1", None)]
#[case(ValueType::Datetime, "2026-01-31T12:00:00Z\n", Some("2026-01-31T12:00:00Z"))]
#[case(
    ValueType::Datetime,
    "2026-01-31T12:00:00+00:00",
    Some("2026-01-31T12:00:00Z")
)]
#[case(
    ValueType::Datetime,
    "2026-01-31 12:00:00.123456",
    Some("2026-01-31T12:00:00.123456")
)]
#[case(
    ValueType::Datetime,
    "2026-01-31 12:00:00-05:30",
    Some("2026-01-31T12:00:00-05:30")
)]
#[case(ValueType::Datetime, "2026-01-31", Some("2026-01-31T00:00:00"))]
#[case(ValueType::Datetime, "20260131", None)]
#[case(ValueType::Datetime, "2026-01-31T12:00:00[Europe/Berlin]", None)]
#[case(ValueType::Datetime, "2026-02-31T12:00:00", None)]
#[case(ValueType::Datetime, "yesterday", None)]
#[case(ValueType::Timedelta, "PT1H30M", Some("PT1H30M"))]
#[case(ValueType::Timedelta, "P1DT2H", Some("PT26H"))]
#[case(ValueType::Timedelta, "5400", Some("PT1H30M"))]
#[case(ValueType::Timedelta, "0.25\n", Some("PT0.25S"))]
#[case(ValueType::Timedelta, "1 day, 2:03:04", Some("PT26H3M4S"))]
#[case(ValueType::Timedelta, "-1 day, 23:59:00", Some("-PT1M"))]
#[case(ValueType::Timedelta, "0:00:01.500000", Some("PT1.5S"))]
#[case(ValueType::Timedelta, "P1M", None)]
#[case(ValueType::Timedelta, "1:99:00", None)]
#[case(ValueType::Timedelta, "soon", None)]
#[case(ValueType::Timedelta, "9223372036854775807 days, 0:00:00", None)]
fn scalars_are_read_as_their_type(
    #[case] type_: ValueType,
    #[case] written: &str,
    #[case] value: Option<&str>,
) {
    assert_eq!(text(type_, written).as_deref(), value);
}

#[rstest]
#[case(FileFormat::CSV, b"a,b\n1,2\n", true)]
#[case(FileFormat::CSV, b"a,b\n", true)]
#[case(FileFormat::CSV, b"a;b\n1,5;2\n", true)]
#[case(FileFormat::CSV, b"a,b\n1,2,3\n", false)]
#[case(FileFormat::CSV, b"", false)]
#[case(FileFormat::CSV, b"{\"a\": 1}", false)]
#[case(FileFormat::TSV, b"a\tb\n1\t2\n", true)]
#[case(FileFormat::JSON, b"{\"a\": [1, 2]}\n", true)]
#[case(FileFormat::JSON, b"{\"a\": [1, 2}", false)]
#[case(FileFormat::JSON, b"{\"a\": NaN}", false)]
#[case(FileFormat::JSONLines, b"{\"a\":1}\n{\"a\":2}\n", true)]
#[case(FileFormat::JSONLines, b"", true)]
#[case(FileFormat::JSONLines, b"{\"a\":1}\n{\"a\":\n", false)]
#[case(FileFormat::Text, b"words", true)]
#[case(FileFormat::Text, b"\xff\xfe\xff", false)]
#[case(FileFormat::Binary, b"\xff\0", true)]
#[case(FileFormat::Parquet, b"PAR1....PAR1", false)]
#[case(FileFormat::Parquet, b"a,b\n", false)]
#[case(FileFormat::Excel, b"PK\x03\x04", false)]
#[case(FileFormat::Parquet, include_bytes!("../testdata/pandas.parquet"), true)]
#[case(FileFormat::Excel, include_bytes!("../testdata/openpyxl.xlsx"), true)]
#[case(FileFormat::Excel, b"a,b\n", false)]
fn files_have_their_declared_format(
    #[case] format: FileFormat,
    #[case] bytes: &[u8],
    #[case] is_valid: bool,
) {
    let result = parse(&output(ValueType::File, Some(format)), &file(bytes));
    assert_eq!(result.is_ok(), is_valid, "{result:?}");
}

#[test]
fn a_fault_names_the_output_and_what_stood_there() {
    let fault = parse(&output(ValueType::Int, None), &file("x".repeat(500).as_bytes()))
        .unwrap_err()
        .to_string();
    assert!(
        fault.starts_with("output result: expected a whole number of 64 bits (`42`), found \"xxx"),
        "{fault}"
    );
    assert!(fault.len() < 220, "{fault}");
}

#[test]
fn what_is_not_there_or_of_another_kind_is_said() {
    let fault = |type_, content| parse(&output(type_, None), &content).unwrap_err().to_string();
    assert_eq!(
        fault(ValueType::File, OutputContent::Missing),
        "output result: the program wrote nothing to it"
    );
    assert_eq!(
        fault(ValueType::Dir, file(b"x")),
        "output result: declared as a folder, but a file is there"
    );
    assert_eq!(
        fault(ValueType::Int, OutputContent::Dir(vec![])),
        "output result: declared as a file, but a folder is there"
    );
    assert!(fault(ValueType::File, OutputContent::TooLarge(9)).contains("9 bytes"));
    assert!(
        fault(ValueType::File, OutputContent::NotAFile("a symbolic link".into())).contains("a symbolic link")
    );
}

#[test]
fn a_folder_lists_its_files() {
    let content = OutputContent::Dir(vec![("a/b.txt".into(), String::new())]);
    assert_eq!(
        parse(&output(ValueType::Dir, None), &content),
        Ok(OutputValue::Dir(vec!["a/b.txt".into()]))
    );
}
