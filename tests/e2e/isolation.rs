//! Nothing runs where the cluster does not isolate, and a task says what was looked at.

use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::api::{DeleteParams, PostParams};
use serde_json::json;

use crate::space::{condition, in_space};

const TASK: &str = "multiplication-table";

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_task_says_what_a_pod_under_its_policy_was_kept_from() {
    in_space("isolated", async |space| {
        space.copy_secret("openai").await;
        space.apply("examples/prompt-only/task.yaml", "prompt-only");
        let task = space.end(TASK).await;
        let (status, _, message) = condition(&task, "IsolationVerified").unwrap();
        assert_eq!(status, "True", "{message}");
        for target in [
            "API server",
            "metadata service",
            "name server",
            "registry",
            "sibling Pod",
        ] {
            assert!(message.contains(target), "{target} is missing: {message}");
        }
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_policy_that_opens_the_network_of_sandboxes_is_named_and_holds_them() {
    in_space("opened", async |space| {
        space.copy_secret("openai").await;
        let opener: NetworkPolicy = serde_json::from_value(json!({
            "metadata": {"name": "allow-everything"},
            "spec": {"podSelector": {}, "policyTypes": ["Egress"], "egress": [{}]},
        }))
        .unwrap();
        let policies = space.api::<NetworkPolicy>();
        policies.create(&PostParams::default(), &opener).await.unwrap();
        space.apply("examples/prompt-only/task.yaml", "prompt-only");
        let (_, _, message) = space.stalled(TASK).await;
        assert!(message.contains("allow-everything"), "{message}");
        assert!(message.contains("opens the network of sandboxes"), "{message}");

        policies
            .delete("allow-everything", &DeleteParams::default())
            .await
            .unwrap();
        space.succeeded(TASK).await;
    })
    .await;
}
