//! Tasks that have failed and are tried again.

use std::fs;
use std::process::Command;

use codegen_api::CodeGenTask;
use serde_json::json;

use crate::run_command::said;
use crate::space::{Space, TO_THE_END, condition, in_space, status_of};

const TASK: &str = "hopeless";
const HINT: &str = "it is one more than 41";

fn codegen(space: &Space, arguments: &[&str]) -> (String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-codegen"));
    command.args(arguments).args(["--namespace", &space.name]);
    said(&command.output().unwrap(), 0)
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_failed_task_that_is_annotated_goes_on_with_fresh_replies_and_keeps_the_earlier_ones() {
    in_space("retry", async |space| {
        space.copy_secret("openai").await;
        space.apply_changed("tests/e2e/manifests/hopeless.yaml", "second-thought", |spec| {
            spec["limits"] = json!({"maxIterations": 1});
        });
        let failed = space.end(TASK).await;
        let (status, reason, _) = condition(&failed, "Succeeded").unwrap();
        assert_eq!((status, reason), ("False", "IterationsExhausted"));
        assert_eq!(failed.status.unwrap().model_calls, 3);

        let annotations = [
            "codegen-operator.dev/retry=once".to_owned(),
            format!("codegen-operator.dev/retry-hint={HINT}"),
        ];
        let annotations = annotations.each_ref().map(String::as_str);
        space.kubectl(&[["annotate", "codegentask", TASK].as_slice(), &annotations].concat());
        let has_passed = |task: &CodeGenTask| status_of(task, "Succeeded") == Some("True");
        let task = space
            .until(TASK, "through at the second try", TO_THE_END, has_passed)
            .await;
        let status = task.status.unwrap();
        assert_eq!(status.retry_handled.as_deref(), Some("once"));
        let [retry] = status.retries.as_slice() else {
            panic!("one try: {:?}", status.retries)
        };
        assert_eq!(
            (retry.replan, retry.after.as_str(), retry.hint.as_deref()),
            (false, "IterationsExhausted", Some(HINT))
        );
        assert_eq!((status.model_calls, status.attempts.len()), (5, 2));
        the_earlier_replies_are_recorded(space);
    })
    .await;
}

fn the_earlier_replies_are_recorded(space: &Space) {
    let folder = tempfile::tempdir().unwrap();
    codegen(
        space,
        &["export", TASK, "--output", folder.path().to_str().unwrap()],
    );
    let read = |path: &str| fs::read_to_string(folder.path().join(path)).expect(path);
    assert!(read("attempts/1/solution.py").contains("return 41"));
    assert!(read("solution.py").contains("return 42"));
    let conversation = read("conversation.jsonl");
    assert!(
        ["return 41", "return 42"]
            .iter()
            .all(|reply| conversation.contains(reply))
    );
    let (_, story) = codegen(space, &["watch", TASK]);
    assert!(story.contains("retry") && story.contains(HINT), "{story}");
}
