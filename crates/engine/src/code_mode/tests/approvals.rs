//! Calls that wait for a person: asked once for each, made once that is approved, and killed at every write.

use std::collections::BTreeSet;

use super::*;
use crate::code_mode::journal::OpenJournal;
use codegen_api::approval::ApprovalDecision;
use codegen_core::code_mode::{AwaitedCall, call_hash};

const APPROVE: Option<ApprovalDecision> = Some(ApprovalDecision::Approve);

/// A world in which a person decides about calls of these tools.
fn guarded(programs: &[&str], tools: &[&str]) -> World {
    let mut world = world(programs);
    world.question.require_approval = tools.iter().map(|tool| (*tool).to_owned()).collect();
    world
}

/// The argument of the call that waits.
fn id(awaited: &AwaitedCall) -> &str {
    let mut lines = awaited.asked.what.iter();
    lines.find_map(|line| line.strip_prefix("id: ")).unwrap()
}

fn number_and_id(progress: &QuestionProgress) -> Option<(u32, &str)> {
    let awaited = progress.waits.approval.as_ref()?;
    Some((awaited.number, id(awaited)))
}

#[tokio::test]
async fn a_call_is_not_made_and_not_begun_before_a_person_has_approved_of_it() {
    let world = guarded(&["await rate(1)\nawait refund(7)"], &["refund"]);
    let store = MemoryStore::new();
    for _ in 0..3 {
        let progress = world.go_on(&store).await.unwrap();
        assert_eq!(number_and_id(&progress), Some((2, "7")));
        assert_eq!(world.made(), ["rate {\"id\":1}"]);
        let journal = OpenJournal::open(&store, 1).await.unwrap();
        assert_eq!(
            journal.journal().ended().count(),
            1,
            "what needs no approval is recorded"
        );
    }
    let progress = world.go_on_with(&store, |_| APPROVE).await.unwrap();
    assert_eq!(answer(&store, &progress).await.value, Some(json!(14)));
    assert_eq!(world.made().len(), 2);
    assert_eq!(progress.approvals.len(), 1);
}

#[tokio::test]
async fn a_loop_is_asked_about_each_time_also_with_the_same_argument() {
    let world = guarded(&["for _ in range(3):\n    await refund(7)\n3"], &["refund"]);
    let store = MemoryStore::new();
    let progress = world.go_on_with(&store, |_| APPROVE).await.unwrap();
    assert_eq!(progress.stage, QuestionStage::Succeeded, "{progress:#?}");
    let decided = world.decided.lock().unwrap().clone();
    assert_eq!(decided.iter().collect::<BTreeSet<_>>().len(), 3);
    assert_eq!(world.made().len(), 3);
}

#[tokio::test]
async fn of_calls_made_together_those_without_approval_go_on_and_the_others_are_asked_about_in_turn() {
    let program = "import asyncio\nawait asyncio.gather(refund(1), rate(2), refund(3), report(4), refund(5))";
    let mut world = guarded(&[program], &["refund"]);
    world.question.limits.max_retries = 0;
    let store = MemoryStore::new();
    let progress = world.go_on(&store).await.unwrap();
    assert_eq!(number_and_id(&progress), Some((1, "1")));
    assert_eq!(progress.waits.approval.as_ref().unwrap().more, 2);
    assert_eq!(progress.waits.calls.len(), 1, "the run is waited for beside it");
    assert_eq!(world.made(), ["rate {\"id\":2}", "report {\"id\":4}"]);
    world.runs_ended.store(9, Ordering::Relaxed);
    let first = |awaited: &AwaitedCall| APPROVE.filter(|_| id(awaited) == "1");
    let progress = world.go_on_with(&store, first).await.unwrap();
    assert_eq!(number_and_id(&progress), Some((3, "3")));
    assert!(
        world.made().contains(&"refund {\"id\":1}".to_owned()),
        "approved and made"
    );
    let but_the_last = |awaited: &AwaitedCall| match id(awaited) {
        "5" => Some(ApprovalDecision::Reject),
        _ => APPROVE,
    };
    let progress = world.go_on_with(&store, but_the_last).await.unwrap();
    let stop = progress.stop.unwrap().message;
    assert!(stop.contains("PermissionError"), "nothing catches it: {stop}");
    let made = world.made();
    let refunds = made.iter().filter(|call| call.starts_with("refund"));
    let refunds: Vec<_> = refunds.map(String::as_str).collect();
    assert_eq!(refunds, ["refund {\"id\":1}", "refund {\"id\":3}"]);
}

