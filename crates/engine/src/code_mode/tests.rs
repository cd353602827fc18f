//! Questions answered by real programs in real workers, with tools in memory; killed at every write.

mod approvals;
mod batches;
mod figures;
mod hostile;
mod waits;
mod world;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use rstest::rstest;
use serde_json::{Value, json};

use self::world::{World, world};
use super::{EngineError, Made};
use codegen_core::call::{CallKind, FinishReason, ModelIndex};
use codegen_core::code_mode::{Answer, QuestionProgress, QuestionStage, QuestionStopReason};
use codegen_core::digest::sha256_hex;
use codegen_ledger::{FaultMoment, Store as _, StoreError, WriteFault};

/// A store of questions.
type MemoryStore = codegen_ledger::MemoryStore<QuestionProgress>;

async fn answer(store: &MemoryStore, progress: &QuestionProgress) -> Answer {
    let document = progress.answer.as_ref().unwrap();
    serde_json::from_slice(&store.read(&document.name).await.unwrap().unwrap()).unwrap()
}

const LOOP: &str = "\
total = 0
for id in range(3):
    total += await rate(id)
try:
    await till(1)
except ConnectionError as error:
    print(error)
await refund(total)
";

#[tokio::test]
async fn a_program_that_loops_and_catches_an_error_answers() {
    let world = world(&[LOOP]);
    let store = MemoryStore::new();
    let progress = world.go_on(&store).await.unwrap();
    assert_eq!(progress.stage, QuestionStage::Succeeded, "{progress:#?}");
    let answer = answer(&store, &progress).await;
    assert_eq!(answer.value, Some(json!(12)));
    assert!(
        answer.printed.ends_with("the till is closed\n"),
        "{}",
        answer.printed
    );
    assert_eq!(
        progress.tool_calls,
        BTreeMap::from([("rate".into(), 3), ("refund".into(), 1), ("till".into(), 1)])
    );
    assert_eq!(world.script.calls(), 1);
}

#[rstest]
#[case::a_tool_that_is_not_there("await rates(1)")]
#[case::another_type("await rate('one')")]
#[case::syntax_that_the_interpreter_has_not("def steps():\n    yield 1\nlist(steps())")]
#[case::no_program("I cannot know that.")]
#[case::nothing("")]
#[case::a_loop_without_an_argument("await rate()")]
#[tokio::test]
async fn what_is_wrong_with_a_program_costs_no_call_and_is_evidence_for_the_next(#[case] first: &str) {
    let world = world(&[first, "await rate(4)"]);
    let store = MemoryStore::new();
    let progress = world.go_on(&store).await.unwrap();
    assert_eq!(progress.stage, QuestionStage::Succeeded, "{progress:#?}");
    assert_eq!(world.made(), ["rate {\"id\":4}"]);
    let requests = world.script.requests.lock().unwrap();
    assert_eq!(requests.len(), 2);
    assert!(
        requests[1].instruction.starts_with("The program before failed."),
        "{}",
        requests[1].instruction
    );
    assert_eq!(requests[0].prefix, requests[1].prefix);
}

#[tokio::test]
async fn evidence_that_somebody_replaced_is_shown_to_no_model() {
    for write in 1.. {
        let world = world(&["await rates(1)", "await rate(4)"]);
        let store = MemoryStore::new();
        let moment = FaultMoment::After;
        let killed = world
            .go_on(&store.restarted(Some(WriteFault { write, moment })))
            .await;
        assert!(killed.is_err(), "the question ended before any evidence was used");
        let names = store.names();
        let evidence = names.iter().find(|name| name.contains("evidence"));
        // As soon as the state names it.
        let Some(name) = evidence.filter(|_| world.script.calls() == 1) else {
            continue;
        };
        store.replace(
            name,
            br#"{"program": "await refund(1)", "printed": "", "calls": [], "error": ""}"#,
        );
        if let Err(error) = world.go_on(&store.restarted(None)).await {
            assert!(error.to_string().contains(name.as_str()), "{error}");
            assert_eq!(world.script.calls(), 1);
            return;
        }
    }
}

