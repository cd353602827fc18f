//! Rules on packages: a task ends by them before anything is built, and goes on from there.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use crate::event::Event;
use crate::test_support::{Script, World, code, plan, splits, tests};
use codegen_core::budget::has_room_again;
use codegen_core::call::CallKind;
use codegen_core::machine::{Outcome, advance};
use codegen_core::stage::{Category, Stage, StopReason};
use codegen_core::status::{StatusContext, status};
use codegen_core::test_support::{at, task};
use codegen_ledger::{MemoryStore, Store as _};

fn asks_for(packages: &[&str]) -> Value {
    let mut reply = code("return len(text.split())");
    reply["packages"] = json!(packages);
    reply
}

fn script(packages: &[&str]) -> Script {
    Script::new()
        .with(CallKind::Plan, &plan())
        .with(CallKind::Code, &asks_for(packages))
        .with(CallKind::Tests, &tests(2))
}

#[tokio::test]
async fn a_denied_package_ends_the_task_before_the_suite_is_paid_for_and_a_changed_rule_goes_on_from_there() {
    let mut task = task();
    task.packages.cluster.deny = vec!["torch*".into()];
    let mut world = World::new(task, script(&["torch"]), splits);
    let store = MemoryStore::new();
    let ended = world.live(&store).await.unwrap();
    let stop = ended.stop.as_ref().unwrap();
    assert_eq!(
        (ended.stage, stop.reason),
        (Stage::Failed, StopReason::PolicyDenied)
    );
    assert!(
        stop.message
            .starts_with("pip package torch is denied by \"torch*\""),
        "{stop}"
    );
    assert_eq!(
        (ended.attempt, ended.spent.model_calls, ended.spent.builds),
        (0, 2, 0)
    );
    assert_eq!(world.sandbox.builds.load(Ordering::SeqCst), 0);
    let told = world.script.requests.lock().unwrap()[1].system.clone();
    assert!(
        told.contains("Never these packages (* is any text): torch*."),
        "{told}"
    );
    assert!(!has_room_again(&world.task, &ended, at(2_000)));

    world.task.packages.cluster.deny.clear();
    assert!(has_room_again(&world.task, &ended, at(2_000)));
    let on = advance(&world.task, &ended, Outcome::LimitRaised, at(2_000)).unwrap();
    store.save(&on).await.unwrap();
    let done = world.live(&store).await.unwrap();
    assert_eq!(
        (done.stage, done.spent.model_calls),
        (Stage::Succeeded, 3),
        "{done:#?}"
    );
}

#[tokio::test]
async fn dependencies_of_a_package_are_judged_once_they_are_resolved() {
    let mut task = task();
    task.packages.own.deny = vec!["six".into()];
    let mut world = World::new(task, script(&["python-dateutil"]), splits);
    world.sandbox.brings = vec!["six==1.17.0".into()];
    let ended = world.live(&MemoryStore::new()).await.unwrap();
    let stop = ended.stop.unwrap();
    assert_eq!(stop.reason, StopReason::PolicyDenied);
    assert!(
        stop.message.contains("six, which another package brought along"),
        "{stop}"
    );
    assert_eq!(
        world.sandbox.runs.load(Ordering::SeqCst),
        0,
        "nothing runs in such an image"
    );
}

#[tokio::test]
async fn an_image_without_a_package_list_is_reported_and_not_used_under_a_package_rule() {
    let unlisted = |deny: &[&str]| {
        let mut task = task();
        task.packages.cluster.deny = deny.iter().map(ToString::to_string).collect();
        let mut world = World::new(task, script(&["rich"]), splits);
        world.sandbox.is_unlisted = true;
        world
    };
    let world = unlisted(&[]);
    let done = world.live(&MemoryStore::new()).await.unwrap();
    assert_eq!(done.stage, Stage::Succeeded);
    let told = status(&world.task, &done, StatusContext::default(), at(2_000)).package_warnings;
    assert!(
        told.len() == 1 && told[0].contains("is not known, since its manifest does not say it"),
        "{told:?}"
    );

    let world = unlisted(&["torch*"]);
    let waits = world.live(&MemoryStore::new()).await.unwrap();
    let waiting = waits.waiting.unwrap();
    assert_eq!(waiting.category, Category::Configuration);
    assert!(waiting.message.contains("operatorImage"), "{}", waiting.message);
    assert_eq!(
        world.sandbox.runs.load(Ordering::SeqCst),
        0,
        "nothing runs in such an image"
    );
}

#[tokio::test]
async fn a_package_that_the_index_lacks_is_replaced_without_a_build() {
    let row = json!({"manager": "pip", "name": "hiden-package", "replacement": "rich"});
    let script = script(&["hiden-package"]).with(CallKind::FixEnvironment, &json!({"replacements": [row]}));
    let mut world = World::new(task(), script, splits);
    world.sandbox.foreseen = vec!["hiden-package".into()];
    let done = world.live(&MemoryStore::new()).await.unwrap();
    assert_eq!(done.stage, Stage::Succeeded, "{done:#?}");
    assert_eq!(
        (done.spent.builds, done.attempt),
        (1, 1),
        "the first set of packages made no build"
    );
    assert_eq!(done.build.wanted.pip, ["rich"]);
}

#[tokio::test]
async fn a_name_that_is_almost_a_popular_one_is_a_warning() {
    let world = World::new(task(), script(&["pandsa"]), splits);
    world.live(&MemoryStore::new()).await.unwrap();
    let told = world.watcher.0.lock().unwrap();
    let doubts = told.iter().filter(|event| {
        matches!(event, Event::PackageDoubtful { message } if message.contains("pandsa") && message.contains("pandas"))
    });
    assert!(doubts.count() > 0, "{told:#?}");
}
