//! Ends of an agent's task without a program.

use std::sync::atomic::Ordering;

use rstest::rstest;
use serde_json::{Value, json};

use super::{agent_task, bash, live, script, source, turns, world, write};
use crate::test_support::{Script, World, code, plan, tests};
use codegen_core::agent::MAX_SAME_FAILURES;
use codegen_core::budget;
use codegen_core::call::{CallKind, FinishReason};
use codegen_core::machine::Outcome;
use codegen_core::progress::Progress;
use codegen_core::retry::Retry;
use codegen_core::stage::{Stage, StopReason};
use codegen_ledger::MemoryStore;

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
#[case::denials(endless(|turn| vec![bash(&format!("curl https://example.org/{turn}"))]), "every call of 5 turns in a row was denied")]
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

#[rstest]
#[case::cut(FinishReason::Length, "3 replies met the limit of output tokens")]
#[case::refused(FinishReason::Refused, "3 replies were refusals")]
#[case::done(FinishReason::Complete, "said 3 times that it is done")]
#[tokio::test]
async fn an_agent_that_calls_nothing_again_and_again_is_stopped_for_the_reason(
    #[case] finish: FinishReason,
    #[case] why: &str,
) {
    let script = Script::new()
        .with(CallKind::Plan, &plan())
        .with_text(CallKind::Turn, "", finish);
    let progress = live(&world(agent_task(), script)).await;
    let stop = progress.stop.unwrap();
    assert_eq!(stop.reason, StopReason::NoProgress);
    assert!(stop.message.contains(why), "{stop}");
}

#[tokio::test]
async fn an_agent_that_is_stopped_leaves_the_reason_why_its_tests_never_ran_and_what_to_do() {
    let script = Script::new()
        .with(CallKind::Plan, &plan())
        .with_turn(
            "",
            &[write("solution.py", source(&code("return len(text.split())")))],
        )
        .with_text(CallKind::Turn, "Done.", FinishReason::Complete);
    let stop = live(&world(agent_task(), script)).await.stop.unwrap();
    let parts = [
        "Stopped in turn 4: the agent said 3 times that it is done",
        "Last failure: test_solution.py does not exist.",
        "retry TASK; of a task on this machine local --retry",
        "--replan for a new plan",
    ];
    for part in parts {
        assert!(stop.message.contains(part), "{part}: {stop}");
    }
    assert!(!stop.message.contains("none"), "{stop}");
}

#[tokio::test]
async fn a_sandbox_without_a_report_is_no_command_that_was_not_run() {
    let script = Script::new()
        .with(CallKind::Plan, &plan())
        .with_turn("", &[bash("ls"), bash("cat a")]);
    let mut task = agent_task();
    task.limits.agent_max_turns = 2;
    let world = world(task, script);
    world.sandbox.reports_nothing.store(true, Ordering::SeqCst);
    live(&world).await;
    let told = turns(&world).pop().unwrap().conversation.unwrap().exchanges;
    for result in &told[0].results {
        assert!(
            result.is_error && result.text.contains("ended without a report"),
            "{result:?}"
        );
    }
}

/// Somebody asks for another try.
async fn try_again(world: &World, store: &MemoryStore) -> Progress {
    let again = Outcome::Retried(Retry::default());
    world.apply(&store.restarted(None), again).await;
    world.live(&store.restarted(None)).await.unwrap()
}

#[tokio::test]
async fn another_try_of_an_agent_without_progress_is_a_new_session() {
    let denied = |script: Script, number: u32| {
        script.with_turn("", &[bash(&format!("curl https://example.org/{number}"))])
    };
    let script = (0..5).fold(Script::new().with(CallKind::Plan, &plan()), denied);
    let script = script
        .with_turn(
            "",
            &[
                write("solution.py", source(&code("return len(text.split())"))),
                write("test_solution.py", source(&tests(2))),
            ],
        )
        .with_turn("Done.", &[]);
    let world = world(agent_task(), script);
    let store = MemoryStore::new();
    let stop = world.live(&store).await.unwrap().stop.unwrap();
    assert!(stop.message.contains("5 turns in a row was denied"), "{stop}");
    assert_eq!(try_again(&world, &store).await.stage, Stage::Succeeded);
}

#[tokio::test]
async fn another_try_goes_on_with_the_calls_of_a_turn_in_which_the_task_ended() {
    let script = Script::new()
        .with(CallKind::Plan, &plan())
        .with_turn("", &[bash("ls")])
        .with_turn(
            "",
            &[
                write("solution.py", source(&code("return len(text.split())"))),
                write("test_solution.py", source(&tests(2))),
            ],
        )
        .with_turn("Done.", &[]);
    let mut task = agent_task();
    // Its commands need an image.
    task.limits.max_builds = 0;
    let mut world = world(task, script);
    let store = MemoryStore::new();
    let ended = world.live(&store).await.unwrap();
    assert_eq!(
        (ended.stage, world.script.calls()),
        (Stage::Failed, 2),
        "{ended:#?}"
    );
    world.task.limits.max_builds = 1;
    assert_eq!(try_again(&world, &store).await.stage, Stage::Succeeded);
    let told = turns(&world).pop().unwrap().conversation.unwrap().exchanges;
    assert_eq!(
        told[0].calls[0].name, "Bash",
        "the turn that was paid for is not forgotten: {told:?}"
    );
    assert_eq!(world.script.calls(), 4);
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
