//! Packages that are judged before anything is built.

use codegen_api::CodeGenTask;
use k8s_openapi::api::batch::v1::Job;
use kube::api::ListParams;
use serde_json::{Value, json};

use crate::registry::{json_of, tags};
use crate::space::{SOON, Space, condition, in_space, stage_of, status_of};

/// Its model asks for a package that there is nowhere.
const MANIFEST: &str = "tests/e2e/manifests/unknown-package.yaml";
const TASK: &str = "unknown-package";

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_task_whose_model_asks_for_a_denied_package_ends_without_a_job_and_goes_on_when_it_may() {
    in_space("denied", async |space| {
        space.copy_secret("openai").await;
        space.apply_changed(MANIFEST, TASK, |spec| {
            spec["packages"] = json!({"deny": ["No.such-*"]});
        });
        let task = space.end(TASK).await;
        let (status, reason, message) = condition(&task, "Succeeded").unwrap();
        assert_eq!((status, reason), ("False", "PolicyDenied"));
        assert!(
            message.starts_with(
                "pip package no-such-codegen-module is denied by \"No.such-*\" in packages.deny of the task"
            ),
            "{message}"
        );
        assert_eq!(stage_of(&task), Some("Failed"));
        let status = task.status.unwrap();
        assert_eq!((status.attempts.len(), status.builds), (0, 0));
        assert_eq!(status.model_calls, 2, "no suite is asked for");
        assert_eq!(jobs(space).await, 0, "nothing was built");

        let rules = r#"{"spec": {"packages": {"deny": ["torch"]}}}"#;
        space.kubectl(&[
            "patch",
            &format!("codegentask/{TASK}"),
            "--type=merge",
            "--patch",
            rules,
        ]);
        let goes_on = |task: &CodeGenTask| task.status.as_ref().is_some_and(|status| status.model_calls > 2);
        let task = space.until(TASK, "going on", SOON, goes_on).await;
        assert_eq!(status_of(&task, "Succeeded"), Some("Unknown"));
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_package_that_the_index_does_not_have_is_replaced_before_a_job_is_made() {
    in_space("unknown-package", async |space| {
        space.copy_secret("openai").await;
        space.apply_changed(MANIFEST, TASK, |spec| {
            if spec["image"]["indexURL"].is_null() {
                spec["image"]["indexURL"] = json!("https://pypi.org/simple");
            }
        });
        let task = space.succeeded(TASK).await;
        let status = task.status.unwrap();
        assert_eq!(status.builds, 1, "the name that does not exist made no build");
        assert_eq!(jobs(space).await, 1);
        assert_eq!((status.model_calls, status.attempts.len()), (4, 1));
        let events = space.kubectl(&[
            "get",
            "events",
            "--output=jsonpath={.items[*].message}{.items[*].note}",
        ]);
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

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn an_apt_package_that_is_always_installed_is_in_the_image() {
    in_space("apt", async |space| {
        space.copy_secret("openai").await;
        space.apply_changed("examples/prompt-only/task.yaml", "prompt-only", |spec| {
            spec["image"]["baseSystemPackages"] = json!(["hello"]);
        });
        let status = space.succeeded("multiplication-table").await.status.unwrap();
        assert_eq!(status.builds, 1);
        let image = status.image.unwrap();
        assert_eq!(printed(space, &image, &["/usr/bin/hello"]), "Hello, world!");
    })
    .await;
}

/// What a command prints in an image.
fn printed(space: &Space, image: &str, command: &[&str]) -> String {
    space.apply_objects(&[json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "printed"},
        "spec": {
            "restartPolicy": "Never", "imagePullSecrets": [{"name": "registry"}],
            "containers": [{"name": "printed", "image": image, "command": command}],
        },
    })]);
    space.kubectl(&[
        "wait",
        "pod/printed",
        "--for=jsonpath={.status.phase}=Succeeded",
        "--timeout=120s",
    ]);
    space.kubectl(&["logs", "printed"]).trim().to_owned()
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_task_of_another_python_version_runs_with_that_one() {
    in_space("python", async |space| {
        space.copy_secret("openai").await;
        let base = std::env::var("CODEGEN_E2E_NEXT_PYTHON_IMAGE").expect("run make e2e");
        space.apply_changed("examples/prompt-only/task.yaml", "prompt-only", |spec| {
            spec["image"]["base"] = json!(base);
            spec["image"]["pythonVersion"] = json!("3.13");
        });
        let status = space.succeeded("multiplication-table").await.status.unwrap();
        assert_eq!(status.builds, 1);
        let version = "import sys; print(*sys.version_info[:2], sep='.')";
        let command = ["/opt/codegen/bin/python", "-c", version];
        assert_eq!(printed(space, &status.image.unwrap(), &command), "3.13");
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn an_image_with_a_package_more_is_made_anew_on_the_same_base() {
    in_space("layers", async |space| {
        space.copy_secret("openai").await;
        space.apply_changed("examples/environment-fix/task.yaml", "environment-fix", |spec| {
            // A build pulls its base with this one, and is never shown the one that pushes.
            spec["image"]["pullSecretRef"] = json!({"name": "registry"});
        });
        let status = space.succeeded("settings-converter").await.status.unwrap();
        assert_eq!(status.builds, 2);
        let (repository, digest) = status.image.as_ref().unwrap().split_once('@').unwrap();
        let image = layers(repository, digest).await;
        let mut alike = 0;
        for tag in tags(repository).await {
            let other = layers(repository, &tag).await;
            alike += usize::from(other.len() == image.len() && other[0] == image[0]);
        }
        assert_eq!(alike, 2, "{image:?}");
    })
    .await;
}

/// The digests of an image's layers.
async fn layers(repository: &str, reference: &str) -> Vec<Value> {
    let manifest = json_of(&format!("{repository}/manifests/{reference}")).await;
    let layers = manifest["layers"].as_array().unwrap();
    layers.iter().map(|layer| layer["digest"].clone()).collect()
}
