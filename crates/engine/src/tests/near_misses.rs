//! Tasks whose cases are held against near misses of the program that passed.

use serde_json::{Value, json};

use crate::test_support::{Script, World, code, diagnosis, fixed_count, tests};
use codegen_api::approval::Gate;
use codegen_api::conditions::reason;
use codegen_api::status::EvidenceStrength;
use codegen_core::call::CallKind;
use codegen_core::evidence::{doubt, evidence};
use codegen_core::progress::Progress;
use codegen_core::python::near_misses::Mistake;
use codegen_core::stage::Stage;
use codegen_core::status::{StatusContext, status};
use codegen_core::test_support::task;

/// A body with four places where a mistake is easily made, of which this world's cases show one: `split(' ')`.
const RIGHT: &str = "return len([word for word in sorted(set(text.split())) if word])";
/// One that counts letters, with as many.
const WRONG: &str = "return len([word for word in sorted(set(text)) if word.strip()])";

fn case(about: &str, value: &str) -> Value {
    json!({
        "about": about, "inputs": [], "refused": false,
        "expect": [{"output": "stdout", "check": "Equals", "at": "", "value": value, "tolerance": ""}],
    })
}

fn scripted(body: &str) -> Script {
    planned(body, &case("two words", "2"))
}

fn planned(body: &str, first: &Value) -> Script {
    let plan = json!({
        "description": "Counts words.", "approach": "Split at white space.", "libraries": [],
        "cases": [first], "unstable": [],
    });
    Script::new()
        .with(CallKind::Plan, &plan)
        .with(CallKind::Code, &code(body))
        .with(CallKind::Tests, &tests(2))
}

fn more(cases: &[Value]) -> Value {
    json!({"cases": cases})
}

/// A case that nothing is stated of which the first did not.
fn another() -> Value {
    let mut case = case("the same word twice", "2");
    case["expect"][0]["check"] = json!("Contains");
    case
}

fn world(script: Script) -> World {
    let mut world = World::new(task(), script, |_, _, _| Vec::new());
    world.sandbox.prints = |solution| if solution.contains("split()") { "2" } else { "3" }.to_owned();
    world
}

fn strength(world: &World, progress: &Progress) -> (EvidenceStrength, Option<String>) {
    let evidence = evidence(&world.task, progress).unwrap();
    (evidence.strength, evidence.near_misses)
}

#[tokio::test]
async fn cases_that_near_misses_pass_are_extended_once_by_a_call_that_sees_no_program() {
    let world = world(scripted(RIGHT).with(CallKind::MoreCases, &more(&[another()])));
    let progress = world.end().await;
    assert_eq!(
        (progress.stage, progress.attempt),
        (Stage::Succeeded, 2),
        "{progress:#?}"
    );
    assert_eq!(world.kinds()[3..], [CallKind::MoreCases]);
    let requests = world.script.requests.lock().unwrap();
    let asked = requests.last().unwrap().user_message();
    assert!(
        asked.contains("duplicates") && asked.contains("two words"),
        "{asked}"
    );
    assert!(
        !asked.contains("set(") && !asked.contains("runs of white space"),
        "{asked}"
    );
    assert_eq!(progress.plan.unwrap().cases.len(), 2);
}

#[tokio::test]
async fn cases_that_near_misses_still_pass_are_called_weak_and_the_task_says_what_they_lack() {
    let world = world(scripted(RIGHT).with(CallKind::MoreCases, &more(&[another()])));
    let progress = world.end().await;
    let counted = Some("1/4".to_owned());
    assert_eq!(strength(&world, &progress), (EvidenceStrength::Weak, counted));
    let doubt = doubt(&world.task, &progress);
    assert!(
        doubt.contains("3 of 4 near misses") && doubt.contains("duplicates"),
        "{doubt}"
    );
    let status = status(&world.task, &progress, StatusContext::default(), (world.clock)());
    assert_eq!(status.reason.as_deref(), Some(reason::WEAK));
}

#[tokio::test]
async fn a_further_case_that_the_program_fails_is_diagnosed_and_fixed_as_any_other() {
    // The case of the plan holds for letters as well, by chance.
    let mut first = case("two words", "5");
    first["expect"][0]["check"] = json!("Lacks");
    let script = planned(WRONG, &first)
        .with(CallKind::MoreCases, &more(&[case("a longer text", "2")]))
        .with(CallKind::Diagnosis, &diagnosis("logic", &["count"], &[]))
        .with(CallKind::FixCode, &fixed_count(RIGHT));
    let world = world(script);
    let progress = world.end().await;
    assert_eq!(
        (progress.stage, progress.attempt),
        (Stage::Succeeded, 3),
        "{progress:#?}"
    );
    assert_eq!(
        world.kinds()[3..],
        [CallKind::MoreCases, CallKind::Diagnosis, CallKind::FixCode]
    );
}

