//! Programs that make many calls at once, or run for long: limits are looked at on the way, and the state says that they run.

use std::cell::Cell;

use jiff::{SignedDuration, Timestamp};
use serde_json::Map;
use tokio::sync::watch;

use super::*;
use crate::code_mode::journal::OpenJournal;
use crate::code_mode::record::record;
use crate::code_mode::{CallKey, ToolCaller};
use codegen_code_mode::journal::CallOutcome;
use codegen_core::bounds::message_shown;
use codegen_core::code_mode::SourcedTool;

const TOGETHER: &str = "import asyncio\nsum(await asyncio.gather(*[rate(number) for number in range(40)]))";
const DURABLE: &str = "import asyncio\nsum(await asyncio.gather(*(report(number) for number in range(40))))";

/// Half a minute passes between two reads of it.
fn hurried() -> Timestamp {
    thread_local!(static READS: Cell<i64> = const { Cell::new(0) });
    READS.set(READS.get() + 1);
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(READS.get() * 30)
}

#[tokio::test]
async fn a_question_that_is_held_makes_no_further_batch_and_repeats_none_of_the_last_when_it_goes_on() {
    let mut world = world(&[TOGETHER]);
    world.is_stopped = |world| !world.made().is_empty();
    let store = MemoryStore::new();
    let progress = world.go_on(&store).await.unwrap();
    assert_eq!((progress.stage, world.made().len()), (QuestionStage::Running, 16));
    let journal = OpenJournal::open(&store, 1).await.unwrap();
    assert_eq!(journal.journal().ended().count(), 16);
    world.is_stopped = |_| false;
    let progress = world.go_on(&store).await.unwrap();
    assert_eq!(answer(&store, &progress).await.value, Some(json!(1_560)));
    assert_eq!(world.made().len(), 40);
}

#[tokio::test]
async fn a_loop_of_single_calls_is_held_between_two_of_them() {
    let mut world = world(&["for id in range(40):\n    await refund(id)\n'done'"]);
    world.is_stopped = |world| world.made().len() == 3;
    let store = MemoryStore::new();
    assert_eq!(world.go_on(&store).await.unwrap().stage, QuestionStage::Running);
    assert_eq!(world.made().len(), 3);
    world.is_stopped = |_| false;
    assert_eq!(world.go_on(&store).await.unwrap().stage, QuestionStage::Succeeded);
    assert_eq!(world.made().len(), 40);
}

#[tokio::test]
async fn the_deadline_ends_a_program_between_two_batches() {
    let mut world = world(&[TOGETHER]);
    world.clock = hurried;
    world.question.limits.deadline_seconds = 500.0;
    let progress = world.go_on(&MemoryStore::new()).await.unwrap();
    let stop = progress.stop.unwrap();
    assert_eq!(stop.reason, QuestionStopReason::BudgetExceeded);
    assert!(stop.message.starts_with("limits.deadline: "), "{}", stop.message);
    assert_eq!(world.made().len(), 16);
}

#[tokio::test]
async fn at_most_sixteen_runs_of_programs_are_under_way_at_once_and_another_begins_when_one_has_ended() {
    let world = world(&[DURABLE]);
    let store = MemoryStore::new();
    let begun = || {
        let mut made = world.made();
        made.sort();
        made.dedup();
        made.len()
    };
    world.go_on(&store).await.unwrap();
    assert_eq!(begun(), 16);
    for ended in [1, 5, 24] {
        world.runs_ended.store(ended, Ordering::Relaxed);
        world.go_on(&store).await.unwrap();
        assert_eq!(begun(), (16 + ended).min(40));
    }
    world.runs_ended.store(40, Ordering::Relaxed);
    let progress = world.go_on(&store).await.unwrap();
    assert_eq!(answer(&store, &progress).await.value, Some(json!(820)));
    assert_eq!(progress.tool_calls["report"], 40);
}

#[tokio::test]
async fn beside_durable_calls_that_wait_all_others_of_the_batch_are_made() {
    let program = "import asyncio\nawait asyncio.gather(*[report(number) for number in range(20)], *[rate(number) for number in range(20)])";
    let world = world(&[program]);
    world.go_on(&MemoryStore::new()).await.unwrap();
    let rates = world
        .made()
        .iter()
        .filter(|call| call.starts_with("rate"))
        .count();
    assert_eq!((rates, world.made().len()), (20, 36));
}

