//! Odd and hostile samples, read by the real program in its reading process under the real limits: each ends as a
//! context with a true remark or as an error that names the file. The snapshot holds what is said, word for word.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests say what they expect"
)]

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use codegen_operator::api::common::Exposure;
use codegen_operator::data::context::render;
use codegen_operator::data::describe::Options;
use codegen_operator::data::exposure::{Exposed, ExposedJoins};
use codegen_operator::data::source::Source;
use codegen_operator::data::worker::{Client, Limits, Request, Response};
use flate2::Compression;
use flate2::write::GzEncoder;

fn client() -> Client {
    Client::new(Path::new(env!("CARGO_BIN_EXE_kubectl-codegen")), ["worker"])
}

fn request(source: Source, file_name: &str) -> Request {
    Request::Describe {
        source,
        name: "sample".into(),
        file_name: file_name.into(),
        options: Options::default(),
    }
}

/// Heading and remarks of the context, or the error.
async fn told_by(client: &Client, source: Source, file_name: &str) -> String {
    let replies = match client.run(&[request(source, file_name)]).await {
        Ok(mut replies) => replies.remove(0),
        Err(error) => Err(error),
    };
    match replies {
        Ok(Response::Profile(profile)) => {
            let exposed = [Exposed::new(*profile, Exposure::Rows)];
            let context = render(&exposed, &ExposedJoins::default(), 4_000, 100);
            assert!(context.text.len() < 20_000, "{file_name}: {}", context.text.len());
            let is_told = |line: &&str| line.starts_with("## ") || line.starts_with("Remark: ");
            let lines: Vec<_> = context.text.lines().filter(is_told).collect();
            lines.join("\n")
        }
        Ok(other) => panic!("{other:?}"),
        Err(error) => format!("error: {error}"),
    }
}

fn told_of(path: &Path, file_name: &str) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(told_by(&client(), Source::path(path), file_name))
}

/// What is told of some bytes that stand in a file of that name.
fn told(bytes: &[u8], file_name: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, bytes).unwrap();
    told_of(&path, file_name)
}

