//! What does not start says why, and costs nothing.

use std::collections::BTreeMap;

use codegen_core::stage::Category;
use codegen_sandbox::{Progressing, SandboxError};
use k8s_openapi::api::core::v1::ResourceQuota;
use kube::Api;
use serde_json::json;

use crate::space::variable;
use crate::support::{World, create, job, program};

fn refused(error: &SandboxError, words: &str) {
    assert_eq!(error.category(), Category::Configuration, "{error}");
    assert!(error.to_string().contains(words), "{error}");
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn an_image_that_is_gone_is_to_be_built_again() {
    let world = World::new("gone").await;
    let (repository, _) = world.image().split_once('@').unwrap();
    let image = format!("{repository}@sha256:{}", "0".repeat(64));
    let error = world
        .run_image(&image, &job(vec![program("", &[])]))
        .await
        .unwrap_err();
    assert!(
        matches!(&error, SandboxError::EnvironmentMissing(missing) if *missing == image),
        "{error}"
    );
    world.end().await;
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn what_nobody_can_schedule_names_the_nodes() {
    let mut world = World::new("nodes").await;
    world.settings.sandbox.node_selector = BTreeMap::from([("pool".to_owned(), "nowhere".to_owned())]);
    refused(
        &world.fail(&job(vec![program("", &[])])).await,
        "didn't match Pod's node affinity/selector",
    );
    world.end().await;
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn more_memory_than_any_node_has_is_refused() {
    let world = World::new("huge").await;
    let mut job = job(vec![program("", &[])]);
    job.limits.memory_bytes = 1 << 44;
    refused(&world.fail(&job).await, "no node is as large as that");
    world.end().await;
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn a_runtime_class_that_is_not_there_is_named() {
    let mut world = World::new("runtime").await;
    world.settings.sandbox.runtime_class_name = Some("gvisor".into());
    refused(
        &world.fail(&job(vec![program("", &[])])).await,
        "create the RuntimeClass",
    );
    world.end().await;
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn an_image_without_python_says_so() {
    let mut world = World::new("python").await;
    let image = variable("CODEGEN_OPERATOR_IMAGE");
    // As an image that a user names: those that are built here have an interpreter at its own place.
    world.task.image.reference = Some(image.clone());
    let error = world
        .run_image(&image, &job(vec![program("", &[])]))
        .await
        .unwrap_err();
    refused(&error, "the image must have `/bin/sh`, and `python3` on its PATH");
    world.end().await;
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn a_full_quota_is_a_queue() {
    let world = World::new("quota").await;
    let quota: ResourceQuota =
        serde_json::from_value(json!({"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}))
            .unwrap();
    create(&Api::namespaced(world.client.clone(), &world.namespace), &quota).await;
    world.until_quota_counts().await;
    let run = world
        .run_image(world.image(), &job(vec![program("", &[])]))
        .await
        .unwrap();
    assert!(
        matches!(&run, Progressing::Queued(why) if why.contains("exceeded quota")),
        "{run:?}"
    );
    world.end().await;
}