#[tokio::test]
async fn a_refusal_is_an_exception_that_the_program_can_catch_and_a_replay_gives_the_same() {
    let program = "\
said = ''
try:
    await refund(7)
except PermissionError as error:
    said = str(error)
await report(1)
said";
    let world = guarded(&[program], &["refund"]);
    let store = MemoryStore::new();
    let no = |_: &AwaitedCall| Some(ApprovalDecision::Reject);
    let progress = world.go_on_with(&store, no).await.unwrap();
    assert_eq!(
        progress.waits.calls.len(),
        1,
        "it runs again when the run has ended"
    );
    world.runs_ended.store(9, Ordering::Relaxed);
    let progress = world.go_on(&store).await.unwrap();
    let expected = "the call refund(id=7) was refused by ada: not now";
    assert_eq!(answer(&store, &progress).await.value, Some(json!(expected)));
    assert_eq!(world.decided.lock().unwrap().len(), 1);
    assert_eq!(
        progress.tool_calls.keys().collect::<Vec<_>>(),
        ["report"],
        "refused is not made"
    );
    assert!(!world.made().iter().any(|call| call.starts_with("refund")));
}

#[tokio::test]
async fn a_refusal_that_nothing_catches_is_evidence_for_the_model_and_the_next_program_is_asked_about_anew() {
    let world = guarded(&["await refund(7)", "await refund(7)"], &["refund"]);
    let store = MemoryStore::new();
    let only_first = Mutex::new(Some(ApprovalDecision::Reject));
    let progress = world
        .go_on_with(&store, |_| only_first.lock().unwrap().take())
        .await
        .unwrap();
    assert_eq!((progress.attempt, number_and_id(&progress)), (2, Some((1, "7"))));
    {
        let requests = world.script.requests.lock().unwrap();
        let told = &requests[1].instruction;
        assert!(told.contains("PermissionError in line 1"), "{told}");
        assert!(told.contains("refused by ada: not now"), "{told}");
        assert!(
            requests[0]
                .system
                .contains("Each call of `refund` waits until a person")
        );
    }
    let progress = world.go_on_with(&store, |_| APPROVE).await.unwrap();
    assert_eq!(progress.stage, QuestionStage::Succeeded, "{progress:#?}");
    assert_eq!(world.made(), ["refund {\"id\":7}"]);
}

#[tokio::test]
async fn a_call_that_an_earlier_program_has_made_is_not_made_again_and_nobody_is_asked_about_it() {
    let world = guarded(&["await refund(7)\n1 / 0", "await refund(7)"], &["refund"]);
    let store = MemoryStore::new();
    let progress = world.go_on_with(&store, |_| APPROVE).await.unwrap();
    assert_eq!(answer(&store, &progress).await.value, Some(json!(14)));
    assert_eq!((world.made().len(), world.decided.lock().unwrap().len()), (1, 1));
}

