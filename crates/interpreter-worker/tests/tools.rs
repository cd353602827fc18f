//! Calls of tools: order, numbers, exceptions, calls that nobody awaits.

use codegen_interpreter::{Program, ReplyOutcome};
use rstest::rstest;
use serde_json::json;

use crate::support::{course, double, pool, program, raise, run, run_with};

#[tokio::test]
async fn calls_that_are_awaited_together_go_out_together_in_their_order() {
    let course = run("import asyncio\nawait asyncio.gather(b(1), a(2), b(3))").await;
    assert_eq!(course.calls(), [["0 b(1)", "1 a(2)", "2 b(3)"]]);
    assert_eq!(course.value(), json!([2, 4, 6]));
}

#[tokio::test]
async fn calls_that_are_awaited_one_after_another_go_out_alone() {
    let course = run("x = await a(1)\ny = await b(x)\n[x, y]").await;
    assert_eq!(course.calls(), [["0 a(1)"], ["1 b(2)"]]);
    assert_eq!(course.value(), json!([2, 4]));
}

#[tokio::test]
async fn concurrent_functions_of_the_program_are_answered_batch_by_batch() {
    let code = "import asyncio
async def chain(n):
    return await b(await a(n))
await asyncio.gather(chain(1), chain(10))";
    let course = run(code).await;
    assert_eq!(course.calls(), [["0 a(1)", "1 a(10)"], ["2 b(20)", "3 b(2)"]]);
    assert_eq!(course.value(), json!([4, 40]));
}

#[tokio::test]
async fn the_same_program_with_the_same_outcomes_makes_the_same_calls() {
    let code = "import asyncio
seen = {'x', 'y', 'z', 'w'}
rows = await asyncio.gather(*[a(hash(name) % 1000) for name in seen])
await b(sum(rows))
sorted(rows)";
    let first = run(code).await;
    assert_eq!(first.batches[0].len(), 4);
    assert_eq!(first, run(code).await);
}

#[tokio::test]
async fn arguments_by_name_arrive_by_name() {
    let code = "from datetime import date\nawait a(1, on=date(2026, 1, 2), tags=('x', None), empty={})";
    let course = run(code).await;
    let call = &course.batches[0][0];
    assert_eq!(call.args, [json!(1)]);
    assert_eq!(
        json!(call.kwargs),
        json!({"on": "2026-01-02", "tags": ["x", null], "empty": {}})
    );
}

#[tokio::test]
async fn a_call_that_is_never_awaited_is_never_sent_and_named_at_the_end() {
    let course = run("a(1)\nawait b(2)").await;
    assert_eq!(course.calls(), [["0 b(2)"]]);
    let raised = course.raised();
    assert_eq!(raised.kind, "RuntimeWarning");
    assert_eq!(
        raised.message,
        "call of a was never awaited; write `await a(...)`"
    );
}

#[tokio::test]
async fn a_call_that_was_not_awaited_explains_the_exception_that_it_caused() {
    let raised = run("x = a(1)\nx + 1").await.raised();
    assert_eq!((raised.kind.as_str(), raised.line), ("TypeError", Some(2)));
    assert!(
        raised.message.ends_with("write `await a(...)`)"),
        "{}",
        raised.message
    );
}

#[tokio::test]
async fn a_main_function_that_is_not_awaited_is_no_success() {
    let raised = run("async def main():\n    return 1\nmain()").await.raised();
    assert_eq!(
        raised.message,
        "call of main was never awaited; write `await main(...)`"
    );
}

#[tokio::test]
async fn a_coroutine_is_awaited_once() {
    let raised = run("x = a(1)\nawait x\nawait x").await.raised();
    assert_eq!((raised.kind.as_str(), raised.line), ("RuntimeError", Some(3)));
}

