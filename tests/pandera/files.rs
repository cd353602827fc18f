//! Real files of every format: each is read by the module printed of it, and its rows are judged alike.

use codegen_core::checks::Rule;
use rstest::rstest;

use crate::cases::{date_rules, number_rules, text_rules};
use crate::compare::{Case, differences};

macro_rules! file {
    ($path:literal) => {
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/", $path))
    };
}

#[rstest]
#[case::commas("x.csv", file!("examples/data/air-quality.csv"))]
#[case::semicolons("x.csv", file!("examples/data/municipalities.csv"))]
#[case::decimal_commas("x.csv", file!("examples/data/pinguine.csv"))]
#[case::tabs("x.tsv", file!("examples/data/unemployment.tsv"))]
#[case::json_lines("x.jsonl", file!("examples/data/earthquakes.jsonl"))]
#[case::json("x.json", file!("examples/data/executive.json"))]
#[case::parquet("x.parquet", file!("examples/data/birdstrikes.parquet"))]
#[case::parquet_of_pandas("x.parquet", file!("crates/data/src/testdata/pandas.parquet"))]
#[case::parquet_of_pyarrow("x.parquet", file!("crates/data/src/testdata/pyarrow.parquet"))]
#[case::parquet_of_polars("x.parquet", file!("crates/data/src/testdata/polars.parquet"))]
#[case::workbook("x.xlsx", file!("examples/data/deaths.xlsx"))]
#[case::feather("x.feather", file!("crates/data/src/testdata/formats/sales.feather"))]
#[case::arrow("x.arrow", file!("crates/data/src/testdata/formats/types.arrow"))]
#[case::bzip2("x.csv.bz2", file!("crates/data/src/testdata/formats/sales.csv.bz2"))]
#[case::xz("x.csv.xz", file!("crates/data/src/testdata/formats/sales.csv.xz"))]
#[case::zip("x.csv.zip", file!("crates/data/src/testdata/formats/sales.csv.zip"))]
#[case::zstd("x.csv.zst", file!("crates/data/src/testdata/formats/two-frames.csv.zst"))]
#[case::shift_jis("x.csv", file!("crates/data/src/testdata/formats/japanese.csv"))]
#[case::gb18030("x.csv", file!("crates/data/src/testdata/formats/chinese.csv"))]
#[case::windows_1251("x.csv", file!("crates/data/src/testdata/formats/russian.csv"))]
#[case::latin_2("x.csv", file!("crates/data/src/testdata/formats/polish.csv"))]
#[case::json_values("x.json", file!("crates/data/src/testdata/formats/pretty.json"))]
#[tokio::test(flavor = "multi_thread")]
async fn the_module_printed_of_a_file_reads_it(#[case] file_name: &'static str, #[case] bytes: &[u8]) {
    let found = differences(&[Case::new("a file", file_name, bytes, vec![])]).await;
    assert!(found.is_empty(), "{found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_a_workbook_are_judged_alike_though_some_are_empty_or_notes() {
    let rules = vec![("Age", Rule::GreaterThan(0.into())), ("Has kids", Rule::NotNull)];
    let deaths = Case::new("notes", "x.xlsx", file!("examples/data/deaths.xlsx"), rules);
    let empty = file!("crates/data/src/testdata/openpyxl.xlsx");
    let found = differences(&[deaths, Case::new("empty rows", "x.xlsx", empty, vec![])]).await;
    assert!(found.is_empty(), "{found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_parquet_are_judged_alike() {
    let mut rules = number_rules("cost_usd");
    rules.extend(number_rules("speed_knots"));
    rules.extend(date_rules("flight_date"));
    rules.extend(text_rules("airport"));
    rules.push(("damage", Rule::IsIn(vec!["true".into()])));
    let bytes = file!("examples/data/birdstrikes.parquet");
    let found = differences(&[Case::new("birdstrikes", "x.parquet", bytes, rules)]).await;
    assert!(found.is_empty(), "{found}");
}
