//! Schemas of samples.

use rstest::rstest;

use super::super::describe::{DescribeOptions, describe_source};
use super::super::source::Source;
use super::*;

fn schema(text: &str, file_name: &str) -> Option<Schema> {
    infer(
        &describe_source(
            &Source::bytes(text.as_bytes()),
            "s",
            file_name,
            &DescribeOptions::default(),
        )
        .unwrap(),
    )
}

#[test]
fn dates_beyond_nanoseconds_and_with_zones_stay_text() {
    let found = schema("old,zoned\n0001-01-01,2026-01-01T00:00:00Z\n", "s.csv").unwrap();
    let dtypes: Vec<_> = found
        .columns
        .iter()
        .map(|column| column.dtype.as_deref())
        .collect();
    assert_eq!(dtypes, [Some("string"), Some("string")]);
}

#[test]
fn decimal_commas_and_numbers_beyond_i64_are_read_as_numbers() {
    let found = schema("a;b\n1,5;18446744073709551615\n", "s.csv").unwrap();
    assert!(found.reader.contains("decimal=\",\""), "{}", found.reader);
    assert!(found.reader.contains("\"a\": \"float64\""), "{}", found.reader);
    let dtypes: Vec<_> = found
        .columns
        .iter()
        .map(|column| column.dtype.as_deref())
        .collect();
    assert_eq!(dtypes, [Some("Float64"), Some("UInt64")]);
}

#[test]
fn repeated_and_empty_names_are_those_of_pandas() {
    let names: Vec<_> = schema("a,a,a.1,,a\n1,2,3,4,5\n", "s.csv")
        .unwrap()
        .columns
        .into_iter()
        .map(|column| column.name)
        .collect();
    assert_eq!(names, ["a", "a.2", "a.1", "Unnamed: 3", "a.3"]);
}

#[test]
fn json_paths_through_lists_are_no_columns() {
    let found = schema("[{\"a\": {\"b\": 1}, \"c\": [{\"d\": 1}]}, {}]", "s.json").unwrap();
    let columns: Vec<_> = found
        .columns
        .iter()
        .map(|column| (column.name.as_str(), column.nullable))
        .collect();
    assert_eq!(columns, [("a.b", true)]);
}

#[test]
fn what_is_no_table_has_no_schema() {
    assert_eq!(schema("some words\n", "s.txt"), None);
    assert_eq!(schema("[1, 2, 3]", "s.json"), None);
}

#[rstest]
#[case::comments("# x\n# y\na,b\n1,2\n", "comment=\"#\"")]
#[case::comments_beside_values("# x\na,b\n1,#2\n", "skiprows=1")]
#[case::title("Sales of 2026\n\na,b\n1,2\n", "skiprows=2")]
#[case::separator("sep=;\na;b\n1;2\n", "skiprows=1")]
#[case::units("t,p\ns,hPa\n1,2\n3,4\n", "skiprows=[1]")]
#[case::units_below_a_title("My data\nt,p\ns,hPa\n1,2\n3,4\n", "skiprows=[*range(1), 2]")]
#[case::groups(
    ",x,x\nk,a,b\nm,1,2\n",
    "skiprows=2, header=None, names=[\"k\", \"x a\", \"x b\"]"
)]
#[case::title_without_header(
    "Sales of 2026\n1,2\n3,4\n",
    "skiprows=1, header=None, names=[\"column_1\", \"column_2\"]"
)]
fn lines_that_are_no_records_are_left_out_by_the_reader(#[case] text: &str, #[case] arguments: &str) {
    let found = schema(text, "s.csv").unwrap();
    let expected = format!(", {arguments}, dtype=");
    assert!(found.reader.contains(&expected), "{}", found.reader);
}

#[rstest]
#[case("a,b\n1,2\n")]
#[case("#a,b\n1,2\n")]
#[case("a,b\n#1,2\n#3,4\n")]
fn a_plain_file_needs_no_lines_left_out(#[case] text: &str) {
    let found = schema(text, "s.csv").unwrap();
    assert!(
        found
            .reader
            .starts_with("return pandas.read_csv(path, index_col=False, dtype="),
        "{}",
        found.reader
    );
}
