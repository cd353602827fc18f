//! Whole descriptions and contexts, of plain files and of odd ones.

mod forged;
mod formats;
mod laws;
mod width;

use proptest::prelude::*;
use rstest::rstest;

use crate::checks::rule::{ColumnCheck, Rule};
use crate::format::FileFormat;

use super::checks;
use super::context::{self, DataContext};
use super::describe::{DescribeOptions, describe_source};
use super::joins::{JoinProfile, joins};
use super::profile::{ColumnType, Content, SampleProfile, TableProfile};
use super::schema;
use super::source::Source;
use crate::column::distinct::DistinctCount;
use crate::exposure::{Exposed, ExposedJoins, Exposure};

const SALES: &[u8] = include_bytes!("testdata/sales.csv");
const SENSOR: &[u8] = include_bytes!("testdata/sensor.csv");

fn render(
    profiles: &[SampleProfile],
    joins: &[JoinProfile],
    max_tokens: u64,
    max_rows: usize,
) -> DataContext {
    let joins = ExposedJoins::new(joins.to_vec(), profiles, Exposure::Rows);
    context::render(
        &Exposed::all(profiles, Exposure::Rows),
        &joins,
        max_tokens,
        max_rows,
    )
}

/// One line a number.
fn lines(numbers: std::ops::Range<u64>, line: impl Fn(u64) -> String) -> String {
    numbers.map(|number| line(number) + "\n").collect()
}

fn profile(bytes: &[u8], file_name: &str) -> SampleProfile {
    profile_with(bytes, file_name, 100)
}

fn profile_with(bytes: &[u8], file_name: &str, max_rows: usize) -> SampleProfile {
    describe_source(
        &Source::bytes(bytes),
        "sample",
        file_name,
        &DescribeOptions { max_rows },
    )
    .unwrap()
}

fn table(bytes: &[u8], file_name: &str) -> TableProfile {
    match profile(bytes, file_name).content {
        Content::Table(table) => table,
        other => panic!("not a table: {other:?}"),
    }
}

fn context(bytes: &[u8], file_name: &str) -> DataContext {
    render(&[profile(bytes, file_name)], &[], 4_000, 100)
}

#[test]
fn the_context_of_the_sales_sample_is_short_and_whole() {
    insta::assert_snapshot!(context(SALES, "sales.csv").text);
}

#[test]
fn the_context_of_the_sensor_sample_is_short_and_whole() {
    insta::assert_snapshot!(context(SENSOR, "sensor.csv").text);
}

#[rstest]
#[case(SALES, "sales.csv")]
#[case(SENSOR, "sensor.csv")]
fn a_plain_sample_of_20_rows_needs_at_most_560_tokens(#[case] bytes: &[u8], #[case] file_name: &str) {
    let text = context(bytes, file_name).text;
    let tokens = tiktoken_rs::cl100k_base().unwrap().encode_ordinary(&text).len();
    assert!(tokens <= 560, "{tokens} tokens\n{text}");
}

#[rstest]
#[case(SALES, "sales.csv")]
#[case(SENSOR, "sensor.csv")]
fn twenty_plain_rows_need_six_to_eight(#[case] bytes: &[u8], #[case] file_name: &str) {
    let rows = table(bytes, file_name).rows;
    assert!((6..=8).contains(&rows.len()), "{rows:?}");
    let text = std::str::from_utf8(bytes).unwrap();
    for row in rows {
        let line = usize::try_from(row.number).unwrap();
        assert_eq!(text.lines().nth(line), Some(row.text.as_str()));
    }
}

#[rstest]
#[case(0)]
#[case(1)]
#[case(3)]
fn the_row_limit_is_respected(#[case] most: usize) {
    let profile = profile_with(SALES, "sales.csv", most);
    assert_eq!(profile.tables().next().unwrap().rows.len(), most);
    assert_eq!(render(&[profile], &[], 4_000, most).cut, Vec::<String>::new());
}

#[test]
fn the_bound_of_the_context_holds_for_a_profile_with_more_rows() {
    let text = render(&[profile(SALES, "sales.csv")], &[], 4_000, 1).text;
    assert!(text.contains("1 of 20 rows as in the file"), "{text}");
}