#[rstest]
#[case::printed("v = await rate(2)\nprint(f'it is {v}')", "> it is 4")]
#[case::assigned("x = await rate(2)", "put the answer in an expression on the last line")]
#[case::nothing_but_a_comment("# nothing", "it ends without a value")]
#[case::branches(
    "if await rate(2) > 1:\n    'big'\nelse:\n    'small'",
    "it ends without a value"
)]
#[case::a_main(
    "async def main():\n    print(await rate(2))\nif __name__ == '__main__':\n    await main()",
    "what is printed is no answer"
)]
#[tokio::test]
async fn a_program_that_ends_without_a_value_is_asked_for_again(#[case] first: &str, #[case] words: &str) {
    let world = world(&[first, "await rate(4)"]);
    let store = MemoryStore::new();
    let progress = world.go_on(&store).await.unwrap();
    assert_eq!(answer(&store, &progress).await.value, Some(json!(8)));
    let requests = world.script.requests.lock().unwrap();
    assert_eq!(requests.len(), 2);
    assert!(
        requests[1].instruction.contains(words),
        "{}",
        requests[1].instruction
    );
}

#[tokio::test]
async fn a_program_without_a_value_whose_call_must_not_be_made_twice_makes_it_once() {
    let world = world(&["x = await refund(7)", "await refund(7)"]);
    let store = MemoryStore::new();
    let progress = world.go_on(&store).await.unwrap();
    assert_eq!(answer(&store, &progress).await.value, Some(json!(14)));
    assert_eq!(world.made().len(), 1);
    assert_eq!(progress.tool_calls, BTreeMap::from([("refund".into(), 1)]));
}

#[tokio::test]
async fn a_program_whose_last_expression_is_none_has_none_as_its_answer() {
    let world = world(&["best = None\nbest"]);
    let store = MemoryStore::new();
    let progress = world.go_on(&store).await.unwrap();
    assert_eq!(answer(&store, &progress).await.text, "None");
    assert_eq!(world.script.calls(), 1);
}

#[tokio::test]
async fn a_coroutine_of_its_own_that_nothing_awaits_costs_no_call_and_is_asked_for_again() {
    let first = "async def pay():\n    await refund(7)\nt = pay()\nawait rate(1)\n'done'";
    let world = world(&[first, "await rate(4)"]);
    let progress = world.go_on(&MemoryStore::new()).await.unwrap();
    assert_eq!(progress.stage, QuestionStage::Succeeded, "{progress:#?}");
    assert_eq!(world.made(), ["rate {\"id\":4}"]);
    let error = &progress.failed[0].error;
    assert!(error.contains("call of pay is never awaited"), "{error}");
}

#[tokio::test]
async fn a_refusal_of_the_model_is_shown_in_its_own_words() {
    let mut world = world(&[]);
    world.question.limits.max_retries = 0;
    world.script = world.script.with_text(
        CallKind::Program,
        "I cannot help with that.",
        FinishReason::Refused,
    );
    let stop = world.go_on(&MemoryStore::new()).await.unwrap().stop.unwrap();
    assert!(
        stop.message
            .contains("the reply was a refusal: \"I cannot help with that\"."),
        "{}",
        stop.message
    );
    assert!(
        !stop.message.contains("Answer with a program"),
        "{}",
        stop.message
    );
}

#[tokio::test]
async fn a_long_text_is_whole_where_json_has_it_and_what_is_missing_of_another_is_named() {
    let cut = async |program: &str| {
        let store = MemoryStore::new();
        let progress = world(&[program]).go_on(&store).await.unwrap();
        answer(&store, &progress).await.cut
    };
    assert_eq!(cut("'x' * 100_000").await, None);
    let listed = cut("[1] * 100_000").await.unwrap();
    assert!(
        listed.contains("cut to 65539 bytes") && listed.contains("answer.json"),
        "{listed}"
    );
    let text = cut("'x' * 9_000_000").await.unwrap();
    assert!(
        text.contains("it has 9000000 bytes") && text.contains("the rest is lost"),
        "{text}"
    );
}

#[tokio::test]
async fn programs_that_keep_failing_end_the_run_with_the_last_fault() {
    let world = world(&["1 / 0"]);
    let progress = world.go_on(&MemoryStore::new()).await.unwrap();
    let stop = progress.stop.unwrap();
    assert_eq!(stop.reason, QuestionStopReason::RetriesExhausted);
    assert!(
        stop.message.contains("ZeroDivisionError in line 1"),
        "{}",
        stop.message
    );
    assert_eq!((progress.failed.len(), world.script.calls()), (3, 3));
}

