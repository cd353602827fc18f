//! Programs as a model writes them: honest ones are checked without a remark and run, others are refused at their line.

use std::fs;
use std::path::Path;

use codegen_interpreter::{Pool, Program, Settings};
use serde_json::Value;

use crate::fakes::answer;
use crate::support::{course, limits, settings};

const STUBS: &str = include_str!("tools.pyi");

fn pool() -> Pool {
    Pool::new(Settings {
        check_time: std::time::Duration::from_mins(1),
        ..settings()
    })
}

/// Name, expectation of the first line, and source of each program in a folder.
fn programs(folder: &str) -> Vec<(String, String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let read = |path: &Path| {
        let source = fs::read_to_string(path).unwrap();
        let first = source.lines().next().unwrap().to_owned();
        (
            path.file_stem().unwrap().to_str().unwrap().to_owned(),
            first,
            source,
        )
    };
    let mut found: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| read(&entry.unwrap().path()))
        .collect();
    found.sort();
    found
}

fn tools() -> Vec<String> {
    let after = STUBS.lines().filter_map(|line| line.strip_prefix("async def "));
    after
        .map(|rest| rest.split('(').next().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn an_honest_program_passes_the_check_and_runs() {
    let pool = pool();
    let programs = programs("honest");
    assert!(programs.len() >= 30, "{}", programs.len());
    let mut problems = Vec::new();
    for (name, first, code) in programs {
        for found in pool.check(code.clone(), STUBS.to_owned()).await.unwrap() {
            problems.push(format!(
                "{name}:{}: [{}] {}",
                found.line, found.rule, found.message
            ));
        }
        let expected: Value = serde_json::from_str(first.strip_prefix("# value: ").unwrap()).unwrap();
        let program = Program {
            code,
            functions: tools(),
            limits: limits(),
        };
        let end = course(&pool, program, answer).await.unwrap().end;
        match end {
            codegen_interpreter::Event::Finished(finished) if finished.value == Some(expected) => {}
            other => problems.push(format!("{name}: {other:?}")),
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

#[tokio::test]
async fn a_program_that_cannot_work_is_refused_at_its_line() {
    let pool = pool();
    let programs = programs("faulty");
    assert!(programs.len() >= 10, "{}", programs.len());
    let mut problems = Vec::new();
    for (name, first, code) in programs {
        let expected: u32 = first.strip_prefix("# line: ").unwrap().parse().unwrap();
        let found = pool.check(code, STUBS.to_owned()).await.unwrap();
        if found.first().map(|found| found.line) != Some(expected) {
            problems.push(format!("{name}: {expected} is not in {found:#?}"));
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

#[tokio::test]
async fn syntax_that_the_interpreter_has_not_is_found_by_the_check() {
    let code = "x = await stock()\nclass A(dict): pass\n";
    let found = pool().check(code.to_owned(), STUBS.to_owned()).await.unwrap();
    assert_eq!(
        (found.len(), found[0].line, found[0].rule.as_str()),
        (1, 2, "unsupported-syntax")
    );
}

#[tokio::test]
async fn a_check_shows_nothing_of_the_program_before_it() {
    let pool = pool();
    let stubs = "async def secret_tool(x: int) -> int: ...\n";
    assert_eq!(
        pool.check("await secret_tool(1)".to_owned(), stubs.to_owned())
            .await
            .unwrap(),
        []
    );
    let found = pool
        .check("await secret_tool(1)".to_owned(), STUBS.to_owned())
        .await
        .unwrap();
    assert_eq!(
        (found.len(), found[0].rule.as_str(), found[0].line),
        (1, "unresolved-reference", 1)
    );
    let found = pool
        .check("import codegen_tools, program".to_owned(), String::new())
        .await
        .unwrap();
    assert!(
        found.iter().all(|found| !found.message.contains("secret")),
        "{found:#?}"
    );
}

#[tokio::test]
async fn a_program_that_is_hard_to_check_is_checked_or_refused() {
    let pool = pool();
    for code in [
        "[".repeat(50_000),
        format!("x = 0{}", " + 1".repeat(20_000)),
        "x = 1\n".repeat(1_000),
        "def f(".repeat(2_000),
    ] {
        // Whether there are diagnostics or the worker had to end, the next check works.
        let _ = pool.check(code, STUBS.to_owned()).await;
        assert_eq!(
            pool.check("1 + 1".to_owned(), STUBS.to_owned()).await.unwrap(),
            []
        );
    }
}
