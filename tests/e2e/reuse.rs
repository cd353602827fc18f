//! Tasks that ask what another one of their namespace has answered.

use codegen_operator::api::status::CodeGenTaskStatus;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::DeleteParams;
use serde_json::{Value, json};

use crate::space::{Space, in_space};

fn apply(space: &Space, name: &str, change: impl Fn(&mut Value)) {
    let mut task = space
        .objects("examples/prompt-only/task.yaml", "prompt-only")
        .remove(0);
    task["metadata"]["name"] = json!(name);
    change(&mut task["spec"]);
    space.apply_objects(&[task]);
}

async fn succeeded(space: &Space, name: &str) -> CodeGenTaskStatus {
    space.succeeded(name).await.status.unwrap()
}

async fn program(space: &Space, status: &CodeGenTaskStatus) -> String {
    let kept = space
        .api::<ConfigMap>()
        .get(status.result.as_ref().unwrap())
        .await;
    kept.unwrap().data.unwrap().remove("solution.py").unwrap()
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_task_that_asks_the_same_adopts_the_program_and_pays_for_nothing() {
    in_space("reuse", async |space| {
        space.copy_secret("openai").await;
        apply(space, "first", |_| {});
        let first = succeeded(space, "first").await;
        assert_eq!(
            (first.model_calls, first.builds, &first.adopted_from),
            (3, 1, &None)
        );

        apply(space, "at-once", |spec| {
            spec["reuse"] = json!({"rerunTests": false});
        });
        apply(space, "tested", |spec| {
            spec["limits"] = json!({"maxIterations": 2});
        });
        for (name, attempt) in [("at-once", first.attempt), ("tested", Some(1))] {
            let adopted = succeeded(space, name).await;
            assert_eq!((adopted.model_calls, adopted.builds), (0, 0), "{name}");
            assert_eq!(
                adopted.adopted_from.as_deref().map(|from| from != name),
                Some(true),
                "{name}"
            );
            assert_eq!(
                (adopted.attempt, &adopted.tests),
                (attempt, &first.tests),
                "{name}"
            );
            assert_eq!(adopted.reuse_key, first.reuse_key, "{name}");
            assert_eq!(
                program(space, &adopted).await,
                program(space, &first).await,
                "{name}"
            );
        }

        apply(space, "another", |spec| {
            spec["prompt"] = json!("Print the multiplication table of 1 to 10.");
        });
        apply(space, "alone", |spec| spec["cache"] = json!("Override"));
        for name in ["another", "alone"] {
            let status = succeeded(space, name).await;
            assert_eq!((status.model_calls, &status.adopted_from), (3, &None), "{name}");
        }
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_result_that_is_gone_is_computed_anew_and_one_that_was_adopted_stays() {
    in_space("reuse-gone", async |space| {
        space.copy_secret("openai").await;
        apply(space, "first", |_| {});
        let first = succeeded(space, "first").await;
        apply(space, "adopted", |spec| {
            spec["reuse"] = json!({"rerunTests": false});
        });
        let adopted = succeeded(space, "adopted").await;
        space.kubectl(&["delete", "codegentask", "first"]);
        assert!(program(space, &adopted).await.contains("def main("));

        let record = adopted.result.as_ref().unwrap();
        let secrets = space.api::<Secret>();
        secrets.delete(record, &DeleteParams::default()).await.unwrap();
        apply(space, "anew", |_| {});
        let anew = succeeded(space, "anew").await;
        assert_eq!((anew.model_calls, &anew.adopted_from), (3, &None));
        assert_eq!(anew.reuse_key, first.reuse_key);
    })
    .await;
}
