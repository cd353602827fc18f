//! The program of a task that has succeeded becomes an image when that is asked for.

use kube::runtime::controller::Action;
use serde_json::json;

use crate::controller::tests::api_server::Fault;
use crate::controller::tests::world::World;
use codegen_api::CodeGenTask;

const PUBLISHED: &str = "Published";

/// A task that has succeeded, and that is to be published since.
async fn asked() -> World {
    let mut world = World::new().await;
    world.apply_task("words", &json!({}));
    world.settle::<CodeGenTask>("words").await;
    world.reconcile::<CodeGenTask>("words").await;
    let repository = format!("{}/team/words", world.registry.host());
    world.server.edit("codegentasks", "words", |task| {
        task["spec"]["publish"] = json!({"repository": repository});
    });
    world.server.calls();
    world
}

fn published(world: &World) -> Option<String> {
    assert_eq!(
        world.stage_and_reason::<CodeGenTask>("words"),
        "Succeeded Unverified"
    );
    world.condition::<CodeGenTask>("words", PUBLISHED)
}

#[tokio::test]
async fn a_program_is_published_when_its_task_has_succeeded_long_ago() {
    let mut world = asked().await;
    world.reconcile::<CodeGenTask>("words").await;
    assert_eq!(published(&world).as_deref(), Some("False Progressing"));
    let action = world.settle::<CodeGenTask>("words").await;
    assert_eq!(action, Action::await_change());
    assert_eq!(published(&world).as_deref(), Some("True Pushed"));
    world.server.assert_calls(
        "status CodeGenTask words: Succeeded Unverified
         get Secret result
         status CodeGenTask words: Succeeded Unverified",
    );
    assert_eq!(world.registry.pushed(), ["data.words"]);
    assert_eq!(world.provider.calls().await, ["plan", "code", "tests"]);
    world.reconcile::<CodeGenTask>("words").await;
    world.server.assert_calls("");
    let events = world.events("words").await;
    assert_eq!(events, ["ImageFound", "AttemptPassed", "Succeeded", "Published"]);
}

#[tokio::test]
async fn a_registry_that_refuses_is_said_of_the_image_alone_and_tried_again_when_somebody_asks() {
    let mut world = asked().await;
    world.registry.refuses(true);
    world.settle::<CodeGenTask>("words").await;
    assert_eq!(published(&world).as_deref(), Some("False Configuration"));
    world.registry.refuses(false);
    let asking = |task: &mut serde_json::Value| {
        task["metadata"]["annotations"]["codegen-operator.dev/retry"] = "1".into();
    };
    world.server.edit("codegentasks", "words", asking);
    world.settle::<CodeGenTask>("words").await;
    assert_eq!(published(&world).as_deref(), Some("True Pushed"));
    assert_eq!(world.registry.pushed(), ["data.words"]);
}

#[tokio::test]
async fn a_wish_that_is_taken_back_leaves_the_task_as_it_was() {
    let mut world = asked().await;
    world.registry.refuses(true);
    world.settle::<CodeGenTask>("words").await;
    world.server.edit("codegentasks", "words", |task| {
        task["spec"].as_object_mut().unwrap().remove("publish");
    });
    assert_eq!(world.settle::<CodeGenTask>("words").await, Action::await_change());
    assert_eq!(published(&world), None);
    world.server.calls();
    world.reconcile::<CodeGenTask>("words").await;
    world.server.assert_calls("");
}

#[tokio::test]
async fn a_lost_reply_to_the_write_that_says_so_pushes_nothing_again() {
    let mut world = asked().await;
    world.reconcile::<CodeGenTask>("words").await;
    world
        .server
        .fail("status CodeGenTask words: Succeeded", Fault::ReplyLost);
    for _ in 0..2 {
        world.settle::<CodeGenTask>("words").await;
    }
    assert_eq!(published(&world).as_deref(), Some("True Pushed"));
    assert_eq!(world.registry.pushed(), ["data.words"]);
}

#[tokio::test]
async fn a_conflict_while_it_is_pushed_is_taken_again_and_the_image_is_found() {
    let mut world = asked().await;
    world.reconcile::<CodeGenTask>("words").await;
    let seen = world.cached::<CodeGenTask>("words");
    world.server.edit("codegentasks", "words", |task| {
        task["metadata"]["labels"] = json!({"team": "a"});
    });
    assert_eq!(world.reconcile_seen(seen).await, Action::await_change());
    assert_eq!(published(&world).as_deref(), Some("False Progressing"));
    world.settle::<CodeGenTask>("words").await;
    assert_eq!(published(&world).as_deref(), Some("True Pushed"));
    assert_eq!(world.registry.pushed(), ["data.words"]);
}
