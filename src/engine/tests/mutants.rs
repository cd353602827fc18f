//! A suite that notices nothing is asked for again, once.

use super::world::{Script, World, code, plan, tests};
use crate::ledger::MemoryStore;
use crate::pipeline::call::CallKind;
use crate::pipeline::progress::Progress;
use crate::pipeline::stage::Stage;
use crate::pipeline::test_support::task;

async fn end(world: &World) -> Progress {
    world.live(&MemoryStore::new()).await.unwrap()
}

/// A program whose changes are distinguishable, and suites that call it.
fn counted_with_care(suites: &[u32]) -> Script {
    let code = code("words = text.split()\n    if not words:\n        return 0\n    return len(words) + 0");
    let script = Script::new()
        .with(CallKind::Plan, &plan())
        .with(CallKind::Code, &code);
    let with_suite = |script: Script, expected: &u32| script.with(CallKind::Tests, &tests(*expected));
    suites.iter().fold(script, with_suite)
}

#[tokio::test]
async fn a_suite_that_notices_no_mutant_is_asked_for_again_with_what_it_let_through() {
    let mut world = World::new(task(), counted_with_care(&[2, 4]), |_, _, _| Vec::new());
    world.sandbox.notices_nothing = |suite| suite.contains("== 2");
    let progress = end(&world).await;
    assert_eq!(
        (progress.stage, progress.attempt),
        (Stage::Succeeded, 2),
        "{progress:#?}"
    );
    assert_eq!(world.script.calls(), 4);
    let requests = world.script.requests.lock().unwrap();
    let asked = format!("{:?}", requests.last().unwrap());
    assert!(asked.contains("no test notices when `count` is wrong"), "{asked}");
    assert!(asked.contains("`count` line"), "{asked}");
    let counts: Vec<_> = progress
        .attempts
        .iter()
        .filter_map(|attempt| attempt.mutants)
        .collect();
    assert!(counts[0].caught == 0 && counts[1].caught == counts[1].total && counts[1].total >= 3);
}

#[tokio::test]
async fn a_suite_that_notices_no_mutant_again_passes_and_says_so() {
    let mut world = World::new(task(), counted_with_care(&[2, 4]), |_, _, _| Vec::new());
    world.sandbox.notices_nothing = |_| true;
    let progress = end(&world).await;
    assert_eq!(
        (progress.stage, progress.attempt),
        (Stage::Succeeded, 2),
        "{progress:#?}"
    );
    let summary = progress.attempts[1].summary.clone().unwrap();
    assert!(summary.contains("mutants 0/"), "{summary}");
}

#[tokio::test]
async fn the_last_attempt_is_not_spent_on_another_suite() {
    let mut last = task();
    last.limits.max_iterations = 1;
    let mut world = World::new(last, counted_with_care(&[2]), |_, _, _| Vec::new());
    world.sandbox.notices_nothing = |_| true;
    let progress = end(&world).await;
    assert_eq!(
        (progress.stage, progress.attempt),
        (Stage::Succeeded, 1),
        "{progress:#?}"
    );
}
