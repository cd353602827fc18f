//! Questions that wait: for a model, for a tool that cannot be called, for the run of a call.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;

use super::MemoryStore;
use super::{answer, world};
use crate::code_mode::Made;
use crate::code_mode::journal::OpenJournal;
use crate::test_support::Script;
use codegen_core::call::CallKind;
use codegen_model::ModelError;

#[tokio::test]
async fn a_server_that_asks_for_a_pause_is_not_called_before_its_end() {
    let mut world = world(&[]);
    world.script = Script::new().with_error(
        CallKind::Program,
        ModelError::Unavailable {
            endpoint: "http://127.0.0.1:1".into(),
            status: 429,
            tries: 1,
            retry_after: Some(Duration::from_mins(5)),
            may_be_billed: false,
            detail: "too many".into(),
        },
    );
    let waiting = world.go_on(&MemoryStore::new()).await.unwrap().waiting.unwrap();
    let pause = waiting.retry_at.duration_since(waiting.since.unwrap());
    assert_eq!(pause.as_mins(), 5);
}

#[tokio::test]
async fn a_call_beside_one_that_cannot_be_made_is_recorded() {
    let mut world = world(&["import asyncio\nawait asyncio.gather(rate(1), refund(7))"]);
    world.conducts.insert("rate", |_, _, _| Made::Blocked {
        message: "no Secret".to_owned(),
        needs_person: true,
    });
    let store = MemoryStore::new();
    assert!(world.go_on(&store).await.unwrap().waiting.is_some());
    let journal = OpenJournal::open(&store, 1).await.unwrap();
    assert_eq!(journal.journal().ended().count(), 1);
}

#[tokio::test]
async fn calls_of_durable_tools_wait_for_their_runs_and_the_program_goes_on_after_them() {
    let program = "import asyncio\nfirst = await rate(1)\na, b = await asyncio.gather(report(1), report(2))\n[first, a, b, await report(3)]";
    let world = world(&[program]);
    let store = MemoryStore::new();
    let progress = world.go_on(&store).await.unwrap();
    let waits: Vec<_> = progress
        .waits
        .calls
        .iter()
        .map(|call| call.run.as_str())
        .collect();
    assert_eq!(waits, ["run-2", "run-3"]);
    world.runs_ended.store(3, Ordering::Relaxed);
    let progress = world.go_on(&store).await.unwrap();
    assert_eq!(progress.waits.calls.len(), 1);
    world.runs_ended.store(4, Ordering::Relaxed);
    let progress = world.go_on(&store).await.unwrap();
    assert_eq!(answer(&store, &progress).await.value, Some(json!([2, 2, 3, 4])));
    let rates = world
        .made()
        .iter()
        .filter(|call| call.starts_with("rate"))
        .count();
    assert_eq!(rates, 1, "what is recorded is not asked for again");
}
