//! Programs that take more than they may.

use std::time::{Duration, Instant};

use codegen_interpreter::{Program, ReplyOutcome, WorkerLimits};
use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{double, limits, program, raise, run, run_with};

const MIB: usize = 1024 * 1024;

fn bounded(code: &str, limits: WorkerLimits) -> Program {
    Program {
        limits,
        ..program(code)
    }
}

fn in_time(code: &str, time_ms: u64) -> Program {
    bounded(code, WorkerLimits { time_ms, ..limits() })
}

#[tokio::test]
async fn a_loop_without_end_ends_with_a_timeout_that_nothing_in_it_catches() {
    let code = "while True:\n    try:\n        while True: pass\n    except BaseException:\n        pass";
    let raised = run_with(in_time(code, 200), double).await.raised();
    assert_eq!(raised.kind, "TimeoutError");
    assert!(raised.message.contains("200ms"), "{}", raised.message);
}

#[tokio::test]
async fn the_time_that_a_tool_takes_does_not_count() {
    let course = run_with(in_time("await a(1)", 2_000), |call| {
        let started = Instant::now();
        while started.elapsed() < Duration::from_millis(2_500) {
            std::hint::spin_loop();
        }
        double(call)
    });
    assert_eq!(course.await.value(), json!(2));
}

#[tokio::test]
async fn a_string_of_a_thousand_million_characters_is_refused_at_its_line() {
    let raised = run("x = 1\ny = 'a' * 10**9").await.raised();
    assert_eq!((raised.kind.as_str(), raised.line), ("MemoryError", Some(2)));
}

#[tokio::test]
async fn values_that_grow_without_end_end_with_a_memory_error() {
    for code in [
        "x = []\nwhile True: x.append('abc' * 10)",
        "x = {}\ni = 0\nwhile True:\n    i += 1\n    x[str(i)] = [i]",
        "x = 'a'\nwhile True: x += x",
    ] {
        assert_eq!(run(code).await.raised().kind, "MemoryError", "{code}");
    }
}

#[tokio::test]
async fn recursion_ends_with_an_exception_that_the_program_can_catch() {
    let course =
        run("def f(n): return f(n + 1)\ntry:\n    f(0)\nexcept RecursionError as e:\n    r = str(e)\nr")
            .await;
    assert_eq!(course.value(), json!("maximum recursion depth exceeded"));
    let raised = run("def f(n): return f(n + 1)\nf(0)").await.raised();
    assert_eq!((raised.kind.as_str(), raised.line), ("RecursionError", Some(1)));
}

#[rstest]
#[case::time("for i in range(300_000): pass\n7", WorkerLimits { time_ms: 1, ..limits() }, "TimeoutError")]
#[case::memory("x = []\nfor i in range(50_000): x.append(str(i))\n7", WorkerLimits { memory_bytes: 1024 * 1024, ..limits() }, "MemoryError")]
#[case::depth("def f(n): return n and f(n - 1)\nf(200)\n7", WorkerLimits { recursion: 100, ..limits() }, "RecursionError")]
#[tokio::test]
async fn past_a_limit_that_is_wider_the_same_program_goes_on(
    #[case] code: &str,
    #[case] narrow: WorkerLimits,
    #[case] kind: &str,
) {
    assert_eq!(run_with(bounded(code, narrow), double).await.raised().kind, kind);
    assert_eq!(run_with(bounded(code, limits()), double).await.value(), json!(7));
}

#[tokio::test]
async fn what_is_printed_past_the_bound_is_cut_and_counted() {
    let code = "for i in range(100000): print('0123456789')\n'done'";
    let finished = run(code).await.finished();
    assert_eq!(finished.value, Some(json!("done")));
    let (shown, note) = finished.printed.split_at(64 * 1024);
    assert!(shown.starts_with("0123456789\n"));
    assert_eq!(note, "\n[1034464 more bytes were printed and are not shown]");
}

#[tokio::test]
async fn what_was_printed_before_an_exception_is_there() {
    assert_eq!(run("print('before')\n1 / 0").await.raised().printed, "before\n");
}

