//! Files that hold more than their bytes say.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;

use codegen_data::source::Source;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::reading::{client, context_of_bomb, noise, parquet, request, rows, run, table, wide};

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
fn a_gzip_bomb_is_reported_and_not_unpacked() {
    let packed = bomb(10);
    assert_eq!(
        context_of_bomb(&packed, "x.csv.gz"),
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
    let replies = run(client().run(&requests)).unwrap();
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
