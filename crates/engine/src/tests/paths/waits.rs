//! Losses, outages and refusals cost no attempt; the task waits and goes on.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::*;
use codegen_core::machine::LostChild::{self, Gone, Silent};

#[tokio::test]
async fn an_output_that_cannot_be_checked_waits_for_a_person_and_runs_once() {
    let script = Script::new()
        .with(CallKind::Plan, &plan())
        .with(CallKind::Code, &code("return len(text.split())"))
        .with(CallKind::Tests, &tests(2));
    let mut world = World::new(task(), script, splits);
    world.data.read.too_large = vec![OutputTooLarge {
        output: "summary".into(),
        bytes: Some(2_000_000),
    }];
    let store = MemoryStore::new();
    for _ in 0..2 {
        let progress = world.live(&store).await.unwrap();
        let waiting = progress.waiting.unwrap();
        assert_eq!(waiting.reason, Some(WaitReason::OutputTooLarge));
        assert_eq!(
            (progress.stage, progress.attempts.len()),
            (Stage::RunningTests, 0)
        );
    }
    assert_eq!(world.sandbox.runs.load(Ordering::SeqCst), 1);
    assert_eq!(world.kinds().len(), 3);
    let told = world.watcher.0.lock().unwrap();
    let told = told
        .iter()
        .filter(|event| matches!(event, Event::Waiting { message, .. } if message.contains("2000000")));
    assert_eq!(told.count(), 1);
}

#[tokio::test]
async fn an_image_that_is_gone_is_built_again_and_costs_no_call() {
    let world = World::new(task(), one_logic_bug(), splits);
    world.sandbox.loses_image.store(true, Ordering::SeqCst);
    let progress = world.end().await;
    assert_eq!(
        (progress.stage, progress.attempt, world.script.calls()),
        (Stage::Succeeded, 2, 5)
    );
    assert_eq!(world.sandbox.builds.load(Ordering::SeqCst), 2);
    let locks = world.sandbox.locks.lock().unwrap();
    assert_eq!(
        locks.first(),
        Some(&None),
        "nothing is known before the first build"
    );
    let again = locks.last().unwrap().as_ref();
    assert_eq!(
        again.map(Lock::names),
        Some(vec!["pytest==1.0".to_owned()]),
        "it is made of the archives of the first build"
    );
}

#[tokio::test]
async fn who_overrides_takes_what_the_index_has_now_also_for_an_image_that_is_gone() {
    let task = Task {
        cache: CacheMode::Override,
        ..task()
    };
    let world = World::new(task, one_logic_bug(), splits);
    world.sandbox.loses_image.store(true, Ordering::SeqCst);
    world.end().await;
    let locks = world.sandbox.locks.lock().unwrap();
    assert!(locks.len() >= 2 && locks.iter().all(Option::is_none), "{locks:?}");
}

#[tokio::test]
async fn a_build_that_is_lost_again_and_again_becomes_a_matter_for_a_person_and_is_tried_on() {
    let script = Script::new()
        .with(CallKind::Plan, &plan())
        .with(CallKind::Code, &code("return len(text.split())"))
        .with(CallKind::Tests, &tests(2));
    let world = World::new(task(), script, splits);
    world.sandbox.loses_builds.store(true, Ordering::SeqCst);
    let store = MemoryStore::new();
    let mut seen = Vec::new();
    for _ in 0..5 {
        let mut progress = world.live(&store).await.unwrap();
        let waiting = progress.waiting.as_mut().unwrap();
        seen.push((waiting.category, waiting.retry_at.as_second() - 1_000));
        if seen.len() == 4 {
            assert!(waiting.message.contains("build-3") && waiting.message.contains("4 times in a row"));
        }
        waiting.retry_at = jiff::Timestamp::UNIX_EPOCH;
        store.save(&progress).await.unwrap();
    }
    let (tried, told) = (Category::Infrastructure, Category::Configuration);
    assert_eq!(
        seen,
        [(tried, 1), (tried, 2), (tried, 4), (told, 300), (told, 300)]
    );
    world.sandbox.loses_builds.store(false, Ordering::SeqCst);
    let progress = world.live(&store).await.unwrap();
    assert_eq!((progress.stage, progress.lost_children), (Stage::Succeeded, 0));
}

/// Lives on after each pause, and says what was waited for each time.
async fn waits_until_the_end(world: &World) -> (Progress, Vec<Category>) {
    let store = MemoryStore::new();
    let mut seen = Vec::new();
    loop {
        let mut progress = world.live(&store).await.unwrap();
        let Some(waiting) = &mut progress.waiting else {
            return (progress, seen);
        };
        seen.push(waiting.category);
        waiting.retry_at = jiff::Timestamp::UNIX_EPOCH;
        store.save(&progress).await.unwrap();
    }
}

