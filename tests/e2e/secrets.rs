//! Secrets are used for what their owners allow, whoever creates the task.

use codegen_api::CodeGenTask;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::space::{Space, in_space};

const TASK: &str = "multiplication-table";

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_key_without_its_label_is_not_used_until_it_has_it() {
    in_space("unlabelled", async |space| {
        space.copy_secret("openai").await;
        change_secret(space, json!({"labels": {"codegen-operator.dev/use": null}})).await;
        space.apply("examples/prompt-only/task.yaml", "prompt-only");
        let message = refusal(space).await;
        assert!(message.contains("may not be used for `model`"), "{message}");
        assert!(
            message.contains("label secret openai codegen-operator.dev/use=model"),
            "{message}"
        );

        change_secret(space, json!({"labels": {"codegen-operator.dev/use": "model"}})).await;
        space.succeeded(TASK).await;
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_key_is_sent_to_no_host_that_its_owner_did_not_name() {
    in_space("key-host", async |space| {
        space.copy_secret("openai").await;
        let own = space.api::<Secret>().get("openai").await.unwrap();
        let hosts = own.metadata.annotations.unwrap()["codegen-operator.dev/hosts"].clone();
        let to = |hosts: &str| json!({"annotations": {"codegen-operator.dev/hosts": hosts}});
        change_secret(space, to("models.example.com")).await;
        space.apply("examples/prompt-only/task.yaml", "prompt-only");
        let message = refusal(space).await;
        assert!(
            message.contains("may be sent to models.example.com only"),
            "{message}"
        );
        assert_eq!(calls(space).await, 0);

        change_secret(space, to(&hosts)).await;
        space.succeeded(TASK).await;
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_registrys_credentials_are_no_environment_of_a_program() {
    in_space("deputy", async |space| {
        space.copy_secret("openai").await;
        let take =
            json!([{"name": "TAKEN", "secretKeyRef": {"name": "registry", "key": ".dockerconfigjson"}}]);
        space.apply_changed("examples/prompt-only/task.yaml", "prompt-only", |spec| {
            spec["sandbox"]["secrets"] = take.clone();
        });
        let message = refusal(space).await;
        assert!(message.contains("for `registry` only"), "{message}");
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn what_a_program_says_of_its_secrets_stands_nowhere() {
    in_space("talkative", async |space| {
        space.copy_secret("openai").await;
        space.copy_secret("variable").await;
        space.apply_changed("tests/e2e/manifests/hopeless.yaml", "talkative", |spec| {
            let key = json!({"name": "variable", "key": "value"});
            spec["sandbox"]["secrets"] = json!([{"name": "PASSWORD", "secretKeyRef": key}]);
        });
        let task = space.end("hopeless").await;
        let status = serde_json::to_string(&task.status).unwrap();
        assert_eq!(task.status.unwrap().attempts.len(), 2, "{status}");
        let secret = space.api::<Secret>().get("variable").await.unwrap();
        let value = String::from_utf8(secret.data.unwrap()["value"].0.clone()).unwrap();
        assert!(status.contains("[redacted:PASSWORD]"), "{status}");
        // Its records and what its Pods said are looked at by `tests/cluster/keys`, with those of every other test.
        assert!(!status.contains(&value));
    })
    .await;
}

async fn change_secret(space: &Space, metadata: Value) {
    space
        .api::<Secret>()
        .patch(
            "openai",
            &PatchParams::default(),
            &Patch::Merge(json!({"metadata": metadata})),
        )
        .await
        .unwrap();
}

/// What the task says that waits for somebody.
async fn refusal(space: &Space) -> String {
    let (_, reason, message) = space.stalled(TASK).await;
    assert_eq!(reason, "Configuration");
    message
}

async fn calls(space: &Space) -> i32 {
    let task = space.api::<CodeGenTask>().get(TASK).await.unwrap();
    task.status.unwrap().model_calls
}
