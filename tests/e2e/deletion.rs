//! A deleted task leaves nothing, whatever it was at.

use std::time::Instant;

use kube::ResourceExt as _;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, ListParams};
use kube::runtime::wait::{await_condition, conditions};

use codegen_api::CodeGenTask;

use crate::faults::remains::{GONE, kinds};
use crate::space::{SOON, Space, TO_THE_END, in_space};

/// Everything that is labelled as this task's, with its kind.
async fn children(space: &Space, uid: &str) -> Vec<(ApiResource, DynamicObject)> {
    let labelled = ListParams::default().labels(&format!("codegen-operator.dev/task-uid={uid}"));
    let mut found = Vec::new();
    for kind in kinds() {
        let api: Api<DynamicObject> = Api::namespaced_with(space.client.clone(), &space.name, &kind);
        let list = api.list(&labelled).await.unwrap();
        found.extend(list.items.into_iter().map(|object| (kind.clone(), object)));
    }
    found
}

async fn delete_and_expect_nothing(space: &Space, task: &CodeGenTask) {
    let uid = task.uid().unwrap();
    let before = children(space, &uid).await;
    assert!(!before.is_empty(), "the task had made nothing yet");
    space
        .api::<CodeGenTask>()
        .delete(&task.name_any(), &DeleteParams::background())
        .await
        .unwrap();
    let deadline = Instant::now() + GONE;
    let mut left = before;
    while !left.is_empty() {
        for (kind, object) in &left {
            let api: Api<DynamicObject> = Api::namespaced_with(space.client.clone(), &space.name, kind);
            let (name, uid) = (object.name_any(), object.uid().unwrap());
            let wait = await_condition(api, &name, conditions::is_deleted(&uid));
            let rest = deadline.saturating_duration_since(Instant::now());
            let Ok(gone) = tokio::time::timeout(rest, wait).await else {
                panic!("{} {name} is still there", kind.kind);
            };
            gone.unwrap();
        }
        // What was on its way when the task was deleted.
        left = children(space, &uid).await;
    }
}

fn is_at(stage: &'static str) -> impl Fn(&CodeGenTask) -> bool {
    move |task| {
        task.status
            .as_ref()
            .and_then(|status| status.stage.as_deref())
            .is_some_and(|at| at == stage)
    }
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_task_deleted_while_its_image_is_built_leaves_nothing() {
    in_space("delete-build", async |space| {
        space.copy_secret("openai").await;
        space.apply("examples/prompt-only/task.yaml", "prompt-only");
        let task = space
            .until("multiplication-table", "building", SOON, is_at("AwaitingImage"))
            .await;
        delete_and_expect_nothing(space, &task).await;
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_task_deleted_while_its_tests_run_leaves_nothing() {
    in_space("delete-tests", async |space| {
        space.copy_secret("openai").await;
        space.apply("examples/prompt-only/task.yaml", "prompt-only");
        let task = space
            .until(
                "multiplication-table",
                "testing",
                TO_THE_END,
                is_at("RunningTests"),
            )
            .await;
        delete_and_expect_nothing(space, &task).await;
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_finished_task_that_is_deleted_leaves_nothing() {
    in_space("delete-end", async |space| {
        space.copy_secret("openai").await;
        space.apply("examples/prompt-only/task.yaml", "prompt-only");
        let task = space.end("multiplication-table").await;
        delete_and_expect_nothing(space, &task).await;
    })
    .await;
}
