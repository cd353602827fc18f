//! Outputs of a run in a registry.

use k8s_openapi::api::core::v1::Secret;
use serde_json::json;

use crate::registry::{fetched, json_of};
use crate::runs::{apply, condition, output, succeeded, until};
use crate::space::{SOON, Space, in_space};

async fn stored_bytes(space: &Space, secret: &str, key: &str) -> Vec<u8> {
    let secret = space.api::<Secret>().get(secret).await.unwrap();
    secret.data.unwrap()[key].0.clone()
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn outputs_are_pushed_once_the_registry_lets_them_and_the_run_has_succeeded_before() {
    in_space("pushed", async |space| {
        space.copy_secret("openai").await;
        space.apply("examples/penguins", "penguins");
        space.succeeded("penguin-masses").await;
        let repository = format!("{}/outputs", space.repository());
        let artifact = json!({"repository": repository, "pushSecretRef": {"name": "later"}});
        apply(space, "kept", &json!({"outputs": {"artifact": artifact}}));

        let run = succeeded(space, "kept").await;
        assert_eq!(run.status.unwrap().artifact, None);
        let refused = until(space, "kept", "told that nothing was pushed", SOON, |run| {
            matches!(condition(run, "OutputsPushed"), Some(("False", "PushRefused", _)))
        })
        .await;
        let (_, _, message) = condition(&refused, "OutputsPushed").unwrap();
        for part in ["later", "spec.outputs.artifact.pushSecretRef"] {
            assert!(message.contains(part), "{message}");
        }
        assert!(matches!(condition(&refused, "Ready"), Some(("True", ..))));

        space.copy_secret_as("registry", "later").await;
        let run = until(space, "kept", "pushed", SOON, |run| {
            matches!(condition(run, "OutputsPushed"), Some(("True", "Pushed", _)))
        })
        .await;
        let artifact = run.status.as_ref().unwrap().artifact.clone().unwrap();
        let digest = artifact.strip_prefix(&format!("{repository}@")).expect(&artifact);
        let manifest = json_of(&format!("{repository}/manifests/{digest}")).await;
        assert_eq!(
            manifest["artifactType"],
            "application/vnd.codegen-operator.outputs.v1"
        );
        let layers = manifest["layers"].as_array().unwrap();
        assert_eq!(layers.len(), 2, "{manifest}");
        for (layer, (name, title)) in layers
            .iter()
            .zip([("summary", "summary.csv"), ("species", "species")])
        {
            assert_eq!(layer["annotations"]["org.opencontainers.image.title"], title);
            let blob = layer["digest"].as_str().unwrap();
            let file = &output(&run, name).files[0];
            assert_eq!(
                fetched(&format!("{repository}/blobs/{blob}")).await,
                stored_bytes(space, &file.secret, &file.key).await
            );
        }
        let tag = format!("{repository}/manifests/{}.kept.outputs", space.name);
        assert_eq!(json_of(&tag).await, manifest);
    })
    .await;
}
