//! Kills a task at every single write, before and after the write takes effect, and goes on with it.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use rstest::rstest;
use serde_json::{Value, json};

use crate::EngineError;
use crate::test_support::{Script, World, code, diagnosis, one_logic_bug, plan, splits, tests};
use codegen_api::approval::Gate;
use codegen_api::publish::Publish;
use codegen_core::call::CallKind;
use codegen_core::progress::{Progress, PublishedImage};
use codegen_core::stage::Stage;
use codegen_core::task::Task;
use codegen_core::test_support::task;
use codegen_ledger::{FaultMoment, MemoryStore, Store as _, StoreError, WriteFault};

fn world(gates: &[Gate]) -> World {
    let row = json!({"constraint": 0, "column": "", "kind": "none", "arguments": []});
    let mut first = code("return len(text)");
    first["packages"] = json!(["left-pad"]);
    let script = Script::new()
        .with(CallKind::Constraints, &json!({"checks": [row]}))
        .with(CallKind::Plan, &plan_with_cases())
        .with(CallKind::Code, &first)
        .with(CallKind::Tests, &tests(2))
        .with(CallKind::Diagnosis, &three_failures())
        .with(
            CallKind::Cases,
            &json!({"cases": [{"case": 1, "refused": false, "values": ["2"]}]}),
        )
        .with(
            CallKind::FixCode,
            // Most near misses of it pass, so that further cases are asked for.
            &crate::test_support::fixed_count("return len([word for word in sorted(set(text.split())) if word])"),
        )
        .with(
            CallKind::MoreCases,
            &json!({"cases": [{"about": "further", "expect": [{"output": "stdout", "check": "Contains", "value": "2"}]}]}),
        );
    let mut world = World::new(
        Task {
            constraints: vec!["c".into()],
            approvals: gates.iter().copied().collect(),
            publish: Some(Publish::default()),
            ..task()
        },
        script,
        splits,
    );
    world.sandbox.prints = |solution| if solution.contains("split()") { "2" } else { "3" }.to_owned();
    world.surroundings.acceptance_tests = Some("def test_hidden():\n    assert True\n".into());
    world
}

/// A plan with a right case and a wrong one.
fn plan_with_cases() -> Value {
    let case =
        |about: &str, value: &str| json!({"about": about, "expect": [{"output": "stdout", "value": value}]});
    let mut plan = plan();
    plan["cases"] = json!([case("right", "2"), case("wrong", "5")]);
    plan
}

/// The test, the right case and the wrong one; that is blamed, and worked out again.
fn three_failures() -> Value {
    let mut all = diagnosis("logic", &["count"], &[]);
    let mut rows = vec![all["failures"][0].clone(); 3];
    for (index, row) in rows.iter_mut().enumerate() {
        row["failure"] = json!(index + 1);
    }
    rows[2]["errorType"] = json!("test_error");
    all["failures"] = json!(rows);
    all
}

/// Extracts the state that must be the same however often a task was killed.
fn essence(progress: &Progress) -> (Stage, u32, Option<String>, u32, Option<PublishedImage>) {
    let solution = progress
        .documents
        .solution
        .as_ref()
        .map(|document| document.sha256.clone());
    let published = progress.published.clone();
    (
        progress.stage,
        progress.attempt,
        solution,
        progress.sequence,
        published,
    )
}

/// Lives until the end, dying at `fault` once; returns the end, and how often the model was asked for a reply that was recorded.
async fn with_one_death(gates: &[Gate], fault: WriteFault) -> (Progress, World, MemoryStore) {
    let world = world(gates);
    let store = MemoryStore::new();
    let error = world.live(&store.restarted(Some(fault))).await.unwrap_err();
    assert!(
        matches!(error, EngineError::Store(StoreError::Stopped { .. })),
        "{error}"
    );
    let unanswered = forget_lost(&world, &store);
    let progress = world.live(&store.restarted(None)).await.unwrap();
    assert!(
        usize::try_from(progress.spent.lost_calls).unwrap() >= unanswered,
        "a call that may be billed counts"
    );
    (progress, world, store)
}

/// The script counts calls; a call whose reply never reached the ledger is answered the same again. How many there were.
pub(super) fn forget_lost(world: &World, store: &MemoryStore) -> usize {
    let names = store.names();
    let requests = world.script.requests.lock().unwrap();
    let kinds: BTreeSet<CallKind> = requests.iter().map(|request| request.kind).collect();
    let lost = kinds.into_iter().filter(|kind| {
        let asked = requests.iter().filter(|request| request.kind == *kind).count();
        let ending = format!("-{kind}.json");
        asked > names.iter().filter(|name| name.ends_with(&ending)).count()
    });
    let latest = |kind| requests.iter().rfind(|request| request.kind == kind);
    lost.filter_map(latest)
        .map(|request| world.script.forget_lost(request.model.index, request.kind))
        .count()
}

