//! The cache is behind: what was done already is not done again.

use std::sync::Arc;

use kube::runtime::controller::Action;
use serde_json::json;

use crate::controller::tests::world::World;
use codegen_api::CodeGenTask;

const ALL: [&str; 3] = ["plan", "code", "tests"];

#[tokio::test]
async fn a_task_that_is_seen_as_it_was_before_the_last_write_is_left_alone_at_every_stage() {
    let mut world = World::new().await;
    world.apply_task("words", &json!({}));
    let mut stages = Vec::new();
    while !world
        .stage_and_reason::<CodeGenTask>("words")
        .starts_with("Succeeded")
    {
        let seen = world.cached::<CodeGenTask>("words");
        world.reconcile::<CodeGenTask>("words").await;
        let now = world.cached::<CodeGenTask>("words");
        if seen.metadata.resource_version == now.metadata.resource_version {
            assert_eq!(world.node.end_pods(&world.server).await, 1);
            continue;
        }
        stages.push(world.stage_and_reason::<CodeGenTask>("words"));
        world.server.calls();
        assert_eq!(
            world.reconcile_seen(seen).await,
            Action::await_change(),
            "{stages:?}"
        );
        world.server.assert_calls("");
    }
    assert_eq!(stages.len(), 6, "{stages:?}");
    assert_eq!(world.provider.calls().await, ALL);
}

#[tokio::test]
async fn an_operator_that_begins_with_an_old_cache_asks_no_model_again_and_writes_nothing_over_what_is_newer()
{
    let mut world = World::new().await;
    world.apply_task("words", &json!({}));
    world.until::<CodeGenTask>("words", "Planning Progressing").await;
    let seen = world.cached::<CodeGenTask>("words");
    world
        .until::<CodeGenTask>("words", "GeneratingTests Progressing")
        .await;
    world.restart().await;
    assert_eq!(world.reconcile_seen(seen).await, Action::await_change());
    world.server.assert_calls(
        "get Secret snapshot
         get Secret record documents/data-context.txt
         get Secret record calls/0001-plan.json
         get Secret record calls/prefix
         status CodeGenTask words: GeneratingCode Progressing -> 409 Conflict",
    );
    world.ends_well("words").await;
    assert_eq!(world.provider.calls().await, ALL);
}

#[tokio::test]
async fn an_operator_that_begins_with_a_task_as_it_was_before_its_end_starts_nothing() {
    let mut world = World::new().await;
    world.apply_task("words", &json!({}));
    world
        .until::<CodeGenTask>("words", "RunningTests Progressing")
        .await;
    let seen: Arc<CodeGenTask> = world.cached("words");
    world.settle::<CodeGenTask>("words").await;
    world.restart().await;
    world.reconcile_seen(seen).await;
    let calls = world.server.calls();
    assert!(!calls.iter().any(|call| call.starts_with("create")), "{calls:#?}");
    assert_eq!(
        world.stage_and_reason::<CodeGenTask>("words"),
        "Succeeded Unverified"
    );
    assert_eq!(world.provider.calls().await, ALL);
}