#[test]
fn a_smaller_budget_drops_rows_then_statistics_then_columns_and_says_so() {
    let profiles = [profile(SALES, "sales.csv")];
    let full = render(&profiles, &[], 4_000, 100);
    let mut seen = Vec::new();
    for budget in (20..=full.estimated_tokens).rev().step_by(10) {
        let context = render(&profiles, &[], budget, 100);
        assert!(context.estimated_tokens <= budget, "{budget}: {}", context.text);
        let left_out = context.cut.join("; ");
        assert!(
            context.text.contains("[cut") || left_out.is_empty() || context.text.contains("Left out"),
            "{budget}"
        );
        let has = |what: &str| left_out.contains(what);
        seen.push((has("representative rows"), has("statistics"), has("of 8 columns")));
    }
    assert!(seen.is_sorted_by_key(|(rows, statistics, columns)| {
        u8::from(*rows) + u8::from(*statistics) + u8::from(*columns)
    }));
    assert_eq!(seen.first(), Some(&(false, false, false)));
    assert_eq!(seen.last(), Some(&(true, true, true)));
}

#[test]
fn statistics_of_the_whole_file_have_enough_digits() {
    let text = lines(0..20_000, |row| format!("{},{}", 1001 + row, row % 7));
    let table = table(format!("id,day\n{text}").as_bytes(), "x.csv");
    let id = &table.columns[0];
    let numbers = id.numbers.as_ref().unwrap();
    assert_eq!(
        (table.records, numbers.min.as_str(), numbers.max.as_str()),
        (20_000, "1001", "21000")
    );
    assert!((numbers.mean - 11_000.5).abs() < 1e-9);
    assert!(id.is_unique, "rising numbers are unique, however many");
    assert!(!numbers.quartiles.as_ref().unwrap().is_exact);
    assert_eq!(id.distinct, DistinctCount::Exact(20_000));
    assert_eq!(table.columns[1].distinct, DistinctCount::Exact(7));
}

#[test]
fn a_sketch_is_marked_in_the_context() {
    let text = lines(0..20_000, |row| format!("{}.5", row * 7_919 % 20_011));
    let context = context(format!("x\n{text}").as_bytes(), "x.csv").text;
    assert!(context.contains("quartiles ≈"), "{context}");
}

/// Odd files: format, records and a piece of a remark (empty: none at all).
#[rstest]
#[case::empty(b"", "x.csv", FileFormat::Text, None, "the file is empty")]
#[case::blanks(b"  \n\n", "x.csv", FileFormat::Text, None, "blanks only")]
#[case::header_only(b"a,b\n", "x.csv", FileFormat::CSV, Some(0), "header and no records")]
#[case::repeated(b"a,a\n1,2\n", "x.csv", FileFormat::CSV, Some(1), "share a name: a")]
#[case::unnamed(
    b"a,b,\n1,2,\n",
    "x.csv",
    FileFormat::CSV,
    Some(1),
    "the header ends with a delimiter"
)]
#[case::ragged_long(
    b"a,b\n1,2\n1,2,3\n",
    "x.csv",
    FileFormat::CSV,
    Some(2),
    "1 of 2 rows have more fields than the first record's 2: line 3"
)]
#[case::ragged_short(
    b"a,b\n1,2\n1\n",
    "x.csv",
    FileFormat::CSV,
    Some(2),
    "fewer fields than the first record's 2: line 3"
)]
#[case::trailing(
    b"a,b\n1,2,\n3,4,\n",
    "x.csv",
    FileFormat::CSV,
    Some(2),
    "every record ends with a delimiter"
)]
#[case::latin1(b"city,n\nK\xf6ln,1\n", "x.csv", FileFormat::CSV, Some(1), "read as Latin-1")]
#[case::bom(
    b"\xef\xbb\xbfa,b\n1,2\n",
    "x.csv",
    FileFormat::CSV,
    Some(1),
    "byte order mark"
)]
#[case::utf16(
    b"\xff\xfea\0,\0b\0\n\x001\0,\x002\0\n\0",
    "x.csv",
    FileFormat::CSV,
    Some(1),
    "UTF-16"
)]
#[case::semicolons(b"a;b\n1;2\n", "x.csv", FileFormat::CSV, Some(1), "")]
#[case::no_header(b"1,x\n2,y\n", "x.csv", FileFormat::CSV, Some(2), "no header")]
#[case::html(
    b"<!DOCTYPE html>\n<html>a,b</html>\n",
    "x.csv",
    FileFormat::Text,
    None,
    "its content is HTML"
)]
#[case::nul(
    b"id,name\n1,a\0b\n2,cdefgh\n3,ijklmn\n",
    "x.csv",
    FileFormat::CSV,
    Some(3),
    "NUL bytes: 1 (line 2)"
)]
#[case::open_quote(
    b"a,b\n1,\"x\n2,y\n",
    "x.csv",
    FileFormat::CSV,
    Some(1),
    "line 2 is never closed"
)]
#[case::padded(b"a,b\n 1,2\n", "x.csv", FileFormat::CSV, Some(1), "blanks around them in: a")]
#[case::binary(b"\0\x01\x02\x03\x04\x05", "x.bin", FileFormat::Binary, None, "")]
#[case::gzip(
    b"\x1f\x8b\x08\0\0\0",
    "x.csv",
    FileFormat::Binary,
    None,
    "its content is gzip data"
)]
#[case::parquet(b"PAR1", "x.parquet", FileFormat::Parquet, None, "not readable as Parquet")]
#[case::cut_json(b"[{\"a\":1},{\"a\":", "x.json", FileFormat::JSON, Some(1), "not valid JSON")]
#[case::bad_line(b"{\"a\":1}\n{\"a\":\n", "x.jsonl", FileFormat::JSONLines, Some(1), "line 2")]
#[case::no_json(b"words\n", "x.json", FileFormat::Text, None, "its content is not JSON")]
#[case::empty_array(b"[]", "x.json", FileFormat::JSON, Some(0), "")]
fn an_odd_file_gets_a_true_remark(
    #[case] bytes: &[u8],
    #[case] file_name: &str,
    #[case] format: FileFormat,
    #[case] records: Option<u64>,
    #[case] remark: &str,
) {
    let profile = profile(bytes, file_name);
    let remarks = crate::remark::joined(&profile.remarks, "\n");
    assert_eq!(
        (profile.format, profile.tables().next().map(|table| table.records)),
        (format, records),
        "{remarks}"
    );
    assert_eq!(remarks.is_empty(), remark.is_empty(), "{remarks}");
    assert!(remarks.contains(remark), "{remarks}");
}