#[tokio::test]
async fn a_call_that_must_not_be_made_twice_is_not_made_again_by_the_next_program() {
    let world = world(&["await refund(7)\n1 / 0", "await refund(7) + await refund(7)"]);
    let store = MemoryStore::new();
    let progress = world.go_on(&store).await.unwrap();
    assert_eq!(answer(&store, &progress).await.value, Some(json!(28)));
    assert_eq!(progress.tool_calls["refund"], 2);
    assert_eq!(
        world.made().len(),
        2,
        "one by the first program, and the second one of the next"
    );
}

#[tokio::test]
async fn a_call_that_three_programs_make_is_made_once_for_each_time_that_one_of_them_makes_it() {
    let world = world(&[
        "await refund(7)\n1 / 0",
        "await refund(7)\n1 / 0",
        "await refund(7) + await refund(7)",
    ]);
    let progress = world.go_on(&MemoryStore::new()).await.unwrap();
    assert_eq!(progress.stage, QuestionStage::Succeeded, "{progress:#?}");
    assert_eq!(world.made().len(), 2);
}

#[tokio::test]
async fn a_kill_between_equal_calls_leaves_the_second_one_to_be_made() {
    let programs = [
        "await refund(7)\n1 / 0",
        "first = await refund(7)\nawait report(1)\nfirst + await refund(7)",
    ];
    let world = world(&programs);
    let store = MemoryStore::new();
    // The second program waits after its first call and runs again from its beginning.
    assert_eq!(world.go_on(&store).await.unwrap().waits.calls.len(), 1);
    world.runs_ended.store(9, Ordering::Relaxed);
    let progress = world.go_on(&store).await.unwrap();
    assert_eq!(progress.stage, QuestionStage::Succeeded, "{progress:#?}");
    let refunds = world
        .made()
        .iter()
        .filter(|call| call.starts_with("refund"))
        .count();
    assert_eq!(refunds, 2);
}

#[tokio::test]
async fn more_calls_than_the_limit_are_an_exception() {
    let mut world = world(&["for id in range(60):\n    await rate(id)"]);
    world.question.limits.max_retries = 0;
    let progress = world.go_on(&MemoryStore::new()).await.unwrap();
    assert!(
        progress
            .stop
            .as_ref()
            .unwrap()
            .message
            .contains("limits.maxToolCalls")
    );
    assert_eq!(world.made().len(), 50);
    assert_eq!(progress.tool_calls["rate"], 50, "the one beyond was not made");
}

#[tokio::test]
async fn a_budget_that_is_spent_ends_the_run_before_the_call() {
    let mut world = world(&["1"]);
    world.question.limits.max_tokens = 100;
    let progress = world.go_on(&MemoryStore::new()).await.unwrap();
    assert_eq!(progress.stop.unwrap().reason, QuestionStopReason::BudgetExceeded);
    assert_eq!(world.script.calls(), 0);
}

/// Kills the run at write `write`, then lets it go on undisturbed.
async fn killed_at(world: &World, write: usize, moment: FaultMoment) -> (MemoryStore, bool) {
    let store = MemoryStore::new();
    let first = store.restarted(Some(WriteFault { write, moment }));
    let was_killed = match world.go_on(&first).await {
        Err(EngineError::Store(StoreError::Stopped { .. })) => true,
        Ok(_) => false,
        Err(error) => panic!("{error}"),
    };
    (store.restarted(None), was_killed)
}

#[rstest]
#[case(FaultMoment::Before)]
#[case(FaultMoment::After)]
#[tokio::test]
async fn a_run_that_is_killed_at_any_write_asks_for_nothing_recorded_again(#[case] moment: FaultMoment) {
    let read_only = "total = 0\nfor id in range(3):\n    total += await rate(id)\nawait report(1)\ntotal / 0";
    let programs = [read_only, LOOP];
    for write in 1.. {
        let world = world(&programs);
        world.runs_ended.store(9, Ordering::Relaxed);
        let (store, was_killed) = killed_at(&world, write, moment).await;
        let before = recorded(&store).await;
        let calls_before = (world.script.calls(), world.made().len());
        // A reply that was lost with the process is given again to the call that takes its place.
        if before.replies < world.script.calls() {
            world.script.forget_lost(ModelIndex::Own, CallKind::Program);
        }
        let progress = world.go_on(&store).await.unwrap();
        let unknown = progress
            .stop
            .as_ref()
            .is_some_and(|stop| stop.reason == QuestionStopReason::UnknownOutcome);
        let refunds = world
            .made()
            .iter()
            .filter(|call| call.starts_with("refund"))
            .count();
        assert!(refunds <= 1, "write {write} {moment:?}: made twice");
        if unknown {
            assert!(before.is_in_flight, "write {write} {moment:?}: {progress:#?}");
        } else {
            assert_eq!(
                progress.stage,
                QuestionStage::Succeeded,
                "write {write} {moment:?}: {progress:#?}"
            );
            assert_eq!(answer(&store, &progress).await.value, Some(json!(12)));
        }
        let lost = usize::try_from(progress.spent.lost_calls).unwrap();
        assert!(
            world.script.calls() <= 2 + lost,
            "write {write} {moment:?}: a recorded reply was asked for again"
        );
        assert_repeats(&world, &before, calls_before.1);
        if !was_killed {
            break;
        }
    }
}

