//! Tasks that somebody must help, and that go on by themselves then.

use crate::space::{SOON, condition, in_space};

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_task_without_its_secret_says_so_and_goes_on_when_it_is_there() {
    in_space("no-secret", async |space| {
        space.apply("examples/prompt-only/task.yaml", "prompt-only");
        let task = space
            .until("multiplication-table", "stalled", SOON, |task| {
                matches!(condition(task, "Stalled"), Some(("True", _, _)))
            })
            .await;
        let (_, reason, message) = condition(&task, "Stalled").unwrap();
        assert_eq!(reason, "Configuration");
        assert!(
            message.contains("openai") && message.contains("Secret"),
            "{message}"
        );
        assert_eq!(
            condition(&task, "Succeeded").map(|(status, ..)| status),
            Some("Unknown")
        );
        let status = task.status.unwrap();
        assert_eq!((status.model_calls, status.attempts.len()), (0, 0));

        space.copy_secret("openai").await;
        let task = space.end("multiplication-table").await;
        assert_eq!(
            condition(&task, "Succeeded").map(|(status, ..)| status),
            Some("True")
        );
        assert_ne!(
            condition(&task, "Stalled").map(|(status, ..)| status),
            Some("True")
        );
        assert_eq!(task.status.unwrap().model_calls, 3);
    })
    .await;
}
