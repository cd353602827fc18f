//! How tasks end.

use crate::space::{condition, in_space};

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
        assert_eq!(condition(&task, "Ready").map(|(status, ..)| status), Some("True"));
        assert_eq!(status.observed_generation, task.metadata.generation);

        let image = status.image.as_deref().unwrap();
        let digest = image.strip_prefix(&format!("{}@sha256:", space.repository()));
        assert_eq!(digest.map(str::len), Some(64), "{image}");

        assert_eq!(status.attempts.len(), 2, "{:#?}", status.attempts);
        assert_eq!(status.attempts[0].diagnosis.len(), 1, "{:#?}", status.attempts[0]);
        let counts = status.attempts[1].tests.unwrap();
        assert!(counts.total > 0 && counts.passed == counts.total, "{counts:?}");
        assert_eq!((status.model_calls, status.lost_calls), (6, 0));
        assert_eq!(status.builds, 1);

        let bytes = serde_json::to_vec(&task.status).unwrap().len();
        assert!(bytes <= 8 * 1024, "the status has {bytes} bytes");
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
        assert_eq!(
            condition(&task, "Stalled").map(|(status, ..)| status),
            Some("True")
        );
        assert_eq!(
            condition(&task, "Ready").map(|(status, ..)| status),
            Some("False")
        );
        assert_eq!(task.status.unwrap().stage.as_deref(), Some("Failed"));
    })
    .await;
}
