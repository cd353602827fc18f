//! Whole tasks, from the first call to the end.

use rstest::rstest;
use serde_json::json;

use crate::event::Event;
use crate::test_support::{
    Script, World, code, diagnosis, failure, fixed_count, fixed_test, one_logic_bug, plan, splits, tests,
};
use codegen_api::common::{CacheMode, TestingMode};
use codegen_api::publish::Publish;
use codegen_api::status::ErrorType;
use codegen_core::call::{CallKind, FinishReason, Request};
use codegen_core::lock::Lock;
use codegen_core::progress::{Progress, WaitReason};
use codegen_core::sandbox::TestFailure;
use codegen_core::stage::{Category, Stage, StopReason};
use codegen_core::task::Task;
use codegen_core::test_support::task;
use codegen_core::verdict::OutputTooLarge;
use codegen_ledger::{MemoryStore, Store as _};
use codegen_model::ModelError;

mod waits;

#[tokio::test]
async fn a_program_that_is_right_at_once_costs_three_calls() {
    let script = Script::new()
        .with(CallKind::Plan, &plan())
        .with(CallKind::Code, &code("return len(text.split())"))
        .with(CallKind::Tests, &tests(2));
    let world = World::new(task(), script, splits);
    let progress = world.end().await;
    assert_eq!(progress.stage, Stage::Succeeded, "{progress:#?}");
    assert_eq!(world.kinds(), [CallKind::Plan, CallKind::Code, CallKind::Tests]);
    assert_eq!(progress.spent.tokens.input, 300);
}

#[tokio::test]
async fn a_logic_bug_costs_a_diagnosis_and_a_fix() {
    let world = World::new(task(), one_logic_bug(), splits);
    let progress = world.end().await;
    assert_eq!(
        (progress.stage, progress.attempt),
        (Stage::Succeeded, 2),
        "{progress:#?}"
    );
    assert_eq!(world.script.calls(), 5);
}

#[tokio::test]
async fn a_wrong_test_costs_a_diagnosis_and_a_fix() {
    let script = Script::new()
        .with(CallKind::Plan, &plan())
        .with(CallKind::Code, &code("return len(text.split())"))
        .with(CallKind::Tests, &tests(3))
        .with(
            CallKind::Diagnosis,
            &diagnosis("test_error", &["test_counts"], &[]),
        )
        .with(CallKind::FixTests, &fixed_test(2));
    let world = World::new(task(), script, splits);
    let progress = world.end().await;
    assert_eq!(
        (progress.stage, world.script.calls()),
        (Stage::Succeeded, 5),
        "{progress:#?}"
    );
}

fn needs_six(_: &str, _: &str, installed: &[String]) -> Vec<TestFailure> {
    if installed.iter().any(|name| name == "hidden-package") {
        return Vec::new();
    }
    vec![failure(
        "test_solution.py",
        "ModuleNotFoundError",
        "No module named 'hidden_plugin'",
    )]
}

#[tokio::test]
async fn a_missing_package_is_added_without_a_call_after_its_diagnosis() {
    let script = Script::new()
        .with(CallKind::Plan, &plan())
        .with(CallKind::Code, &code("return len(text.split())"))
        .with(CallKind::Tests, &tests(2))
        .with(
            CallKind::Diagnosis,
            &diagnosis("environment", &[], &["hidden-package"]),
        );
    let world = World::new(task(), script, needs_six);
    let progress = world.end().await;
    assert_eq!(
        (progress.stage, world.script.calls()),
        (Stage::Succeeded, 4),
        "{progress:#?}"
    );
    assert_eq!(progress.attempts[1].packages_added, ["hidden-package"]);
}

#[tokio::test]
async fn a_package_that_does_not_exist_is_replaced_in_one_call() {
    let mut first = code("return len(text.split())");
    first["packages"] = json!(["hiden-package"]);
    let script = Script::new()
        .with(CallKind::Plan, &plan())
        .with(CallKind::Code, &first)
        .with(CallKind::Tests, &tests(2))
        .with(
            CallKind::FixEnvironment,
            &json!({"replacements": [{"manager": "pip", "name": "hiden-package", "replacement": "hidden-package"}]}),
        );
    let mut world = World::new(task(), script, needs_six);
    world.sandbox.unknown = vec!["hiden-package".into()];
    let progress = world.end().await;
    assert_eq!(
        (progress.stage, world.script.calls(), progress.attempt),
        (Stage::Succeeded, 4, 1),
        "{progress:#?}"
    );
}

#[tokio::test]
async fn constraints_cost_one_call_however_many_they_are() {
    let row = |number: usize| json!({"constraint": number, "column": "", "kind": "none", "arguments": []});
    let script = one_logic_bug().with(
        CallKind::Constraints,
        &json!({"checks": [row(0), row(1), row(2)]}),
    );
    let constraints = vec!["a".into(), "b".into(), "c".into()];
    let world = World::new(
        Task {
            constraints,
            ..task()
        },
        script,
        splits,
    );
    let progress = world.end().await;
    assert_eq!((progress.stage, world.script.calls()), (Stage::Succeeded, 6));
    assert_eq!(progress.constraints.len(), 3);
}

