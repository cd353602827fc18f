//! The reader on files written by the same crate.

use std::sync::Arc;

use parquet::data_type::{Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use rstest::rstest;

use super::*;

/// A file of one row group with one column of 64-bit numbers, some of them missing.
fn numbers(values: &[Option<i64>]) -> Vec<u8> {
    let schema = Arc::new(parse_message_type("message m { optional int64 n; }").unwrap());
    let mut bytes = Vec::new();
    let mut writer =
        SerializedFileWriter::new(&mut bytes, schema, Arc::new(WriterProperties::default())).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let present: Vec<_> = values.iter().copied().flatten().collect();
    let levels: Vec<_> = values.iter().map(|value| i16::from(value.is_some())).collect();
    column
        .typed::<Int64Type>()
        .write_batch(&present, Some(&levels), None)
        .unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    bytes
}

fn texts(bytes: &[u8]) -> Vec<String> {
    let file = ParquetFile::open(&Source::bytes(bytes)).unwrap().unwrap();
    let mut reader = file.read_group(0, &[0]).unwrap();
    let mut found = Vec::new();
    loop {
        let batch = reader.next_batch().unwrap();
        if batch == 0 {
            return found;
        }
        for _ in 0..batch {
            reader.record(0, |value| match value {
                ColumnEntry::Value(_, text) => found.push(text.to_owned()),
                ColumnEntry::Lossy(_) => found.push("lossy".to_owned()),
                ColumnEntry::Null => found.push("null".to_owned()),
            });
        }
    }
}

#[test]
fn values_and_missing_ones_come_in_order_over_batches() {
    let values: Vec<_> = (0..5_000).map(|value| (value % 3 > 0).then_some(value)).collect();
    let expected: Vec<_> = values
        .iter()
        .map(|value| value.map_or_else(|| "null".to_owned(), |value| value.to_string()))
        .collect();
    assert_eq!(texts(&numbers(&values)), expected);
}

#[rstest]
#[case(i64::MIN, "-9223372036854775808")]
#[case(0, "0")]
#[case(-7, "-7")]
fn whole_numbers_are_formatted_in_full(#[case] value: i64, #[case] text: &str) {
    assert_eq!(texts(&numbers(&[Some(value)])), [text]);
}

fn text_of(logical: Logical, values: &Values) -> String {
    match logical.value(values, 0, &mut String::new()) {
        ColumnEntry::Value(cell, text) => {
            format!("{} {text}", cell.kind().map_or("null", |kind| kind.as_str()))
        }
        ColumnEntry::Lossy(text) => format!("lossy {text}"),
        ColumnEntry::Null => "null".to_owned(),
    }
}

const MICROS: Logical = Logical::Timestamp {
    unit: unit::Unit::Micros,
    utc: true,
};
const NANOS: Logical = Logical::Timestamp {
    unit: unit::Unit::Nanos,
    utc: false,
};
const CENTS: Logical = Logical::Decimal {
    precision: 10,
    scale: 2,
};

#[rstest]
#[case(Logical::Uint(64), -1, "float 18446744073709551615")]
#[case(CENTS, 123_456, "float 1234.56")]
#[case(CENTS, -5, "float -0.05")]
#[case(CENTS, 0, "float 0.00")]
#[case(Logical::Decimal { precision: 5, scale: 0 }, 42, "int 42")]
#[case(Logical::Time(unit::Unit::Micros), 45_000_500_000, "text 12:30:00.5")]
#[case(MICROS, 0, "datetime 1970-01-01 00:00:00+00:00")]
#[case(MICROS, 1_769_862_896_250_000, "datetime 2026-01-31 12:34:56.25+00:00")]
#[case(MICROS, -1, "datetime 1969-12-31 23:59:59.999999+00:00")]
#[case(NANOS, i64::MIN, "datetime 1677-09-21 00:12:43.145224192")]
#[case(NANOS, i64::MAX, "datetime 2262-04-11 23:47:16.854775807")]
fn numbers_of_64_bits_are_read_by_their_type(
    #[case] logical: Logical,
    #[case] value: i64,
    #[case] text: &str,
) {
    assert_eq!(text_of(logical, &Values::Int64(vec![value])), text);
}

#[rstest]
#[case(Logical::Date, 0, "date 1970-01-01")]
#[case(Logical::Date, 20_484, "date 2026-01-31")]
#[case(Logical::Date, -719_162, "date 0001-01-01")]
#[case(Logical::Date, i32::MIN, "date -5877641-06-23")]
#[case(Logical::Uint(32), -1, "int 4294967295")]
#[case(Logical::Time(unit::Unit::Millis), 86_399_999, "text 23:59:59.999")]
fn numbers_of_32_bits_are_read_by_their_type(
    #[case] logical: Logical,
    #[case] value: i32,
    #[case] text: &str,
) {
    assert_eq!(text_of(logical, &Values::Int32(vec![value])), text);
}

#[rstest]
#[case(Logical::Text, b"K\xc3\xb6ln", "text Köln")]
#[case(Logical::Text, b"2026-01-31", "date 2026-01-31")]
#[case(Logical::Text, b"12", "text 12")]
#[case(Logical::Text, b"K\xf6ln", "lossy K\u{fffd}ln")]
#[case(Logical::Binary, b"a'\x00\xff", "text b'a\\'\\x00\\xff'")]
#[case(Logical::Half, &[0x00, 0x3e], "float 1.5")]
#[case(Logical::Half, &[0x00, 0xfc], "text -inf")]
#[case(Logical::Half, &[0x01, 0x7c], "null NaN")]
#[case(CENTS, &[0xff, 0x85], "float -1.23")]
#[case(
    Logical::Uuid,
    &[0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0, 1, 2, 3, 4, 5, 6, 7, 8],
    "text 12345678-9abc-def0-0102-030405060708"
)]
fn bytes_are_read_by_their_type(#[case] logical: Logical, #[case] bytes: &[u8], #[case] text: &str) {
    let values = Values::Bytes(vec![ByteArray::from(bytes.to_vec())]);
    assert_eq!(text_of(logical, &values), text);
}

