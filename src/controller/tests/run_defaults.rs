//! Inputs that a run takes of its task where it gives nothing itself: the samples that the program was tested with.

use serde_json::{Value, json};

use crate::controller::tests::api_server::NAMESPACE;
use crate::controller::tests::runs::of_words;
use crate::controller::tests::world::World;
use codegen_api::{CodeGenRun, CodeGenTask};
use codegen_core::digest::sha256_hex;

const TEXT: &str = "two words\n";

/// The task `words`, which has succeeded on the key `a.txt` of the ConfigMap `texts`.
async fn with_sample() -> World {
    let mut world = World::new().await;
    world.server.create(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "texts", "namespace": NAMESPACE}, "data": {"a.txt": TEXT},
    }));
    world.node.outputs.insert("words".to_owned(), "2\n".to_owned());
    let spec = json!({
        "outputs": [{"name": "words", "type": "Int"}],
        "samples": [{"name": "text", "configMapKeyRef": {"name": "texts", "key": "a.txt"}}],
        "testing": {"cases": "Off"},
    });
    world.apply_task("words", &spec);
    world.settle::<CodeGenTask>("words").await;
    let (stage, message) = (
        world.stage_and_reason::<CodeGenTask>("words"),
        world.message::<CodeGenTask>("words"),
    );
    assert!(stage.starts_with("Succeeded "), "{stage}: {message}");
    world
}

/// Returns the run's status of its input.
fn input(world: &World) -> Value {
    world.object::<CodeGenRun>("count")["status"]["inputs"][0].clone()
}

#[tokio::test]
async fn a_run_takes_the_sample_that_its_task_was_tested_with_whatever_the_source_has_now() {
    let mut world = with_sample().await;
    world.server.edit("configmaps", "texts", |map| {
        map["data"]["a.txt"] = json!("other words now\n");
    });
    world.apply_run("count", &of_words());
    world.settle::<CodeGenRun>("count").await;
    let message = world.message::<CodeGenRun>("count");
    assert_eq!(
        world.stage_and_reason::<CodeGenRun>("count"),
        "Succeeded ProgramSucceeded",
        "{message}"
    );
    assert_eq!(
        input(&world)["sha256"],
        sha256_hex(TEXT.as_bytes()),
        "{}",
        input(&world)
    );
}

#[tokio::test]
async fn a_run_of_a_task_whose_snapshot_is_gone_reads_the_source_and_says_when_that_has_changed() {
    let mut world = with_sample().await;
    for snapshot in world.server.of_component("secrets", "snapshot") {
        world
            .server
            .remove("secrets", snapshot["metadata"]["name"].as_str().unwrap());
    }
    world.server.edit("configmaps", "texts", |map| {
        map["data"]["a.txt"] = json!("other words now\n");
    });
    world.apply_run("count", &of_words());
    world.settle::<CodeGenRun>("count").await;
    let message = world.message::<CodeGenRun>("count");
    assert!(
        message.contains("the content of text has changed since the CodeGenTask words succeeded"),
        "{message}"
    );

    world
        .server
        .edit("configmaps", "texts", |map| map["data"]["a.txt"] = json!(TEXT));
    world.apply_run("again", &of_words());
    world.settle::<CodeGenRun>("again").await;
    assert_eq!(
        world.stage_and_reason::<CodeGenRun>("again"),
        "Succeeded ProgramSucceeded"
    );
}

#[tokio::test]
async fn a_snapshot_that_somebody_has_changed_is_not_taken_for_the_sample() {
    let mut world = with_sample().await;
    for snapshot in world.server.of_component("secrets", "snapshot") {
        let name = snapshot["metadata"]["name"].as_str().unwrap().to_owned();
        // "other"
        world.server.edit("secrets", &name, |secret| {
            secret["data"]["file.1"] = json!("b3RoZXI=");
        });
    }
    world.apply_run("count", &of_words());
    world.settle::<CodeGenRun>("count").await;
    let message = world.message::<CodeGenRun>("count");
    assert!(message.contains("somebody has replaced it"), "{message}");
    assert_eq!(
        world.stage_and_reason::<CodeGenRun>("count").split(' ').next(),
        Some("Pending")
    );
}

#[tokio::test]
async fn a_task_without_samples_keeps_no_snapshot() {
    let mut world = World::new().await;
    world.succeeded("words").await;
    assert_eq!(world.server.of_component("secrets", "snapshot").len(), 0);
    let sampled = with_sample().await;
    assert_eq!(sampled.server.of_component("secrets", "snapshot").len(), 1);
}
