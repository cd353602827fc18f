//! Tasks whose cases decide.

use serde_json::{Value, json};

use crate::attempt::AttemptRecord;
use crate::results::test_output;
use crate::test_support::{Script, World, code, diagnosis, fixed_count, tests};
use codegen_api::approval::Gate;
use codegen_api::case::CaseMode;
use codegen_api::status::{CaseCounts, EvidenceStrength};
use codegen_core::call::CallKind;
use codegen_core::cases::{Form, Forms, executions, planned};
use codegen_core::evidence::evidence;
use codegen_core::stage::{Category, Stage};
use codegen_core::task::{FrozenFile, Task};
use codegen_core::test_support::task;
use codegen_data::source::Encoding;
use codegen_ledger::{MemoryStore, Store as _};

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
        "unstable": [],
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

fn asked(world: &World, kind: CallKind) -> String {
    let requests = world.script.requests.lock().unwrap();
    let request = requests.iter().find(|request| request.kind == kind).unwrap();
    request.user_message()
}

fn scripted(body: &str, expected: &str) -> Script {
    Script::new()
        .with(CallKind::Plan, &plan(expected))
        .with(CallKind::Code, &code(body))
        .with(CallKind::Tests, &tests(2))
}

/// A case that expects `first` is blamed for the failure, and `second` is what comes of working it out again.
fn blamed(body: &str, first: &str, second: &str) -> Script {
    scripted(body, first)
        .with(CallKind::Diagnosis, &diagnosis("test_error", &[], &[]))
        .with(CallKind::Cases, &answer(second))
}

#[tokio::test]
async fn a_right_program_passes_its_cases_with_no_further_call() {
    let world = world(scripted(RIGHT, "2"));
    let progress = world.end().await;
    assert_eq!(progress.stage, Stage::Succeeded, "{progress:#?}");
    assert_eq!(world.kinds(), [CallKind::Plan, CallKind::Code, CallKind::Tests]);
    let evidence = evidence(&world.task, &progress).unwrap();
    assert_eq!(evidence.strength, EvidenceStrength::Independent);
    assert_eq!(
        progress.attempts[0].cases,
        Some(CaseCounts { total: 1, passed: 1 })
    );
}

