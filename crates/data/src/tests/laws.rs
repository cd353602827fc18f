//! Laws that hold of every file, however it is cut or damaged: nothing panics, and counts add up.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::profile::{Layout, SampleProfile};

use super::{SALES, SENSOR, Source, describe_everything, profile};

/// Files of all kinds, by name.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    let nested =
        r#"[{"user": {"city": "Köln"}, "items": [{"price": 1.50}]}, {"user": {"city": null}, "n": 1e3}]"#;
    let by_line = "{\"a\": 1, \"b\": \"x\"}\n\n{\"a\": null}\n{\"a\": 2.5, \"l\": [1, 2]}\n";
    let log = "2026-01-01T00:00:00Z INFO api[1] GET /v1 200\n2026-01-01T00:01:00Z WARN api[2] slow\n";
    let dutch = b"id;bedrag;stad\n1;1,5;K\xf6ln\n2;;\"a;b\"\n3;7,25;\n".to_vec();
    let tabs = "name\t2019\t2020\nx\t1\t\ny\t2\t3\n";
    vec![
        ("sales.csv", SALES.to_vec()),
        ("sensor.csv", SENSOR.to_vec()),
        (
            "readings.csv",
            include_bytes!("../../../../examples/sensor-analysis/data/readings.csv").to_vec(),
        ),
        ("dutch.csv", dutch),
        ("tabs.tsv", tabs.into()),
        ("nested.json", nested.into()),
        ("lines.jsonl", by_line.into()),
        ("api.log", log.into()),
    ]
}

fn file() -> impl Strategy<Value = (&'static str, Vec<u8>)> {
    prop::sample::select(files())
}