#[rstest]
#[case::without_gates(&[])]
#[case::with_every_gate(&Gate::ALL)]
#[tokio::test]
async fn a_kill_at_any_write_gives_the_same_end_and_pays_for_no_recorded_reply_again(
    #[case] gates: &'static [Gate],
) {
    let undisturbed = world(gates);
    let store = MemoryStore::new();
    let expected = undisturbed.live(&store).await.unwrap();
    assert_eq!(expected.stage, Stage::Succeeded, "{expected:#?}");
    let (writes, calls) = (store.writes(), undisturbed.script.calls());
    let runs = undisturbed.sandbox.runs.load(Ordering::SeqCst);
    assert!(writes > 20, "{writes}");
    for write in 1..=writes {
        for moment in [FaultMoment::Before, FaultMoment::After] {
            let at = format!("killed at write {write}, {moment:?}");
            let (progress, world, _store) =
                Box::pin(with_one_death(gates, WriteFault { write, moment })).await;
            assert_eq!(essence(&progress), essence(&expected), "{at}");
            assert_eq!(
                world.sandbox.published.lock().unwrap().len(),
                1,
                "{at}: what is published again is what was"
            );
            assert_eq!(
                progress.approvals.len(),
                gates.len(),
                "{at}: nobody decides twice"
            );
            let lost = usize::try_from(progress.spent.lost_calls).unwrap();
            assert!(lost <= 1, "{at}");
            assert_eq!(
                progress.spent.model_calls,
                u32::try_from(calls + lost).unwrap(),
                "{at}"
            );
            assert!(
                world.script.calls() <= calls + lost,
                "{at}: {} calls, {lost} lost",
                world.script.calls()
            );
            let repeated = world.sandbox.runs.load(Ordering::SeqCst) - runs;
            assert!(
                repeated <= 4,
                "{at}: at most the run in flight (its three sandboxes, and that of the near misses) is repeated, not {repeated}"
            );
            assert!(
                world.sandbox.builds.load(Ordering::SeqCst) <= 2,
                "{at}: an image that is there is found"
            );
        }
    }
}

#[tokio::test]
async fn a_task_that_has_ended_makes_no_call_when_it_is_run_again() {
    let world = World::new(task(), one_logic_bug(), splits);
    let store = MemoryStore::new();
    let first = world.live(&store).await.unwrap();
    let calls = world.script.calls();
    let again = world.live(&store.restarted(None)).await.unwrap();
    assert_eq!(again, first);
    assert_eq!(world.script.calls(), calls);
}

#[tokio::test]
async fn a_state_of_a_newer_version_is_left_alone() {
    let world = World::new(task(), one_logic_bug(), splits);
    let store = MemoryStore::new();
    world.live(&store).await.unwrap();
    let mut state = store.load().await.unwrap().unwrap();
    state.version = 99;
    store.save(&state).await.unwrap();
    let error = world.live(&store.restarted(None)).await.unwrap_err();
    assert!(error.to_string().contains("state 99"), "{error}");
}

/// A store whose progress was spoiled, by a power cut for instance.
#[derive(Clone)]
struct Spoiled(MemoryStore, std::sync::Arc<std::sync::atomic::AtomicBool>);

impl codegen_ledger::Store for Spoiled {
    type Progress = Progress;

    async fn load(&self) -> Result<Option<Progress>, StoreError> {
        if self.1.swap(false, Ordering::SeqCst) {
            return Err(StoreError::Damaged {
                name: "progress".into(),
                detail: "half of it is missing".into(),
            });
        }
        self.0.load().await
    }

    async fn save(&self, progress: &Progress) -> Result<(), StoreError> {
        self.0.save(progress).await
    }

    async fn create(&self, name: &str, bytes: &[u8]) -> Result<codegen_ledger::Created, StoreError> {
        self.0.create(name, bytes).await
    }

    async fn read(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.0.read(name).await
    }
}

#[tokio::test]
async fn a_spoiled_progress_is_made_again_from_the_record_without_a_call() {
    let world = world(&[]);
    let store = MemoryStore::new();
    let first = world.live(&store).await.unwrap();
    let calls = world.script.calls();
    let spoiled = Spoiled(store.restarted(None), std::sync::Arc::new(true.into()));
    let again = world.live(&spoiled).await.unwrap();
    assert_eq!(essence(&again), essence(&first));
    assert_eq!(again.spent.tokens, first.spent.tokens);
    assert_eq!(again.spent.model_calls, first.spent.model_calls);
    assert_eq!(world.script.calls(), calls);
}