#[test]
fn one_line_of_10_mb_is_a_text_with_a_short_context() {
    let context = context(&b"x".repeat(10_000_000), "x.csv").text;
    assert!(
        context.contains("1 line, 10000000 bytes") && context.contains("not read as a table"),
        "{context}"
    );
    assert!(context.len() < 600, "{context}");
}

#[test]
fn five_million_commas_are_a_text_with_a_remark() {
    let profile = profile(",".repeat(5_000_000).as_bytes(), "x.csv");
    assert_eq!(profile.format, FileFormat::Text);
    assert!(
        profile.remarks[0].contains("not read as a table"),
        "{:?}",
        profile.remarks
    );
}

#[test]
fn five_million_commas_after_a_header_are_one_ragged_row() {
    let text = format!("a,b\n1,2\n{}\n3,4\n", ",".repeat(5_000_000));
    let profile = profile(text.as_bytes(), "x.csv");
    assert_eq!(profile.tables().next().unwrap().records, 3);
    assert!(profile.remarks[0].contains("1 of 3 rows have more fields than the first record's 2: line 3"));
}

#[test]
fn a_cell_of_1_mb_is_cut_and_the_rest_of_its_row_stands() {
    let text = format!("a,b,c\n1,x,y\n2,{},tail\n", "long ".repeat(200_000));
    let context = context(text.as_bytes(), "x.csv").text;
    assert!(context.contains("more characters],tail"), "{context}");
    assert!(context.len() < 1_000);
}

