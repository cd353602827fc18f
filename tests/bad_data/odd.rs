//! The set of odd files in `odd/`, each beside an honest one that must not be told the same. A list there has a line for each file:
//! `path | what must be told | what must not`, parts between `&&`. What is told is the context without rows, what it leaves out
//! as `cut: ...`, and the schema module, of which parts begin with `schema: `.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use codegen_api::common::Exposure;
use codegen_data::context::render;
use codegen_data::exposure::{Exposed, ExposedJoins};
use codegen_data::profile::SampleProfile;
use codegen_data::schema::infer_all;
use codegen_data::schema::pandera::to_pandera;
use codegen_data::source::Source;
use codegen_data::worker::Response;

use crate::reading::{client, request};

/// A line of a list.
struct Odd {
    path: String,
    present: Vec<String>,
    absent: Vec<String>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad_data/odd")
}

fn parts(text: Option<&str>) -> Vec<String> {
    let parts = text.unwrap_or_default().split("&&").map(str::trim);
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

fn odd_files() -> Vec<Odd> {
    let mut lists: Vec<PathBuf> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "list"))
        .collect();
    lists.sort();
    let texts = lists.iter().map(|path| fs::read_to_string(path).unwrap());
    let lines: Vec<String> = texts
        .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    lines
        .iter()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
        .map(|line| {
            let mut fields = line.split(" | ");
            Odd {
                path: fields.next().unwrap().trim().to_owned(),
                present: parts(fields.next()),
                absent: parts(fields.next()),
            }
        })
        .collect()
}

/// All that is told of a file, but for rows.
fn description(profile: SampleProfile) -> String {
    let module = to_pandera(&infer_all(&profile, &[]), &[]);
    let exposed = [Exposed::new(profile, Exposure::Rows)];
    let context = render(&exposed, &ExposedJoins::default(), 50_000, 0);
    let mut text = context.text;
    for what in &context.cut {
        writeln!(text, "cut: {}", what.strip_prefix("sample: ").unwrap_or(what)).unwrap();
    }
    for line in module.lines() {
        writeln!(text, "schema: {line}").unwrap();
    }
    text
}

/// Whether a part is told: of the schema in a line of it, otherwise in the context.
fn is_present(text: &str, part: &str) -> bool {
    let (wanted, is_schema) = part
        .strip_prefix("schema: ")
        .map_or((part, false), |wanted| (wanted, true));
    text.lines()
        .filter(|line| line.starts_with("schema: ") == is_schema)
        .any(|line| line.contains(wanted))
}

#[tokio::test]
async fn each_odd_file_is_described_as_its_line_says() {
    let files = odd_files();
    let requests: Vec<_> = files
        .iter()
        .map(|odd| {
            let path = folder().join(&odd.path);
            let ending = odd.path.rsplit_once('.').unwrap().1;
            request(Source::path(&path), &format!("x.{ending}"))
        })
        .collect();
    let responses = client().run(&requests).await.unwrap();
    let mut faults = String::new();
    for (odd, response) in files.iter().zip(responses) {
        let text = match response {
            Ok(Response::Profile(profile)) => description(*profile),
            Ok(other) => panic!("{}: {other:?}", odd.path),
            Err(error) => format!("error: {error}"),
        };
        let lacking = odd.present.iter().filter(|part| !is_present(&text, part));
        let wrong = odd.absent.iter().filter(|part| is_present(&text, part));
        let found: Vec<String> = lacking
            .map(|part| format!("lacks {part:?}"))
            .chain(wrong.map(|part| format!("must not have {part:?}")))
            .collect();
        if !found.is_empty() {
            writeln!(faults, "== {}: {}\n{text}", odd.path, found.join(", ")).unwrap();
        }
    }
    assert!(faults.is_empty(), "{faults}");
}

#[test]
fn each_file_of_the_set_has_one_line_that_asks_for_something() {
    let files = odd_files();
    for odd in &files {
        assert!(
            !odd.present.is_empty(),
            "{}: say what must be told of it",
            odd.path
        );
    }
    let listed: BTreeSet<String> = files.iter().map(|odd| odd.path.clone()).collect();
    assert_eq!(listed.len(), files.len(), "a file has two lines");
    let mut present = BTreeSet::new();
    for entry in fs::read_dir(folder()).unwrap() {
        let group = entry.unwrap().path();
        if group.is_dir() {
            let names = fs::read_dir(&group).unwrap().map(|entry| entry.unwrap().path());
            present.extend(names.map(|path| {
                let path = path.strip_prefix(folder()).unwrap();
                path.to_str().unwrap().to_owned()
            }));
        }
    }
    assert_eq!(present, listed);
    // Those whose format is what is odd are described in `crates/data/src/tests/formats.rs`.
    let formats = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/data/src/testdata/formats");
    let formats = fs::read_dir(formats).unwrap().map(|entry| entry.unwrap().path());
    let formats = formats.filter(|path| path.extension().is_some_and(|ending| ending != "py"));
    let count = listed.len() + formats.count();
    assert!(count >= 120, "{count} files");
}