/// Three sandboxes end silently and two nodes go, in this order.
#[rstest]
#[case::nodes_first([Gone, Gone, Silent, Silent, Silent])]
#[case::in_turn([Silent, Gone, Silent, Gone, Silent])]
#[case::nodes_last([Silent, Silent, Silent, Gone, Gone])]
#[tokio::test]
async fn nodes_that_go_and_sandboxes_that_end_silently_have_a_limit_each(#[case] ends: [LostChild; 5]) {
    let script = Script::new()
        .with(CallKind::Plan, &plan())
        .with(CallKind::Code, &code("return len(text.split())"))
        .with(CallKind::Tests, &tests(2));
    let world = World::new(task(), script, splits);
    world.sandbox.unanswered.lock().unwrap().extend(ends);
    let (progress, waits) = Box::pin(waits_until_the_end(&world)).await;
    assert_eq!(waits, [Category::Infrastructure; 5]);
    assert_eq!(
        (progress.stage, progress.attempt, progress.unanswered_children()),
        (Stage::Succeeded, 1, 0)
    );
    assert_eq!(
        *world.sandbox.executions.lock().unwrap(),
        [0, 1, 2, 3, 4, 5],
        "no sandbox has the name of one before it"
    );
}

#[rstest]
#[case::silently([Gone, Silent, Silent, Silent, Silent], None)]
#[case::with_their_nodes([Silent, Gone, Gone, Gone, Gone], Some(Category::Configuration))]
#[tokio::test]
async fn the_fourth_end_of_a_kind_is_the_programs_own_or_a_matter_for_a_person(
    #[case] ends: [LostChild; 5],
    #[case] last: Option<Category>,
) {
    let script = Script::new()
        .with(CallKind::Plan, &plan())
        .with(CallKind::Code, &code("return len(text.split())"))
        .with(CallKind::Tests, &tests(2));
    let mut task = task();
    task.limits.max_iterations = 1;
    let world = World::new(task, script, splits);
    world.sandbox.unanswered.lock().unwrap().extend(ends);
    let (progress, waits) = Box::pin(waits_until_the_end(&world)).await;
    let expected: Vec<Category> = [Category::Infrastructure; 4].into_iter().chain(last).collect();
    assert_eq!(waits, expected);
    let passed = progress.stage == Stage::Succeeded;
    assert_eq!(passed, last.is_some(), "{:?}", progress.stage);
}

#[tokio::test]
async fn a_registry_that_takes_no_program_is_waited_for_and_costs_nothing() {
    let script = Script::new()
        .with(CallKind::Plan, &plan())
        .with(CallKind::Code, &code("return len(text.split())"))
        .with(CallKind::Tests, &tests(2));
    let publishing = Task {
        publish: Some(Publish::default()),
        ..task()
    };
    let world = World::new(publishing, script, splits);
    world.sandbox.refuses_programs.store(true, Ordering::SeqCst);
    let store = MemoryStore::new();
    let mut progress = world.live(&store).await.unwrap();
    let waiting = progress.waiting.as_mut().unwrap();
    assert_eq!(
        (progress.stage, waiting.category, progress.attempt),
        (Stage::Publishing, Category::Configuration, 1)
    );
    assert!(
        waiting.message.contains("image.pushSecretRef"),
        "{}",
        waiting.message
    );
    waiting.retry_at = jiff::Timestamp::UNIX_EPOCH;
    store.save(&progress).await.unwrap();
    world.sandbox.refuses_programs.store(false, Ordering::SeqCst);
    let end = world.live(&store).await.unwrap();
    assert_eq!(
        (end.stage, end.attempt, end.spent.model_calls),
        (Stage::Succeeded, 1, 3)
    );

    let published = world.sandbox.published.lock().unwrap();
    let [publication] = published.as_slice() else {
        panic!("one program, not {}", published.len())
    };
    assert!(publication.program.contains("return len(text.split())"));
    assert_eq!(publication.labels["dev.codegen-operator.tests"], "1/1");
    assert_eq!(
        publication.labels["dev.codegen-operator.prompt-sha256"],
        codegen_core::digest::sha256_hex(world.task.prompt.as_bytes())
    );
    assert!(end.published.unwrap().image.starts_with("registry.example/lab@"));
}

#[tokio::test]
async fn a_program_is_published_after_its_end_when_that_is_asked_for_and_once() {
    let script = Script::new()
        .with(CallKind::Plan, &plan())
        .with(CallKind::Code, &code("return len(text.split())"))
        .with(CallKind::Tests, &tests(2));
    let mut world = World::new(task(), script, splits);
    let store = MemoryStore::new();
    let end = world.live(&store).await.unwrap();
    assert_eq!((end.stage, end.published.clone()), (Stage::Succeeded, None));
    let builds = world.sandbox.builds.load(Ordering::SeqCst);
    let runs = world.sandbox.runs.load(Ordering::SeqCst);

    world.task.publish = Some(Publish::default());
    world.sandbox.refuses_programs.store(true, Ordering::SeqCst);
    let mut waits = world.live(&store).await.unwrap();
    assert_eq!(
        (waits.stage, waits.completed_at),
        (Stage::Succeeded, end.completed_at)
    );
    waits.waiting.as_mut().unwrap().retry_at = jiff::Timestamp::UNIX_EPOCH;
    store.save(&waits).await.unwrap();
    world.sandbox.refuses_programs.store(false, Ordering::SeqCst);
    for _ in 0..2 {
        let done = world.live(&store).await.unwrap();
        assert_eq!((done.stage, done.waiting.clone()), (Stage::Succeeded, None));
        assert!(done.published.unwrap().image.starts_with("registry.example/lab@"));
        assert_eq!(
            (done.attempt, done.completed_at, done.spent.model_calls),
            (end.attempt, end.completed_at, end.spent.model_calls)
        );
    }
    assert_eq!(world.sandbox.published.lock().unwrap().len(), 1);
    assert_eq!(world.sandbox.builds.load(Ordering::SeqCst), builds);
    assert_eq!(world.sandbox.runs.load(Ordering::SeqCst), runs);
}

