//! A constraint that an output breaks, and that may speak of other data.

use rstest::rstest;
use serde_json::{Value, json};

use super::crash::forget_lost;
use crate::test_support::{Script, World, code, diagnosis, fixed_count, plan, tests};
use codegen_api::case::CaseMode;
use codegen_api::run_status::{DataSide, Finding, Severity};
use codegen_core::call::CallKind;
use codegen_core::checks::{ColumnCheck, Rule};
use codegen_core::evidence::evidence;
use codegen_core::stage::Stage;
use codegen_core::task::Task;
use codegen_core::test_support::task;
use codegen_data::checks::text::in_words;
use codegen_ledger::{FaultMoment, MemoryStore};

const QUARTERS: &str = "quarter is one of 1, 2, 3, 4";
const RIGHT: &str = "open('/var/outputs/means', 'w').close()\n    return len(text.split())";
const OTHERWISE: &str = "open('/var/outputs/means', 'w').close()\n    return len(text.split()) + 0";

fn replies() -> Script {
    let rows = json!({"checks": [{"constraint": 0, "column": "quarter", "kind": "is_in", "arguments": ["1", "2", "3", "4"]}]});
    Script::new()
        .with(CallKind::Constraints, &rows)
        .with(CallKind::Plan, &plan())
        .with(CallKind::Code, &code(RIGHT))
        .with(CallKind::Tests, &tests(2))
        .with(CallKind::FixCode, &fixed_count(OTHERWISE))
}

fn answer(holds: bool) -> Value {
    json!({"answers": [{"line": 1, "holds": holds}]})
}

/// A task whose program writes `1959Q2` into a column that the sample has, too.
fn world(script: Script) -> World {
    let quarters = ["1", "2", "3", "4"].map(str::to_owned).to_vec();
    let check = ColumnCheck::new(0, "quarter", Rule::IsIn(quarters));
    breaking(script, QUARTERS, check, "1959Q2")
}

/// A task whose program writes this value into a column that the sample has, too, against the constraint that is checked so.
fn breaking(script: Script, constraint: &str, check: ColumnCheck, value: &str) -> World {
    let task = Task {
        cases: CaseMode::Off,
        constraints: vec![constraint.to_owned()],
        outputs: serde_json::from_value(json!([{"name": "means", "type": "File", "format": "CSV"}])).unwrap(),
        ..task()
    };
    let mut world = World::new(task, script, |_, _, _| Vec::new());
    world.data.read.findings = vec![Finding {
        severity: Severity::Violation,
        of: DataSide::Output,
        name: "means".into(),
        column: check.column.clone(),
        check: in_words(&check),
        count: 2,
        first: vec![format!("line 2: {value:?}")],
    }];
    world.data.checks = vec![ColumnCheck {
        in_samples: true,
        ..check
    }];
    world
}

#[tokio::test]
async fn a_constraint_that_speaks_of_other_data_decides_nothing_any_more_and_is_listed() {
    let world = world(replies().with(CallKind::Scope, &answer(false)));
    let progress = world.end().await;
    assert_eq!(
        (progress.stage, progress.attempt),
        (Stage::Succeeded, 2),
        "{progress:#?}"
    );
    assert_eq!(world.kinds()[4..], [CallKind::Scope]);
    let evidence = evidence(&world.task, &progress).unwrap();
    assert_eq!(
        evidence.constraints_not_applied,
        ["quarter is one of 1, 2, 3, 4 (means)"]
    );
    let requests = world.script.requests.lock().unwrap();
    let asked = requests.last().unwrap().user_message();
    assert!(
        asked.contains(QUARTERS) && asked.contains("Output means, column quarter"),
        "{asked}"
    );
    assert!(!asked.contains("1959Q2") && !asked.contains("split"), "{asked}");
}

#[tokio::test]
async fn even_in_the_last_attempt_a_right_program_outlasts_a_constraint_on_other_data() {
    let mut world = world(replies().with(CallKind::Scope, &answer(false)));
    world.task.limits.max_iterations = 1;
    assert_eq!(world.end().await.stage, Stage::Succeeded);
}

