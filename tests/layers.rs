//! Each module may use those before it in `src/lib.rs`, never one after it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests say what they expect"
)]

use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

const ORDER: [&str; 14] = [
    "api",
    "pipeline",
    "data",
    "egress",
    "model",
    "ledger",
    "registry",
    "package_index",
    "sandbox",
    "engine",
    "sources",
    "local",
    "controller",
    "cli",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn modules_used(source: &str) -> Vec<String> {
    let single = Regex::new(r"\bcrate::([a-z_]+)").unwrap();
    let group = Regex::new(r"\bcrate::\{([^}]*)").unwrap();
    let mut used: Vec<String> = single
        .captures_iter(source)
        .map(|found| found[1].to_owned())
        .collect();
    for found in group.captures_iter(source) {
        used.extend(
            found[1]
                .split(',')
                .map(|part| part.trim().split("::").next().unwrap_or_default().to_owned()),
        );
    }
    used
}

#[test]
fn the_library_declares_its_modules_in_order_of_dependency() {
    let library = fs::read_to_string(root().join("lib.rs")).unwrap();
    let declared: Vec<&str> = library
        .lines()
        .filter_map(|line| {
            line.strip_prefix("pub mod ")
                .and_then(|rest| rest.strip_suffix(';'))
        })
        .collect();
    assert_eq!(declared, ORDER);
}

#[test]
fn no_module_uses_one_below_it() {
    let mut downwards = Vec::new();
    for (rank, module) in ORDER.iter().enumerate() {
        let mut files = Vec::new();
        sources(&root().join(module), &mut files);
        assert!(!files.is_empty(), "{module} has no source");
        for file in files {
            let source = fs::read_to_string(&file).unwrap();
            for used in modules_used(&source) {
                let below = ORDER
                    .iter()
                    .position(|name| *name == used)
                    .is_some_and(|other| other > rank);
                if below {
                    downwards.push(format!("{} uses {used}", file.display()));
                }
            }
        }
    }
    assert!(downwards.is_empty(), "{downwards:#?}");
}

#[test]
fn decisions_do_no_input_or_output_and_read_no_clock() {
    let forbidden = Regex::new(
        r"\basync fn\b|\.await\b|\bstd::(fs|net|process|env)\b|\btokio::|\breqwest::|Timestamp::now|SystemTime::now|Instant::now",
    )
    .unwrap();
    for module in ["api", "pipeline"] {
        let mut files = Vec::new();
        sources(&root().join(module), &mut files);
        for file in files {
            let is_of_tests = |part: &std::ffi::OsStr| part == "tests" || part == "tests.rs";
            if file.iter().any(is_of_tests) {
                continue;
            }
            let source = fs::read_to_string(&file).unwrap();
            let code = source.split("#[cfg(test)]").next().unwrap_or_default();
            let found: Vec<&str> = forbidden.find_iter(code).map(|m| m.as_str()).collect();
            assert!(found.is_empty(), "{}: {found:?}", file.display());
        }
    }
}

#[test]
fn the_check_itself_sees_both_forms_of_import() {
    let used = modules_used("use crate::cli::x;\nuse crate::{api::y, engine};\nlet a = crate::local::run();");
    assert_eq!(used, ["cli", "local", "api", "engine"]);
}