#[tokio::test]
async fn every_call_in_flight_is_named_whose_outcome_nobody_knows() {
    let program = "import asyncio\nawait asyncio.gather(*[refund(number) for number in range(4)])";
    let mut world = world(&[program]);
    world.conducts.insert("refund", |_, key, _| match key.number {
        2 => Made::Ended(CallOutcome::Returned(json!(1))),
        number => Made::Unknown(format!("gave no reply to {number}")),
    });
    let store = MemoryStore::new();
    let progress = world.go_on(&store).await.unwrap();
    let stop = progress.stop.clone().unwrap();
    assert_eq!(stop.reason, QuestionStopReason::UnknownOutcome);
    for words in [
        "3 calls",
        "call 1, refund(id=0)",
        "call 3, refund(id=2)",
        "call 4, refund(id=3)",
        "gave no reply to 4",
    ] {
        assert!(stop.message.contains(words), "{words}: {}", stop.message);
    }
    assert!(!stop.message.contains("id=1"), "{}", stop.message);
    assert!(stop.message.len() < 1_100, "{}", stop.message.len());
    let left = record(&store, &progress).await.unwrap();
    let unknown: Vec<u32> = left.in_flight.iter().map(|(_, call)| call.number).collect();
    assert_eq!(unknown, [1, 3, 4]);
    assert_eq!(left.calls[0].1.len(), 1);
}

#[tokio::test]
async fn a_full_batch_of_calls_in_flight_is_named_within_the_message_of_a_status() {
    let program = "import asyncio\nawait asyncio.gather(*[refund(number) for number in range(16)])";
    let mut world = world(&[program]);
    world
        .conducts
        .insert("refund", |_, _, _| Made::Unknown("gave no reply".to_owned()));
    let stop = world.go_on(&MemoryStore::new()).await.unwrap().stop.unwrap();
    let shown = message_shown(&stop.message);
    for number in 1..=16 {
        assert!(
            shown.contains(&format!("call {number}, refund(id=")),
            "{number}: {shown}"
        );
    }
    assert!(shown.ends_with("onUnknownOutcome: Retry."), "{shown}");
}

/// A tool whose first call answers at once and whose others answer when they are allowed to.
struct Slow<'a> {
    world: &'a World,
    others: watch::Receiver<bool>,
}

impl ToolCaller for Slow<'_> {
    async fn call(&self, tool: &SourcedTool, key: &CallKey, arguments: &Map<String, Value>) -> Made {
        let made = self.world.call(tool, key, arguments).await;
        if key.number > 1 {
            let _ = self.others.clone().wait_for(|may_answer| *may_answer).await;
        }
        made
    }

    async fn read_text(&self, handle: &Value, limit: usize) -> Made {
        self.world.read_text(handle, limit).await
    }
}

#[tokio::test]
async fn an_outcome_is_recorded_when_it_comes_and_not_with_the_slowest_of_its_batch() {
    let program = "import asyncio\nawait asyncio.gather(refund(1), refund(2), refund(3))";
    let world = world(&[program]);
    let store = MemoryStore::new();
    let (_never, others) = watch::channel(false);
    let slow = Slow {
        world: &world,
        others,
    };
    let recorded = async {
        loop {
            let journal = OpenJournal::open(&store, 1).await.unwrap();
            if journal.journal().ended().count() == 1 {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    // A kill while two calls are in flight.
    tokio::select! {
        _ = world.go_on_through(&store, &slow, |_| None) => panic!("it ended"),
        () = recorded => {}
    }
    let stop = world.go_on(&store).await.unwrap().stop.unwrap();
    assert_eq!(stop.reason, QuestionStopReason::UnknownOutcome);
    assert!(stop.message.starts_with("2 calls"), "{}", stop.message);
    for words in [
        "call 2, refund(id=2)",
        "call 3, refund(id=3)",
        "ended before their outcomes were recorded",
    ] {
        assert!(stop.message.contains(words), "{words}: {}", stop.message);
    }
}

#[tokio::test]
async fn calls_made_together_that_must_not_be_made_twice_need_no_more_writes_than_one_of_them() {
    let mut writes = Vec::new();
    for calls in [1, 16] {
        let program =
            format!("import asyncio\nawait asyncio.gather(*[refund(number) for number in range({calls})])");
        let world = world(&[&program]);
        let store = MemoryStore::new();
        assert_eq!(world.go_on(&store).await.unwrap().stage, QuestionStage::Succeeded);
        assert_eq!(world.made().len(), calls);
        writes.push(store.writes());
    }
    assert_eq!(writes[0], writes[1]);
}
