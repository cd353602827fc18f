//! Images that tasks name are pulled with Secrets whose owner allows it.

use k8s_openapi::api::core::v1::Pod;
use serde_json::json;

use super::world::{Kind, World};
use codegen_api::{CodeGenRun, CodeGenTask};

fn secret(labels: &serde_json::Value) -> serde_json::Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/dockerconfigjson",
        "metadata": {"name": "private", "labels": labels},
        "data": {".dockerconfigjson": "e30="},
    })
}

/// Works on the object until it waits for the Secret's label.
async fn waits_for_its_label<K: Kind>(world: &mut World, name: &str) {
    for _ in 0..60 {
        world.reconcile::<K>(name).await;
        world.node.end_pods(&world.server).await;
        let message = world.message::<K>(name);
        if message.contains("codegen-operator.dev/use") && message.contains("private") {
            return;
        }
    }
    panic!(
        "{}: {}",
        world.stage_and_reason::<K>(name),
        world.message::<K>(name)
    );
}

/// Pods that name the Secret.
fn pulled(world: &World) -> usize {
    let names_it = |pod: &Pod| {
        let spec = pod.spec.as_ref().unwrap();
        let mut secrets = spec.image_pull_secrets.iter().flatten();
        secrets.any(|secret| secret.name == "private")
    };
    let pods = world.server.all("pods").into_iter();
    let pods = pods.map(|pod| serde_json::from_value::<Pod>(pod).unwrap());
    pods.filter(names_it).count()
}

#[tokio::test]
async fn a_secret_that_its_owner_labelled_for_no_registry_pulls_no_image_for_a_task() {
    for field in ["pullSecretRef", "pushSecretRef"] {
        let mut world = World::new().await;
        world
            .server
            .create(secret(&json!({"codegen-operator.dev/use": "model"})));
        let image = json!({"reference": world.registry.image(), field: {"name": "private"}});
        world.apply_task("words", &json!({"image": image}));
        waits_for_its_label::<CodeGenTask>(&mut world, "words").await;
        assert_eq!(pulled(&world), 0, "{field}");
    }
}

#[tokio::test]
async fn a_secret_that_lost_its_label_pulls_no_image_for_a_run_of_a_program() {
    let mut world = World::new().await;
    world
        .server
        .create(secret(&json!({"codegen-operator.dev/use": "registry"})));
    world.node.outputs.insert("words".to_owned(), "2\n".to_owned());
    let image = json!({"reference": world.registry.image(), "pullSecretRef": {"name": "private"}});
    let outputs = json!([{"name": "words", "type": "Int"}]);
    world.apply_task(
        "words",
        &json!({"image": image, "outputs": outputs, "testing": {"cases": "Off"}}),
    );
    world.settle::<CodeGenTask>("words").await;
    assert!(
        world
            .stage_and_reason::<CodeGenTask>("words")
            .starts_with("Succeeded ")
    );
    world.reconcile::<CodeGenTask>("words").await;
    world.server.edit("secrets", "private", |secret| {
        secret["metadata"]["labels"] = json!({});
    });
    let before = pulled(&world);
    world.apply_run("count", &json!({"taskRef": {"name": "words"}}));
    waits_for_its_label::<CodeGenRun>(&mut world, "count").await;
    assert_eq!(pulled(&world), before);
}
