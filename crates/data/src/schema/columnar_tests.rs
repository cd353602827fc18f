//! Schemas of formats that are no text, as code that was run against the files with Pandera.

use super::pandera::to_pandera;
use super::*;
use crate::describe::{DescribeOptions, describe_source};
use crate::source::Source;

fn code(bytes: &[u8], file_name: &str) -> String {
    let options = DescribeOptions::default();
    let profile = describe_source(&Source::bytes(bytes), "s", file_name, &options).unwrap();
    to_pandera(&infer_all(&profile, &[]), &[])
}

#[test]
fn a_file_of_pandas_keeps_its_types_and_loses_its_index() {
    insta::assert_snapshot!(code(include_bytes!("../testdata/pandas.parquet"), "x.parquet"));
}

#[test]
fn types_that_pandas_does_not_have_are_left_open() {
    insta::assert_snapshot!(code(include_bytes!("../testdata/pyarrow.parquet"), "x.parquet"));
}

#[test]
fn a_sheet_is_read_by_its_name_and_header_row() {
    insta::assert_snapshot!(code(include_bytes!("../testdata/openpyxl.xlsx"), "x.xlsx"));
}
