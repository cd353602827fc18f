//! What a run costs over its bare Pod.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Pod;
use kube::runtime::wait::await_condition;
use kube::{Api, ResourceExt as _};
use serde_json::json;

use crate::support::{World, create, job, program, tests};

fn ended(pod: Option<&Pod>) -> bool {
    let status = pod.and_then(|pod| pod.status.as_ref());
    let mut containers = status
        .iter()
        .flat_map(|status| status.container_statuses.iter().flatten());
    containers.any(|container| {
        container
            .state
            .as_ref()
            .is_some_and(|state| state.terminated.is_some())
    })
}

#[tokio::test]
#[ignore = "wants a cluster"]
async fn pace() {
    let world = World::new("pace").await;
    let suite = "from solution import double\n\ndef test_double():\n    assert double(2) == 4\n";
    let mut lines = vec![];
    for round in 0..6 {
        let mut one = job(vec![program(&format!("print({round})"), &[])]);
        one.env.insert("ROUND".into(), round.to_string());
        let started = Instant::now();
        let r1 = world.run(&one).await;
        let program = started.elapsed();
        let mut two = job(vec![tests("def double(n): return 2 * n", suite)]);
        two.env.insert("ROUND".into(), round.to_string());
        let started = Instant::now();
        let r2 = world.run(&two).await;
        let session = started.elapsed();
        // The same Pod, with nothing to do.
        let api: Api<Pod> = world.pods();
        let list = world.names::<Pod>().await;
        let mut pod = api
            .get(list.iter().find(|name| name.starts_with("words-")).unwrap())
            .await
            .unwrap();
        let name = format!("bare-{round}");
        pod.metadata = kube::api::ObjectMeta {
            name: Some(name.clone()),
            labels: pod.metadata.labels.clone(),
            ..Default::default()
        };
        pod.status = None;
        let spec = pod.spec.as_mut().unwrap();
        spec.node_name = None;
        spec.priority = None;
        spec.tolerations = None;
        spec.containers[0].command = Some(["python3", "-I", "-S", "-c", "pass"].map(str::to_owned).to_vec());
        let mut thin: Pod =
            serde_json::from_value(json!({"metadata": {"name": format!("thin-{round}")}, "spec": pod.spec}))
                .unwrap();
        let spec = thin.spec.as_mut().unwrap();
        spec.volumes = None;
        spec.containers[0].volume_mounts = None;
        spec.containers[0].working_dir = None;
        let started = Instant::now();
        create(&api, &pod).await;
        let _ = tokio::time::timeout(
            Duration::from_secs(60),
            await_condition(api.clone(), &name, ended),
        )
        .await
        .unwrap();
        let bare = started.elapsed();
        let started = Instant::now();
        let thin_name = thin.name_any();
        create(&api, &thin).await;
        let _ = tokio::time::timeout(
            Duration::from_secs(60),
            await_condition(api.clone(), &thin_name, ended),
        )
        .await
        .unwrap();
        lines.push(format!("program {program:.2?} (job {:.3}) tests {session:.2?} (job {:.3}) bare with volumes {bare:.2?} bare {:.2?}", r1.seconds, r2.seconds, started.elapsed()));
    }
    world.end().await;
    panic!("{}", lines.join("\n"));
}