/// A file with some of its bytes replaced, removed or repeated.
fn damaged() -> impl Strategy<Value = (&'static str, Vec<u8>)> {
    let odd =
        prop::sample::select(b"\0\r\n\",;\t{}[]:'\\-.eE0a \xff\xfe\x80\xc3\xef\xbb\xbf\x1f\x8b".to_vec());
    let change = (any::<Index>(), 0_u8..3, odd);
    (file(), prop::collection::vec(change, 1..8)).prop_map(|((name, mut bytes), changes)| {
        for (place, what, odd) in changes {
            if bytes.is_empty() {
                break;
            }
            let position = place.index(bytes.len());
            match what {
                0 => bytes[position] = odd,
                1 => bytes.insert(position, odd),
                _ => drop(bytes.remove(position)),
            }
        }
        (name, bytes)
    })
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

/// Checks the laws of any profile against it, and against the text that it is of.
fn holds(profile: &SampleProfile, text: &str) {
    let unread: u64 = profile
        .remarks
        .iter()
        .filter_map(|remark| {
            remark
                .strip_prefix("records that cannot be read: ")?
                .split_once(' ')
        })
        .map(|(count, _)| count.parse::<u64>().unwrap())
        .sum();
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let lines = |is_blank: fn(&str) -> bool| text.lines().filter(|line| !is_blank(line)).count() as u64;
    for table in profile.tables() {
        match &table.layout {
            // A line break inside quotes is none between records.
            Layout::Delimited { delimiter, lead, .. } if !text.contains('"') => {
                // A tab that separates fields makes a record even of blanks.
                let is_blank = |line: &str| {
                    !line.contains(*delimiter) && line.chars().all(|character| " \t".contains(character))
                };
                let others = lead.titles
                    + u64::from(lead.has_separator_line)
                    + lead.header_rows
                    + u64::from(lead.units_row.is_some())
                    + lead.comments;
                assert_eq!(
                    table.records + others,
                    text.lines().filter(|line| !is_blank(line)).count() as u64,
                    "{text:?}"
                );
            }
            Layout::JsonLines => assert_eq!(
                table.records + unread,
                lines(|line| line.trim().is_empty()),
                "{text:?}"
            ),
            _ => {}
        }
        for column in &table.columns {
            let kinds: u64 = column.kinds.iter().map(|(_, count)| count).sum();
            assert_eq!(kinds, column.values, "{}: {text:?}", column.name);
            if matches!(table.layout, Layout::Delimited { .. }) {
                assert_eq!(
                    column.values + column.null_count(),
                    table.records,
                    "{}: {text:?}",
                    column.name
                );
            }
            assert!(
                column.present.is_none_or(|present| present <= table.records),
                "{}",
                column.name
            );
            assert!(column.top.iter().map(|(_, count)| count).sum::<u64>() <= column.values);
        }
        for row in &table.rows {
            assert!((1..=table.records).contains(&row.number));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_file_cut_anywhere_is_described_and_adds_up((name, bytes) in file(), end in any::<Index>()) {
        let bytes = &bytes[..end.index(bytes.len() + 1)];
        describe_everything(bytes, name);
        holds(&profile(bytes, name), &String::from_utf8_lossy(bytes));
    }

    #[test]
    fn a_damaged_file_is_described_and_adds_up((name, bytes) in damaged()) {
        describe_everything(&bytes, name);
        let found = profile(&bytes, name);
        let is_bytes_by_one = found.encoding.is_none_or(|encoding| !encoding.is_wide());
        if found.compression.is_none() && is_bytes_by_one {
            holds(&found, &String::from_utf8_lossy(&bytes));
        }
    }

    #[test]
    fn a_compressed_file_has_the_same_profile_as_a_plain_one((name, bytes) in damaged()) {
        let (plain, packed) = (profile(&bytes, name), profile(&gzip(&bytes), &format!("{name}.gz")));
        if plain.encoding.is_some() && plain.compression.is_none() {
            prop_assert_eq!(plain.content, packed.content);
            prop_assert_eq!(plain.remarks, packed.remarks);
        }
    }

    #[test]
    fn damaged_packed_data_is_described((name, bytes) in file(), place in any::<Index>(), odd in any::<u8>(), end in any::<Index>()) {
        let mut packed = gzip(&bytes);
        let position = place.index(packed.len());
        packed[position] = odd;
        packed.truncate(end.index(packed.len()).max(packed.len() / 2));
        describe_everything(&packed, name);
    }

    #[test]
    fn wide_characters_are_described_like_narrow_ones(text in "[a-zA-Z0-9äöü€,;\n]{40,400}", is_little in any::<bool>()) {
        let mark = if is_little { [0xff, 0xfe] } else { [0xfe, 0xff] };
        let unit = |unit: u16| if is_little { unit.to_le_bytes() } else { unit.to_be_bytes() };
        let wide: Vec<_> = mark.into_iter().chain(text.encode_utf16().flat_map(unit)).collect();
        let (narrow, wide) = (profile(text.as_bytes(), "x.csv"), profile(&wide, "x.csv"));
        prop_assert_eq!(narrow.content, wide.content);
    }
}

#[test]
fn a_lone_carriage_return_before_a_blank_adds_up() {
    let bytes = b"name\t2019\t2020\nx\t1\t\ny\t2\t3\r ";
    describe_everything(bytes, "tabs.tsv");
    let found = profile(bytes, "tabs.tsv");
    holds(&found, &String::from_utf8_lossy(bytes));
    assert_eq!(found.content, profile(&gzip(bytes), "tabs.tsv.gz").content);
}

#[test]
fn a_file_is_read_as_it_was_opened_even_when_another_takes_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.csv");
    std::fs::write(&path, "a,b\n1,2\n").unwrap();
    let source = Source::path(&path);
    assert_eq!(source.file_bytes().unwrap(), 8);
    let other = folder.path().join("other");
    std::fs::write(&other, "c\n3\n4\n").unwrap();
    std::fs::rename(&other, &path).unwrap();
    let mut text = String::new();
    std::io::Read::read_to_string(&mut source.open().unwrap(), &mut text).unwrap();
    assert_eq!(text, "a,b\n1,2\n");
    source.settle().unwrap();
}

#[test]
fn a_file_that_changes_while_it_is_read_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.csv");
    for changed in ["a,b\n1,3\n", "a,b\n", "a,b\n1,2\n5,6\n", ""] {
        std::fs::write(&path, "a,b\n1,2\n").unwrap();
        let source = Source::path(&path);
        std::io::copy(&mut source.open().unwrap(), &mut std::io::sink()).unwrap();
        source.settle().unwrap();
        std::fs::write(&path, changed).unwrap();
        // The clock of a file system may be slower than this test.
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(1);
        std::fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(later)
            .unwrap();
        let error = source.settle().unwrap_err();
        assert_eq!(error.to_string(), "it changed while it was read", "{changed:?}");
    }
}

#[test]
fn numbers_as_keys_do_not_fill_the_memory() {
    let lines: Vec<_> = (0..3_000)
        .map(|key| format!("{{\"k{key}\":{{\"x\":{{\"y{key}\":1}}}}}}"))
        .collect();
    let text = lines.join("\n");
    let found = profile(text.as_bytes(), "x.jsonl");
    let table = found.tables().next().unwrap();
    let names: Vec<_> = table.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["{key}.x.{key}"], "{:?}", found.remarks);
    assert_eq!((table.columns[0].values, table.column_count), (3_000, 1));
}
