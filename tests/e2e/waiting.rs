//! Tasks that somebody must help, and that go on by themselves then.

use std::time::Duration;

use codegen_operator::api::CodeGenTask;
use serde_json::json;

use crate::space::{SOON, condition, in_space, status_of};

/// Much less than the pause after which what a task waits for is tried again anyway.
const AT_ONCE: Duration = Duration::from_secs(15);

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_task_without_its_secret_says_so_and_goes_on_when_it_is_there() {
    in_space("no-secret", async |space| {
        space.apply("examples/prompt-only/task.yaml", "prompt-only");
        let (task, reason, message) = space.stalled("multiplication-table").await;
        assert_eq!(reason, "Configuration");
        assert!(
            message.contains("openai") && message.contains("Secret"),
            "{message}"
        );
        assert_eq!(status_of(&task, "Succeeded"), Some("Unknown"));
        let status = task.status.unwrap();
        assert_eq!((status.model_calls, status.attempts.len()), (0, 0));

        space.copy_secret("openai").await;
        let task = space.succeeded("multiplication-table").await;
        assert_ne!(status_of(&task, "Stalled"), Some("True"));
        assert_eq!(task.status.unwrap().model_calls, 3);
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn what_a_task_waits_for_brings_it_on_when_it_is_there_or_changes() {
    in_space("late-secret", async |space| {
        space.copy_secret("openai").await;
        space.apply_changed("examples/prompt-only/task.yaml", "prompt-only", |spec| {
            spec["image"]["pushSecretRef"] = json!({"name": "late"});
        });
        let stalls_over = |word: &'static str| {
            move |task: &CodeGenTask| {
                matches!(condition(task, "Stalled"), Some(("True", _, message)) if message.contains(word))
            }
        };
        space
            .until("multiplication-table", "stalled over the Secret", SOON, stalls_over("late"))
            .await;

        // There, and neither allowed nor right.
        space.kubectl(&["create", "secret", "generic", "late", "--from-literal=other=1"]);
        let task = "multiplication-table";
        let not_allowed = stalls_over("codegen-operator.dev/use=registry");
        space.until(task, "stalled over its use", AT_ONCE, not_allowed).await;
        space.kubectl(&["label", "secret", "late", "codegen-operator.dev/use=registry"]);
        let not_right = stalls_over(".dockerconfigjson");
        space.until(task, "stalled over its content", AT_ONCE, not_right).await;
        // Mended.
        space.kubectl(&["delete", "secret", "late"]);
        space.copy_secret_as("registry", "late").await;
        space
            .until("multiplication-table", "going on", AT_ONCE, |task| {
                matches!(condition(task, "Stalled"), Some(("False", ..)))
            })
            .await;
        let task = space.succeeded("multiplication-table").await;
        assert_eq!(task.status.unwrap().model_calls, 3);
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_task_waits_for_its_agent_and_takes_the_model_from_it() {
    in_space("agent", async |space| {
        space.copy_secret("openai").await;
        let mut task = space
            .objects("examples/prompt-only/task.yaml", "prompt-only")
            .remove(0);
        let model = task["spec"]["model"].take();
        task["spec"].as_object_mut().unwrap().remove("model");
        task["spec"]["agentRef"] = json!({"name": "shared"});
        space.apply_objects(&[task]);
        let (_, reason, message) = space.stalled("multiplication-table").await;
        assert_eq!(reason, "Configuration");
        assert!(
            message.contains("CodeGenAgent") && message.contains("shared"),
            "{message}"
        );
        space.apply_objects(&[json!({
            "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeGenAgent",
            "metadata": {"name": "shared"}, "spec": {"model": model},
        })]);
        let task = space.succeeded("multiplication-table").await;
        assert_eq!(task.status.unwrap().model_calls, 3);
    })
    .await;
}
