//! Packages that are judged before anything is built.

use k8s_openapi::api::batch::v1::Job;
use kube::api::ListParams;
use serde_json::json;

use crate::space::{Space, condition, in_space, stage_of};

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_task_whose_model_asks_for_a_denied_package_ends_without_a_job_and_goes_on_when_it_may() {
    in_space("denied", async |space| {
        space.copy_secret("openai").await;
        space.apply_changed("examples/penguins", "penguins", |spec| {
            spec["packages"] = json!({"deny": ["pand*"]});
        });
        let task = space.end("penguin-masses").await;
        let (status, reason, message) = condition(&task, "Succeeded").unwrap();
        assert_eq!((status, reason), ("False", "PolicyDenied"));
        assert!(
            message.starts_with("pip package pandas is denied by \"pand*\" in packages.deny of the task"),
            "{message}"
        );
        assert_eq!(stage_of(&task), Some("Failed"));
        let status = task.status.unwrap();
        assert_eq!((status.attempts.len(), status.builds), (0, 0));
        let calls = status.model_calls;
        assert_eq!(jobs(space).await, 0, "nothing was built");

        let rules = r#"{"spec": {"packages": {"deny": ["torch"]}}}"#;
        space.kubectl(&["patch", "codegentask/penguin-masses", "--type=merge", "--patch", rules]);
        let goes_on = space
            .until("penguin-masses", "going on", crate::space::SOON, |task| {
                task.status.as_ref().is_some_and(|status| status.model_calls > calls)
            })
            .await;
        assert_ne!(condition(&goes_on, "Succeeded").map(|(_, reason, _)| reason), Some("PolicyDenied"));
        assert_eq!(goes_on.status.unwrap().model_calls, calls + 1, "no call is made twice");
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_package_that_the_index_does_not_have_is_replaced_before_a_job_is_made() {
    in_space("unknown-package", async |space| {
        space.copy_secret("openai").await;
        space.apply_changed("tests/e2e/manifests/unknown-package.yaml", "unknown-package", |spec| {
            if spec["image"]["indexURL"].is_null() {
                spec["image"]["indexURL"] = json!("https://pypi.org/simple");
            }
        });
        let task = space.succeeded("unknown-package").await;
        let status = task.status.unwrap();
        assert_eq!(status.builds, 1, "the name that does not exist made no build");
        assert_eq!(jobs(space).await, 1);
        assert_eq!((status.model_calls, status.attempts.len()), (4, 1));
        let events = space.kubectl(&["get", "events", "--output=jsonpath={.items[*].message}{.items[*].note}"]);
        assert!(
            events.contains("pip cannot install no-such-codegen-module: the index has no wheel of that name"),
            "{events}"
        );
    })
    .await;
}

async fn jobs(space: &Space) -> usize {
    let jobs = space.api::<Job>().list(&ListParams::default()).await;
    jobs.unwrap().items.len()
}
