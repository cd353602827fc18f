//! Tasks that ask what another one of their namespace has answered.

use codegen_api::status::CodeGenTaskStatus;
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

async fn program(space: &Space, result: &str) -> String {
    let kept = space.api::<ConfigMap>().get(result).await;
    kept.unwrap().data.unwrap().remove("solution.py").unwrap()
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_task_that_asks_the_same_adopts_the_program_and_needs_nothing_of_its_origin_then() {
    Box::pin(in_space("reuse", async |space| {
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
        let mut results = Vec::new();
        for name in ["at-once", "tested"] {
            let adopted = succeeded(space, name).await;
            assert_eq!((adopted.model_calls, adopted.builds), (0, 0), "{name}");
            assert!(adopted.adopted_from.is_some_and(|from| from != name), "{name}");
            assert_eq!(
                (adopted.attempt, adopted.tests),
                (Some(1), first.tests.clone()),
                "{name}"
            );
            results.extend(adopted.result);
        }

        let original = program(space, first.result.as_ref().unwrap()).await;
        space.kubectl(&["delete", "codegentask", "first"]);
        for result in &results {
            assert_eq!(program(space, result).await, original);
            let records = space.api::<Secret>();
            records.delete(result, &DeleteParams::default()).await.unwrap();
        }
        apply(space, "anew", |_| {});
        let anew = succeeded(space, "anew").await;
        assert_eq!(
            (anew.model_calls, anew.builds, &anew.adopted_from),
            (3, 0, &None),
            "nothing is left to adopt"
        );
        assert_eq!(anew.reuse_key, first.reuse_key);
    }))
    .await;
}
