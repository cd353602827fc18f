//! What a task has made is deleted under it, or finds no room.

use std::time::{Duration, Instant};

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Pod, ResourceQuota, Secret};
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, ListParams};
use serde_json::json;

use super::model::Model;
use super::own::{Own, apply};
use super::remains::expect_nothing_left;
use super::{RECORDING, expect_same_end, seed};
use crate::space::{SOON, Space, TO_THE_END, condition, in_space, stage_of};

const TASK: &str = "t1";

/// Deletes the objects of this component as soon as there are some; their names.
async fn delete<K>(space: &Space, component: &str) -> Vec<String>
where
    K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>
        + Clone
        + std::fmt::Debug
        + serde::de::DeserializeOwned,
{
    let api: Api<K> = space.api();
    let which = ListParams::default().labels(&format!("codegen-operator.dev/component={component}"));
    let begun = Instant::now();
    let mut look = tokio::time::interval(Duration::from_millis(50));
    loop {
        look.tick().await;
        let there = api.list_metadata(&which).await.unwrap().items;
        let names: Vec<String> = there.iter().map(ResourceExt::name_any).collect();
        if !names.is_empty() {
            for name in &names {
                let deleted = api.delete(name, &DeleteParams::background()).await;
                assert!(deleted.is_ok(), "{name}: {deleted:?}");
            }
            return names;
        }
        assert!(begun.elapsed() < TO_THE_END, "there is no {component}");
    }
}

async fn at(space: &Space, stage: &str) {
    space
        .until(TASK, stage, TO_THE_END, |task| stage_of(task) == Some(stage))
        .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_build_and_a_sandbox_that_somebody_deletes_are_made_anew() {
    in_space("faults-deleted", async |space| {
        let model = Model::start(space, RECORDING, &[TASK], Duration::ZERO).await;
        let _own = Own::start(space, &model, seed()).await;
        apply(space, &model, TASK);
        let jobs = delete::<Job>(space, "build").await;
        at(space, "RunningTests").await;
        let pods = delete::<Pod>(space, "sandbox").await;
        assert_eq!(expect_same_end(space, &model, TASK).await, 0);
        eprintln!("deleted {jobs:?} and {pods:?}");
        expect_nothing_left(space, &[TASK]).await;
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_task_whose_snapshot_or_record_is_deleted_says_what_is_gone_and_asks_nothing_again() {
    for component in ["snapshot", "record"] {
        in_space(&format!("faults-{component}"), async |space| {
            let model = Model::start(space, RECORDING, &[TASK], Duration::ZERO).await;
            let mut own = Own::start(space, &model, seed()).await;
            apply(space, &model, TASK);
            at(space, "AwaitingImage").await;
            // What it knows by heart does not show what is gone.
            own.kill();
            own.ended().await;
            delete::<Secret>(space, component).await;
            let before = model.asked(TASK).await;
            let _own = Own::start(space, &model, seed()).await;
            let (_, reason, message) = space.stalled(TASK).await;
            eprintln!("{component}: {reason}: {message}");
            assert_eq!(reason, "Configuration");
            assert!(
                message.contains("gone") || message.contains("missing"),
                "{message}"
            );
            assert_eq!(model.asked(TASK).await, before);
        })
        .await;
    }
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_reply_for_which_a_quota_has_no_room_is_not_paid_for_twice() {
    in_space("faults-quota", async |space| {
        let model = Model::start(space, RECORDING, &[TASK], Duration::from_secs(2)).await;
        let _own = Own::start(space, &model, seed()).await;
        apply(space, &model, TASK);
        space
            .until(TASK, "in its first call", SOON, |task| {
                task.status
                    .as_ref()
                    .is_some_and(|status| status.model_calls == 0 && status.run.is_some())
            })
            .await;
        let quotas = space.api::<ResourceQuota>();
        space.apply_objects(&[json!({
            "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "full"},
            "spec": {"hard": {"count/secrets": "1"}},
        })]);
        let held = space
            .until(TASK, "without room", SOON, |task| {
                let stalled = condition(task, "Stalled");
                matches!(stalled, Some(("True", _, message)) if message.contains("exceeded quota"))
            })
            .await;
        eprintln!("{}", held.status.unwrap().message.unwrap());
        let asked = model.asked(TASK).await;
        assert_eq!(asked.requests, asked.distinct);
        quotas.delete("full", &DeleteParams::default()).await.unwrap();
        assert_eq!(expect_same_end(space, &model, TASK).await, 0);
        assert_eq!(model.asked(TASK).await.requests, 3);
        expect_nothing_left(space, &[TASK]).await;
    })
    .await;
}