#[tokio::test]
async fn a_call_whose_run_takes_its_time_is_asked_about_once() {
    let world = guarded(&["await report(1)"], &["report"]);
    let store = MemoryStore::new();
    let progress = world.go_on_with(&store, |_| APPROVE).await.unwrap();
    assert_eq!(progress.waits.calls.len(), 1, "{progress:#?}");
    world.runs_ended.store(9, Ordering::Relaxed);
    let progress = world.go_on(&store).await.unwrap();
    assert_eq!(answer(&store, &progress).await.value, Some(json!(1)));
    assert_eq!(world.decided.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn an_approval_in_the_state_counts_for_the_call_with_its_hash_and_for_no_other() {
    let world = guarded(&["await refund(7)"], &["refund"]);
    let store = MemoryStore::new();
    let mut progress = world.go_on(&store).await.unwrap();
    let awaited = progress.waits.approval.take().unwrap();
    let mut approval = json!({
        "gate": "ToolCall", "decision": "Approve", "decidedBy": "eve", "decidedAt": "2026-01-01T00:00:00Z", "hash": "",
    });
    let call = |id: u32| {
        serde_json::from_value(json!({"number": 1, "tool": "refund", "arguments": {"id": id}})).unwrap()
    };
    let exact = call_hash(world::UID, 1, &call(7));
    assert_eq!(exact, awaited.asked.hash);
    for (hash, is_made) in [
        (call_hash(world::UID, 1, &call(8)), false),
        (call_hash("uid-of-the-question-before", 1, &call(7)), false),
        (call_hash(world::UID, 2, &call(7)), false),
        (exact, true),
    ] {
        approval["hash"] = json!(hash);
        progress.decided = serde_json::from_value(approval.clone()).unwrap();
        store.save(&progress).await.unwrap();
        world.go_on(&store).await.unwrap();
        assert_eq!(world.made().len(), usize::from(is_made), "{hash}");
    }
}

#[rstest]
#[case(FaultMoment::Before)]
#[case(FaultMoment::After)]
#[tokio::test]
async fn a_run_that_is_killed_at_any_write_asks_nobody_twice_and_makes_no_call_that_was_not_approved(
    #[case] moment: FaultMoment,
) {
    let program = "\
total = await rate(1)
total += await refund(1)
try:
    await refund(2)
except PermissionError:
    total += 100
total + await report(3)";
    for write in 1.. {
        let world = guarded(&[program], &["rate", "refund", "report"]);
        world.runs_ended.store(9, Ordering::Relaxed);
        let decides = |awaited: &AwaitedCall| match (awaited.tool.as_str(), id(awaited)) {
            ("refund", "2") => Some(ApprovalDecision::Reject),
            _ => APPROVE,
        };
        let store = MemoryStore::new();
        let first = store.restarted(Some(WriteFault { write, moment }));
        let was_killed = match world.go_on_with(&first, decides).await {
            Err(EngineError::Store(StoreError::Stopped { .. })) => true,
            Ok(_) => false,
            Err(error) => panic!("{error}"),
        };
        let store = store.restarted(None);
        if recorded(&store).await.replies < world.script.calls() {
            world.script.forget_lost(ModelIndex::Own, CallKind::Program);
        }
        let progress = world.go_on_with(&store, decides).await.unwrap();
        let case = format!("write {write} {moment:?}");
        let made = world.made();
        let times = |call: &str| made.iter().filter(|made| *made == call).count();
        assert_eq!(times("refund {\"id\":2}"), 0, "{case}: refused");
        assert!(times("refund {\"id\":1}") <= 1, "{case}: made twice");
        let decided = world.decided.lock().unwrap().clone();
        let distinct: BTreeSet<_> = decided.iter().collect();
        assert_eq!(distinct.len(), decided.len(), "{case}: somebody was asked twice");
        match &progress.stop {
            Some(stop) => assert_eq!(stop.reason, QuestionStopReason::UnknownOutcome, "{case}"),
            // 2 and 2 of the first calls, 100 for the refusal, 4 as the number of the last one.
            None => assert_eq!(answer(&store, &progress).await.value, Some(json!(108)), "{case}"),
        }
        if !was_killed {
            assert_eq!(decided.len(), 4, "{case}");
            break;
        }
    }
}
