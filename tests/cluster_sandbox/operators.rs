//! Several operators, each with tasks of its own.

use std::collections::BTreeMap;

use codegen_api::CodeGenTask;
use codegen_core::sandbox::Packages;
use codegen_sandbox::kubernetes::build_namespace;
use codegen_sandbox::{ImageSpec, Progressing, Sandbox as _};
use kube::api::{Api, DeleteParams};

use crate::space::Space;

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn a_build_stays_as_long_as_a_task_of_another_operator_waits_for_it() {
    let builds = Space::open("builds").await;
    let mut tenant = Space::open_at("tenant", "restricted").await;
    tenant.settings.build.namespace = Some(builds.namespace.clone());
    let (task, inputs) = (tenant.task(|_| {}), BTreeMap::new());
    let owners = (
        tenant.owner("ours").await,
        tenant.task_of_another_operator("theirs").await,
    );
    let packages = Packages {
        pip: vec!["six".to_owned()],
        apt: vec![],
    };
    let spec = ImageSpec::new(task.language, &task.image, &packages);
    for owner in [&owners.0, &owners.1] {
        let asked = tenant.sandbox(owner, &task, &inputs).build(&spec, 0).await;
        assert_eq!(asked.unwrap(), Progressing::Pending);
    }
    let waiting = async || {
        let jobs = builds.jobs().await;
        let there = jobs
            .iter()
            .filter(|job| job.metadata.deletion_timestamp.is_none());
        let names = there.flat_map(|job| build_namespace::waiting(&job.metadata));
        names.map(|task| task.name).collect::<Vec<_>>()
    };
    assert_eq!(waiting().await.len(), 2);

    let (client, namespace) = (&tenant.client, builds.namespace.as_str());
    // What an operator does that has no task any more: at its start, and when a label of a task has changed.
    build_namespace::sweep(client, namespace, None, |_| false)
        .await
        .unwrap();
    build_namespace::release(client, namespace, &owners.1.uid)
        .await
        .unwrap();
    assert_eq!(waiting().await, ["theirs"]);
    let tasks: Api<CodeGenTask> = Api::namespaced(client.clone(), &tenant.namespace);
    tasks.delete("theirs", &DeleteParams::default()).await.unwrap();
    build_namespace::release(client, namespace, &owners.1.uid)
        .await
        .unwrap();
    assert!(waiting().await.is_empty());
    tenant.close().await;
    builds.close().await;
}