#[tokio::test]
async fn a_wrong_program_whose_suite_passes_is_found_by_a_case_and_fixed() {
    let script = scripted(WRONG, "2")
        .with(CallKind::Diagnosis, &diagnosis("logic", &["count"], &[]))
        .with(CallKind::FixCode, &fixed_count(RIGHT));
    let world = world(script);
    let progress = world.end().await;
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
async fn neither_the_program_nor_the_suite_prompt_shows_the_cases() {
    let world = world(scripted(RIGHT, "2"));
    world.end().await;
    for kind in [CallKind::Code, CallKind::Tests] {
        assert!(!asked(&world, kind).contains("two words"), "{kind}");
    }
}

#[tokio::test]
async fn the_program_and_suite_prompts_show_the_columns_that_the_cases_rely_on() {
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
    world.end().await;
    for kind in [CallKind::Code, CallKind::Tests] {
        let asked = asked(&world, kind);
        assert!(asked.contains("summary: word, times."), "{kind}: {asked}");
        assert!(!asked.contains("zebra"), "{kind}: {asked}");
    }
}

#[tokio::test]
async fn a_wrong_case_is_corrected_by_a_second_answer_that_saw_no_program() {
    let script = blamed(RIGHT, "5", "2");
    let world = world(script);
    let progress = world.end().await;
    assert_eq!(progress.stage, Stage::Succeeded, "{progress:#?}");
    assert_eq!(world.kinds()[3..], [CallKind::Diagnosis, CallKind::Cases]);
    let told = asked(&world, CallKind::Cases);
    assert!(told.contains("two words"), "{told}");
    assert!(!told.contains("split") && !told.contains("got"), "{told}");
    let cases = evidence(&world.task, &progress).unwrap().cases.unwrap();
    assert_eq!((cases.total, cases.passed, cases.corrected), (1, 1, 1));
    assert_eq!(
        progress.plan.unwrap().cases,
        ["1. two words: defaults -> stdout = 2"]
    );
}

#[tokio::test]
async fn a_case_that_is_confirmed_leaves_the_fault_with_the_program() {
    let script = blamed(WRONG, "2", "2").with(CallKind::FixCode, &fixed_count(RIGHT));
    let world = world(script);
    let progress = world.end().await;
    assert_eq!(
        (progress.stage, progress.attempt),
        (Stage::Succeeded, 2),
        "{progress:#?}"
    );
    assert_eq!(world.kinds()[4..], [CallKind::Cases, CallKind::FixCode]);
}

#[tokio::test]
async fn a_confirmed_case_is_not_worked_out_a_third_time() {
    let script = blamed(WRONG, "2", "2")
        .with(CallKind::FixCode, &fixed_count("return len(text) + 0"))
        .with(CallKind::FixCode, &fixed_count(RIGHT));
    let world = world(script);
    let progress = world.end().await;
    assert_eq!(progress.stage, Stage::Succeeded, "{progress:#?}");
    let again = world.kinds().into_iter().filter(|kind| *kind == CallKind::Cases);
    assert_eq!(again.count(), 1);
}

#[tokio::test]
async fn a_case_with_two_different_answers_decides_nothing_and_is_counted() {
    let script = blamed(RIGHT, "5", "7");
    let world = world(script);
    let progress = world.end().await;
    assert_eq!(progress.stage, Stage::Succeeded, "{progress:#?}");
    let evidence = evidence(&world.task, &progress).unwrap();
    assert_eq!(evidence.cases.unwrap().dropped, 1);
    assert_eq!(evidence.strength, EvidenceStrength::SuiteOnly);
}

#[tokio::test]
async fn cases_that_only_report_let_a_wrong_program_pass_and_say_so() {
    let mut world = world(scripted(WRONG, "2"));
    world.task = Task {
        cases: CaseMode::Report,
        ..task()
    };
    let progress = world.end().await;
    assert_eq!(progress.stage, Stage::Succeeded, "{progress:#?}");
    assert_eq!(
        progress.attempts[0].cases,
        Some(CaseCounts { total: 1, passed: 0 })
    );
    assert_eq!(
        evidence(&world.task, &progress).unwrap().strength,
        EvidenceStrength::SuiteOnly
    );
}

#[tokio::test]
async fn of_failing_examples_the_model_learns_their_count_and_nothing_else() {
    let script = scripted(WRONG, "3").with(CallKind::FixCode, &fixed_count(RIGHT));
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
    let store = MemoryStore::new();
    let progress = world.live(&store).await.unwrap();
    assert_eq!(
        (progress.stage, progress.attempt),
        (Stage::Succeeded, 2),
        "{progress:#?}"
    );
    let told = asked(&world, CallKind::FixCode);
    assert!(told.contains("1 of 1 examples of the user fail"), "{told}");
    for request in world.script.requests.lock().unwrap().iter() {
        let text = format!("{request:?}");
        assert!(!text.contains("4711"), "{text}");
    }
    // Whoever wrote it learns what was expected and what came.
    let record = store.read("documents/run-0001.json").await.unwrap().unwrap();
    let record: AttemptRecord = serde_json::from_slice(&record).unwrap();
    let [failed] = &record.failed_examples[..] else {
        panic!("{record:#?}")
    };
    assert!(failed.id.contains("hidden 4711"), "{failed:#?}");
    assert!(
        failed.message.contains('2') && failed.message.contains('3'),
        "{failed:#?}"
    );
    let shown = test_output(&record);
    assert!(shown.contains(&failed.message), "{shown}");
}

/// A plan of one expectation.
fn plan_of(expectation: &Value) -> Value {
    let mut plan = plan("2");
    plan["cases"][0]["expect"] = json!([expectation]);
    plan
}

fn kinds_of(world: &World, kind: CallKind) -> usize {
    world.kinds().into_iter().filter(|other| *other == kind).count()
}

/// A task whose only output is of this type and format.
fn of_output(script: Script, output: &Value) -> World {
    let mut world = world(script);
    world.task.outputs = serde_json::from_value(json!([output])).unwrap();
    world
}

const DRAWN: &str = "open('/var/outputs/chart', 'w').close()\n    return len(text.split())";

#[tokio::test]
async fn a_task_of_which_no_case_can_be_stated_is_asked_for_one_once_and_goes_on_without() {
    let of_a_picture =
        json!({"output": "chart", "check": "Contains", "at": "", "value": "PNG", "tolerance": ""});
    let script = Script::new()
        .with(CallKind::Plan, &plan_of(&of_a_picture))
        .with(CallKind::Code, &code(DRAWN))
        .with(CallKind::Tests, &tests(2));
    let world = of_output(
        script,
        &json!({"name": "chart", "type": "File", "format": "Binary"}),
    );
    let progress = world.end().await;
    assert_eq!(progress.stage, Stage::Succeeded, "{progress:#?}");
    assert_eq!(kinds_of(&world, CallKind::Plan), 2);
    let requests = world.script.requests.lock().unwrap();
    let again = requests[1].user_message();
    assert!(again.contains("chart is neither text nor a table"), "{again}");
    let evidence = evidence(&world.task, &progress).unwrap();
    assert_eq!(evidence.strength, EvidenceStrength::SuiteOnly);
    assert_eq!(evidence.cases.unwrap().unusable, 1);
}

#[tokio::test]
async fn a_plan_whose_cases_become_usable_when_asked_for_has_them() {
    let of_a_picture =
        json!({"output": "chart", "check": "Contains", "at": "", "value": "PNG", "tolerance": ""});
    let script = Script::new()
        .with(CallKind::Plan, &plan_of(&of_a_picture))
        .with(CallKind::Plan, &plan("2"))
        .with(CallKind::Code, &code(DRAWN))
        .with(CallKind::Tests, &tests(2));
    let world = of_output(
        script,
        &json!({"name": "chart", "type": "File", "format": "Binary"}),
    );
    let progress = world.end().await;
    assert_eq!(progress.stage, Stage::Succeeded, "{progress:#?}");
    assert_eq!(kinds_of(&world, CallKind::Plan), 2);
    assert_eq!(
        evidence(&world.task, &progress).unwrap().strength,
        EvidenceStrength::Independent
    );
}

#[tokio::test]
async fn a_plan_that_is_no_plan_before_does_not_spare_the_question_for_cases_nor_end_the_task() {
    let of_a_picture =
        json!({"output": "chart", "check": "Contains", "at": "", "value": "PNG", "tolerance": ""});
    let no_plan = json!({"plan": "none"});
    for (unreadable, plans) in [(1, 3), (2, 3)] {
        let mut script = Script::new();
        for _ in 0..unreadable {
            script = script.with(CallKind::Plan, &no_plan);
        }
        let script = script
            .with(CallKind::Plan, &plan_of(&of_a_picture))
            .with(CallKind::Code, &code(DRAWN))
            .with(CallKind::Tests, &tests(2));
        let world = of_output(
            script,
            &json!({"name": "chart", "type": "File", "format": "Binary"}),
        );
        let progress = world.end().await;
        assert_eq!(progress.stage, Stage::Succeeded, "{progress:#?}");
        assert_eq!(kinds_of(&world, CallKind::Plan), plans);
    }
}

#[tokio::test]
async fn cases_that_every_program_passes_leave_a_program_unproved_and_cost_no_call() {
    let of_nothing =
        json!({"output": "stdout", "check": "Lacks", "at": "", "value": "oops", "tolerance": ""});
    let script = Script::new()
        .with(CallKind::Plan, &plan_of(&of_nothing))
        .with(CallKind::Code, &code(WRONG))
        .with(CallKind::Tests, &tests(2));
    let world = world(script);
    let progress = world.end().await;
    assert_eq!(progress.stage, Stage::Succeeded, "{progress:#?}");
    assert_eq!(world.kinds(), [CallKind::Plan, CallKind::Code, CallKind::Tests]);
    let evidence = evidence(&world.task, &progress).unwrap();
    assert_eq!(evidence.strength, EvidenceStrength::SuiteOnly);
    let cases = evidence.cases.unwrap();
    assert!(cases.vacuous && cases.passed == 1, "{cases:?}");
}

#[tokio::test]
async fn a_case_that_is_corrected_to_what_the_program_does_is_no_proof_of_it() {
    let script = blamed(WRONG, "2", "3");
    let world = world(script);
    let progress = world.end().await;
    assert_eq!(progress.stage, Stage::Succeeded, "{progress:#?}");
    let evidence = evidence(&world.task, &progress).unwrap();
    assert_eq!(evidence.cases.unwrap().corrected, 1);
    assert_eq!(evidence.strength, EvidenceStrength::SuiteOnly);
}

#[tokio::test]
async fn a_case_that_was_approved_of_is_dropped_and_not_replaced_by_another_answer() {
    let script = blamed(WRONG, "2", "3");
    let mut world = world(script);
    world.task.approvals = [Gate::Plan].into();
    let progress = world.end().await;
    assert_eq!(progress.stage, Stage::Succeeded, "{progress:#?}");
    let evidence = evidence(&world.task, &progress).unwrap();
    let cases = evidence.cases.unwrap();
    assert_eq!((cases.corrected, cases.dropped), (0, 1));
    assert_eq!(evidence.strength, EvidenceStrength::SuiteOnly);
}

#[tokio::test]
async fn an_answer_that_is_whatever_the_program_writes_is_asked_for_again() {
    let expectation = json!({"output": "summary", "check": "Equals", "at": "", "value": "word,times\nzebra,2\n", "tolerance": ""});
    let script = Script::new()
        .with(CallKind::Plan, &plan_of(&expectation))
        .with(
            CallKind::Code,
            &code("open('/var/outputs/summary', 'w').close()\n    return 2"),
        )
        .with(CallKind::Tests, &tests(2))
        .with(CallKind::Diagnosis, &diagnosis("test_error", &[], &[]))
        .with(CallKind::Cases, &answer("$summary"));
    let world = of_output(
        script,
        &json!({"name": "summary", "type": "File", "format": "CSV"}),
    );
    let progress = world.end().await;
    assert_eq!(progress.stage, Stage::Failed, "{progress:#?}");
    let why = progress.stop.unwrap().message;
    assert!(
        why.contains("$summary, which is whatever the program writes"),
        "{why}"
    );
    assert_eq!(progress.cases.unwrap().corrected, 0);
}

/// A task with a sample in Latin-1 and an example that gives this text in its place.
fn with_latin_sample(text: &str) -> World {
    let mut world = world(scripted(RIGHT, "2"));
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
    let progress = world.end().await;
    let waiting = progress.waiting.unwrap();
    assert_eq!(waiting.category, Category::Configuration);
    assert!(
        waiting
            .message
            .contains("spec.examples[0]: prices cannot hold '€': its sample is Latin-1"),
        "{}",
        waiting.message
    );
    assert_eq!(world.kinds(), []);
}

/// A plan with four cases that are told apart by their tolerance; that of `odd` expects `wrong` and the others what is right. `salt` makes
/// other cases of them.
fn plan_of_four(odd: usize, wrong: &str, salt: usize) -> Value {
    let case = |number: usize| {
        let value = if number == odd { wrong } else { "2" };
        json!({
            "about": format!("words {number} of {salt}"), "inputs": [], "refused": false,
            "expect": [{"output": "stdout", "check": "Equals", "at": "", "value": value, "tolerance": format!("0.{number}{salt}")}],
        })
    };
    json!({
        "description": "Counts words.", "approach": "Split at white space.", "libraries": [],
        "cases": (1..=4).map(case).collect::<Vec<Value>>(), "unstable": [],
    })
}

/// Plans of which the case that is held back is the odd one.
fn plans_with_an_odd_held_case(wrong: &'static str) -> impl Iterator<Item = Value> {
    let held = |plan: &Value| {
        let cases = serde_json::from_value(plan["cases"].clone()).unwrap();
        let set = planned(&task(), cases, Vec::new(), &Forms::new());
        executions(&task(), &set)
            .iter()
            .position(|run| run.is_held)
            .unwrap()
            + 1
    };
    (1..400)
        .flat_map(move |salt| (1..=4).map(move |odd| (odd, plan_of_four(odd, wrong, salt))))
        .filter_map(move |(odd, plan)| (held(&plan) == odd).then_some(plan))
}

fn with_plan(plan: &Value, body: &str) -> Script {
    Script::new()
        .with(CallKind::Plan, plan)
        .with(CallKind::Code, &code(body))
        .with(CallKind::Tests, &tests(2))
}

#[tokio::test]
async fn a_right_program_is_not_refused_for_a_wrong_case_that_is_held_back() {
    for (wrong, second) in [("5", "2"), ("5", "7"), ("9", "2"), ("22", "3")] {
        for plan in plans_with_an_odd_held_case(wrong).take(4) {
            let script = with_plan(&plan, RIGHT).with(CallKind::Cases, &answer(second));
            let world = world(script);
            let progress = world.end().await;
            assert_eq!(progress.stage, Stage::Succeeded, "{progress:#?}");
            // At once, and by no diagnosis.
            assert_eq!(world.kinds()[3..], [CallKind::Cases]);
            let cases = evidence(&world.task, &progress).unwrap().cases.unwrap();
            assert_eq!(cases.corrected + cases.dropped, 1);
            assert_eq!(cases.seen, 0);
        }
    }
}

#[tokio::test]
async fn even_in_the_last_attempt_a_right_program_outlasts_a_wrong_case_that_is_held_back() {
    let plan = plans_with_an_odd_held_case("5").next().unwrap();
    let mut world = world(with_plan(&plan, RIGHT).with(CallKind::Cases, &answer("2")));
    world.task.limits.max_iterations = 1;
    assert_eq!(world.end().await.stage, Stage::Succeeded);
}

#[tokio::test]
async fn a_held_case_that_is_confirmed_is_shown_from_then_on_and_another_takes_its_place() {
    // The program is right but for what the held case asks.
    let plan = plans_with_an_odd_held_case("3").next().unwrap();
    let script = with_plan(&plan, RIGHT)
        .with(CallKind::Cases, &answer("3"))
        .with(CallKind::Diagnosis, &diagnosis("logic", &["count"], &[]))
        .with(CallKind::FixCode, &fixed_count("return len(text) + 1"));
    let mut world = world(script);
    world.task.limits.max_iterations = 2;
    let progress = world.end().await;
    assert_eq!(
        world.kinds()[3..],
        [CallKind::Cases, CallKind::Diagnosis, CallKind::FixCode]
    );
    let told = asked(&world, CallKind::Diagnosis);
    assert!(
        told.contains("expected stdout = 3 ± ") && told.contains(", got 2"),
        "{told}"
    );
    // The fix breaks the others, one of which is held back now.
    let set = json!(progress.attempts[1].summary);
    assert!(
        progress.seen_cases.len() == 3 && progress.attempts[1].cases.unwrap().passed == 1,
        "{set} {progress:#?}"
    );
}

#[tokio::test]
async fn of_a_case_that_is_held_back_the_author_learns_nothing_while_others_fail_too() {
    let plan = plans_with_an_odd_held_case("2").next().unwrap();
    let mut three = diagnosis("logic", &["count"], &[]);
    let row = three["failures"][0].clone();
    let numbered = |number: i32| {
        let mut row = row.clone();
        row["failure"] = number.into();
        row
    };
    three["failures"] = (1..=3).map(numbered).collect();
    let script = with_plan(&plan, WRONG)
        .with(CallKind::Diagnosis, &three)
        .with(CallKind::FixCode, &fixed_count(RIGHT));
    let world = world(script);
    let progress = world.end().await;
    assert_eq!(
        (progress.stage, progress.attempt),
        (Stage::Succeeded, 2),
        "{progress:#?}"
    );
    let told = asked(&world, CallKind::Diagnosis);
    assert_eq!(told.matches("expected stdout").count(), 3, "{told}");
    let cases = evidence(&world.task, &progress).unwrap().cases.unwrap();
    assert_eq!((cases.total, cases.passed, cases.seen), (4, 4, 3));
}
