//! Tasks whose cases decide.

use serde_json::{Value, json};

use super::world::{Script, World, code, diagnosis, fixed_count, tests};
use crate::api::case::CaseMode;
use crate::api::status::{CaseCounts, EvidenceStrength};
use crate::ledger::MemoryStore;
use crate::pipeline::call::CallKind;
use crate::pipeline::cases::{Form, Forms};
use crate::pipeline::encoding::Encoding;
use crate::pipeline::evidence::evidence;
use crate::pipeline::progress::Progress;
use crate::pipeline::stage::{Category, Stage};
use crate::pipeline::task::{FrozenFile, Task};
use crate::pipeline::test_support::task;

const RIGHT: &str = "return len(text.split())";
const WRONG: &str = "return len(text)";

/// A plan whose one case expects that two words are counted as `expected`.
fn plan(expected: &str) -> Value {
    json!({
        "description": "Counts words.", "approach": "Split at white space.", "libraries": [],
        "cases": [{
            "about": "two words", "inputs": [], "refused": false,
            "expect": [{"output": "stdout", "check": "Equals", "at": "", "value": expected, "tolerance": ""}],
        }],
        "unstable": [], "invariants": [],
    })
}

fn answer(value: &str) -> Value {
    json!({"cases": [{"case": 1, "refused": false, "values": [value]}]})
}

fn world(script: Script) -> World {
    let mut world = World::new(task(), script, |_, _, _| Vec::new());
    world.sandbox.prints = |solution| {
        if solution.contains("split()") {
            "2\n".to_owned()
        } else {
            "3\n".to_owned()
        }
    };
    world
}

async fn end(world: &World) -> Progress {
    world.live(&MemoryStore::new()).await.unwrap()
}

fn kinds(world: &World) -> Vec<CallKind> {
    let requests = world.script.requests.lock().unwrap();
    requests.iter().map(|request| request.kind).collect()
}

fn asked(world: &World, kind: CallKind) -> String {
    let requests = world.script.requests.lock().unwrap();
    let request = requests.iter().find(|request| request.kind == kind).unwrap();
    request.user_message()
}

fn written(body: &str, expected: &str) -> Script {
    Script::new()
        .with(CallKind::Plan, &plan(expected))
        .with(CallKind::Code, &code(body))
        .with(CallKind::Tests, &tests(2))
}

#[tokio::test]
async fn a_right_program_passes_its_cases_with_no_further_call() {
    let world = world(written(RIGHT, "2"));
    let progress = end(&world).await;
    assert_eq!(progress.stage, Stage::Succeeded, "{progress:#?}");
    assert_eq!(kinds(&world), [CallKind::Plan, CallKind::Code, CallKind::Tests]);
    let evidence = evidence(&progress).unwrap();
    assert_eq!(evidence.strength, EvidenceStrength::Independent);
    assert_eq!(
        progress.attempts[0].cases,
        Some(CaseCounts { total: 1, passed: 1 })
    );
}

#[tokio::test]
async fn a_wrong_program_whose_suite_passes_is_found_by_a_case_and_fixed() {
    let script = written(WRONG, "2")
        .with(CallKind::Diagnosis, &diagnosis("logic", &["count"], &[]))
        .with(CallKind::FixCode, &fixed_count(RIGHT));
    let world = world(script);
    let progress = end(&world).await;
    assert_eq!(
        (progress.stage, progress.attempt),
        (Stage::Succeeded, 2),
        "{progress:#?}"
    );
    let told = asked(&world, CallKind::Diagnosis);
    assert!(told.contains("case 1 (two words)"), "{told}");
    assert!(told.contains("expected stdout = 2, got 3"), "{told}");
}

#[tokio::test]
async fn neither_program_nor_suite_is_written_with_a_look_at_the_cases() {
    let world = world(written(RIGHT, "2"));
    end(&world).await;
    for kind in [CallKind::Code, CallKind::Tests] {
        assert!(!asked(&world, kind).contains("two words"), "{kind}");
    }
}

#[tokio::test]
async fn program_and_suite_are_written_with_the_columns_that_the_cases_take_for_granted() {
    let mut plan = plan("2");
    plan["cases"][0]["expect"][0] = json!({
        "output": "summary", "check": "Equals", "at": "", "value": "word,times\nzebra,2\n", "tolerance": "",
    });
    let script = Script::new()
        .with(CallKind::Plan, &plan)
        .with(
            CallKind::Code,
            &code("open('/var/outputs/summary', 'w').close()\n    return 2"),
        )
        .with(CallKind::Tests, &tests(2));
    let mut world = world(script);
    // The program of this world writes nothing.
    world.task.cases = CaseMode::Report;
    world.task.outputs =
        serde_json::from_value(json!([{"name": "summary", "type": "File", "format": "CSV"}])).unwrap();
    end(&world).await;
    for kind in [CallKind::Code, CallKind::Tests] {
        let asked = asked(&world, kind);
        assert!(asked.contains("summary: word, times."), "{kind}: {asked}");
        assert!(!asked.contains("zebra"), "{kind}: {asked}");
    }
}

