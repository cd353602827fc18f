//! What remains of a task: objects, processes on the node, tags in the registry.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use codegen_api::CodeGenTask;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::ResourceExt as _;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, ListParams};

use crate::registry::tags;
use crate::space::{SOON, Space};

/// Longest wait for the garbage collector, and for Pods that still run.
pub const GONE: Duration = Duration::from_mins(3);
/// What stays of a task that has succeeded: program and suite, and its record. Its last build stays for an hour, with its files.
const OF_A_SUCCESS: [&str; 2] = ["ConfigMap result", "Secret result"];
const OF_A_BUILD: [&str; 3] = ["Job build", "ConfigMap build", "Pod build"];
/// What all tasks of a namespace share; it has no owner.
const SHARED: [&str; 5] = [
    "NetworkPolicy sandbox",
    "NetworkPolicy build",
    "NetworkPolicy ",
    "ConfigMap harness",
    "Secret harness",
];

/// What the operator makes.
pub fn kinds() -> [ApiResource; 5] {
    [
        ApiResource::erase::<Pod>(&()),
        ApiResource::erase::<Job>(&()),
        ApiResource::erase::<ConfigMap>(&()),
        ApiResource::erase::<Secret>(&()),
        ApiResource::erase::<NetworkPolicy>(&()),
    ]
}

/// Every object of the operator's in the namespace, by kind and component.
pub async fn remains(space: &Space) -> BTreeMap<String, Vec<String>> {
    let ours = ListParams::default().labels("app.kubernetes.io/managed-by=codegen-operator");
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for kind in kinds() {
        let api: Api<DynamicObject> = Api::namespaced_with(space.client.clone(), &space.name, &kind);
        for object in api.list(&ours).await.unwrap() {
            let component = object.labels().get("codegen-operator.dev/component");
            let what = format!("{} {}", kind.kind, component.map_or("", String::as_str));
            found.entry(what).or_default().push(object.name_any());
        }
    }
    found
}

/// Waits until nothing is there that none of `may` names; says what is there too much.
async fn expect_only(space: &Space, may: &[&str]) -> BTreeMap<String, Vec<String>> {
    let mut look = tokio::time::interval(Duration::from_millis(500));
    let begun = Instant::now();
    loop {
        look.tick().await;
        let mut left = remains(space).await;
        let all = left.clone();
        left.retain(|what, _| !may.contains(&what.as_str()));
        if left.is_empty() {
            return all;
        }
        assert!(begun.elapsed() < GONE, "remains: {left:#?}");
    }
}

/// After the good end of every task: of each its result and nothing else; one image, one tag. After the deletion nothing but what is shared.
pub async fn expect_nothing_left(space: &Space, tasks: &[&str]) {
    expect_only_builds_left(space, tasks, 1).await;
}

/// [`expect_nothing_left`] where it took up to so many Jobs to build the image.
pub async fn expect_only_builds_left(space: &Space, tasks: &[&str], most: usize) {
    let built = expect_tags_left(space, tasks, most).await;
    assert_eq!(built.len(), 1, "{built:?}");
}

/// [`expect_only_builds_left`] where further tags may be in the registry: all that are there, before the deletion and after it.
pub async fn expect_tags_left(space: &Space, tasks: &[&str], most: usize) -> Vec<String> {
    let may: Vec<&str> = [&OF_A_SUCCESS[..], &OF_A_BUILD, &SHARED].concat();
    let there = expect_only(space, &may).await;
    for what in OF_A_SUCCESS {
        assert_eq!(there.get(what).map_or(0, Vec::len), tasks.len(), "{there:#?}");
    }
    assert!(there.get("Job build").map_or(0, Vec::len) <= most, "{there:#?}");
    let built = tags(&space.repository()).await;

    let api = space.api::<CodeGenTask>();
    for task in tasks {
        api.delete(task, &DeleteParams::background()).await.unwrap();
    }
    let shared = expect_only(space, &SHARED).await;
    expect_no_process(space).await;
    eprintln!(
        "left by {}: {}, {} in the registry; after its deletion: {}, no process",
        tasks.join(" and "),
        counted(&there),
        built.join(", "),
        counted(&shared)
    );
    assert_eq!(tags(&space.repository()).await, built);
    built
}

/// `Secret result x 2, Job build`.
fn counted(left: &BTreeMap<String, Vec<String>>) -> String {
    let all = left.iter().map(|(what, names)| match names.len() {
        1 => what.trim().to_owned(),
        count => format!("{} x {count}", what.trim()),
    });
    all.collect::<Vec<_>>().join(", ")
}

/// No process of this machine is in the cgroup of a Pod that is no more.
pub async fn expect_no_process(space: &Space) {
    let mut look = tokio::time::interval(Duration::from_millis(500));
    let begun = Instant::now();
    loop {
        look.tick().await;
        let processes = processes_of_pods();
        let pods = Api::<Pod>::all(space.client.clone())
            .list(&ListParams::default())
            .await
            .unwrap();
        let uids: Vec<String> = pods.iter().filter_map(Pod::uid).collect();
        let left: Vec<&String> = processes
            .iter()
            .filter(|group| !uids.iter().any(|uid| group.contains(uid)))
            .collect();
        if left.is_empty() {
            return;
        }
        assert!(
            begun.elapsed() < SOON,
            "processes of Pods that are gone: {left:#?}"
        );
    }
}

/// Cgroups of Pods in which a process of this machine is.
fn processes_of_pods() -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let groups = entries.filter_map(|entry| {
        entry.file_name().to_str()?.parse::<u32>().ok()?;
        fs::read_to_string(entry.path().join("cgroup")).ok()
    });
    let lines = groups.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
    let of_pods = lines.filter(|line| line.contains("/pod") && line.contains("kubepods"));
    // systemd writes a uid with other dashes.
    let mut found: Vec<String> = of_pods.map(|line| line.replace('_', "-")).collect();
    found.sort();
    found.dedup();
    found
}
