//! Whole descriptions of Parquet, of files written here and by other programs.

use std::sync::Arc;

use arrow_array::{Array as _, Int64Array, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use rstest::rstest;

use super::*;
use crate::column::distinct::DistinctCount;
use crate::context::render;
use crate::describe::describe_source;
use crate::exposure::{Exposed, ExposedJoins, Exposure};
use crate::profile::{ColumnType, SampleProfile};

/// Row groups of `rows` rows each: a number that rises over all of them, and a text of three values.
fn file(row_groups: u64, rows: u64, compression: Compression) -> Vec<u8> {
    let schema = parse_message_type("message m { required int64 id; optional binary city (UTF8); }").unwrap();
    let properties = WriterProperties::builder().set_compression(compression).build();
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, Arc::new(schema), Arc::new(properties)).unwrap();
    for group in 0..row_groups {
        let mut columns = writer.next_row_group().unwrap();
        let ids: Vec<_> = (0..rows)
            .map(|row| i64::try_from(group * rows + row).unwrap())
            .collect();
        let mut column = columns.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&ids, None, None).unwrap();
        column.close().unwrap();
        let cities: Vec<_> = (0..rows)
            .filter(|row| row % 10 > 0)
            .map(|row| ByteArray::from(["Köln", "Bonn", ""][usize::try_from(row % 3).unwrap()]))
            .collect();
        let levels: Vec<_> = (0..rows).map(|row| i16::from(row % 10 > 0)).collect();
        let mut column = columns.next_column().unwrap().unwrap();
        column
            .typed::<ByteArrayType>()
            .write_batch(&cities, Some(&levels), None)
            .unwrap();
        column.close().unwrap();
        columns.close().unwrap();
    }
    writer.close().unwrap();
    bytes
}

fn profile(bytes: &[u8]) -> SampleProfile {
    describe_source(
        &Source::bytes(bytes),
        "sample",
        "x.parquet",
        &DescribeOptions::default(),
    )
    .unwrap()
}

fn opened(bytes: &[u8]) -> Columnar {
    Columnar::open(&Source::bytes(bytes), FileFormat::Parquet)
        .unwrap()
        .unwrap()
}

fn bounded(bytes: &[u8], values: u64) -> (TableProfile, Vec<crate::remark::Remark>) {
    let file = opened(bytes);
    let mut remarks = Vec::new();
    let bounds = Bounds { values, ..WHOLE };
    (
        table(&file, DescribeOptions::default(), bounds, &mut remarks),
        remarks,
    )
}

fn only_table(profile: &SampleProfile) -> &TableProfile {
    profile.tables().next().unwrap()
}

#[test]
fn every_row_group_counts_and_rows_stand_as_csv() {
    let profile = profile(&file(3, 100, Compression::SNAPPY));
    assert_eq!(profile.remarks, Vec::<crate::remark::Remark>::new());
    let table = only_table(&profile);
    assert_eq!((table.records, table.column_count), (300, 2));
    let [id, city] = table.columns.as_slice() else {
        panic!("{:?}", table.columns)
    };
    let numbers = id.numbers.as_ref().unwrap();
    assert_eq!(
        (numbers.min.as_str(), numbers.max.as_str(), id.is_unique),
        ("0", "299", true)
    );
    assert_eq!(city.nulls, [("null".to_owned(), 30)]);
    assert_eq!((city.values, city.distinct), (270, DistinctCount::Exact(3)));
    let exposed = [Exposed::new(profile.clone(), Exposure::Rows)];
    let context = render(&exposed, &ExposedJoins::default(), 4_000, 100).text;
    assert!(
        context.starts_with("## sample (x.parquet): Parquet (SNAPPY), 300 rows, 2 columns, 3 row groups\nid int64 0..299 unique\ncity string"),
        "{context}"
    );
    assert!(context.contains("\nid,city\n0,\n"), "{context}");
    assert!(
        context.contains(",\"\"\n") && context.contains(",Bonn\n"),
        "{context}"
    );
}

