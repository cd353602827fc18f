//! Nothing runs where the cluster does not isolate, and a task says what was looked at.

use k8s_openapi::api::core::v1::{Pod, ResourceQuota};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::runtime::wait::await_condition;
use serde_json::json;

use crate::space::{SOON, condition, in_space};

const TASK: &str = "multiplication-table";

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_task_says_what_its_network_policy_was_shown_to_block() {
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
async fn no_sandbox_starts_where_a_quota_leaves_no_room_for_its_policy() {
    in_space("no-policy", async |space| {
        space.copy_secret("openai").await;
        let quota: ResourceQuota = serde_json::from_value(json!({
            "metadata": {"name": "no-policies"},
            // That of builds has room, that of sandboxes has none.
            "spec": {"hard": {"count/networkpolicies.networking.k8s.io": "1"}},
        }))
        .unwrap();
        let quotas = space.api::<ResourceQuota>();
        quotas.create(&PostParams::default(), &quota).await.unwrap();
        let counts = |quota: Option<&ResourceQuota>| {
            let status = quota.and_then(|quota| quota.status.as_ref());
            status.is_some_and(|status| status.used.is_some())
        };
        let counted = await_condition(quotas.clone(), "no-policies", counts);
        let counted = tokio::time::timeout(SOON, counted).await;
        counted.expect("the quota counts").unwrap();

        space.apply("examples/prompt-only/task.yaml", "prompt-only");
        let (_, reason, message) = space.stalled(TASK).await;
        assert_eq!(reason, "Configuration", "{message}");
        assert!(
            message.contains("NetworkPolicy") && message.contains("exceeded quota"),
            "{message}"
        );
        let sandboxes = ListParams::default().labels("codegen-operator.dev/component=sandbox");
        let made = space.api::<Pod>().list(&sandboxes).await.unwrap().items;
        assert_eq!(made.len(), 0);

        quotas
            .delete("no-policies", &DeleteParams::default())
            .await
            .unwrap();
        space.succeeded(TASK).await;
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
