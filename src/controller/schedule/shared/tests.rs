use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::runtime::{reflector, watcher};

use super::*;
use codegen_api::status::CodeGenTaskStatus;
use codegen_api::{CodeGenTask, CodeGenTaskSpec};

fn task(name: &str, stage: Option<&str>, reason: &str) -> CodeGenTask {
    let mut task = CodeGenTask::new(name, CodeGenTaskSpec::default());
    task.metadata.namespace = Some("data".to_owned());
    task.metadata.uid = Some(format!("uid-{name}"));
    task.metadata.creation_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
    task.status = stage.map(|stage| CodeGenTaskStatus {
        stage: Some(stage.to_owned()),
        reason: Some(reason.to_owned()),
        run: Some("r1".to_owned()),
        ..CodeGenTaskStatus::default()
    });
    task
}

fn one_place() -> Shared<CodeGenTask> {
    let limits = ConcurrencyLimits {
        max_concurrent_tasks: 1,
        ..ConcurrencyLimits::default()
    };
    Shared::new(limits, Metrics::new())
}

#[test]
fn whoever_waits_is_woken_when_a_place_is_free() {
    let places = one_place();
    let mut woken = places.woken();
    assert_eq!(places.admit(&task("a", None, "")), None);
    assert!(places.admit(&task("b", None, "")).is_some());
    assert!(places.metrics.text().unwrap().contains("queued_tasks 1\n"));
    assert!(woken.try_recv().is_err());
    places.leave("uid-a");
    assert_eq!(woken.try_recv().ok(), Some(ObjectRef::new("b").within("data")));
    assert_eq!(places.admit(&task("b", None, "")), None);
    assert!(places.metrics.text().unwrap().contains("queued_tasks 0\n"));
}

#[test]
fn only_tasks_that_were_under_way_have_a_place_after_a_restart() {
    let places = one_place();
    let mut suspended = task("s", Some("Planning"), "Progressing");
    suspended.spec.suspend = Some(true);
    let others = [
        task("new", None, ""),
        task("ended", Some("Succeeded"), "TestsPassed"),
        task("waits", Some("Planning"), "Configuration"),
        suspended,
    ];
    places.resume(&others.map(Arc::new));
    assert_eq!(places.gate().running(), 0);
    let ran = Arc::new(task("ran", Some("RunningTests"), "Progressing"));
    places.resume(&[Arc::clone(&ran)]);
    assert!(places.admit(&task("new", None, "")).is_some());
    assert_eq!(places.admit(&ran), None);
}

#[test]
fn a_task_that_was_deleted_without_a_word_blocks_nobody() {
    let places = one_place();
    let mut woken = places.woken();
    assert_eq!(places.admit(&task("gone", None, "")), None);
    let waits = Arc::new(task("waits", None, ""));
    assert!(places.admit(&waits).is_some());
    let (store, mut writer) = reflector::store();
    writer.apply_watcher_event(&watcher::Event::Apply((*waits).clone()));
    places.knows(store);
    assert_eq!(places.deleted(), ["uid-gone".to_owned()].into());
    places.release("uid-gone");
    assert!(woken.try_recv().is_ok());
    assert_eq!(places.admit(&waits), None);
}

#[test]
fn no_more_objects_are_asked_about_than_decide() {
    let shared = one_place();
    let (store, mut writer) = reflector::store();
    for name in ["a", "b", "c"] {
        writer.apply_watcher_event(&watcher::Event::Apply(task(name, None, "")));
    }
    shared.knows(store);
    let asked = Cell::new(0);
    let any = |_: &CodeGenTask| {
        asked.set(asked.get() + 1);
        true
    };
    assert!(shared.are_at_least(0, any));
    assert_eq!(asked.get(), 0);
    assert!(shared.are_at_least(2, any));
    assert_eq!(asked.get(), 2);
    assert!(shared.are_at_least(3, any));
    assert!(!shared.are_at_least(4, any));
}

#[test]
fn whoever_waits_for_a_person_polls_within_5_s_and_all_together_20_times_a_second() {
    let shared = one_place();
    let first = task("first", None, "");
    let (short, hour) = (Duration::from_secs(2), Duration::from_hours(1));
    assert_eq!(shared.pause_for_correction(&first, short), short);
    assert_eq!(shared.pause_for_correction(&first, hour), POLL_INTERVAL);
    for number in 1..400 {
        let _ = shared.pause_for_correction(&task(&number.to_string(), None, ""), hour);
    }
    assert_eq!(shared.pause_for_correction(&first, hour), Duration::from_secs(20));
    // What goes on, and what is held by something else, takes no share.
    shared.reset_backoff(&task("1", None, ""));
    let _ = shared.pause(&task("queued", None, ""));
    assert_eq!(
        shared.pause_for_correction(&first, hour),
        Duration::from_millis(399 * 50)
    );
}

#[test]
fn a_step_that_is_tried_again_later_polls_only_where_it_waits_for_a_person() {
    let shared = one_place();
    let first = task("first", None, "");
    let until = Timestamp::now() + SignedDuration::from_mins(10);
    assert_eq!(shared.pause_until(&first, until, true), POLL_INTERVAL);
    assert!(shared.pause_until(&first, until, false) > Duration::from_mins(9));
    assert_eq!(
        shared.pause_until(&first, Timestamp::UNIX_EPOCH, true),
        Duration::ZERO
    );
}