#[test]
fn records_of_nested_json_are_columns_by_path() {
    let text = r#"[{"user": {"city": "Köln"}, "items": [{"price": 1.50}, {"price": 2}]},
                   {"user": {"city": null}, "at": "2026-01-01"}]"#;
    let table = table(text.as_bytes(), "x.json");
    let columns: Vec<_> = table
        .columns
        .iter()
        .map(|column| (column.name.as_str(), column.type_, column.present, column.values))
        .collect();
    assert_eq!(
        columns,
        [
            ("user.city", ColumnType::Text, Some(2), 1),
            ("items[].price", ColumnType::Float, Some(1), 2),
            ("at", ColumnType::Date, Some(1), 1),
        ]
    );
    assert!(
        table
            .rows
            .iter()
            .any(|row| row.text.contains(r#"{"price":1.50}"#)),
        "{:?}",
        table.rows
    );
}

#[test]
fn json_nested_beyond_the_bound_is_a_remark() {
    for depth in [100, 200, 100_000] {
        let text = format!("[{{\"a\":1}},{}1{}]", "[".repeat(depth), "]".repeat(depth));
        let remarks = crate::remark::joined(&profile(text.as_bytes(), "x.json").remarks, "; ");
        assert!(
            remarks.contains("levels") || remarks.contains("recursion limit"),
            "{depth}: {remarks}"
        );
    }
}

#[test]
fn a_log_has_its_true_line_count_and_pattern() {
    let text = lines(0..20, |line| {
        format!("2026-01-01T00:{line:02}:00Z INFO api[{line}] GET /v1 200")
    });
    let context = context(text.as_bytes(), "api.log").text;
    assert!(
        context.starts_with("## sample (api.log): text, 20 lines,"),
        "{context}"
    );
    assert!(
        context.contains(
            "20x <time> INFO api[<int>] GET <path> <int>\n  line 1: 2026-01-01T00:00:00Z INFO api[0]"
        ),
        "{context}"
    );
}

#[test]
fn joins_stand_at_the_end_and_go_after_the_rows() {
    let sample = |name: &str, bytes: &[u8]| {
        let file_name = format!("{name}.csv");
        describe_source(
            &Source::bytes(bytes),
            name,
            &file_name,
            &DescribeOptions::default(),
        )
        .unwrap()
    };
    let note = "long ".repeat(20);
    let orders =
        format!("order,customer_id,note\n901,a,{note}\n902,b,x{note}\n903,a,y{note}\n904,c,z{note}\n");
    let profiles = [
        sample("orders", orders.as_bytes()),
        sample("customers", b"id,city\na,Oslo\nb,Rome\nd,Rome\n"),
    ];
    let joins = joins(&profiles);
    let line = "\nJoin: orders.customer_id (2 of 3 distinct values) -> customers.id (unique, 2 of 3)\n";
    let full = render(&profiles, &joins, 4_000, 100);
    assert!(full.text.ends_with(line), "{}", full.text);
    let mut seen = Vec::new();
    for budget in (30..=full.estimated_tokens).rev() {
        let context = render(&profiles, &joins, budget, 100);
        assert!(context.estimated_tokens <= budget);
        let has = |what: &str| context.cut.iter().any(|cut| cut.contains(what));
        assert_eq!(has("joins"), !context.text.contains("Join: "), "{}", context.text);
        seen.push((has("representative rows"), has("joins"), has("statistics")));
    }
    seen.dedup();
    let (whole, rows, joins, all) = (
        (false, false, false),
        (true, false, false),
        (true, true, false),
        (true, true, true),
    );
    assert_eq!(seen, [whole, rows, joins, all]);
}

#[test]
fn equal_bytes_give_equal_profiles() {
    let text = lines(0..30_000, |row| format!("{},{}", row * 7_919 % 30_011, row % 13));
    let bytes = format!("a,b\n{text}");
    assert_eq!(
        profile(bytes.as_bytes(), "x.csv"),
        profile(bytes.as_bytes(), "x.csv")
    );
}

#[test]
fn a_wide_table_describes_200_columns_and_counts_the_rest() {
    let header: Vec<_> = (0..1_000).map(|column| format!("c{column}")).collect();
    let text = format!("{}\n{}\n", header.join(","), vec!["1"; 1_000].join(","));
    let table = table(text.as_bytes(), "x.csv");
    assert_eq!((table.columns.len(), table.column_count), (200, 1_000));
    assert!(context(text.as_bytes(), "x.csv").estimated_tokens <= 4_000);
}

fn describe_everything(bytes: &[u8], file_name: &str) {
    let profile = profile(bytes, file_name);
    let context = render(std::slice::from_ref(&profile), &[], 500, 10);
    assert!(context.estimated_tokens <= 500);
    let schemas: Vec<_> = schema::infer(&profile).into_iter().collect();
    let _ = schema::pandera::to_pandera(&schemas, &[]);
    let source = Source::bytes(bytes);
    let names = profile
        .tables()
        .next()
        .map(|table| table.columns.iter().map(|column| column.name.clone()));
    let found = names
        .into_iter()
        .flatten()
        .map(|column| ColumnCheck::new(0, column, Rule::GreaterThan(0.into())))
        .collect::<Vec<_>>();
    let _ = checks::evaluate(&source, file_name, None, &found);
}

proptest! {
    #[test]
    fn no_bytes_make_a_description_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
        name in prop::sample::select(vec!["x.csv", "x.tsv", "x.json", "x.jsonl", "x.txt", "x"]),
    ) {
        describe_everything(&bytes, name);
    }

    #[test]
    fn no_text_of_tables_makes_a_description_panic(
        text in "([a1é,;\"\n\r\t {}:.-]|2026-01-01|null|\\[|\\])*",
        name in prop::sample::select(vec!["x.csv", "x.json", "x.jsonl", "x"]),
    ) {
        describe_everything(text.as_bytes(), name);
    }
}
