//! Tasks whose spec changes while they run, or after their end.

use std::process::Command;
use std::time::{Duration, Instant};

use codegen_api::CodeGenTask;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::{Value, json};

use crate::space::{SOON, Space, TO_THE_END, condition, in_space, status_of};

fn change(space: &Space, task: &str, spec: &Value) -> String {
    let patch = json!({ "spec": spec }).to_string();
    space.kubectl(&["patch", "codegentask", task, "--type=merge", "--patch", &patch])
}

/// The task when it has ended for the spec that it has now.
async fn end_of_this_spec(space: &Space, task: &str) -> CodeGenTask {
    space
        .until(task, "at the end of its spec", SOON * 4, |task| {
            let status = task.status.as_ref();
            status.is_some_and(|status| status.observed_generation == task.metadata.generation)
                && matches!(condition(task, "Succeeded"), Some(("True" | "False", _, _)))
        })
        .await
}

/// What the first run left goes after the end of the second is told.
async fn until_only_its_result_is_left(space: &Space, result: &str) {
    let ours = ListParams::default().labels("app.kubernetes.io/managed-by=codegen-operator");
    let mut look = tokio::time::interval(Duration::from_millis(100));
    let begun = Instant::now();
    loop {
        look.tick().await;
        let there = space.api::<Secret>().list_metadata(&ours).await.unwrap().items;
        let names: Vec<String> = there.iter().map(ResourceExt::name_any).collect();
        if names == [result] {
            return;
        }
        assert!(begun.elapsed() < SOON, "not only {result} is left: {names:?}");
    }
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_raised_limit_goes_on_with_a_failed_task_and_pays_for_nothing_twice() {
    in_space("raised-limit", async |space| {
        space.copy_secret("openai").await;
        space.apply_changed("examples/penguins", "penguins", |spec| {
            spec["limits"]["maxIterations"] = json!(1);
        });
        let failed = space.end("penguin-masses").await;
        assert_eq!(
            condition(&failed, "Succeeded").map(|(status, reason, _)| (status, reason)),
            Some(("False", "IterationsExhausted"))
        );
        assert_eq!(failed.status.unwrap().model_calls, 4);

        change(space, "penguin-masses", &json!({"limits": {"maxIterations": 3}}));
        let task = end_of_this_spec(space, "penguin-masses").await;
        assert_eq!(status_of(&task, "Succeeded"), Some("True"));
        let status = task.status.unwrap();
        assert_eq!((status.model_calls, status.lost_calls), (6, 0));
        assert_eq!(status.attempts.len(), 2);
        let names: Vec<&str> = status.artifacts.iter().map(|kept| kept.name.as_str()).collect();
        assert!(
            ["solution", "tests", "conversation"]
                .iter()
                .all(|name| names.contains(name)),
            "{names:?}"
        );
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn another_prompt_starts_another_revision_and_another_limit_does_not() {
    in_space("another-run", async |space| {
        space.copy_secret("openai").await;
        space.apply("examples/prompt-only/task.yaml", "prompt-only");
        let first = space.end("multiplication-table").await.status.unwrap();

        change(
            space,
            "multiplication-table",
            &json!({"limits": {"maxIterations": 7}}),
        );
        let same = end_of_this_spec(space, "multiplication-table")
            .await
            .status
            .unwrap();
        assert_eq!((&same.run, &same.result), (&first.run, &first.result));

        let prompt =
            json!({"prompt": "Write a multiplication table, one row a line, columns divided by tabs."});
        change(space, "multiplication-table", &prompt);
        let other = end_of_this_spec(space, "multiplication-table")
            .await
            .status
            .unwrap();
        assert_ne!(other.run, first.run);
        until_only_its_result_is_left(space, &other.result.unwrap()).await;
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_suspended_task_waits_without_an_error_until_it_is_resumed() {
    in_space("suspended", async |space| {
        space.copy_secret("openai").await;
        space.apply_changed("examples/prompt-only/task.yaml", "prompt-only", |spec| {
            spec["suspend"] = json!(true);
        });
        let task = space
            .until("multiplication-table", "suspended", SOON, |task| {
                matches!(condition(task, "Ready"), Some((_, "Suspended", _)))
            })
            .await;
        assert_eq!(status_of(&task, "Stalled"), Some("False"));
        assert_eq!(task.status.unwrap().model_calls, 0);
        change(space, "multiplication-table", &json!({"suspend": false}));
        space.succeeded("multiplication-table").await;
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_task_that_fits_no_node_says_so_and_goes_on_when_its_spec_is_corrected() {
    in_space("no-node", async |space| {
        space.copy_secret("openai").await;
        space.apply_changed("examples/prompt-only/task.yaml", "prompt-only", |spec| {
            spec["sandbox"] = json!({"nodeSelector": {"no-node": "has-this"}});
        });
        let (task, reason, message) = space.stalled("multiplication-table").await;
        assert_eq!(reason, "Configuration");
        assert!(message.contains("nodeSelector"), "{message}");
        let calls = task.status.as_ref().unwrap().model_calls;
        change(
            space,
            "multiplication-table",
            &json!({"sandbox": {"nodeSelector": null}}),
        );
        let status = end_of_this_spec(space, "multiplication-table")
            .await
            .status
            .unwrap();
        assert_eq!(status.stage.as_deref(), Some("Succeeded"));
        assert_eq!(status.model_calls, calls, "what was misconfigured cost no call");
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_task_that_has_begun_keeps_the_agent_that_it_began_with() {
    in_space("edited-agent", async |space| {
        space.copy_secret("openai").await;
        let path = "examples/prompt-only/task.yaml";
        let mut task = space.objects(path, "prompt-only").remove(0);
        let model = task["spec"].as_object_mut().unwrap().remove("model").unwrap();
        task["spec"]["agentRef"] = json!({"name": "shared"});
        let agent = |model: &Value| {
            json!({
                "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeGenAgent", "metadata": {"name": "shared"},
                "spec": {"model": model, "approvals": ["Plan"]},
            })
        };
        space.apply_objects(&[agent(&model), task.clone()]);
        let waits = |task: &CodeGenTask| task.status.as_ref().is_some_and(|status| status.approval.is_some());
        let begun = space.until("multiplication-table", "at its gate", TO_THE_END, waits).await;

        // No call could be made with this one.
        let mut elsewhere = model;
        elsewhere["baseURL"] = json!("http://nobody.listens.here:1/v1");
        space.apply_objects(&[agent(&elsewhere)]);
        let approved = Command::new(env!("CARGO_BIN_EXE_kubectl-codegen"))
            .args(["approve", "multiplication-table", "--yes", "--namespace", &space.name])
            .output()
            .unwrap();
        assert!(approved.status.success(), "{}", String::from_utf8_lossy(&approved.stderr));
        let status = space.succeeded("multiplication-table").await.status.unwrap();
        assert_eq!((status.model_calls, status.run), (3, begun.status.unwrap().run));

        task["metadata"]["name"] = json!("later");
        task["spec"]["prompt"] = json!("Another table.");
        space.apply_objects(&[task]);
        let (_, reason, message) = space.stalled("later").await;
        assert_eq!(reason, "Configuration", "{message}");
        assert!(message.contains("nobody.listens.here"), "{message}");
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_task_runs_in_an_image_that_is_there_and_builds_none() {
    in_space("own-image", async |space| {
        space.copy_secret("openai").await;
        space.apply("examples/prompt-only/task.yaml", "prompt-only");
        let built = space.succeeded("multiplication-table").await.status.unwrap();
        let image = built.image.unwrap();

        let mut task = space
            .objects("examples/prompt-only/task.yaml", "prompt-only")
            .remove(0);
        task["metadata"]["name"] = json!("given");
        task["spec"]["cache"] = json!("Disable");
        task["spec"]["image"] = json!({"reference": image, "pullSecretRef": {"name": "registry"}});
        space.apply_objects(&[task]);
        let status = space.succeeded("given").await.status.unwrap();
        assert_eq!((status.builds, status.image.as_ref()), (0, Some(&image)));
        assert_eq!(status.model_calls, 3);
    })
    .await;
}