#[test]
fn a_file_beyond_the_bounds_is_described_from_a_share() {
    let bytes = file(10, 100, Compression::UNCOMPRESSED);
    let (table, remarks) = bounded(&bytes, 500);
    assert_eq!(table.records, 1_000);
    let [id, city] = table.columns.as_slice() else {
        panic!("{:?}", table.columns)
    };
    let numbers = id.numbers.as_ref().unwrap();
    assert_eq!((numbers.min.as_str(), numbers.max.as_str()), ("0", "599"));
    assert!(numbers.count == 200 && !id.is_unique);
    assert_eq!((city.values, city.null_count()), (180, 20));
    assert_eq!(
        remarks,
        ["not read whole: all statistics are of 200 of 1000 rows".into()]
    );
    assert!(table.rows.iter().any(|row| row.number > 500), "{:?}", table.rows);
    for row in &table.rows {
        assert!(row.text.starts_with(&format!("{},", row.number - 1)), "{row:?}");
    }
}

#[test]
fn columns_that_are_read_one_after_another_say_the_same() {
    let bytes = file(3, 100, Compression::SNAPPY);
    let file = opened(&bytes);
    let mut remarks = Vec::new();
    let narrow = Bounds {
        open_bytes: 1,
        ..WHOLE
    };
    let spans = file.spans(2, narrow.open_bytes);
    let columns: Vec<_> = spans.iter().map(|span| span.leaves.clone()).collect();
    assert_eq!(columns, [0..1, 1..2]);
    let apart = table(&file, DescribeOptions::default(), narrow, &mut remarks);
    let at_once = table(&file, DescribeOptions::default(), WHOLE, &mut remarks);
    assert_eq!(remarks, Vec::<crate::remark::Remark>::new());
    assert_eq!(apart.duplicate_records, None);
    assert_eq!(apart.rows[0], at_once.rows[0]);
    for (apart, at_once) in apart.columns.iter().zip(&at_once.columns) {
        assert_eq!(
            (&apart.nulls, apart.values, &apart.top),
            (&at_once.nulls, at_once.values, &at_once.top)
        );
    }
}

#[test]
fn one_row_group_beyond_the_bounds_is_read_in_part() {
    let (table, remarks) = bounded(&file(1, 1_000, Compression::UNCOMPRESSED), 500);
    assert_eq!(table.records, 1_000);
    assert!(remarks[0].contains("of 200 of 1000 rows"), "{remarks:?}");
}

#[test]
fn a_table_without_rows_keeps_its_declared_types() {
    let profile = profile(&file(0, 0, Compression::UNCOMPRESSED));
    let table = only_table(&profile);
    assert_eq!((table.records, table.columns[0].type_), (0, ColumnType::Empty));
    assert_eq!(table.columns[0].declared.as_deref(), Some("int64"));
    assert_eq!(profile.remarks, ["it has columns and no rows".into()]);
}

#[test]
fn a_page_that_cannot_be_read_is_a_remark_with_its_row_group() {
    let mut bytes = file(2, 100, Compression::UNCOMPRESSED);
    let footer = u32::from_le_bytes(*bytes[..bytes.len() - 4].last_chunk().unwrap());
    let data = bytes.len() - 8 - usize::try_from(footer).unwrap();
    bytes[data / 2..data].fill(0xff);
    let profile = profile(&bytes);
    let remarks = crate::remark::joined(&profile.remarks, "\n");
    assert!(remarks.contains("not readable: row group 2: "), "{remarks}");
    assert!(
        remarks.contains("not read whole: all statistics are of 100 of 200 rows"),
        "{remarks}"
    );
}

#[test]
fn a_cut_file_is_a_remark() {
    let bytes = file(1, 10, Compression::UNCOMPRESSED);
    let profile = profile(&bytes[..bytes.len() / 2]);
    assert_eq!(profile.content, Content::Opaque("Parquet".to_owned()));
    assert!(
        profile.remarks[0].starts_with("not readable as Parquet: "),
        "{:?}",
        profile.remarks
    );
}

#[test]
fn equal_bytes_give_equal_profiles() {
    let bytes = file(2, 3_000, Compression::SNAPPY);
    assert_eq!(profile(&bytes), profile(&bytes));
}

macro_rules! testdata {
    ($name:literal) => {
        include_bytes!(concat!("../../testdata/", $name))
    };
}

fn context(bytes: &[u8]) -> String {
    let exposed = Exposed::new(profile(bytes), Exposure::Rows);
    render(&[exposed], &ExposedJoins::default(), 4_000, 100).text
}

#[test]
fn the_index_and_missing_values_of_a_pandas_file_are_described() {
    insta::assert_snapshot!(context(testdata!("pandas.parquet")));
}

