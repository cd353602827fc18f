//! Tables, characters and JSON.

use std::fmt::Write as _;

use crate::reading::{noise, parquet, table, wide};

fn utf32(text: &str) -> Vec<u8> {
    text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect()
}

#[test]
fn odd_tables() {
    let table_of = parquet();
    let columns = |count: u32| {
        let row = |cell: &dyn Fn(u32) -> String| (1..=count).map(cell).collect::<Vec<_>>().join(",");
        let header = row(&|column| format!("column{column}"));
        format!("{header}\n{}\n", row(&|column| column.to_string())).into_bytes()
    };
    let headerless: Vec<String> = (0..300).map(|column| column.to_string()).collect();
    let long_line = b"x".repeat(10_000_000);
    let long_cell = format!("a,b,c\n1,x,y\n2,{},tail\n", "long ".repeat(200_000));
    let commas = ",".repeat(5_000_000);
    let text = table(&[
        ("empty", "x.csv", b"".to_vec()),
        ("blanks", "x.csv", b"  \n \n".to_vec()),
        ("header only", "x.csv", b"a,b\n".to_vec()),
        ("duplicate columns", "x.csv", b"a,a,b\n1,2,3\n".to_vec()),
        ("ragged", "x.csv", b"a,b\n1,2\n1,2,3\n4\n5,6\n".to_vec()),
        (
            "trailing comma in every row",
            "x.csv",
            b"a,b\n1,2,\n3,4,\n".to_vec(),
        ),
        ("semicolons", "x.csv", b"a;b\n1;2\n".to_vec()),
        ("no header", "x.csv", b"1,x\n2,y\n".to_vec()),
        (
            "a quote that is never closed",
            "x.csv",
            b"a,b\n1,\"x\n2,y\n".to_vec(),
        ),
        ("HTML", "x.csv", b"<!DOCTYPE html>\n<html>a,b</html>\n".to_vec()),
        ("lone carriage returns", "x.csv", b"a,b\r1,2\r3\r".to_vec()),
        ("mixed line ends", "x.csv", b"a,b\r\n1,2\r3,4\n".to_vec()),
        ("one line of 10 MB", "x.csv", long_line.clone()),
        ("one line of 10 MB", "x.log", long_line),
        ("a cell of 1 MB", "x.csv", long_cell.into_bytes()),
        ("5,000,000 commas", "x.csv", commas.clone().into_bytes()),
        (
            "5,000,000 commas after a header",
            "x.csv",
            format!("a,b\n1,2\n{commas}\n3,4\n").into_bytes(),
        ),
        ("a header of 1,000 columns", "x.csv", columns(1_000)),
        ("a header of 10,000 columns", "x.csv", columns(10_000)),
        ("a header of 80,000 columns", "x.csv", columns(80_000)),
        ("a header of 200,000 columns", "x.csv", columns(200_000)),
        ("Parquet", "x.parquet", table_of.clone()),
        ("Parquet", "x.csv", table_of.clone()),
        (
            "Parquet cut in half",
            "x.parquet",
            table_of[..table_of.len() / 2].to_vec(),
        ),
        (
            "Parquet without its end",
            "x.parquet",
            table_of[..table_of.len() - 1].to_vec(),
        ),
        ("Parquet of eight bytes", "x.parquet", b"PAR1PAR1".to_vec()),
        (
            "Parquet whose footer says 2 GiB",
            "x.parquet",
            [&table_of[..table_of.len() - 8], b"\xff\xff\xff\x7fPAR1"].concat(),
        ),
        (
            "300 columns and no header",
            "x.csv",
            format!("{0}\n{0}\n", headerless.join(",")).into_bytes(),
        ),
    ]);
    insta::assert_snapshot!(text);
}

#[test]
fn odd_characters() {
    let text = "id,city\r\n1,Köln\r\n2,Bern\r\n";
    let marked = |bytes: Vec<u8>| [b"\xff\xfe".to_vec(), bytes].concat();
    let text = table(&[
        (
            "Latin-1",
            "x.csv",
            b"id,city\n1,K\xf6ln\n2,Bern\n3,Z\xfcrich\n".to_vec(),
        ),
        ("Windows-1252", "x.csv", b"id,word\n1,\x93quoted\x94\n".to_vec()),
        (
            "bytes that Windows-1252 does not have",
            "x.csv",
            b"id,word\n1,\x81\x90\n".to_vec(),
        ),
        (
            "one bad byte in UTF-8",
            "x.csv",
            "id,city\n1,Köln Zürich Genève\n2,"
                .bytes()
                .chain(*b"\xff\n")
                .collect(),
        ),
        (
            "many bad bytes",
            "x.csv",
            ["é".repeat(99).as_bytes(), b",b\n", &b"\xff,x\n".repeat(9)].concat(),
        ),
        ("byte order mark", "x.csv", b"\xef\xbb\xbfa,b\n1,2\n".to_vec()),
        (
            "byte order mark and a bad byte",
            "x.csv",
            b"\xef\xbb\xbfa,b\n1,\xff\n".to_vec(),
        ),
        (
            "NUL bytes",
            "x.csv",
            b"id,name\n1,a\0b\n2,cdefgh\n3,ijk\0lmn\n".to_vec(),
        ),
        ("UTF-16", "x.csv", marked(wide(text, u16::to_le_bytes))),
        (
            "UTF-16 cut in a character",
            "x.csv",
            marked([wide(text, u16::to_le_bytes), vec![b'x']].concat()),
        ),
        ("UTF-16 without mark", "x.csv", wide(text, u16::to_le_bytes)),
        (
            "UTF-16, big-endian, without mark",
            "x.csv",
            wide(text, u16::to_be_bytes),
        ),
        (
            "UTF-32",
            "x.csv",
            [b"\xff\xfe\0\0".to_vec(), utf32(text)].concat(),
        ),
        ("binary", "x.bin", noise(5_000)),
        ("binary", "x.csv", noise(5_000)),
        (
            "small numbers of two bytes",
            "x.csv",
            (0_u16..2_000).flat_map(u16::to_le_bytes).collect(),
        ),
    ]);
    insta::assert_snapshot!(text);
}