#[tokio::test]
async fn a_model_that_never_fixes_anything_is_stopped_within_twelve_calls() {
    let script = one_logic_bug();
    let stubborn = Script::new()
        .with(CallKind::Plan, &plan())
        .with(CallKind::Code, &code("return len(text)"))
        .with(CallKind::Tests, &tests(2))
        .with(CallKind::Diagnosis, &diagnosis("logic", &["count"], &[]))
        .with(CallKind::FixCode, &fixed_count("return len(text)"));
    drop(script);
    let world = World::new(task(), stubborn, splits);
    let progress = world.end().await;
    assert_eq!(
        progress.stop.as_ref().unwrap().reason,
        StopReason::NoProgress,
        "{progress:#?}"
    );
    assert!(world.script.calls() <= 12, "{}", world.script.calls());
}

#[tokio::test]
async fn a_model_whose_every_fix_misses_is_stopped_within_twelve_calls() {
    let mut script = Script::new()
        .with(CallKind::Plan, &plan())
        .with(CallKind::Code, &code("return len(text)"))
        .with(CallKind::Tests, &tests(2))
        .with(CallKind::Diagnosis, &diagnosis("logic", &["count"], &[]));
    for number in 1..9 {
        script = script
            .with(CallKind::FixCode, &fixed_count(&format!("return len(text) + {number} - {number}")))
            .with(CallKind::FixTests, &json!({"code": format!(
                "def test_counts():\n    \"\"\"Try {number}.\"\"\"\n    assert solution.count(\"a b\") == 2\n"
            )}));
    }
    let world = World::new(task(), script, splits);
    let progress = world.end().await;
    assert_eq!(
        progress.stop.as_ref().unwrap().reason,
        StopReason::NoProgress,
        "{progress:#?}"
    );
    assert!(world.script.calls() <= 12, "{}", world.script.calls());
    assert!(
        world
            .watcher
            .0
            .lock()
            .unwrap()
            .iter()
            .any(|event| matches!(event, Event::Diagnosed { failures, .. }
            if failures[0].reclassified_from == Some(ErrorType::Logic))),
        "it was tried on both sides"
    );
}

#[rstest]
#[case::prose("Sure, here is the plan!", FinishReason::Complete)]
#[case::cut("{\"description\": \"Coun", FinishReason::Length)]
#[case::other_shape("{\"steps\": []}", FinishReason::Complete)]
#[case::fenced("```json\n{}\n```", FinishReason::Complete)]
#[tokio::test]
async fn a_faulty_reply_of_any_kind_is_asked_for_again_with_the_reason(
    #[case] text: &str,
    #[case] finish: FinishReason,
    #[values(
        CallKind::Plan,
        CallKind::Code,
        CallKind::Tests,
        CallKind::Diagnosis,
        CallKind::FixCode
    )]
    kind: CallKind,
) {
    let faulty = Script::new().with_text(kind, text, finish);
    let mut script = faulty;
    for (other, reply) in [
        (CallKind::Plan, plan()),
        (CallKind::Code, code("return len(text)")),
        (CallKind::Tests, tests(2)),
        (CallKind::Diagnosis, diagnosis("logic", &["count"], &[])),
        (CallKind::FixCode, fixed_count("return len(text.split())")),
    ] {
        script = script.with(other, &reply);
    }
    let world = World::new(task(), script, splits);
    let progress = world.end().await;
    assert_eq!(
        (progress.stage, world.script.calls()),
        (Stage::Succeeded, 6),
        "{progress:#?}"
    );
    let requests = world.script.requests.lock().unwrap();
    let again = requests
        .iter()
        .filter(|request| request.kind == kind)
        .nth(1)
        .unwrap();
    assert!(
        again.instruction.contains("your last answer could not be used"),
        "{}",
        again.instruction
    );
}

#[tokio::test]
async fn code_inside_a_fence_is_asked_for_again() {
    let fenced = json!({"code": "```python\ndef count(text):\n    return 1\n```", "packages": [], "systemPackages": []});
    let script = Script::new()
        .with(CallKind::Plan, &plan())
        .with(CallKind::Code, &fenced)
        .with(CallKind::Code, &code("return len(text.split())"))
        .with(CallKind::Tests, &tests(2));
    let world = World::new(task(), script, splits);
    assert_eq!(
        (world.end().await.stage, world.script.calls()),
        (Stage::Succeeded, 4)
    );
}

