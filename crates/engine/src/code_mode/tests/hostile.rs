//! Programs that take too much, workers that die, and what a kill leaves of calls that may be made twice.

use codegen_interpreter::Interpreter;

use super::*;
use crate::code_mode::CallKey;
use codegen_code_mode::journal::CallOutcome;

#[rstest]
#[case::a_loop_without_end("while True:\n    pass", "TimeoutError")]
#[case::a_thousand_million_characters("text = 'a' * 10**9\ntext", "MemoryError in line 1: ")]
#[case::recursion(
    "def f(n: int) -> int:\n    return f(n + 1)\nf(0)",
    "RecursionError in line 2: "
)]
#[tokio::test]
async fn a_program_that_takes_too_much_fails_as_a_program_with_words_of_its_own(
    #[case] program: &str,
    #[case] words: &str,
) {
    let mut world = world(&[program]);
    world.question.limits.interpreter_ms = 500;
    let progress = world.go_on(&MemoryStore::new()).await.unwrap();
    let stop = progress.stop.unwrap();
    assert_eq!(stop.reason, QuestionStopReason::RetriesExhausted);
    assert!(stop.message.contains(words), "{}", stop.message);
    assert_eq!((progress.failed.len(), world.script.calls()), (3, 3));
}

#[tokio::test]
async fn a_worker_that_dies_counts_as_a_program_that_failed_and_is_not_tried_for_ever() {
    let mut world = world(&["await rate(1)"]);
    world.pool = Interpreter {
        binary: Some("/bin/false".into()),
        ..Interpreter::default()
    };
    let progress = world.go_on(&MemoryStore::new()).await.unwrap();
    let stop = progress.stop.unwrap();
    assert_eq!(stop.reason, QuestionStopReason::RetriesExhausted);
    assert!(
        stop.message.contains("The interpreter ended: "),
        "{}",
        stop.message
    );
    assert_eq!((progress.failed.len(), world.script.calls()), (3, 3));
    assert_eq!(world.made(), Vec::<String>::new());
}

fn keyed(world: &World, key: &CallKey, _: &serde_json::Map<String, Value>) -> Made {
    let key = format!("key {}-{}", key.attempt, key.number);
    world.made.lock().unwrap().push(key);
    Made::Ended(CallOutcome::Returned(json!(1)))
}

#[tokio::test]
async fn a_call_that_bears_being_made_twice_is_made_with_the_same_key_after_a_kill() {
    let mut twice = 0;
    for write in 1.. {
        let mut world = world(&["await rate(1)\nawait refund(7)"]);
        world.question.tools[1].retries_unknown = true;
        world.conducts.insert("refund", keyed);
        let (store, was_killed) = killed_at(&world, write, FaultMoment::Before).await;
        let progress = world.go_on(&store).await.unwrap();
        assert_eq!(
            progress.stage,
            QuestionStage::Succeeded,
            "write {write}: {progress:#?}"
        );
        let made = world.made();
        let keys: Vec<_> = made.iter().filter(|call| call.starts_with("key ")).collect();
        assert!(
            keys.iter().all(|key| *key == "key 1-2"),
            "write {write}: {keys:?}"
        );
        twice += usize::from(keys.len() > 1);
        if !was_killed {
            break;
        }
    }
    assert!(twice > 0, "no kill met the call");
}
