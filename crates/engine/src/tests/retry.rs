//! Another try of a task: fresh replies, and what came before as evidence.

use std::sync::atomic::{AtomicI64, Ordering};

use jiff::Timestamp;

use crate::event::Event;
use crate::results;
use crate::test_support::{Script, World, code, plan, splits, tests};
use codegen_api::retry::RetryStatus;
use codegen_core::call::CallKind;
use codegen_core::machine::Outcome;
use codegen_core::progress::{Progress, retry_document};
use codegen_core::retry::Retry;
use codegen_core::reuse::key_of;
use codegen_core::stage::Stage;
use codegen_core::test_support::task;
use codegen_ledger::{FaultMoment, Ledger, MemoryStore, Store as _, WriteFault};

const HINT: &str = "words are separated by white space";

/// A second for each look, so that what came first is known.
fn clock() -> Timestamp {
    static SECONDS: AtomicI64 = AtomicI64::new(1_000);
    Timestamp::from_second(SECONDS.fetch_add(1, Ordering::Relaxed)).unwrap()
}

/// Somebody asks for another try.
async fn retry(world: &World, store: &MemoryStore, hint: Option<&str>) -> Progress {
    let wish = Retry {
        replan: false,
        hint: hint.map(str::to_owned),
    };
    world.apply(store, Outcome::Retried(wish)).await
}

/// One attempt, which fails.
async fn failed(script: Script) -> (World, MemoryStore) {
    let mut task = task();
    task.limits.max_iterations = 1;
    let mut world = World::new(task, script, splits);
    world.clock = clock;
    let store = MemoryStore::new();
    let progress = world.live(&store).await.unwrap();
    assert_eq!((progress.stage, progress.attempt), (Stage::Failed, 1));
    (world, store)
}

/// A wrong program and, for another try, a right one.
fn wrong_then_right() -> Script {
    Script::new()
        .with(CallKind::Plan, &plan())
        .with(CallKind::Code, &code("return len(text)"))
        .with(CallKind::Code, &code("return len(text.split())"))
        .with(CallKind::Tests, &tests(2))
}

#[tokio::test]
async fn a_kill_at_any_write_of_another_try_gives_the_same_end_and_asks_for_no_recorded_reply_again() {
    let (world, store) = failed(wrong_then_right()).await;
    retry(&world, &store, Some(HINT)).await;
    let second = store.restarted(None);
    let expected = world.live(&second).await.unwrap();
    assert_eq!((expected.stage, world.script.calls()), (Stage::Succeeded, 5));
    for write in 1..=second.writes() {
        for moment in [FaultMoment::Before, FaultMoment::After] {
            let at = format!("killed at write {write}, {moment:?}");
            let (world, store) = failed(wrong_then_right()).await;
            retry(&world, &store, Some(HINT)).await;
            let fault = Some(WriteFault { write, moment });
            world.live(&store.restarted(fault)).await.unwrap_err();
            let end = world.live(&store.restarted(None)).await.unwrap();
            assert_eq!(
                (end.stage, end.attempt, end.sequence),
                (Stage::Succeeded, 2, 6),
                "{at}"
            );
            let solution = |progress: &Progress| progress.documents.solution.clone();
            assert_eq!(solution(&end), solution(&expected), "{at}");
            let lost = end.spent.lost_calls;
            assert!(lost <= 1, "{at}");
            assert_eq!(end.spent.model_calls, 5 + lost, "{at}");
            assert!(world.script.calls() <= 5 + usize::try_from(lost).unwrap(), "{at}");
        }
    }
}

#[tokio::test]
async fn a_new_program_is_asked_for_with_the_hint_and_the_first_one_stays_as_evidence() {
    let (world, store) = failed(wrong_then_right()).await;
    let calls = world.script.calls();
    let begun = retry(&world, &store, Some(HINT)).await;
    assert_eq!(begun.stage, Stage::GeneratingCode);
    let end = world.live(&store).await.unwrap();
    assert_eq!((end.stage, end.attempt), (Stage::Succeeded, 2), "{end:#?}");
    assert_eq!(end.spent.model_calls, u32::try_from(calls + 2).unwrap());

    let requests = world.script.requests.lock().unwrap().clone();
    let hinted = requests.iter().map(|request| request.prefix.contains(HINT));
    assert_eq!(hinted.collect::<Vec<_>>(), [false, false, false, true, true]);
    let is_retry =
        |event: &Event| matches!(event, Event::Retried { retry } if retry.hint.as_deref() == Some(HINT));
    let seen = world
        .watcher
        .0
        .lock()
        .unwrap()
        .iter()
        .filter(|event| is_retry(event))
        .count();
    assert_eq!(seen, 1);

    let entries = Ledger::new(&store).entries(end.sequence).await.unwrap();
    let numbers: Vec<u32> = entries.iter().map(|entry| entry.sequence).collect();
    assert_eq!(
        numbers,
        [1, 2, 3, 4, 5],
        "no reply is replaced, and no number is left out"
    );
    let left = results::collect(&world.task, &end, &store, &entries)
        .await
        .unwrap();
    let text = |path: &str| String::from_utf8_lossy(&left.files[path]).into_owned();
    assert!(text("solution.py").contains("len(text.split())"));
    assert!(text("attempts/1/solution.py").contains("return len(text)\n"));
    assert!(text("conversation.jsonl").contains(HINT));
}

#[tokio::test]
async fn of_many_tries_the_state_has_the_last_and_the_record_those_before() {
    let mut script = Script::new()
        .with(CallKind::Plan, &plan())
        .with(CallKind::Tests, &tests(2));
    for _ in 0..9 {
        script = script.with(CallKind::Code, &code("return len(text)"));
    }
    let (world, store) = failed(script).await;
    let mut end = None;
    for number in 1..=8 {
        retry(&world, &store, Some(&format!("hint {number}"))).await;
        end = Some(world.live(&store).await.unwrap());
    }
    let end = end.unwrap();
    assert_eq!((end.stage, end.attempt), (Stage::Failed, 9), "{end:#?}");
    let hints: Vec<&str> = end
        .retries
        .iter()
        .filter_map(|retry| retry.hint.as_deref())
        .collect();
    assert_eq!(
        hints,
        ["hint 3", "hint 4", "hint 5", "hint 6", "hint 7", "hint 8"]
    );
    assert_eq!((end.earlier_retries.count, end.retries_so_far()), (2, 8));
    for number in 1..=2 {
        let bytes = store.read(&retry_document(number)).await.unwrap().unwrap();
        let retry: RetryStatus = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(retry.hint, Some(format!("hint {number}")));
        assert_eq!(retry.attempts, i32::try_from(number).unwrap());
    }
    assert_eq!(store.read(&retry_document(3)).await.unwrap(), None);
    // What a hint has led to, however long ago, is not what the spec asks for alone.
    let mut without = end.clone();
    without.earlier_retries.hints.clear();
    assert_ne!(key_of(&world.task, &end), key_of(&world.task, &without));
}
