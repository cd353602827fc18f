//! Outputs of a run that the operator itself pushes: a registry that does not take them is asked no more often than the docs say.

use std::time::Duration;

use jiff::Timestamp;
use kube::runtime::controller::Action;
use serde_json::json;

use crate::controller::tests::world::World;
use codegen_api::CodeGenRun;

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

#[tokio::test]
async fn a_registry_that_refuses_is_asked_again_when_its_secret_has_changed() {
    let mut world = refused().await;
    let again_after = |seconds| Action::requeue(Duration::from_secs(seconds));
    world.server.edit("secrets", "registry", |secret| {
        secret["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
    });
    world.registry.refuses(false);
    assert_eq!(world.reconcile::<CodeGenRun>("count").await, again_after(5));
    world.server.assert_calls("get Secret registry");
    let said = world.condition::<CodeGenRun>("count", PUSHED);
    assert_eq!(
        said.as_deref(),
        Some("False PushRefused"),
        "nothing has changed since"
    );
    world.server.edit("secrets", "registry", |secret| {
        secret["data"] = json!({".dockerconfigjson": "e30K"});
        secret["metadata"]["managedFields"] =
            json!([{"manager": "kubectl", "operation": "Update", "time": Timestamp::now()}]);
    });
    world.reconcile::<CodeGenRun>("count").await;
    let said = world.condition::<CodeGenRun>("count", PUSHED);
    assert_eq!(said.as_deref(), Some("True Pushed"));
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