fn unreachable() -> ModelError {
    ModelError::Unreachable {
        endpoint: "http://127.0.0.1:1".into(),
        address_from: "spec.model.baseURL",
        tries: 5,
        detail: "refused".into(),
    }
}

fn turned_away() -> ModelError {
    ModelError::Unavailable {
        endpoint: "http://127.0.0.1:1".into(),
        status: 503,
        tries: 5,
        retry_after: None,
        may_be_billed: false,
        detail: "starting".into(),
    }
}

/// Lives on after each pause until nothing is waited for any more, and says how often something was.
async fn through_all_waits(world: &World, store: &MemoryStore) -> (Progress, usize) {
    let mut waits = 0;
    loop {
        let mut progress = world.live(store).await.unwrap();
        let Some(waiting) = &mut progress.waiting else {
            return (progress, waits);
        };
        waits += 1;
        assert_eq!(waiting.category, Category::Infrastructure, "{}", waiting.message);
        waiting.retry_at = jiff::Timestamp::UNIX_EPOCH;
        store.save(&progress).await.unwrap();
    }
}

#[rstest]
#[case::refused(unreachable())]
#[case::turned_away(turned_away())]
#[tokio::test]
async fn an_outage_of_a_day_spends_no_call_no_token_and_no_iteration(#[case] error: ModelError) {
    // A day, at a try every half minute.
    const TRIES: usize = 2_880;
    let mut script = Script::new();
    for _ in 0..TRIES {
        script = script.with_error(CallKind::Plan, error.clone());
    }
    let script = script
        .with(CallKind::Plan, &plan())
        .with(CallKind::Code, &code("return len(text.split())"))
        .with(CallKind::Tests, &tests(2));
    let world = World::new(task(), script, splits);
    let store = MemoryStore::new();
    let (progress, waits) = Box::pin(through_all_waits(&world, &store)).await;
    assert_eq!((progress.stage, waits), (Stage::Succeeded, TRIES));
    assert_eq!((progress.spent.model_calls, progress.spent.lost_calls), (3, 0));
    assert_eq!(progress.spent.tokens.input, 300, "those of the three replies");
    assert_eq!(progress.attempt, 1);
    assert_eq!(progress.sequence, 4, "the numbers of calls have no gap");
}

#[rstest]
#[case::of_two_minutes(Duration::from_mins(2), 120)]
#[case::of_an_hour(Duration::from_hours(1), 600)]
#[case::without_an_end(Duration::MAX, 600)]
#[tokio::test]
async fn a_server_that_asks_for_a_pause_is_not_called_before_its_end_or_ten_minutes_have_passed(
    #[case] asked: Duration,
    #[case] seconds: i64,
) {
    let mut error = turned_away();
    if let ModelError::Unavailable { retry_after, .. } = &mut error {
        *retry_after = Some(asked);
    }
    let script = Script::new().with_error(CallKind::Plan, error);
    let world = World::new(task(), script, splits);
    let waiting = world.end().await.waiting.unwrap();
    assert_eq!(
        waiting.retry_at.duration_since((world.clock)()).as_secs(),
        seconds
    );
}

#[tokio::test]
async fn an_endpoint_that_is_down_is_named_with_what_the_task_waits_for() {
    let script = Script::new().with_error(CallKind::Plan, unreachable());
    let progress = World::new(task(), script, splits).end().await;
    let waiting = progress.waiting.unwrap();
    assert!(
        waiting.message.contains("http://127.0.0.1:1") && waiting.message.contains("does not count"),
        "{}",
        waiting.message
    );
    assert_eq!(progress.intent, None);
}

#[tokio::test]
async fn the_time_of_a_call_that_reached_nobody_is_none_of_the_deadline_and_that_of_a_lost_one_is() {
    const TOOK: Duration = Duration::from_millis(30);
    let lost = ModelError::CutReply {
        endpoint: "http://127.0.0.1:1".into(),
        detail: "cut".into(),
    };
    for (error, counts) in [(unreachable(), false), (lost, true)] {
        let mut script = Script::new().with_error(CallKind::Plan, error);
        script.takes = TOOK;
        let progress = World::new(task(), script, splits).end().await;
        let active = progress.spent.active_seconds;
        assert_eq!(active >= TOOK.as_secs_f64(), counts, "{active} s");
    }
}