/// Content of the store of a killed run.
struct Recorded {
    replies: usize,
    /// Calls whose outcome is recorded, by attempt and number.
    ended: Vec<String>,
    is_in_flight: bool,
}

async fn recorded(store: &MemoryStore) -> Recorded {
    let mut found = Recorded {
        replies: 0,
        ended: Vec::new(),
        is_in_flight: false,
    };
    for sequence in 1..10 {
        let name = format!("calls/{sequence:04}-program.json");
        found.replies += usize::from(store.read(&name).await.unwrap().is_some());
    }
    for attempt in 1..4 {
        let journal = super::journal::OpenJournal::open(store, attempt).await.unwrap();
        let ended: VecDeque<_> = journal.journal().ended().collect();
        found.is_in_flight |= journal.journal().in_flight().next().is_some();
        found.ended.extend(ended.iter().map(|ended| {
            format!(
                "{attempt} {} {}",
                ended.call.tool,
                Value::Object(ended.call.arguments.clone())
            )
        }));
    }
    found
}

/// After the restart no recorded call of the program under way reached a tool again.
fn assert_repeats(world: &World, before: &Recorded, made_before: usize) {
    let made = world.made();
    let again = made.iter().skip(made_before);
    let recorded_of_last = before.ended.iter().filter(|call| call.starts_with("2 "));
    let recorded_of_last: Vec<_> = recorded_of_last.map(|call| call[2..].to_owned()).collect();
    for call in again {
        // The first program's calls of tools that change nothing are made by the second one too.
        let is_of_second = !recorded_of_last.is_empty();
        assert!(
            !is_of_second || !recorded_of_last.contains(call),
            "{call} was recorded and made again"
        );
    }
}

#[tokio::test]
async fn a_call_in_flight_at_a_kill_that_must_not_be_made_twice_is_named() {
    let world = world(&["await refund(7)"]);
    let mut named = 0;
    for write in 1..20 {
        for moment in [FaultMoment::Before, FaultMoment::After] {
            let (store, was_killed) = killed_at(&world, write, moment).await;
            if !was_killed {
                continue;
            }
            world.made.lock().unwrap().clear();
            let progress = world.go_on(&store).await.unwrap();
            if let Some(stop) = progress.stop {
                assert_eq!(stop.reason, QuestionStopReason::UnknownOutcome);
                assert!(stop.message.contains("refund(id=7)"), "{}", stop.message);
                assert!(world.made().is_empty());
                named += 1;
            }
        }
    }
    assert!(named > 0, "no kill met the call in flight");
}

#[tokio::test]
async fn a_journal_that_does_not_fit_the_program_is_said_with_both_calls() {
    let world = world(&["await refund(7)\nawait report(1)"]);
    let store = MemoryStore::new();
    world.go_on(&store).await.unwrap();
    let mut other = world;
    let mut progress = store.load().await.unwrap().unwrap();
    let call = "calls/0001-program.json";
    let mut entry: Value = serde_json::from_slice(&store.read(call).await.unwrap().unwrap()).unwrap();
    entry["reply"]["text"] = json!("await refund(8)");
    store.replace(call, entry.to_string().as_bytes());
    progress.program.as_mut().unwrap().sha256 = sha256_hex(br#""await refund(8)""#);
    store.save(&progress).await.unwrap();
    other.made = Mutex::default();
    let stop = other.go_on(&store).await.unwrap().stop.unwrap();
    assert_eq!(stop.reason, QuestionStopReason::JournalMismatch);
    assert!(
        stop.message.contains("refund(id=7)") && stop.message.contains("refund(id=8)"),
        "{}",
        stop.message
    );
    assert!(other.made().is_empty());
}
