//! The reader on arrays and on files written by the same crates.

use std::sync::Arc;

use ::parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type, Int96, Int96Type};
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::parser::parse_message_type;
use arrow_array::{Array, BinaryArray, Float64Array, Int32Array, Int64Array, make_array};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use rstest::rstest;

use super::value::TextForm;
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

fn open(bytes: &[u8]) -> Result<Columnar, String> {
    Columnar::open(&Source::bytes(bytes), FileFormat::Parquet).unwrap()
}

fn text(entry: &ColumnEntry<'_>) -> String {
    match entry {
        ColumnEntry::Value(cell, text) => {
            format!("{} {text}", cell.kind().map_or("null", |kind| kind.as_str()))
        }
        ColumnEntry::Lossy(text) => format!("lossy {text}"),
        ColumnEntry::Null => "null".to_owned(),
    }
}

/// The values of the first column, record by record.
fn records(file: &Columnar) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for part in 0..file.parts().len() {
        file.read(part, &[0], None, |rows| {
            let leaf = &file.leaves()[0];
            for row in 0..rows.count() {
                let mut record = Vec::new();
                let mut scratch = String::new();
                leaf.each(rows.field_of(leaf), row, &mut scratch, &mut |entry| {
                    record.push(text(&entry));
                });
                found.push(record);
            }
        })
        .unwrap();
    }
    found
}

fn texts(bytes: &[u8]) -> Vec<String> {
    records(&open(bytes).unwrap()).concat()
}

#[test]
fn values_and_missing_ones_come_in_order_over_batches() {
    let values: Vec<_> = (0..5_000).map(|value| (value % 3 > 0).then_some(value)).collect();
    let expected: Vec<_> = values
        .iter()
        .map(|value| value.map_or_else(|| "null".to_owned(), |value| format!("int {value}")))
        .collect();
    assert_eq!(texts(&numbers(&values)), expected);
}

fn text_of(array: &dyn Array, form: TextForm) -> String {
    text(&value::value(array, 0, form, &mut String::new()))
}

const MICROS: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);
const NANOS: DataType = DataType::Timestamp(TimeUnit::Nanosecond, None);

fn in_utc(unit: TimeUnit) -> DataType {
    DataType::Timestamp(unit, Some("UTC".into()))
}

/// One value of 64 bits as one of a type.
fn of_64_bits(type_: DataType, value: i64) -> ArrayRef {
    let bits = Int64Array::from(vec![value]).into_data().into_builder();
    make_array(bits.data_type(type_).build().unwrap())
}

#[rstest]
#[case(DataType::Int64, i64::MIN, "int -9223372036854775808")]
#[case(DataType::Int64, -7, "int -7")]
#[case(DataType::UInt64, -1, "float 18446744073709551615")]
#[case(DataType::Decimal64(10, 2), 123_456, "float 1234.56")]
#[case(DataType::Decimal64(10, 2), -5, "float -0.05")]
#[case(DataType::Decimal64(10, 2), 0, "float 0.00")]
#[case(DataType::Decimal64(5, 0), 42, "int 42")]
#[case(DataType::Time64(TimeUnit::Microsecond), 45_000_500_000, "text 12:30:00.5")]
#[case(DataType::Duration(TimeUnit::Second), 90, "int 90")]
#[case(DataType::Date64, 86_400_000, "date 1970-01-02")]
#[case(in_utc(TimeUnit::Microsecond), 0, "datetime 1970-01-01 00:00:00+00:00")]
#[case(MICROS, 1_769_862_896_250_000, "datetime 2026-01-31 12:34:56.25")]
#[case(MICROS, -1, "datetime 1969-12-31 23:59:59.999999")]
#[case(in_utc(TimeUnit::Second), i64::MAX, "text 292277026596-12-04 15:30:07+00:00")]
#[case(NANOS, i64::MIN, "datetime 1677-09-21 00:12:43.145224192")]
#[case(NANOS, i64::MAX, "datetime 2262-04-11 23:47:16.854775807")]
fn numbers_of_64_bits_are_read_by_their_type(
    #[case] type_: DataType,
    #[case] value: i64,
    #[case] text: &str,
) {
    assert_eq!(text_of(&of_64_bits(type_, value), TextForm::Bytes), text);
}