/// Two functions, of which each fix mends one: what is not right yet fails.
fn two_faults(solution: &str, _tests: &str, _installed: &[String]) -> Vec<TestFailure> {
    let faults = [("split()", "test_counts"), ("strip()", "test_trims")];
    let fails = faults.iter().filter(|(mended, _)| !solution.contains(mended));
    fails
        .map(|(_, test)| {
            failure(
                &format!("test_solution.py::{test}"),
                "AssertionError",
                "assert 1 == 2",
            )
        })
        .collect()
}

#[tokio::test]
async fn a_diagnosis_that_leaves_out_a_failure_is_taken_and_the_other_is_asked_about_next() {
    let script = Script::new()
        .with(CallKind::Plan, &plan())
        .with(CallKind::Code, &code("return len(text)"))
        .with(CallKind::Tests, &tests(2))
        .with(CallKind::Diagnosis, &diagnosis("logic", &["count"], &[]))
        .with(CallKind::FixCode, &fixed_count("return len(text.split())"))
        .with(CallKind::Diagnosis, &diagnosis("logic", &["count"], &[]))
        .with(
            CallKind::FixCode,
            &fixed_count("return len(text.strip().split())"),
        );
    let world = World::new(task(), script, two_faults);
    let progress = world.end().await;
    assert_eq!(
        (progress.stage, world.script.calls()),
        (Stage::Succeeded, 7),
        "{progress:#?}"
    );
    let requests = world.script.requests.lock().unwrap();
    let asked: Vec<bool> = requests
        .iter()
        .filter(|request| request.kind == CallKind::Diagnosis)
        .map(|request| request.user_message().contains("test_trims"))
        .collect();
    assert_eq!(asked, [true, true]);
}

#[tokio::test]
async fn skipped_tests_cost_no_test_call() {
    let script = Script::new()
        .with(CallKind::Plan, &plan())
        .with(CallKind::Code, &code("return len(text.split())"));
    let world = World::new(
        Task {
            testing: TestingMode::Skip,
            ..task()
        },
        script,
        splits,
    );
    let progress = world.end().await;
    assert_eq!(
        (progress.stage, world.script.calls()),
        (Stage::Succeeded, 2),
        "{progress:#?}"
    );
    assert!(progress.attempts[0].tests.is_none());
}

#[tokio::test]
async fn of_failing_acceptance_tests_the_model_learns_the_count_and_nothing_else() {
    let script = Script::new()
        .with(CallKind::Plan, &plan())
        .with(CallKind::Code, &code("return len(text.split())"))
        .with(CallKind::Tests, &tests(2))
        .with(CallKind::FixCode, &fixed_count("return len(text.split()) or 0"));
    let mut world = World::new(task(), script, splits);
    world.surroundings.acceptance_tests = Some("def test_hidden():\n    assert 'hidden 4711'\n".into());
    world.sandbox.acceptance_passes = |solution| solution.contains("or 0");
    let progress = world.end().await;
    assert_eq!(
        (progress.stage, world.script.calls()),
        (Stage::Succeeded, 4),
        "{progress:#?}"
    );
    let requests = world.script.requests.lock().unwrap();
    assert!(
        requests
            .last()
            .unwrap()
            .instruction
            .contains("1 of 1 acceptance tests fail")
    );
    let all: String = requests.iter().map(Request::user_message).collect();
    assert!(!all.contains("hidden") && !all.contains("4711"));
}

#[tokio::test]
async fn a_call_that_may_have_been_billed_is_charged_by_its_estimate() {
    let error = ModelError::CutReply {
        endpoint: "http://127.0.0.1:1".into(),
        detail: "cut".into(),
    };
    let world = World::new(task(), Script::new().with_error(CallKind::Plan, error), splits);
    let progress = world.end().await;
    let spent = progress.spent;
    assert_eq!((spent.model_calls, spent.lost_calls), (1, 1));
    assert!(spent.tokens.input > 16_000, "{spent:?}");
    assert_eq!(spent.lost_tokens, spent.tokens.input);
    let message = progress.waiting.unwrap().message;
    assert!(message.contains("may bill this call"), "{message}");
}

#[tokio::test]
async fn the_schema_and_the_constraints_stand_verbatim_in_every_prompt() {
    let row = json!({"constraint": 0, "column": "", "kind": "none", "arguments": []});
    let script = one_logic_bug().with(CallKind::Constraints, &json!({"checks": [row]}));
    let schema = "{\n  \"word\": str,   # {{ not a template }}\n}".to_owned();
    let task = Task {
        constraints: vec!["<b> is \"5\" & more".into()],
        schema: Some(schema.clone()),
        ..task()
    };
    let world = World::new(task, script, splits);
    world.end().await;
    for request in world.script.requests.lock().unwrap().iter() {
        assert!(
            request.prefix.contains(&schema) && request.prefix.contains("<b> is \"5\" & more"),
            "{}",
            request.kind
        );
    }
}