#[tokio::test]
async fn a_program_that_passed_has_passed_where_no_further_case_can_be_used() {
    let unusable = || more(&[case("two words", "2")]);
    let script = scripted(RIGHT)
        .with(CallKind::MoreCases, &unusable())
        .with(CallKind::MoreCases, &unusable())
        .with(CallKind::MoreCases, &unusable());
    let world = world(script);
    let progress = world.end().await;
    assert_eq!(
        (progress.stage, progress.attempt),
        (Stage::Succeeded, 1),
        "{progress:#?}"
    );
    assert_eq!(strength(&world, &progress).0, EvidenceStrength::Weak);
}

#[tokio::test]
async fn nothing_is_asked_where_no_call_or_no_attempt_is_left_or_a_person_approved_of_the_cases() {
    let mut calls = world(scripted(RIGHT));
    calls.task.limits.max_model_calls = 3;
    let mut attempts = world(scripted(RIGHT));
    attempts.task.limits.max_iterations = 1;
    let mut approved = world(scripted(RIGHT));
    approved.task.approvals = [Gate::Plan].into();
    for world in [calls, attempts, approved] {
        let progress = world.end().await;
        assert_eq!(progress.stage, Stage::Succeeded, "{progress:#?}");
        assert_eq!(world.kinds().len(), 3);
        assert_eq!(strength(&world, &progress).0, EvidenceStrength::Weak);
    }
}

#[tokio::test]
async fn a_near_miss_that_never_ends_is_rejected_and_those_after_it_do_not_count() {
    let mut world = world(scripted(RIGHT).with(CallKind::MoreCases, &more(&[another()])));
    world.sandbox.hangs = |program| program.solution.contains("list(set(");
    let progress = world.end().await;
    assert_eq!(progress.stage, Stage::Succeeded, "{progress:#?}");
    assert_eq!(progress.near_misses.unwrap().total, 2);
}

#[tokio::test]
async fn cases_reject_no_near_miss_of_a_program_that_recognises_its_own_text() {
    let mut world = world(scripted(RIGHT).with(CallKind::MoreCases, &more(&[another()])));
    // It ends as it should with this text alone, so that cases reject whatever else it is.
    world.sandbox.prints = |solution| {
        let is_own = solution.contains(RIGHT) && !solution.ends_with("pass\n");
        if is_own { "2" } else { "3" }.to_owned()
    };
    let progress = world.end().await;
    let counted = Some("0/4".to_owned());
    assert_eq!(strength(&world, &progress), (EvidenceStrength::Weak, counted));
}

#[tokio::test]
async fn near_misses_on_examples_run_after_those_on_the_plan_and_no_model_learns_what_they_show() {
    let mut first = case("two words", "2");
    first["expect"][0]["check"] = json!("Contains");
    let unusable = more(&[first.clone()]);
    let mut script = planned(RIGHT, &first);
    for _ in 0..3 {
        script = script.with(CallKind::MoreCases, &unusable);
    }
    let mut world = world(script);
    let example = json!({"about": "hidden", "expect": [{"output": "stdout", "value": "2"}]});
    world.task.examples = serde_json::from_value(json!([example, example])).unwrap();
    // Only the examples reject a program that counts duplicates.
    world.sandbox.prints = |solution| match solution {
        _ if !solution.contains("split()") => "3".to_owned(),
        _ if !solution.contains("set(") => "2 or so".to_owned(),
        _ => "2".to_owned(),
    };
    let progress = world.end().await;
    assert_eq!(strength(&world, &progress).1, Some("2/4".to_owned()));
    let counts = progress.near_misses.unwrap();
    assert!(!counts.survivors.contains(&Mistake::Duplicates), "{counts:?}");
    let requests = world.script.requests.lock().unwrap();
    let asked = requests.last().unwrap();
    assert_eq!(asked.kind, CallKind::MoreCases);
    assert!(
        asked.user_message().contains("duplicates"),
        "{}",
        asked.user_message()
    );
    let log = world.sandbox.log.lock().unwrap();
    // Four near misses, and the program with another text, on one case and on two examples.
    let (planned, examples) = (["Case"; 5].join(" "), ["Case"; 10].join(" "));
    let expected = [&planned, &examples].map(|cases| [format!("begin {cases}"), format!("end {cases}")]);
    assert_eq!(log[log.len() - 4..], expected.concat());
}
