//! A clock that is set while a task is under way: an hour ahead or back, at every moment at which the engine reads it.

use std::cell::Cell;

use jiff::{SignedDuration, Timestamp};
use rstest::rstest;

use crate::test_support::{Script, World, one_logic_bug, splits};
use codegen_core::active::LONGEST_GAP;
use codegen_core::call::CallKind;
use codegen_core::stage::{Category, Stage};
use codegen_core::test_support::task;
use codegen_ledger::MemoryStore;
use codegen_model::ModelError;

thread_local! {
    static CLOCK_READS: Cell<usize> = const { Cell::new(0) };
    /// The reading from which on the clock is wrong, and by how much.
    static SET: Cell<(usize, SignedDuration)> = const { Cell::new((usize::MAX, SignedDuration::ZERO)) };
}

fn clock() -> Timestamp {
    let looks = CLOCK_READS.get() + 1;
    CLOCK_READS.set(looks);
    let (from, by) = SET.get();
    let right = Timestamp::from_second(1_000_000).unwrap();
    if looks >= from { right + by } else { right }
}

fn set(from: usize, by: SignedDuration) {
    CLOCK_READS.set(0);
    SET.set((from, by));
}

#[rstest]
#[case::ahead(SignedDuration::from_hours(1))]
#[case::back(SignedDuration::from_hours(-1))]
#[tokio::test]
async fn a_clock_that_is_set_at_any_moment_changes_neither_the_end_nor_the_calls_of_a_task(
    #[case] by: SignedDuration,
) {
    let mut looks = usize::MAX;
    let mut from = 1;
    while from <= looks {
        let mut task = task();
        task.limits.deadline_seconds = 1_800.0;
        let mut world = World::new(task, one_logic_bug(), splits);
        world.clock = clock;
        set(from, by);
        let progress = world.live(&MemoryStore::new()).await.unwrap();
        looks = CLOCK_READS.get();
        assert_eq!(
            (progress.stage, world.script.calls()),
            (Stage::Succeeded, 5),
            "set at look {from} of {looks}: {:?}",
            progress.waiting
        );
        let counted = progress.spent.active_seconds;
        assert!(
            counted < LONGEST_GAP.as_secs_f64() + 60.0,
            "set at look {from}: {counted} s"
        );
        from += 1;
    }
    assert!(looks > 20, "{looks}");
}

#[tokio::test]
async fn a_task_that_waits_is_tried_again_although_the_clock_was_set_back() {
    let error = ModelError::Unreachable {
        endpoint: "http://127.0.0.1:1".into(),
        address_from: "spec.model.baseURL",
        tries: 5,
        detail: "refused".into(),
    };
    let script = Script::new().with_error(CallKind::Plan, error);
    let mut world = World::new(task(), script, splits);
    world.clock = clock;
    let store = MemoryStore::new();
    set(usize::MAX, SignedDuration::ZERO);
    let progress = world.live(&store).await.unwrap();
    let waits = |times| Some((Category::Infrastructure, times));
    let seen = |progress: &codegen_core::progress::Progress| {
        let waiting = progress.waiting.as_ref();
        waiting.map(|waiting| (waiting.category, waiting.times))
    };
    assert_eq!(seen(&progress), waits(1));
    set(1, SignedDuration::from_hours(-1));
    let progress = world.live(&store).await.unwrap();
    assert_eq!(seen(&progress), waits(2), "it would wait for an hour");
}
