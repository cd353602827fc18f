//! Kills an agent's task at every write, before and after the write takes effect, and goes on with it.

use std::sync::atomic::Ordering;

use rstest::rstest;

use super::{agent_task, beside_tests, cases, script, turns, world};
use crate::test_support::{Script, World};
use crate::tests::crash::forget_lost;
use codegen_api::approval::Gate;
use codegen_core::progress::Progress;
use codegen_core::stage::Stage;
use codegen_core::task::Task;
use codegen_ledger::{FaultMoment, MemoryStore, WriteFault};

/// Extracts the state that must be the same however often a task was killed.
fn essence(progress: &Progress) -> (Stage, u32, Option<String>, u32) {
    let solution = progress
        .documents
        .solution
        .as_ref()
        .map(|document| document.sha256.clone());
    (progress.stage, progress.attempt, solution, progress.sequence)
}

#[rstest]
#[case::without_gates(&[], world, script)]
#[case::with_every_gate(&Gate::ALL, world, script)]
#[case::with_a_wrong_case(&[], cases::world, cases::insisting)]
#[case::with_a_wrong_case_and_every_gate(&Gate::ALL, cases::world, cases::insisting)]
#[case::with_an_edit_before_the_tests(&[], beside_tests::world, beside_tests::script)]
#[case::with_an_edit_before_the_tests_and_every_gate(&Gate::ALL, beside_tests::world, beside_tests::script)]
#[tokio::test]
async fn a_kill_at_any_write_asks_for_no_recorded_turn_again_and_reports_the_same(
    #[case] gates: &'static [Gate],
    #[case] world: fn(Task, Script) -> World,
    #[case] script: fn() -> Script,
) {
    let make = || {
        let gates = gates.iter().copied().collect();
        let task = Task {
            approvals: gates,
            ..agent_task()
        };
        world(task, script())
    };
    let undisturbed = make();
    let store = MemoryStore::new();
    let expected = undisturbed.live(&store).await.unwrap();
    assert_eq!(expected.stage, Stage::Succeeded);
    let conversation = |world: &World| turns(world).pop().unwrap().conversation.unwrap();
    let (writes, calls) = (store.writes(), undisturbed.script.calls());
    let runs = undisturbed.sandbox.runs.load(Ordering::SeqCst);
    for write in 1..=writes {
        for moment in [FaultMoment::Before, FaultMoment::After] {
            let at = format!("killed at write {write}, {moment:?}");
            let (world, store) = (make(), MemoryStore::new());
            world
                .live(&store.restarted(Some(WriteFault { write, moment })))
                .await
                .unwrap_err();
            let unanswered = forget_lost(&world, &store);
            let progress = world.live(&store.restarted(None)).await.unwrap();
            assert_eq!(essence(&progress), essence(&expected), "{at}");
            assert_eq!(
                progress.agent.as_ref().unwrap().counts,
                expected.agent.as_ref().unwrap().counts,
                "{at}"
            );
            let lost = usize::try_from(progress.spent.lost_calls).unwrap();
            assert!(lost <= 1 && world.script.calls() <= calls + lost, "{at}");
            assert!(lost >= unanswered, "{at}: a call that may be billed counts");
            assert_eq!(conversation(&world), conversation(&undisturbed), "{at}");
            let repeated = world.sandbox.runs.load(Ordering::SeqCst) - runs;
            // Tests have two, one of them for the case that is executed as a run is; then there are those of the near misses.
            assert!(repeated <= 3, "{at}: {repeated} sandboxes more");
        }
    }
}