#[rstest]
#[case(DataType::Date32, 0, "date 1970-01-01")]
#[case(DataType::Date32, 20_484, "date 2026-01-31")]
#[case(DataType::Date32, -719_162, "date 0001-01-01")]
#[case(DataType::Date32, i32::MIN, "date -5877641-06-23")]
#[case(DataType::UInt32, -1, "int 4294967295")]
#[case(DataType::Time32(TimeUnit::Millisecond), 86_399_999, "text 23:59:59.999")]
#[case(
    DataType::Interval(IntervalUnit::YearMonth),
    1,
    "text a value of type Interval(YearMonth)"
)]
fn numbers_of_32_bits_are_read_by_their_type(
    #[case] type_: DataType,
    #[case] value: i32,
    #[case] text: &str,
) {
    let bits = Int32Array::from(vec![value]).into_data().into_builder();
    let array = make_array(bits.data_type(type_).build().unwrap());
    assert_eq!(text_of(&array, TextForm::Bytes), text);
}

#[rstest]
#[case(1.5, "float 1.5")]
#[case(f64::NEG_INFINITY, "text -inf")]
#[case(f64::NAN, "null NaN")]
fn numbers_that_are_none_are_missing_or_text(#[case] value: f64, #[case] text: &str) {
    assert_eq!(text_of(&Float64Array::from(vec![value]), TextForm::Bytes), text);
}

#[rstest]
#[case(TextForm::Text, b"K\xc3\xb6ln", "text Köln")]
#[case(TextForm::Text, b"2026-01-31", "date 2026-01-31")]
#[case(TextForm::Text, b"12", "text 12")]
#[case(TextForm::Text, b"K\xf6ln", "lossy K\u{fffd}ln")]
#[case(TextForm::Bytes, b"a'\x00\xff", "text b'a\\'\\x00\\xff'")]
#[case(
    TextForm::Uuid,
    &[0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0, 1, 2, 3, 4, 5, 6, 7, 8],
    "text 12345678-9abc-def0-0102-030405060708"
)]
fn bytes_are_read_by_their_form(#[case] form: TextForm, #[case] bytes: &[u8], #[case] text: &str) {
    assert_eq!(text_of(&BinaryArray::from(vec![bytes]), form), text);
}

#[test]
fn moments_of_96_bits_are_days_and_nanoseconds() {
    let schema = Arc::new(parse_message_type("message m { required int96 at; }").unwrap());
    let mut bytes = Vec::new();
    let mut writer =
        SerializedFileWriter::new(&mut bytes, schema, Arc::new(WriterProperties::default())).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let (mut near, mut far) = (Int96::new(), Int96::new());
    near.set_data(1_500_000_000, 0, 2_440_589);
    far.set_data(0, 0, 5_373_484);
    column
        .typed::<Int96Type>()
        .write_batch(&[near, far], None, None)
        .unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    assert_eq!(
        texts(&bytes),
        ["datetime 1970-01-02 00:00:01.5", "datetime 9999-12-31 00:00:00"]
    );
    assert_eq!(open(&bytes).unwrap().leaves()[0].declared, "timestamp[ns]");
}

#[test]
fn texts_need_not_be_valid_and_enumerations_are_texts() {
    let schema =
        "message m { required group a (LIST) { repeated group list { required binary element (UTF8); } } }";
    for schema in [schema.to_owned(), schema.replace("UTF8", "ENUM")] {
        let schema = Arc::new(parse_message_type(&schema).unwrap());
        let mut bytes = Vec::new();
        let mut writer =
            SerializedFileWriter::new(&mut bytes, schema, Arc::new(WriterProperties::default())).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let values = [&b"K\xf6ln"[..], b"Bonn"].map(|value| ByteArray::from(value.to_vec()));
        column
            .typed::<ByteArrayType>()
            .write_batch(&values, Some(&[1, 1]), Some(&[0, 1]))
            .unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
        assert_eq!(texts(&bytes), ["lossy K\u{fffd}ln", "text Bonn"]);
        assert_eq!(open(&bytes).unwrap().leaves()[0].declared, "string");
    }
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
    let mut bytes = Vec::new();
    let writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(WriterProperties::default()));
    writer.unwrap().close().unwrap();
    let file = open(&bytes).unwrap();
    let found = file.leaves();
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
    let file = open(&bytes).unwrap();
    assert_eq!(
        records(&file),
        [vec!["int 1", "null"], vec![], vec![], vec!["int 2"]]
    );
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
        let Ok(file) = open(&bytes) else {
            continue;
        };
        for part in 0..file.parts().len() {
            let _ = file.read(part, &[0], None, |rows| {
                for row in 0..rows.count() {
                    for leaf in file.leaves() {
                        leaf.each(rows.field_of(leaf), row, &mut String::new(), &mut |_| ());
                    }
                }
            });
        }
    }
}