#[tokio::test]
async fn a_huge_int_is_described_and_never_formatted() {
    let finished = run("2 ** 10_000_000").await.finished();
    assert_eq!(
        (finished.value, finished.text.as_str()),
        (None, "an int of 10000001 bits")
    );
    let finished = run("[2 ** 10_000_000]").await.finished();
    assert_eq!(finished.text, "a list that holds an int of more than 4300 digits");
}

#[tokio::test]
async fn a_final_value_that_is_too_large_is_its_text_cut() {
    let small = WorkerLimits {
        value_bytes: 1000,
        ..limits()
    };
    let finished = run_with(bounded("'é' * 100_000", small), double).await.finished();
    assert_eq!(finished.value, None);
    assert!(finished.text.len() <= 64 * 1024 + 3 && finished.text.ends_with("é..."));
}

#[tokio::test]
async fn a_reply_of_a_hundred_megabytes_is_an_exception_that_the_program_can_catch() {
    let code = "try:\n    await a(1)\nexcept ValueError as e:\n    r = str(e)\nr";
    let reply = Value::String("x".repeat(100 * MIB));
    let course = run_with(program(code), |_| ReplyOutcome::Return(reply.clone())).await;
    let message = course.value();
    assert!(
        message
            .as_str()
            .unwrap()
            .starts_with("the reply of a has 104857602 bytes"),
        "{message}"
    );
}

#[tokio::test]
async fn a_reply_that_has_no_room_in_memory_ends_the_program_at_its_line() {
    // A byte or two of JSON for each number, and much more of each object.
    let reply = Value::Array(vec![json!(1); 4_000_000]);
    let raised = run_with(program("x = 1\nawait a(1)"), |_| {
        ReplyOutcome::Return(reply.clone())
    })
    .await
    .raised();
    assert_eq!((raised.kind.as_str(), raised.line), ("MemoryError", Some(2)));
}

#[tokio::test]
async fn arguments_that_are_too_large_raise_in_the_program() {
    let small = WorkerLimits {
        value_bytes: 1000,
        ..limits()
    };
    let code = "import asyncio
problems = []
for text in ['x' * 2000, '\\n' * 600]:
    try:
        await a(text)
    except ValueError as e:
        problems.append(str(e))
try:
    await asyncio.gather(*[b('x' * 400) for _ in range(3)])
except ValueError as e:
    problems.append(str(e))
problems";
    let course = run_with(bounded(code, small), |_| ReplyOutcome::Return(json!(1))).await;
    assert_eq!(course.calls().len(), 1);
    assert_eq!(course.calls()[0].len(), 2);
    let problems = course.value();
    assert_eq!(problems[0], "a(): argument 1: it has more than 1000 bytes");
    assert_eq!(problems[1], problems[0]);
    assert!(
        problems[2].as_str().unwrap().contains("await fewer at once"),
        "{problems}"
    );
}

#[tokio::test]
async fn a_value_that_nests_too_deep_is_refused_as_argument_and_has_no_json() {
    let deep = "x = []\nfor _ in range(150): x = [x]\n";
    assert_eq!(run(&format!("{deep}x")).await.finished().value, None);
    let raised = run(&format!("{deep}await a(x)")).await.raised();
    assert!(raised.message.contains("100 levels"), "{}", raised.message);
}

#[tokio::test]
async fn a_reply_that_nests_too_deep_raises_in_the_program() {
    let deep = (0..150).fold(json!(1), |inner, _| json!([inner]));
    let code = "try:\n    await a(1)\nexcept ValueError as e:\n    r = str(e)\nr";
    let message = run_with(program(code), |_| ReplyOutcome::Return(deep.clone()))
        .await
        .value();
    assert!(message.as_str().unwrap().contains("levels"), "{message}");
}

#[tokio::test]
async fn a_long_message_is_cut_on_its_way_out_and_in() {
    let raised = run("raise ValueError('m' * 1_000_000)").await.raised();
    assert!(raised.message.len() < 20_000 && raised.traceback.len() < 20_000);
    let long = "m".repeat(MIB);
    let raised = run_with(program("await a(1)"), |_| raise("ValueError", &long))
        .await
        .raised();
    assert!(raised.message.len() < 20_000);
}
