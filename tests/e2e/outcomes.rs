//! How tasks end.

use codegen_api::CodeGenTask;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::ListParams;
use kube::runtime::wait::await_condition;
use serde_json::json;

use crate::space::{OPERATOR_NAMESPACE, SOON, Space, TO_THE_END, condition, in_space, status_of};

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn the_penguins_succeed_in_an_image_named_by_digest_after_one_diagnosis() {
    in_space("penguins", async |space| {
        space.copy_secret("openai").await;
        space.apply("examples/penguins", "penguins");
        let task = space.end("penguin-masses").await;
        let status = task.status.as_ref().unwrap();
        assert_eq!(
            condition(&task, "Succeeded").map(|(status, reason, _)| (status, reason)),
            Some(("True", "TestsPassed"))
        );
        assert_eq!(status_of(&task, "Ready"), Some("True"));
        assert_eq!(status.observed_generation, task.metadata.generation);

        let image = status.image.as_deref().unwrap();
        let digest = image.strip_prefix(&format!("{}@sha256:", space.repository()));
        assert_eq!(digest.map(str::len), Some(64), "{image}");

        assert_eq!(status.attempts.len(), 2, "{:#?}", status.attempts);
        assert_eq!(status.attempts[0].diagnosis.len(), 2, "{:#?}", status.attempts[0]);
        let counts = status.attempts[1].tests.unwrap();
        assert!(counts.total > 0 && counts.passed == counts.total, "{counts:?}");
        assert_eq!((status.model_calls, status.lost_calls), (6, 0));
        assert_eq!(status.builds, 1);

        let bytes = serde_json::to_vec(&task.status).unwrap().len();
        // Two attempts, two diagnosed failures, six cases.
        assert!(bytes <= 12 * 1024, "the status has {bytes} bytes");
        space.kubectl(&[
            "wait",
            "--for=condition=Succeeded",
            "--timeout=1s",
            "codegentask/penguin-masses",
        ]);
        let row = space.kubectl(&["get", "codegentasks", "--no-headers"]);
        assert!(
            ["penguin-masses", "True", "Succeeded"]
                .iter()
                .all(|word| row.contains(word)),
            "{row}"
        );
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_task_that_cannot_succeed_ends_with_its_reason_and_a_next_step() {
    in_space("hopeless", async |space| {
        space.copy_secret("openai").await;
        space.apply("tests/e2e/manifests/hopeless.yaml", "hopeless");
        let task = space.end("hopeless").await;
        let (status, reason, message) = condition(&task, "Succeeded").unwrap();
        assert_eq!((status, reason), ("False", "IterationsExhausted"));
        assert!(message.contains("limits.maxIterations"), "{message}");
        // What Flux and Argo CD look at.
        assert_eq!(status_of(&task, "Stalled"), Some("True"));
        assert_eq!(status_of(&task, "Ready"), Some("False"));
        assert_eq!(task.status.unwrap().stage.as_deref(), Some("Failed"));
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn two_tasks_that_want_the_same_image_share_one_job_and_go_when_their_time_is_over() {
    in_space("shared-job", async |space| {
        space.copy_secret("openai").await;
        let task = space
            .objects("examples/prompt-only/task.yaml", "prompt-only")
            .remove(0);
        let two: Vec<_> = ["one", "other"]
            .iter()
            .map(|name| {
                let mut task = task.clone();
                task["metadata"]["name"] = json!(name);
                task
            })
            .collect();
        space.apply_objects(&two);
        for name in ["one", "other"] {
            space.succeeded(name).await;
        }
        let jobs = space
            .api::<Job>()
            .list(&ListParams::default())
            .await
            .unwrap()
            .items;
        assert_eq!(jobs.len(), 1, "{jobs:#?}");
        let owners = jobs[0].metadata.owner_references.as_ref();
        assert_eq!(owners.map(Vec::len), Some(2), "{owners:#?}");

        let spec = r#"{"spec": {"ttlSecondsAfterFinished": 0}}"#;
        for name in ["one", "other"] {
            space.kubectl(&["patch", "codegentask", name, "--type=merge", "--patch", spec]);
        }
        for name in ["one", "other"] {
            let gone = await_condition(space.api::<CodeGenTask>(), name, |task: Option<&CodeGenTask>| {
                task.is_none()
            });
            let gone = tokio::time::timeout(SOON, gone).await;
            gone.expect("the task is deleted when its time to live is over")
                .unwrap();
        }
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_task_that_progresses_is_never_requeued_by_a_timer() {
    in_space("no-pause", async |space| {
        space.copy_secret("openai").await;
        space.apply("examples/prompt-only/task.yaml", "prompt-only");
        space.succeeded("multiplication-table").await;
        let log = operator_log();
        let its = |line: &&str| line.contains(&format!("\"namespace\":\"{}\"", space.name));
        let of_task: Vec<&str> = log.lines().filter(its).collect();
        assert!(of_task.len() > 5, "{of_task:#?}");
        // What waits for room on the node is another matter: no watch tells when there is some.
        let pauses: Vec<&&str> = of_task
            .iter()
            .filter(|line| line.contains("a pause is over") && !line.contains("\"after\":\"queued\""))
            .collect();
        assert!(pauses.is_empty(), "{pauses:#?}");
    })
    .await;
}

fn operator_log() -> String {
    let arguments = [
        "--namespace",
        OPERATOR_NAMESPACE,
        "logs",
        "--since=20m",
        "--tail=-1",
    ];
    let output = std::process::Command::new("kubectl")
        .args(arguments)
        .arg("--selector=app.kubernetes.io/name=codegen-operator")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn the_deadline_ends_a_task_whose_tests_do_not_end() {
    in_space("sleepy", async |space| {
        space.copy_secret("openai").await;
        space.apply("tests/e2e/manifests/sleepy.yaml", "sleepy");
        let task = space.end("sleepy").await;
        let (status, reason, message) = condition(&task, "Succeeded").unwrap();
        assert_eq!((status, reason), ("False", "BudgetExceeded"));
        assert!(message.starts_with("limits.deadline: "), "{message}");
        let status = task.status.as_ref().unwrap();
        let took = status
            .completed_at
            .as_ref()
            .unwrap()
            .0
            .duration_since(status.started_at.as_ref().unwrap().0);
        // What was built in between may have waited for room, and that does not count.
        assert!((60..200).contains(&took.as_secs()), "{took}");
        assert_eq!(status.attempts.len(), 0);

        let label = format!("codegen-operator.dev/task-uid={}", task.uid().unwrap());
        let sandboxes = format!("{label},codegen-operator.dev/component=sandbox");
        let sandboxes = ListParams::default().labels(&sandboxes);
        let left = async || space.api::<Pod>().list(&sandboxes).await.unwrap().items.len();
        let gone = async { while left().await > 0 {} };
        tokio::time::timeout(SOON, gone)
            .await
            .expect("the Pod is removed");
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_large_output_is_checked_in_the_pod_of_its_program_and_is_a_success() {
    in_space("large", async |space| {
        space.copy_secret("openai").await;
        space.apply("tests/e2e/manifests/large.yaml", "large");
        let task = large_to_its_end(space).await;
        let (status, reason, message) = condition(&task, "Succeeded").unwrap();
        assert_eq!(status, "True", "{reason}: {message}");
        let status = task.status.unwrap();
        assert_eq!((status.attempts.len(), status.model_calls), (1, 3));
        let told = status.rehearsal.unwrap().message.unwrap();
        assert!(
            told.starts_with("the output text has 2097152 bytes, sha256 "),
            "{told}"
        );
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_text_that_is_too_large_to_be_checked_is_said_and_never_passes() {
    in_space("large-text", async |space| {
        space.copy_secret("openai").await;
        space.apply("tests/e2e/manifests/large-text.yaml", "large");
        let task = large_to_its_end(space).await;
        let (_, reason, message) = condition(&task, "Stalled").unwrap();
        assert_eq!(reason, "OutputTooLarge");
        assert!(message.contains("2097152 bytes"), "{message}");
        let status = task.status.unwrap();
        assert_eq!((status.attempts.len(), status.model_calls), (0, 3));
    })
    .await;
}

async fn large_to_its_end(space: &Space) -> CodeGenTask {
    space
        .until("large", "stalled or ended", TO_THE_END, |task| {
            matches!(condition(task, "Stalled"), Some(("True", ..)))
                || matches!(condition(task, "Succeeded"), Some(("True" | "False", ..)))
        })
        .await
}