#[test]
fn moments_of_96_bits_are_days_and_nanoseconds() {
    let mut value = Int96::new();
    value.set_data(1_500_000_000, 0, 2_440_589);
    assert_eq!(
        text_of(Logical::Int96, &Values::Int96(vec![value])),
        "datetime 1970-01-02 00:00:01.5"
    );
}

#[rstest]
#[case::list(
    "message m { optional group tags (LIST) { repeated group list { optional binary element (UTF8); } } }",
    &["tags[]"]
)]
#[case::list_of_structs(
    "message m { optional group items (LIST) { repeated group list { optional group element { required double price; required int32 n; } } } }",
    &["items[].price", "items[].n"]
)]
#[case::list_of_lists(
    "message m { optional group a (LIST) { repeated group list { optional group element (LIST) { repeated group list { optional int32 element; } } } } }",
    &["a[][]"]
)]
#[case::old_list_of_values("message m { optional group a (LIST) { repeated int32 array; } }", &["a[]"])]
#[case::old_list_of_structs(
    "message m { optional group a (LIST) { repeated group array { required int32 x; } } }",
    &["a[].x"]
)]
#[case::bare_repetition("message m { repeated group a { required int32 x; } }", &["a[].x"])]
#[case::map(
    "message m { optional group a (MAP) { repeated group key_value { required binary key (UTF8); optional int32 value; } } }",
    &["a[].key", "a[].value"]
)]
#[case::group("message m { optional group user { optional binary city (UTF8); } required int32 id; }", &["user.city", "id"])]
fn nested_fields_have_paths_as_in_json(#[case] schema: &str, #[case] paths: &[&str]) {
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let found = leaf::leaves(&parquet::schema::types::SchemaDescriptor::new(schema));
    let found: Vec<_> = found.iter().map(|leaf| leaf.path.as_str()).collect();
    assert_eq!(found, paths);
}

#[test]
fn missing_elements_and_empty_lists_are_distinguished() {
    let schema = "message m { optional group a (LIST) { repeated group list { optional int32 element; } } }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut bytes = Vec::new();
    let mut writer =
        SerializedFileWriter::new(&mut bytes, schema, Arc::new(WriterProperties::default())).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    // [1, null], [], null, [2]
    column
        .typed::<Int32Type>()
        .write_batch(&[1, 2], Some(&[3, 2, 1, 0, 3]), Some(&[0, 1, 0, 0, 0]))
        .unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    let file = ParquetFile::open(&Source::bytes(&bytes)).unwrap().unwrap();
    let mut reader = file.read_group(0, &[0]).unwrap();
    assert_eq!(reader.next_batch(), Ok(4));
    let records: Vec<Vec<String>> = (0..4)
        .map(|_| {
            let mut record = Vec::new();
            reader.record(0, |found| {
                record.push(match found {
                    ColumnEntry::Value(_, text) | ColumnEntry::Lossy(text) => text.to_owned(),
                    ColumnEntry::Null => "null".to_owned(),
                });
            });
            record
        })
        .collect();
    assert_eq!(records, [vec!["1", "null"], vec![], vec![], vec!["2"]]);
}

#[test]
fn a_file_cut_anywhere_or_with_a_changed_byte_is_read_or_refused() {
    let whole = numbers(
        &(0..300)
            .map(|value| (value % 5 > 0).then_some(value))
            .collect::<Vec<_>>(),
    );
    let broken = (0..whole.len())
        .map(|end| whole[..end].to_vec())
        .chain((0..whole.len()).flat_map(|place| {
            [0x01, 0x80, 0xff].map(|flip| {
                let mut bytes = whole.clone();
                bytes[place] ^= flip;
                bytes
            })
        }));
    for bytes in broken {
        let Ok(file) = ParquetFile::open(&Source::bytes(&bytes)).unwrap() else {
            continue;
        };
        for group in 0..file.metadata().num_row_groups() {
            if file.leaves().is_empty() {
                continue;
            }
            let Ok(mut reader) = file.read_group(group, &[0]) else {
                continue;
            };
            while let Ok(records @ 1..) = reader.next_batch() {
                for _ in 0..records {
                    reader.record(0, |_| ());
                }
            }
        }
    }
}