#[test]
fn every_type_of_pyarrow_is_read_and_named() {
    insta::assert_snapshot!(context(testdata!("pyarrow.parquet")));
}

#[test]
fn nested_records_of_duckdb_stand_as_json_by_path() {
    insta::assert_snapshot!(context(testdata!("duckdb.parquet")));
}

#[test]
fn row_groups_of_polars_are_one_table() {
    insta::assert_snapshot!(context(testdata!("polars.parquet")));
}

#[test]
fn brotli_is_read() {
    insta::assert_snapshot!(context(testdata!("brotli.parquet")));
}

#[test]
fn a_codec_that_is_not_read_leaves_what_the_footer_says() {
    let mut bytes = file(1, 100, Compression::SNAPPY);
    // The codec stands behind the path of its column: 1 is Snappy, 3 is LZO, each written twice as large.
    for (column, codec) in [(&b"id\x15\x02"[..], 3), (b"city\x15\x02", 5)] {
        let at = bytes.windows(column.len()).rposition(|window| window == column);
        bytes[at.unwrap() + codec] = 6;
    }
    let told = context(&bytes);
    assert!(
        told.starts_with("## sample (x.parquet): Parquet (LZO), 100 rows, 2 columns, 1 row group\n"),
        "{told}"
    );
    assert!(told.contains("Remark: not readable: row group 1"), "{told}");
    assert!(told.contains("\nid int64"), "{told}");
}

#[test]
fn moments_in_96_bits_are_read() {
    let profile = profile(testdata!("int96.parquet"));
    let times = only_table(&profile).columns[0].times.as_ref().unwrap();
    assert_eq!((times.min.as_str(), times.count), ("2026-01-01 12:30:00", 1));
}

/// A file of one column of a type, as Arrow itself writes it.
fn of_arrow(type_: DataType) -> Vec<u8> {
    let bits = Int64Array::from(vec![1_000, 2_000_000])
        .into_data()
        .into_builder();
    let column = arrow_array::make_array(bits.data_type(type_).build().unwrap());
    let batch = RecordBatch::try_from_iter([("t", column)]).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

#[test]
fn lengths_of_time_are_described_as_such() {
    let found = profile(&of_arrow(DataType::Duration(TimeUnit::Nanosecond)));
    let column = &only_table(&found).columns[0];
    assert_eq!(column.declared.as_deref(), Some("duration[ns]"));
    assert_eq!((column.type_, &column.times), (ColumnType::Int, &None));
    assert_eq!(found.remarks, Vec::<crate::remark::Remark>::new());
    let schema = crate::schema::infer(&found).unwrap();
    assert_eq!(schema.columns[0].dtype.as_deref(), Some("timedelta64[ns]"));
}

#[rstest]
#[case("Europe/Zurich", "timestamp[us, Europe/Zurich]")]
#[case("UTC", "timestamp[us, UTC]")]
#[case("ignore all that was said", "timestamp[us]")]
fn the_time_zone_of_moments_is_named_and_what_is_none_is_not_repeated(
    #[case] zone: &str,
    #[case] declared: &str,
) {
    let found = profile(&of_arrow(DataType::Timestamp(
        TimeUnit::Microsecond,
        Some(zone.into()),
    )));
    let column = &only_table(&found).columns[0];
    assert_eq!(column.declared.as_deref(), Some(declared));
    assert_eq!(
        column.times.as_ref().unwrap().min,
        "1970-01-01 00:00:00.001+00:00"
    );
}

#[test]
fn infinite_numbers_are_a_remark() {
    use parquet::data_type::DoubleType;
    let schema = parse_message_type("message m { required double x; }").unwrap();
    let mut bytes = Vec::new();
    let properties = Arc::new(WriterProperties::default());
    let mut writer = SerializedFileWriter::new(&mut bytes, Arc::new(schema), properties).unwrap();
    let mut columns = writer.next_row_group().unwrap();
    let mut column = columns.next_column().unwrap().unwrap();
    let values = [1.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    column
        .typed::<DoubleType>()
        .write_batch(&values, None, None)
        .unwrap();
    column.close().unwrap();
    columns.close().unwrap();
    writer.close().unwrap();
    let found = profile(&bytes);
    let remarks = crate::remark::joined(&found.remarks, "; ");
    assert_eq!(remarks, "infinite numbers, which are in no statistics, in: x");
    assert_eq!(only_table(&found).columns[0].nulls, [("NaN".to_owned(), 1)]);
}
