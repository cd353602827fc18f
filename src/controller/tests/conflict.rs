//! Somebody else changes a task while it is reconciled: what was computed from the version before is not written over it.

use kube::runtime::controller::Action;
use serde_json::json;

use crate::controller::tests::api_server::Fault;
use crate::controller::tests::world::World;
use codegen_api::CodeGenTask;

const ALL: [&str; 3] = ["plan", "code", "tests"];

/// A task that was seen at this stage, and that somebody has labelled since.
async fn labelled_at(world: &mut World, stage: &str) -> std::sync::Arc<CodeGenTask> {
    world.apply_task("words", &json!({}));
    world.until::<CodeGenTask>("words", stage).await;
    let seen = world.cached::<CodeGenTask>("words");
    world.server.edit("codegentasks", "words", |task| {
        task["metadata"]["labels"] = json!({"team": "a"});
    });
    world.server.calls();
    seen
}

#[tokio::test]
async fn a_conflict_after_a_model_call_costs_no_second_call() {
    let mut world = World::new().await;
    world.apply_task("words", &json!({}));
    world.until::<CodeGenTask>("words", "Planning Progressing").await;
    world.server.calls();
    let conflict = Fault::Refused(409, "Conflict");
    world
        .server
        .fail("status CodeGenTask words: GeneratingCode", conflict);
    assert_eq!(
        world.reconcile::<CodeGenTask>("words").await,
        Action::await_change()
    );
    world.server.assert_calls(
        "status CodeGenTask words: Planning Progressing
         create Secret record calls/prefix
         create Secret record calls/0001-plan.json
         status CodeGenTask words: GeneratingCode Progressing -> 409 Conflict",
    );
    world.ends_well("words").await;
    assert_eq!(world.provider.calls().await, ALL);
}

#[tokio::test]
async fn a_conflict_before_a_model_call_makes_none_and_keeps_what_somebody_wrote() {
    let mut world = World::new().await;
    let seen = labelled_at(&mut world, "Planning Progressing").await;
    assert_eq!(world.reconcile_seen(seen).await, Action::await_change());
    world
        .server
        .assert_calls("status CodeGenTask words: Planning Progressing -> 409 Conflict");
    assert_eq!(world.provider.calls().await, [""; 0]);
    world.ends_well("words").await;
    assert_eq!(world.provider.calls().await, ALL);
    assert_eq!(world.status_of("words").lost_calls, 0);
    assert_eq!(
        world.object::<CodeGenTask>("words")["metadata"]["labels"]["team"],
        "a"
    );
}

#[tokio::test]
async fn an_operator_that_begins_after_a_conflict_finds_the_reply_on_record() {
    let mut world = World::new().await;
    world.apply_task("words", &json!({}));
    world.until::<CodeGenTask>("words", "Planning Progressing").await;
    let conflict = Fault::Refused(409, "Conflict");
    world
        .server
        .fail("status CodeGenTask words: GeneratingCode", conflict);
    world.reconcile::<CodeGenTask>("words").await;
    world.restart().await;
    world.ends_well("words").await;
    assert_eq!(world.provider.calls().await, ALL);
}

#[tokio::test]
async fn a_conflict_at_the_first_write_leaves_a_snapshot_that_is_taken() {
    let mut world = World::new().await;
    let seen = labelled_at(&mut world, "").await;
    assert_eq!(world.reconcile_seen(seen).await, Action::await_change());
    world.ends_well("words").await;
    assert_eq!(world.provider.calls().await, ALL);
}

#[tokio::test]
async fn a_conflict_at_the_last_write_runs_nothing_again_and_keeps_one_result() {
    let mut world = World::new().await;
    world.apply_task("words", &json!({}));
    world.server.fail(
        "status CodeGenTask words: Succeeded",
        Fault::Refused(409, "Conflict"),
    );
    world
        .until::<CodeGenTask>("words", "RunningTests Progressing")
        .await;
    world.settle::<CodeGenTask>("words").await;
    world.reconcile::<CodeGenTask>("words").await;
    world.ends_well("words").await;
    let calls = world.server.calls();
    let times = |line: &str| calls.iter().filter(|call| *call == line).count();
    assert_eq!(
        (times("create Pod sandbox"), times("log of Pod sandbox")),
        (1, 1),
        "{calls:#?}"
    );
    assert_eq!(
        times("create Secret result -> 409 AlreadyExists"),
        1,
        "{calls:#?}"
    );
    assert_eq!(world.server.of_component("secrets", "result").len(), 1);
    assert_eq!(world.provider.calls().await, ALL);
}
