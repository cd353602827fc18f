//! Outputs of a run that the operator itself pushes: a registry that does not take them is asked no more often than the docs say.

use std::time::Duration;

use kube::ResourceExt as _;
use kube::runtime::controller::Action;
use serde_json::json;

use crate::api::CodeGenRun;
use crate::controller::tests::world::World;

const PUSHED: &str = "OutputsPushed";

/// The run `count`, which has succeeded, and whose outputs a registry refuses with credentials that were made just now.
async fn refused() -> World {
    let mut world = World::new().await;
    world.succeeded("words").await;
    world.server.create(json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/dockerconfigjson",
        "metadata": {"name": "registry", "labels": {"codegen-operator.dev/use": "registry"}},
        "data": {".dockerconfigjson": "e30="},
    }));
    let repository = format!("{}/team/outputs", world.registry.host());
    world.apply_run(
        "count",
        &json!({
            "taskRef": {"name": "words"},
            "outputs": {"artifact": {"repository": repository, "pushSecretRef": {"name": "registry"}}},
        }),
    );
    world
        .until::<CodeGenRun>("count", "Succeeded ProgramSucceeded")
        .await;
    world.registry.refuses(true);
    world.reconcile::<CodeGenRun>("count").await;
    let said = world.condition::<CodeGenRun>("count", PUSHED);
    assert_eq!(said.as_deref(), Some("False PushRefused"));
    world.server.calls();
    world
}

/// Whether the run is woken once what it waits for was read.
async fn is_woken(world: &World) -> bool {
    let mut woken = world.context.runs.woken();
    world.poll().await;
    assert_eq!(world.server.calls(), ["get Secret registry"], "it was read");
    woken.try_recv().is_ok_and(|run| run.name == "count")
}

#[tokio::test]
async fn a_new_secret_that_a_registry_refuses_wakes_its_run_once() {
    let mut world = refused().await;
    // As the watch brings back what was written.
    let action = world.reconcile::<CodeGenRun>("count").await;
    assert!(action != Action::await_change());
    world.server.assert_calls("");
    assert!(is_woken(&world).await, "the run may have read what was before");
    let action = world.reconcile::<CodeGenRun>("count").await;
    assert_eq!(action, Action::requeue(Duration::from_mins(2)));
    world.server.calls();
    assert!(!is_woken(&world).await, "nothing has changed since");
    world.server.edit("secrets", "registry", |secret| {
        secret["data"] = json!({".dockerconfigjson": "e30K"});
    });
    world.registry.refuses(false);
    assert!(is_woken(&world).await);
    world.reconcile::<CodeGenRun>("count").await;
    let said = world.condition::<CodeGenRun>("count", PUSHED);
    assert_eq!(said.as_deref(), Some("True Pushed"));
    world.reconcile::<CodeGenRun>("count").await;
    let run = world.cached::<CodeGenRun>("count");
    assert!(!world.context.runs.waits.is_waiting(&run.uid().unwrap()));
}

#[tokio::test]
async fn a_run_whose_spec_changes_is_pushed_at_once() {
    let mut world = refused().await;
    world.registry.refuses(false);
    world.server.edit("codegenruns", "count", |run| {
        run["spec"]["outputs"]["artifact"]["tag"] = json!("data.words");
    });
    world.reconcile::<CodeGenRun>("count").await;
    let said = world.condition::<CodeGenRun>("count", PUSHED);
    assert_eq!(said.as_deref(), Some("True Pushed"));
}
