//! Programs as a model writes them: nothing is said of honest ones, which run; faulty ones are known at their line, most before they run.

use std::fs;
use std::path::Path;

use codegen_code_mode::arguments::{bind, check};
use codegen_code_mode::certain::{MODULES, certain_faults};
use codegen_code_mode::signature::Toolbox;
use codegen_interpreter::{Interpreter, Program, ReplyOutcome, WorkerCall, WorkerEvent};
use rstest::rstest;
use serde_json::Value;

use crate::fakes::answer;
use crate::support::{course, limits, pool, raise, run};

fn tools() -> Toolbox {
    Toolbox::new(serde_json::from_str(include_str!("tools.json")).unwrap()).unwrap()
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

/// Answers as the engine does: with an exception where the tool does not take the arguments.
fn held_to_its_schema(tools: &Toolbox, call: &WorkerCall) -> ReplyOutcome {
    let signature = tools.find(&call.name).unwrap();
    let keywords = call.kwargs.clone().into_iter().collect();
    let taken = bind(signature, call.args.clone(), keywords)
        .and_then(|arguments| check(&call.name, &signature.tool.parameters, &Value::Object(arguments)));
    match taken {
        Ok(()) => answer(call),
        Err(error) => raise(error.kind(), &error.to_string()),
    }
}

async fn end(pool: &Interpreter, tools: &Toolbox, code: String) -> WorkerEvent {
    let program = Program {
        code,
        functions: tools.names(),
        limits: limits(),
    };
    let answer = |call: &WorkerCall| held_to_its_schema(tools, call);
    course(pool, program, answer).await.unwrap().end
}

#[tokio::test]
async fn nothing_is_said_of_an_honest_program_and_it_runs() {
    let (pool, tools) = (pool(), tools());
    let programs = programs("honest");
    assert!(programs.len() >= 57, "{}", programs.len());
    let mut problems = Vec::new();
    for (name, first, code) in programs {
        for found in certain_faults(&code, &tools) {
            problems.push(format!("{name}:{}: {}", found.line, found.message));
        }
        let expected: Value = serde_json::from_str(first.strip_prefix("# value: ").unwrap()).unwrap();
        match end(&pool, &tools, code).await {
            WorkerEvent::Finished(finished) if finished.value == Some(expected) => {}
            other => problems.push(format!("{name}: {other:?}")),
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

#[tokio::test]
async fn a_program_that_cannot_work_fails_at_its_line_and_most_before_they_run() {
    let (pool, tools) = (pool(), tools());
    let programs = programs("faulty");
    assert!(programs.len() >= 16, "{}", programs.len());
    let mut run = Vec::new();
    let mut problems = Vec::new();
    for (name, first, code) in programs {
        let expected: u32 = first.strip_prefix("# line: ").unwrap().parse().unwrap();
        let before = certain_faults(&code, &tools);
        let line = match before.first() {
            Some(found) => Some(found.line),
            None => match end(&pool, &tools, code).await {
                WorkerEvent::Raised(raised) => {
                    run.push(name.clone());
                    raised.line
                }
                other => panic!("{name}: {other:?}"),
            },
        };
        if line != Some(expected) {
            problems.push(format!("{name}: {line:?} instead of {expected}, {before:?}"));
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
    // What a value is only a run shows.
    assert_eq!(
        run,
        [
            "attribute_of_a_row",
            "list_of_numbers_for_a_text",
            "unknown_attribute",
            "unknown_key"
        ]
    );
}

#[rstest]
#[case::those_that_are_let_pass(&MODULES, true)]
#[case::others_of_python(
    &["calendar", "contextlib", "copy", "csv", "decimal", "enum", "fractions", "gc", "hashlib", "heapq", "io", "operator",
      "random", "statistics", "string", "textwrap", "time", "urllib", "uuid", "zoneinfo"],
    false
)]
#[tokio::test]
async fn the_interpreter_has_the_modules_that_are_let_pass_and_no_others(
    #[case] modules: &[&str],
    #[case] has: bool,
) {
    for module in modules {
        let code = format!(
            "try:\n    import {module}\n    found = True\nexcept ImportError:\n    found = False\nfound"
        );
        assert_eq!(run(&code).await.value(), has, "{module}");
    }
}