/// All of them as one readable text.
fn table(cases: &[(&str, &str, Vec<u8>)]) -> String {
    let mut text = String::new();
    for (what, file_name, bytes) in cases {
        writeln!(text, "# {what}\n{}\n", told(bytes, file_name)).unwrap();
    }
    text
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

/// So many gibibytes of one byte, packed.
fn bomb(gibibytes: usize) -> Vec<u8> {
    let member = {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        let block = vec![b'1'; 1 << 20];
        for _ in 0..64 {
            packed.write_all(&block).unwrap();
        }
        packed.finish().unwrap()
    };
    member.repeat(gibibytes * 16)
}

/// A table of 2,000 rows, of two row groups.
fn parquet() -> Vec<u8> {
    use parquet::data_type::{DoubleType, Int64Type};
    let schema = "message m { required int64 id; required double share; }";
    let schema = parquet::schema::parser::parse_message_type(schema).unwrap();
    let mut bytes = Vec::new();
    let mut writer =
        parquet::file::writer::SerializedFileWriter::new(&mut bytes, schema.into(), Arc::default()).unwrap();
    for _ in 0..2 {
        let mut group = writer.next_row_group().unwrap();
        let mut ids = group.next_column().unwrap().unwrap();
        let values: Vec<i64> = (0..1_000).collect();
        ids.typed::<Int64Type>().write_batch(&values, None, None).unwrap();
        ids.close().unwrap();
        let mut shares = group.next_column().unwrap().unwrap();
        let values: Vec<f64> = (0..1_000).map(|row| f64::from(row) / 1_000.0).collect();
        shares
            .typed::<DoubleType>()
            .write_batch(&values, None, None)
            .unwrap();
        shares.close().unwrap();
        group.close().unwrap();
    }
    writer.close().unwrap();
    bytes
}

fn wide<const N: usize>(text: &str, unit: fn(u16) -> [u8; N]) -> Vec<u8> {
    text.encode_utf16().flat_map(unit).collect()
}

fn utf32(text: &str) -> Vec<u8> {
    text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect()
}

/// Bytes without any order, the same on every run.
fn noise(count: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(7);
    (0..count).map(|_| random.u8(..)).collect()
}

fn rows(count: u32) -> String {
    let mut text = "id,name\n".to_owned();
    for row in 1..=count {
        writeln!(text, "{row},n{row}").unwrap();
    }
    text
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

#[test]
fn odd_gzip() {
    let packed = gzip(rows(1_000).as_bytes());
    let (half, damaged) = (packed[..packed.len() / 2].to_vec(), {
        let mut bytes = packed.clone();
        let middle = bytes.len() / 2;
        bytes[middle..middle + 20].fill(0xff);
        bytes
    });
    let text = table(&[
        ("gzip", "x.csv.gz", packed.clone()),
        ("gzip without its ending", "x.csv", packed.clone()),
        (
            "JSON Lines in gzip",
            "x.jsonl.gz",
            gzip(b"{\"a\":1}\n{\"a\":2}\n"),
        ),
        ("not gzip", "x.csv.gz", rows(3).into_bytes()),
        (
            "two members",
            "x.csv.gz",
            [gzip(b"a,b\n1,2\n"), gzip(b"3,4\n")].concat(),
        ),
        (
            "zeros after it",
            "x.csv.gz",
            [gzip(b"a,b\n1,2\n"), vec![0; 100_000]].concat(),
        ),
        (
            "garbage after it",
            "x.csv.gz",
            [gzip(b"a,b\n1,2\n"), b"garbage".to_vec()].concat(),
        ),
        ("truncated", "x.csv.gz", half),
        ("truncated in its header", "x.csv.gz", packed[..6].to_vec()),
        (
            "without its checksum",
            "x.csv.gz",
            packed[..packed.len() - 8].to_vec(),
        ),
        ("damaged", "x.csv.gz", damaged),
        ("of nothing", "x.csv.gz", gzip(b"")),
        ("of gzip", "x.csv.gz", gzip(&packed)),
        ("of binary", "x.csv.gz", gzip(&noise(5_000))),
        ("of Parquet", "x.parquet.gz", gzip(b"PAR1....PAR1")),
        (
            "of UTF-16",
            "x.csv.gz",
            gzip(&[b"\xff\xfe".to_vec(), wide("a,b\n1,2\n", u16::to_le_bytes)].concat()),
        ),
    ]);
    insta::assert_snapshot!(text);
}

#[test]
fn a_gzip_bomb_is_told_and_not_unpacked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let packed = bomb(10);
    fs::write(&path, &packed).unwrap();
    // The real limit of memory; a build without optimization may need more than the real limit of time.
    let patient = client().with_limits(Limits {
        seconds: 600,
        ..Limits::default()
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    assert_eq!(
        runtime.block_on(told_by(&patient, Source::path(&path), "x.csv.gz")),
        format!(
            "## sample (x.csv.gz): gzip data that unpacks to more than 1 GiB, {} bytes\n\
             Remark: it unpacks to more than 1 GiB and is not read; give a part of it as the sample.",
            packed.len()
        )
    );
}

#[test]
fn damaged_parquet_never_ends_its_reader() {
    let whole = parquet();
    let mut random = fastrand::Rng::with_seed(11);
    let damaged = (0..400).map(|round| {
        let mut bytes = whole.clone();
        // Half of them in the footer, where a lie about lengths does most.
        let from = if round % 2 == 0 { 0 } else { bytes.len() - 400 };
        for _ in 0..random.usize(1..6) {
            let position = random.usize(from..bytes.len() - 4);
            bytes[position] = random.u8(..);
        }
        if round % 7 == 0 {
            bytes.drain(random.usize(0..bytes.len() / 2)..bytes.len() / 2);
        }
        bytes
    });
    let requests: Vec<_> = damaged
        .map(|bytes| request(Source::bytes(&bytes), "x.parquet"))
        .collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let replies = runtime.block_on(client().run(&requests)).unwrap();
    assert_eq!(replies.len(), requests.len());
    assert!(replies.iter().filter(|reply| reply.is_ok()).count() > 300);
}

#[test]
fn a_billion_laughs_in_a_manifest_are_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = "kind: CodeGenTask\na0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..30 {
        let before = format!("*a{}", level - 1);
        writeln!(text, "a{level}: &a{level} [{}]", [before.as_str(); 10].join(",")).unwrap();
    }
    let deep = (0..5_000).fold(String::new(), |text, level| text + &" ".repeat(level) + "a:\n");
    for text in [text, deep, "[".repeat(500_000)] {
        for (flag, name) in [("-f", "task.yaml"), ("-k", "kustomization.yaml")] {
            fs::write(folder.path().join(name), &text).unwrap();
            let path = if flag == "-k" {
                folder.path().to_path_buf()
            } else {
                folder.path().join(name)
            };
            // An address space of 512 MiB: what unfolds into more ends with a signal.
            let ended = std::process::Command::new("prlimit")
                .arg("--as=536870912")
                .arg(env!("CARGO_BIN_EXE_kubectl-codegen"))
                .args(["local", flag])
                .arg(path)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&ended.stderr);
            assert_eq!(ended.status.code(), Some(2), "{said}");
            assert!(
                said.contains(name) && said.contains("cannot be read as YAML"),
                "{said}"
            );
        }
    }
}

