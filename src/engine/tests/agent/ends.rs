//! How an agent's task ends without a program.

use rstest::rstest;
use serde_json::{Value, json};

use super::{agent_task, bash, live, script, source, world, write};
use crate::engine::tests::world::{Script, code, plan, tests};
use crate::ledger::MemoryStore;
use crate::pipeline::agent::MAX_SAME_FAILURES;
use crate::pipeline::budget;
use crate::pipeline::call::CallKind;
use crate::pipeline::machine::Outcome;
use crate::pipeline::stage::{Stage, StopReason};

fn endless(turn: impl Fn(u32) -> Vec<(&'static str, Value)>) -> Script {
    let first = [
        write("solution.py", source(&code("return len(text)"))),
        write("test_solution.py", source(&tests(2))),
    ];
    let script = Script::new().with(CallKind::Plan, &plan()).with_turn("", &first);
    (1..60).fold(script, |script, number| script.with_turn("", &turn(number)))
}

#[rstest]
#[case::the_same_call(endless(|_| vec![bash("cat notes.txt")]), "the same call came to the same 3 times")]
#[case::denials(endless(|turn| vec![bash(&format!("curl https://example.org/{turn}"))]), "5 commands in a row were denied")]
#[case::failures(
    endless(|turn| vec![write("solution.py", source(&code(&format!("return len(text) + 0 * {turn}")))), bash("pytest")]),
    "the same checks fail in the same way after 3 changes"
)]
#[tokio::test]
async fn an_agent_that_gets_nowhere_is_stopped(#[case] script: Script, #[case] why: &str) {
    let world = world(agent_task(), script);
    let progress = live(&world).await;
    let stop = progress.stop.clone().unwrap();
    assert_eq!(stop.reason, StopReason::NoProgress);
    assert!(stop.message.contains(why), "{stop}");
    assert!(progress.attempt <= MAX_SAME_FAILURES + 1);
}

#[tokio::test]
async fn an_agent_may_read_the_same_file_after_each_change() {
    let script = (1..8).fold(Script::new().with(CallKind::Plan, &plan()), |script, turn| {
        script.with_turn(
            "",
            &[
                write("notes.md", &format!("{turn}")),
                ("Read", json!({"file_path": "notes.md"})),
            ],
        )
    });
    let script = script
        .with_turn(
            "",
            &[
                write("solution.py", source(&code("return len(text.split())"))),
                write("test_solution.py", source(&tests(2))),
            ],
        )
        .with_turn("Done.", &[]);
    assert_eq!(live(&world(agent_task(), script)).await.stage, Stage::Succeeded);
}

#[tokio::test]
async fn the_limit_of_turns_ends_the_task_and_a_raised_one_goes_on() {
    let mut task = agent_task();
    task.limits.agent_max_turns = 3;
    let mut world = world(task, script());
    let store = MemoryStore::new();
    let progress = world.live(&store).await.unwrap();
    let stop = progress.stop.clone().unwrap();
    assert_eq!(stop.reason, StopReason::IterationsExhausted);
    assert!(stop.message.contains("limits.agentMaxTurns: 3 of 3"), "{stop}");
    world.task.limits.agent_max_turns = 5;
    assert!(budget::has_room_again(&world.task, &progress, (world.clock)()));
    let progress = world.apply(&store.restarted(None), Outcome::LimitRaised).await;
    assert_eq!(progress.stage, Stage::Working);
    let progress = world.live(&store.restarted(None)).await.unwrap();
    assert_eq!((progress.stage, world.script.calls()), (Stage::Succeeded, 6));
}