#[tokio::test]
async fn a_wrong_case_is_corrected_by_a_second_answer_that_saw_no_program() {
    let script = written(RIGHT, "5")
        .with(CallKind::Diagnosis, &diagnosis("test_error", &[], &[]))
        .with(CallKind::Cases, &answer("2"));
    let world = world(script);
    let progress = end(&world).await;
    assert_eq!(progress.stage, Stage::Succeeded, "{progress:#?}");
    assert_eq!(kinds(&world)[3..], [CallKind::Diagnosis, CallKind::Cases]);
    let told = asked(&world, CallKind::Cases);
    assert!(told.contains("two words"), "{told}");
    assert!(!told.contains("split") && !told.contains("got"), "{told}");
    let cases = evidence(&progress).unwrap().cases.unwrap();
    assert_eq!((cases.total, cases.passed, cases.corrected), (1, 1, 1));
    assert_eq!(
        progress.plan.unwrap().cases,
        ["1. two words: defaults -> stdout = 2"]
    );
}

#[tokio::test]
async fn a_case_that_is_confirmed_leaves_the_fault_with_the_program() {
    let script = written(WRONG, "2")
        .with(CallKind::Diagnosis, &diagnosis("test_error", &[], &[]))
        .with(CallKind::Cases, &answer("2"))
        .with(CallKind::FixCode, &fixed_count(RIGHT));
    let world = world(script);
    let progress = end(&world).await;
    assert_eq!(
        (progress.stage, progress.attempt),
        (Stage::Succeeded, 2),
        "{progress:#?}"
    );
    assert_eq!(kinds(&world)[4..], [CallKind::Cases, CallKind::FixCode]);
}

#[tokio::test]
async fn a_confirmed_case_is_not_worked_out_a_third_time() {
    let script = written(WRONG, "2")
        .with(CallKind::Diagnosis, &diagnosis("test_error", &[], &[]))
        .with(CallKind::Cases, &answer("2"))
        .with(CallKind::FixCode, &fixed_count("return len(text) + 0"))
        .with(CallKind::FixCode, &fixed_count(RIGHT));
    let world = world(script);
    let progress = end(&world).await;
    assert_eq!(progress.stage, Stage::Succeeded, "{progress:#?}");
    let again = kinds(&world).into_iter().filter(|kind| *kind == CallKind::Cases);
    assert_eq!(again.count(), 1);
}

#[tokio::test]
async fn a_case_with_two_different_answers_decides_nothing_and_is_counted() {
    let script = written(RIGHT, "5")
        .with(CallKind::Diagnosis, &diagnosis("test_error", &[], &[]))
        .with(CallKind::Cases, &answer("7"));
    let world = world(script);
    let progress = end(&world).await;
    assert_eq!(progress.stage, Stage::Succeeded, "{progress:#?}");
    let evidence = evidence(&progress).unwrap();
    assert_eq!(evidence.cases.unwrap().dropped, 1);
    assert_eq!(evidence.strength, EvidenceStrength::SuiteOnly);
}

#[tokio::test]
async fn cases_that_only_report_let_a_wrong_program_pass_and_say_so() {
    let mut world = world(written(WRONG, "2"));
    world.task = Task {
        cases: CaseMode::Report,
        ..task()
    };
    let progress = end(&world).await;
    assert_eq!(progress.stage, Stage::Succeeded, "{progress:#?}");
    assert_eq!(
        progress.attempts[0].cases,
        Some(CaseCounts { total: 1, passed: 0 })
    );
    assert_eq!(evidence(&progress).unwrap().strength, EvidenceStrength::SuiteOnly);
}

#[tokio::test]
async fn of_failing_examples_the_model_learns_their_count_and_nothing_else() {
    let script = written(WRONG, "3").with(CallKind::FixCode, &fixed_count(RIGHT));
    let mut world = world(script);
    world.task = Task {
        cases: CaseMode::Off,
        examples: vec![
            serde_json::from_value(json!({
                "about": "hidden 4711", "expect": [{"output": "stdout", "value": "2"}],
            }))
            .unwrap(),
        ],
        ..task()
    };
    let progress = end(&world).await;
    assert_eq!(
        (progress.stage, progress.attempt),
        (Stage::Succeeded, 2),
        "{progress:#?}"
    );
    let told = asked(&world, CallKind::FixCode);
    assert!(told.contains("1 of 1 examples of the user fail"), "{told}");
    assert!(!told.contains("4711"), "{told}");
}

/// A task with a sample in Latin-1 and an example that gives this text in its place.
fn with_latin_sample(text: &str) -> World {
    let mut world = world(written(RIGHT, "2"));
    let example = json!({
        "about": "prices", "inputs": [{"name": "prices", "value": text}], "expect": [{"output": "stdout", "value": "2"}],
    });
    world.task = Task {
        samples: vec![FrozenFile {
            name: "prices".into(),
            file_name: "prices.csv".into(),
            sha256: String::new(),
            bytes: 8,
            is_dir: false,
        }],
        inputs: vec![serde_json::from_value(json!({"name": "prices", "type": "File"})).unwrap()],
        examples: vec![serde_json::from_value(example).unwrap()],
        ..task()
    };
    let latin = Form {
        encoding: Some(Encoding::Latin1),
        ..Form::default()
    };
    world.data.forms = Forms::from([("prices".to_owned(), latin)]);
    world
}

#[tokio::test]
async fn an_example_that_its_samples_encoding_cannot_hold_is_said_before_any_call() {
    let world = with_latin_sample("item,price\npen,5 €\n");
    let progress = end(&world).await;
    let waiting = progress.waiting.unwrap();
    assert_eq!(waiting.category, Category::Configuration);
    assert!(
        waiting
            .message
            .contains("spec.examples[0]: prices cannot hold '€': its sample is Latin-1"),
        "{}",
        waiting.message
    );
    assert_eq!(kinds(&world), []);
}