#[test]
fn what_is_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        path("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    fs::write(path("two\nlines.csv"), "a,b\n1,2\n").unwrap();
    File::create(path("sparse.csv"))
        .unwrap()
        .set_len(5 << 30)
        .unwrap();
    std::os::unix::fs::symlink("nowhere", path("dangling")).unwrap();
    std::os::unix::fs::symlink("loop", path("loop")).unwrap();
    let mut text = String::new();
    let mut tell = |what: &str, path: &Path, file_name: &str| {
        writeln!(text, "# {what}\n{}\n", told_of(path, file_name)).unwrap();
    };
    tell("a pipe", &path("pipe"), "x.csv");
    tell("a folder", folder.path(), "x.csv");
    tell("a device", Path::new("/dev/zero"), "x.csv");
    tell("nothing", &path("gone"), "x.csv");
    tell("a dangling link", &path("dangling"), "x.csv");
    tell("a link to itself", &path("loop"), "x.csv");
    tell("5 GiB of nothing", &path("sparse.csv"), "sparse.csv");
    tell("a name of two lines", &path("two\nlines.csv"), "x.csv");
    insta::assert_snapshot!(text);
}

#[test]
fn a_file_that_may_not_be_read_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.csv");
    fs::write(&path, "a\n1\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o0)).unwrap();
    // Root may read everything.
    if File::open(&path).is_err() {
        assert_eq!(
            told_of(&path, "x.csv"),
            "error: cannot read x.csv: Permission denied (os error 13)"
        );
    }
}

#[test]
fn a_file_that_changes_all_the_time_is_never_a_mixture() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.csv");
    // Two contents of one length, each of one letter: a mixture would have both.
    let content = |letter: &str| format!("id,letter\n{}", format!("1,{letter}\n").repeat(200_000));
    fs::write(&path, content("a")).unwrap();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let mut seen = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut file = File::options().write(true).open(&path).unwrap();
            for letter in ["b", "a"].into_iter().cycle() {
                if is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    break;
                }
                file.seek(SeekFrom::Start(0)).unwrap();
                file.write_all(content(letter).as_bytes()).unwrap();
            }
        });
        for _ in 0..8 {
            seen.push(told_of(&path, "x.csv"));
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    let changed =
        "error: x.csv changed while it was read; run again when nothing writes to it, or give a copy";
    let whole = "## sample (x.csv): CSV, 200000 rows, 2 columns";
    assert!(
        seen.iter().all(|told| told == changed || told == whole),
        "{seen:?}"
    );
    assert!(seen.iter().any(|told| told == changed), "{seen:?}");
}

/// Grows while it is read, or shrinks.
#[test]
fn a_file_that_grows_or_shrinks_is_an_error_or_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.csv");
    let is_over = std::sync::atomic::AtomicBool::new(false);
    fs::write(&path, rows(100_000)).unwrap();
    let mut seen = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let file = File::options().append(true).open(&path).unwrap();
            for round in 0_u64.. {
                if is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    break;
                }
                (&file).write_all(b"7,n7\n").unwrap();
                if round % 5_000 == 0 {
                    file.set_len(1_000_000).unwrap();
                }
            }
        });
        for _ in 0..4 {
            seen.push(told_of(&path, "x.csv"));
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert!(
        seen.iter()
            .any(|told| told.starts_with("error: x.csv changed while it was read")),
        "{seen:?}"
    );
}

#[test]
fn a_limit_that_is_met_is_named_with_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge.json");
    // One element of an array is held whole.
    fs::write(&path, format!("[[{}1]]", "1,".repeat(20_000_000))).unwrap();
    assert_eq!(
        told_of(&path, "huge.json"),
        "error: reading huge.json met the limit of 256 MiB of memory; give a part of it as the sample"
    );
}