#[test]
#[expect(clippy::too_many_lines, reason = "it is a table")]
fn odd_json() {
    let deep = |depth: usize| format!("[{{\"a\":1}},{}1{}]", "[".repeat(depth), "]".repeat(depth));
    let by_key: Vec<_> = (0..5_000)
        .map(|key| format!("\"u{key}\":{{\"age\":{},\"tags\":[\"x\"]}}", key % 90))
        .collect();
    let mut by_day = String::new();
    for day in 0..400 {
        writeln!(
            by_day,
            "{{\"id\":{day},\"seen\":{{\"d{day}\":1,\"d{}\":2}}}}",
            day + 1
        )
        .unwrap();
    }
    let wide: Vec<_> = (0..300).map(|key| format!("\"k{key}\":{key}")).collect();
    let text = table(&[
        (
            "nested objects",
            "x.json",
            br#"[{"a":{"b":1},"l":[{"c":2}]},{"a":{"b":null}}]"#.to_vec(),
        ),
        ("nested 100 deep", "x.json", deep(100).into_bytes()),
        ("nested 100,000 deep", "x.json", deep(100_000).into_bytes()),
        ("never closed", "x.json", "[".repeat(1_000_000).into_bytes()),
        ("cut", "x.json", b"[{\"a\":1},{\"a\":".to_vec()),
        ("duplicate keys", "x.json", br#"[{"a":1,"a":2},{"a":3}]"#.to_vec()),
        (
            "duplicate keys",
            "x.jsonl",
            b"{\"a\":1}\n{\"b\":{\"c\":1,\"c\":2}}\n".to_vec(),
        ),
        (
            "huge numbers",
            "x.json",
            br#"[{"a":123456789012345678901234567890},{"a":1e400},{"a":5}]"#.to_vec(),
        ),
        (
            "numbers as strings",
            "x.json",
            br#"[{"a":"1","b":"x"},{"a":"2.5","b":"3"}]"#.to_vec(),
        ),
        ("a number alone", "x.json", b"5\n".to_vec()),
        ("a string alone", "x.json", b"\"abc\"".to_vec()),
        ("null alone", "x.json", b"null".to_vec()),
        ("an empty array", "x.json", b"[]".to_vec()),
        ("an empty array with a mark", "x.json", b"\xef\xbb\xbf[]".to_vec()),
        ("numbers by line", "x.jsonl", b"1\n2\n3\n".to_vec()),
        (
            "a key called value",
            "x.json",
            br#"[{"value":1},{"value":2}]"#.to_vec(),
        ),
        ("concatenated values", "x.json", br#"{"a":1}{"a":2}"#.to_vec()),
        (
            "values of several lines, concatenated",
            "x.json",
            b"{\n\"a\":1\n}\n{\n\"a\":2\n}\n".to_vec(),
        ),
        (
            "blank and broken lines",
            "x.jsonl",
            b"{\"a\":1}\n\n{\"a\":\n\n{\"a\":2}\n".to_vec(),
        ),
        ("a broken first line", "x.jsonl", b"oops\n{\"a\":1}\n".to_vec()),
        (
            "one document on several lines",
            "x.jsonl",
            b"{\n\"a\": 1\n}\n".to_vec(),
        ),
        ("NaN", "x.json", b"[{\"a\":1},{\"a\":NaN},{\"a\":2}]".to_vec()),
        ("a byte order mark", "x.json", b"\xef\xbb\xbf[{\"a\":1}]".to_vec()),
        (
            "Latin-1",
            "x.jsonl",
            b"{\"a\":\"K\xf6ln\"}\n{\"a\":\"Bern\"}\n".to_vec(),
        ),
        ("words", "x.json", b"words\n".to_vec()),
        (
            "5,000 keys that are data",
            "x.json",
            format!("{{\"users\":{{{}}}}}", by_key.join(",")).into_bytes(),
        ),
        ("keys that are data, by line", "x.jsonl", by_day.into_bytes()),
        (
            "300 keys in every record",
            "x.jsonl",
            format!("{{{0}}}\n{{{0}}}\n{{{0}}}\n", wide.join(",")).into_bytes(),
        ),
        (
            "a key with a dot",
            "x.json",
            br#"[{"a.b":1,"a":{"b":2}}]"#.to_vec(),
        ),
    ]);
    insta::assert_snapshot!(text);
}
