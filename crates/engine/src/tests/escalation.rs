//! Two models: a cheap one whose programs runs refute, and a strong one.

use std::collections::BTreeMap;

use rstest::rstest;

use crate::test_support::{Script, World, code, diagnosis, fixed_count, plan, splits, tests};
use crate::tests::crash::forget_lost;
use codegen_core::call::{CallKind, FinishReason, ModelIndex};
use codegen_core::progress::Progress;
use codegen_core::stage::{Stage, StopReason};
use codegen_core::task::{EscalationSettings, ModelSettings, Task};
use codegen_core::test_support::task;
use codegen_ledger::{FaultMoment, Ledger, MemoryStore, WriteFault, export_replies};

const STRONG: ModelIndex = ModelIndex::Escalation(0);

fn escalating(after: u32) -> Task {
    let model = ModelSettings {
        name: "strong".into(),
        ..task().model
    };
    Task {
        escalation: vec![EscalationSettings { after, model }],
        ..task()
    }
}

/// The cheap model is wrong each time in another way, the strong one right.
fn script() -> Script {
    Script::new()
        .with(CallKind::Plan, &plan())
        .with(CallKind::Code, &code("return len(text)"))
        .with(CallKind::Tests, &tests(2))
        .with(CallKind::Diagnosis, &diagnosis("logic", &["count"], &[]))
        .with(CallKind::FixCode, &fixed_count("return len(text) + 1"))
        .with(CallKind::FixCode, &fixed_count("return len(text) + 2"))
        .with(CallKind::FixCode, &fixed_count("return len(text) + 3"))
        .of(STRONG)
        .with(CallKind::Diagnosis, &diagnosis("logic", &["count"], &[]))
        .with(CallKind::FixCode, &fixed_count("return len(text.split())"))
}

/// The calls, and which of them the strong model answered, as the ledger has them.
async fn answered(store: &MemoryStore, progress: &Progress) -> Vec<(CallKind, Option<String>)> {
    let entries = Ledger::new(store).entries(progress.sequence).await.unwrap();
    let answer = |entry: codegen_ledger::Entry| (entry.kind, entry.reply.model);
    entries.into_iter().map(answer).collect()
}

#[tokio::test]
async fn what_the_cheap_model_fails_twice_the_strong_one_diagnoses_and_solves() {
    let world = World::new(escalating(2), script(), splits);
    let store = MemoryStore::new();
    let progress = world.live(&store).await.unwrap();
    assert_eq!(
        (progress.stage, progress.attempt),
        (Stage::Succeeded, 3),
        "{progress:#?}"
    );
    let answered = answered(&store, &progress).await;
    let strong: Vec<CallKind> = answered
        .into_iter()
        .filter(|(_, model)| model.as_deref() == Some("strong"))
        .map(|(kind, _)| kind)
        .collect();
    assert_eq!(strong, [CallKind::Diagnosis, CallKind::FixCode]);
    let names: BTreeMap<&str, u32> = progress
        .other_models
        .iter()
        .map(|(name, used)| (name.as_str(), used.calls))
        .collect();
    assert_eq!(names, BTreeMap::from([("strong", 2)]));
    let requests = world.script.requests.lock().unwrap();
    let first = requests
        .iter()
        .find(|request| request.model.index == STRONG)
        .unwrap();
    assert!(
        first.instruction.contains("return len(text) + 1"),
        "the refuted program is beside it: {}",
        first.instruction
    );
}

#[tokio::test]
async fn a_recording_says_which_model_gave_each_reply() {
    let world = World::new(escalating(2), script(), splits);
    let store = MemoryStore::new();
    let progress = world.live(&store).await.unwrap();
    let entries = Ledger::new(&store).entries(progress.sequence).await.unwrap();
    let recording = export_replies(&entries);
    let strong = recording
        .lines()
        .filter(|line| line.contains("\"model\":\"strong\""));
    assert_eq!(strong.count(), 2, "{recording}");
    let recorded = codegen_model::Recorded::parse("replies", &recording).unwrap();
    let replies = entries.iter().map(|entry| entry.reply.model.clone());
    for (line, model) in recording.lines().zip(replies) {
        let line: codegen_model::RecordedReply = serde_json::from_str(line).unwrap();
        assert_eq!(line.model, model);
    }
    assert_eq!(recorded.mismatch(), None);
}

#[rstest]
#[case::which_answers(None)]
#[case::which_does_not_either(Some(StopReason::InvalidReply))]
#[tokio::test]
async fn replies_that_cannot_be_used_bring_the_strong_model(#[case] stop: Option<StopReason>) {
    let bad = || {
        Script::new()
            .with(CallKind::Plan, &plan())
            .with_text(CallKind::Code, "I would rather not.", FinishReason::Complete)
            .of(STRONG)
    };
    let script = match stop {
        None => bad()
            .with(CallKind::Code, &code("return len(text.split())"))
            .with(CallKind::Tests, &tests(2)),
        Some(_) => bad().with_text(CallKind::Code, "Nor would I.", FinishReason::Complete),
    };
    let world = World::new(escalating(9), script, splits);
    let progress = world.end().await;
    assert_eq!(progress.stop.map(|stop| stop.reason), stop);
    let used = progress.other_models["strong"].calls;
    assert_eq!(used, if stop.is_some() { 3 } else { 2 });
}

#[tokio::test]
async fn a_kill_at_any_write_of_an_escalation_pays_for_no_recorded_reply_again() {
    let undisturbed = World::new(escalating(2), script(), splits);
    let store = MemoryStore::new();
    let expected = undisturbed.live(&store).await.unwrap();
    let answers = answered(&store, &expected).await;
    for write in 1..=store.writes() {
        for moment in [FaultMoment::Before, FaultMoment::After] {
            let at = format!("killed at write {write}, {moment:?}");
            let world = World::new(escalating(2), script(), splits);
            let store = MemoryStore::new();
            let fault = WriteFault { write, moment };
            Box::pin(world.live(&store.restarted(Some(fault))))
                .await
                .unwrap_err();
            forget_lost(&world, &store);
            let progress = Box::pin(world.live(&store.restarted(None))).await.unwrap();
            assert_eq!(answered(&store, &progress).await, answers, "{at}");
            assert_eq!(progress.other_models, expected.other_models, "{at}");
            let lost = usize::try_from(progress.spent.lost_calls).unwrap();
            assert!(lost <= 1, "{at}");
            assert!(world.script.calls() <= undisturbed.script.calls() + lost, "{at}");
        }
    }
}
