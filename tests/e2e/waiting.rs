//! Tasks that somebody must help, and that go on by themselves then.

use std::time::Duration;

use codegen_api::CodeGenTask;
use codegen_api::status::TokenStatus;
use serde_json::json;

use crate::space::{HOME, SOON, Space, condition, in_space, status_of};

/// Less than the 30 s after which what a task waits for is tried again anyway.
const AT_ONCE: Duration = Duration::from_secs(25);

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
        // Corrected.
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
async fn a_task_whose_key_is_refused_spends_nothing_and_goes_on_when_it_is_the_right_one() {
    in_space("wrong-key", async |space| {
        let base_url = serve_to_whoever_has(space, "the-right-key", "prompt-only");
        let secret = |key: &str| {
            json!({
                "apiVersion": "v1", "kind": "Secret",
                "metadata": {
                    "name": "openai",
                    "labels": {"codegen-operator.dev/use": "model"},
                    "annotations": {"codegen-operator.dev/hosts": format!("gate.{}.svc.cluster.local:8080", space.name)},
                },
                "stringData": {"api-key": key},
            })
        };
        space.apply_objects(&[secret("not-the-key")]);
        space.apply_changed("examples/prompt-only/task.yaml", "prompt-only", |spec| {
            spec["model"]["baseURL"] = json!(base_url);
        });
        let (task, reason, message) = space.stalled("multiplication-table").await;
        assert_eq!(reason, "Configuration");
        assert!(
            message.contains("401") && message.contains("check the API key: key `api-key` of the Secret"),
            "what to mend: {message}"
        );
        assert!(!message.contains("not-the-key"), "{message}");
        let status = task.status.unwrap();
        assert_eq!((status.attempts.len(), status.builds), (0, 0));
        assert_eq!(status.tokens, TokenStatus::default());

        space.apply_objects(&[secret("the-right-key")]);
        space
            .until("multiplication-table", "going on", AT_ONCE, |task| {
                matches!(condition(task, "Stalled"), Some(("False", ..)))
            })
            .await;
        let task = space.succeeded("multiplication-table").await;
        assert_eq!(task.status.unwrap().attempts.len(), 1);
    })
    .await;
}

/// The recording `replies` for requests with this key, 401 for others; its address.
fn serve_to_whoever_has(space: &Space, key: &str, replies: &str) -> String {
    let labels = json!({"app": "gate"});
    let image = std::env::var("CODEGEN_E2E_PYTHON_IMAGE").expect("run make e2e");
    space.apply_objects(&[
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "gate"},
            "spec": {"selector": labels, "ports": [{"port": 8080}]},
        }),
        json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "gate", "labels": labels},
            "spec": {
                "automountServiceAccountToken": false,
                "terminationGracePeriodSeconds": 0,
                "containers": [{
                    "name": "gate",
                    "image": image,
                    "command": ["python3", "-c", include_str!("gate.py"), key, format!("http://replies.{HOME}:8080/{replies}")],
                    "readinessProbe": {"tcpSocket": {"port": 8080}, "periodSeconds": 1},
                }],
            },
        }),
    ]);
    space.kubectl(&["wait", "pod/gate", "--for=condition=Ready", "--timeout=60s"]);
    format!("http://gate.{}.svc.cluster.local:8080/v1", space.name)
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