#[rstest]
#[case::own("ValueError", "ValueError", "no")]
#[case::key("KeyError", "KeyError", "no")]
#[case::base("TypeError", "Exception", "no")]
#[case::timeout("TimeoutError", "TimeoutError", "no")]
#[case::permission("PermissionError", "PermissionError", "no")]
#[case::derived("ConnectionError", "ConnectionError", "ConnectionError: no")]
#[case::derived_from("ConnectionError", "OSError", "ConnectionError: no")]
#[case::unknown("RateLimited", "RuntimeError", "RateLimited: no")]
#[case::not_for_tools("SystemExit", "RuntimeError", "SystemExit: no")]
#[tokio::test]
async fn a_tools_error_is_an_exception_that_the_program_can_catch(
    #[case] kind: &str,
    #[case] caught: &str,
    #[case] message: &str,
) {
    let code = format!("try:\n    await a(1)\nexcept {caught} as e:\n    r = e.args[0]\nr");
    assert_eq!(
        run_with(program(&code), |_| raise(kind, "no")).await.value(),
        json!(message)
    );
}

#[tokio::test]
async fn a_tools_error_that_nobody_catches_names_the_line_of_the_call() {
    let raised = run_with(program("x = 1\n\nawait a(x)"), |_| {
        raise("ConnectionError", "away")
    })
    .await
    .raised();
    assert_eq!((raised.kind.as_str(), raised.line), ("OSError", Some(3)));
    assert_eq!(raised.message, "ConnectionError: away");
}

#[tokio::test]
async fn an_error_beside_others_that_nobody_catches_ends_the_program() {
    let code = "import asyncio\ntry:\n    await asyncio.gather(a(1), a(2))\nexcept ValueError as e:\n    r = str(e)\nr";
    let course = run_with(program(code), |call| {
        if call.id == 1 {
            raise("ValueError", "no")
        } else {
            double(call)
        }
    });
    assert_eq!(course.await.value(), json!("no"));
}

#[tokio::test]
async fn the_other_outcomes_of_a_batch_are_not_lost_by_one_error() {
    let code = "import asyncio
async def safe(n):
    try:
        return await a(n)
    except ValueError:
        return None
await asyncio.gather(safe(1), safe(2), safe(3))";
    let course = run_with(program(code), |call| {
        if call.id == 1 {
            raise("ValueError", "no")
        } else {
            double(call)
        }
    });
    assert_eq!(course.await.value(), json!([2, null, 6]));
}

#[tokio::test]
async fn a_tool_that_the_program_was_not_given_does_not_exist() {
    let raised = run("await refund(1)").await.raised();
    assert_eq!(raised.message, "name 'refund' is not defined");
    for code in [
        "__codegen_record('refund', (), {})",
        "__codegen_wait(0)",
        "__codegen_raise(0)",
        "a.__globals__",
    ] {
        let course = run(code).await;
        assert!(course.batches.is_empty(), "{code}");
        course.raised();
    }
}

#[tokio::test]
async fn a_function_of_the_program_may_have_the_name_of_a_tool() {
    assert_eq!(run("def a(n): return n * 100\na(3)").await.value(), json!(300));
}

#[tokio::test]
async fn a_thousand_calls_at_once_are_one_batch() {
    let code = "import asyncio\nsum(await asyncio.gather(*[a(n) for n in range(1000)]))";
    let course = run(code).await;
    assert_eq!(course.batches.len(), 1);
    assert_eq!(course.value(), json!(999_000));
}

#[tokio::test]
async fn a_program_with_no_tools_runs() {
    let bare = Program {
        functions: Vec::new(),
        ..program("1 + 1")
    };
    assert_eq!(run_with(bare, double).await.value(), json!(2));
}

#[tokio::test]
async fn many_programs_run_at_once() {
    let pool = pool();
    let runs = (0..50).map(|n| {
        let pool = pool.clone();
        tokio::spawn(async move { course(&pool, program(&format!("await a({n})")), double).await })
    });
    for (n, run) in runs.collect::<Vec<_>>().into_iter().enumerate() {
        assert_eq!(run.await.unwrap().unwrap().value(), json!(n * 2));
    }
}

#[tokio::test]
async fn a_reply_is_the_value_that_json_has() {
    let reply = json!({"a": [1, 2.5, -3, 1e300, true, null, "é\u{0}\""], "b": {}, "": 18_446_744_073_709_551_615_u64});
    let code = "r = await a(1)\nr['big'] = r.pop('') - 18446744073709551615\nr";
    let course = run_with(program(code), |_| ReplyOutcome::Return(reply.clone())).await;
    let expected = json!({"a": reply["a"], "b": {}, "big": 0});
    assert_eq!(course.value(), expected);
}