#[tokio::test]
async fn a_constraint_that_holds_is_a_fault_of_the_program_and_is_not_asked_about_again() {
    let script = replies()
        .with(CallKind::Scope, &answer(true))
        .with(CallKind::Diagnosis, &diagnosis("logic", &["count"], &[]));
    let world = world(script);
    let progress = world.end().await;
    assert_ne!(progress.stage, Stage::Succeeded);
    assert_eq!(
        world.kinds()[4..7],
        [CallKind::Scope, CallKind::Diagnosis, CallKind::FixCode]
    );
    let asked = world.kinds().into_iter().filter(|kind| *kind == CallKind::Scope);
    assert_eq!(asked.count(), 1);
}

#[rstest]
#[case::a_rate("rate is between 0 and 1", ColumnCheck::new(0, "rate", Rule::Between(0.into(), 1.into())), "7.5")]
#[case::a_key("station is never missing", ColumnCheck::new(0, "station", Rule::NotNull), "")]
#[case::a_unit("mass is greater than 0", ColumnCheck::new(0, "mass", Rule::GreaterThan(0.into())), "-4")]
#[tokio::test]
async fn a_break_of_a_column_that_means_the_same_in_data_and_output_is_not_waived(
    #[case] constraint: &str,
    #[case] check: ColumnCheck,
    #[case] value: &str,
) {
    let script = replies()
        .with(CallKind::Scope, &answer(true))
        .with(CallKind::Diagnosis, &diagnosis("logic", &["count"], &[]));
    let world = breaking(script, constraint, check, value);
    let progress = world.end().await;
    assert_ne!(progress.stage, Stage::Succeeded);
    assert!(progress.constraints[0].not_applied_to.is_empty());
    let requests = world.script.requests.lock().unwrap();
    let diagnosed = requests
        .iter()
        .find(|request| request.kind == CallKind::Diagnosis);
    let seen = diagnosed.unwrap().user_message();
    assert!(seen.contains("2 values break the constraint"), "{seen}");
}

#[tokio::test]
async fn what_no_reply_decides_holds() {
    let nothing = json!({"answers": []});
    let script = (0..3).fold(replies(), |script, _| script.with(CallKind::Scope, &nothing));
    let world = world(script.with(CallKind::Diagnosis, &diagnosis("logic", &["count"], &[])));
    let progress = world.end().await;
    assert_ne!(progress.stage, Stage::Succeeded);
    assert_eq!(world.kinds()[7], CallKind::Diagnosis);
}

#[tokio::test]
async fn a_constraint_that_names_the_output_is_asked_about_never() {
    let mut world = world(replies().with(CallKind::Diagnosis, &diagnosis("logic", &["count"], &[])));
    world.task.constraints = vec!["the quarter of means is one of 1, 2, 3, 4".to_owned()];
    let progress = world.end().await;
    assert_ne!(progress.stage, Stage::Succeeded);
    assert_eq!(world.kinds()[4], CallKind::Diagnosis);
}

#[tokio::test]
async fn a_kill_at_any_write_of_a_task_whose_constraint_is_asked_about_gives_the_same_end() {
    let make = || world(replies().with(CallKind::Scope, &answer(false)));
    let (undisturbed, store) = (make(), MemoryStore::new());
    let expected = undisturbed.live(&store).await.unwrap();
    let calls = undisturbed.script.calls();
    for write in 1..=store.writes() {
        for moment in [FaultMoment::Before, FaultMoment::After] {
            let at = format!("killed at write {write}, {moment:?}");
            let (world, store) = (make(), MemoryStore::new());
            let killed = world
                .live(&store.restarted(Some(codegen_ledger::WriteFault { write, moment })))
                .await;
            assert!(killed.is_err(), "{at}");
            forget_lost(&world, &store);
            let progress = world.live(&store.restarted(None)).await.unwrap();
            assert_eq!(progress.stage, expected.stage, "{at}");
            assert_eq!(progress.constraints, expected.constraints, "{at}");
            assert_eq!(progress.settled_breaks, expected.settled_breaks, "{at}");
            let lost = usize::try_from(progress.spent.lost_calls).unwrap();
            assert!(lost <= 1 && world.script.calls() <= calls + lost, "{at}");
        }
    }
}
