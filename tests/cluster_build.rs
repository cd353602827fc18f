//! Image builds in a real cluster: the one of `KUBECONFIG`, with the registries that the environment names.
//!
//! Run by hand with the variables of the test cluster's environment file and `CODEGEN_OPERATOR_IMAGE`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests say what they expect"
)]

use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use base64::Engine as _;
use codegen_operator::api::CodeGenTask;
use codegen_operator::pipeline::sandbox::Packages;
use codegen_operator::pipeline::task::{FrozenFiles, Task, resolve};
use codegen_operator::sandbox::kubernetes::settings::{AllowedTarget, Registries, Settings};
use codegen_operator::sandbox::kubernetes::{Owner, RegistryCache};
use codegen_operator::sandbox::{
    Built, ImageSpec, KubernetesSandbox, PackageProblemKind, Progressing, Sandbox as _, SandboxError,
};
use futures::StreamExt as _;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};

/// Longest wait for a build.
const BUILT: Duration = Duration::from_mins(5);

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

/// A namespace for one test, and what an operator of that test would know.
struct Space {
    client: Client,
    namespace: String,
    settings: Settings,
    registries: RegistryCache,
    repository: String,
}

impl Space {
    async fn open(name: &str) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::try_default().await.expect("the cluster of KUBECONFIG");
        let suffix: String = std::iter::repeat_with(fastrand::lowercase).take(5).collect();
        let namespace = format!("build-{name}-{suffix}");
        let object: Namespace = serde_json::from_value(json!({
            "metadata": {"name": namespace, "labels": {"pod-security.kubernetes.io/enforce": "baseline"}},
        }))
        .unwrap();
        let all: Api<Namespace> = Api::all(client.clone());
        all.create(&PostParams::default(), &object).await.unwrap();
        let registry = variable("CODEGEN_E2E_REGISTRY");
        let space = Self {
            settings: settings(&registry),
            registries: RegistryCache::default(),
            repository: format!("{registry}/build/{namespace}"),
            client,
            namespace,
        };
        let password = std::fs::read_to_string(variable("CODEGEN_E2E_REGISTRY_PASSWORD_FILE")).unwrap();
        space.write_credentials("push", password.trim()).await;
        space.write_credentials("wrong", "not-the-password").await;
        space
    }

    async fn close(self) {
        let all: Api<Namespace> = Api::all(self.client.clone());
        all.delete(&self.namespace, &DeleteParams::default())
            .await
            .unwrap();
    }

    fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    async fn write_credentials(&self, name: &str, password: &str) {
        let user = variable("CODEGEN_E2E_REGISTRY_USER");
        let auth = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
        let config = json!({"auths": {variable("CODEGEN_E2E_REGISTRY"): {"auth": auth}}}).to_string();
        let secret: Secret = serde_json::from_value(json!({
            "metadata": {"name": name, "labels": {"codegen-operator.dev/use": "registry"}},
            "type": "kubernetes.io/dockerconfigjson",
            "stringData": {".dockerconfigjson": config},
        }))
        .unwrap();
        self.api::<Secret>()
            .create(&PostParams::default(), &secret)
            .await
            .unwrap();
    }

    /// A task that owns builds; a ConfigMap stands for it.
    async fn owner(&self, name: &str) -> Owner {
        let map: ConfigMap = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
        let map = self
            .api::<ConfigMap>()
            .create(&PostParams::default(), &map)
            .await
            .unwrap();
        let uid = map.uid().unwrap();
        Owner {
            namespace: self.namespace.clone(),
            name: name.to_owned(),
            uid: uid.clone(),
            run: "run".to_owned(),
            attempt: 1,
            reference: OwnerReference {
                api_version: "v1".to_owned(),
                kind: "ConfigMap".to_owned(),
                name: name.to_owned(),
                uid,
                controller: Some(true),
                ..OwnerReference::default()
            },
        }
    }

    fn task(&self, change: impl FnOnce(&mut Value)) -> Task {
        let mut spec = json!({
            "prompt": "Count words.",
            "model": {"name": "recorded"},
            "image": {
                "base": variable("CODEGEN_E2E_PYTHON_IMAGE"),
                "pythonVersion": "3.11",
                "repository": self.repository,
                "pushSecretRef": {"name": "push"},
            },
        });
        change(&mut spec);
        let task = CodeGenTask::new("words", serde_json::from_value(spec).unwrap());
        resolve(&task, None, FrozenFiles::default()).unwrap()
    }

    /// Asks until there is an answer, each time that a Job or Pod has changed.
    async fn build(&self, owner: &Owner, task: &Task, pip: &[&str]) -> Result<Built, SandboxError> {
        self.build_after(owner, task, &[], pip).await
    }

    /// The same for a task whose image before had the packages `before`.
    async fn build_after(
        &self,
        owner: &Owner,
        task: &Task,
        before: &[&str],
        pip: &[&str],
    ) -> Result<Built, SandboxError> {
        let inputs = BTreeMap::new();
        let sandbox = KubernetesSandbox {
            client: self.client.clone(),
            settings: &self.settings,
            task,
            owner,
            inputs: &inputs,
            registries: &self.registries,
        };
        let packages = |pip: &[&str]| Packages {
            pip: pip.iter().map(ToString::to_string).collect(),
            apt: vec![],
        };
        let mut spec = ImageSpec::new(task.language, &task.image, &packages(pip));
        if !before.is_empty() {
            spec = spec.after(&task.image, &packages(before));
        }
        self.until_answered(|| sandbox.build(&spec, 0)).await
    }

    async fn until_answered<F>(&self, ask: impl Fn() -> F) -> Result<Built, SandboxError>
    where
        F: Future<Output = Result<Progressing<Built>, SandboxError>>,
    {
        let pods = watcher(self.api::<Pod>(), watcher::Config::default())
            .touched_objects()
            .map(drop);
        let jobs = watcher(self.api::<Job>(), watcher::Config::default())
            .touched_objects()
            .map(drop);
        let mut changes = Box::pin(futures::stream::select(pods, jobs));
        let answered = async {
            loop {
                match ask().await {
                    Ok(Progressing::Done(built)) => return Ok(built),
                    Err(error) => return Err(error),
                    Ok(Progressing::Pending | Progressing::Queued(_)) => {}
                }
                changes.next().await;
            }
        };
        tokio::time::timeout(BUILT, answered)
            .await
            .expect("an answer in time")
    }

    async fn jobs(&self) -> Vec<Job> {
        self.api::<Job>()
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
    }

    /// Requests to this test's repository that the registry has logged.
    fn requests(&self) -> Vec<String> {
        let log = std::fs::read_to_string(variable("CODEGEN_E2E_REGISTRY_LOG")).unwrap();
        let path = format!("/v2/build/{}/", self.namespace);
        let is_ours = |line: &&str| line.contains(&path) && line.contains(" HTTP/");
        log.lines().filter(is_ours).map(str::to_owned).collect()
    }
}

fn settings(registry: &str) -> Settings {
    let base = variable("CODEGEN_E2E_BASE_REGISTRY");
    let host = |address: &str| address.split(':').next().unwrap().to_owned();
    let mut settings = Settings {
        operator_image: Some(variable("CODEGEN_OPERATOR_IMAGE")),
        registries: Registries {
            insecure: vec![base.clone()],
            authorities: vec![PathBuf::from(variable("CODEGEN_E2E_REGISTRY_CA"))],
            ..Registries::default()
        },
        ..Settings::default()
    };
    settings.build.executor_image = variable("CODEGEN_E2E_KANIKO_IMAGE");
    let small = json!({
        "requests": {"cpu": "100m", "memory": "256Mi"},
        "limits": {"cpu": "2", "memory": "4Gi", "ephemeral-storage": "4Gi"},
    });
    settings.build.resources = serde_json::from_value(small).unwrap();
    settings.build.image_pull_secrets = serde_json::from_value(json!([{"name": "push"}])).unwrap();
    settings.build.network.allow = [host(&base), host(registry)]
        .map(|address| AllowedTarget {
            cidr: format!("{address}/32"),
            ports: vec![],
        })
        .to_vec();
    settings
}

fn seconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64()
}

#[tokio::test]
#[ignore = "needs a cluster with registries"]
async fn an_image_is_built_once_and_then_found_with_one_request() {
    let space = Space::open("once").await;
    let (first, second) = (space.owner("first").await, space.owner("second").await);
    let task = space.task(|_| {});
    let started = Instant::now();
    let built = space.build(&first, &task, &["six"]).await.unwrap();
    eprintln!("built in {:.1} s: {built:?}", seconds(started));
    assert!(built.fresh);
    assert!(built.image.starts_with(&format!("{}@sha256:", space.repository)));
    assert!(built.python.starts_with("3.11."));
    assert!(built.resolved.iter().any(|package| package.starts_with("six==")));
    assert!(
        built
            .resolved
            .iter()
            .any(|package| package.starts_with("pytest=="))
    );

    let before = space.requests();
    let started = Instant::now();
    let jobs = space.jobs().await.len();
    let found = space.build(&second, &task, &["six"]).await.unwrap();
    eprintln!("found in {:.3} s", seconds(started));
    assert_eq!(
        (found.image, found.resolved, found.fresh),
        (built.image, built.resolved, false)
    );
    let after = space.requests();
    assert_eq!(after.len() - before.len(), 1, "{:?}", &after[before.len()..]);
    assert_eq!(space.jobs().await.len(), jobs);
    space.close().await;
}

#[tokio::test]
#[ignore = "needs a cluster with registries"]
async fn an_unknown_package_is_named() {
    let space = Space::open("unknown").await;
    let (owner, task) = (space.owner("words").await, space.task(|_| {}));
    let unknown = space.build(&owner, &task, &["no-such-package-3f2a"]).await;
    let Err(SandboxError::Packages(problem)) = unknown else {
        panic!("{unknown:?}");
    };
    assert_eq!(problem.kind, PackageProblemKind::NotFound);
    assert_eq!(problem.names, ["no-such-package-3f2a"]);
    space.close().await;
}

#[tokio::test]
#[ignore = "needs a cluster with registries"]
async fn a_wrong_password_and_a_missing_secret_are_named_before_anything_is_built() {
    let space = Space::open("wrong").await;
    let owner = space.owner("words").await;
    for (secret, says) in [
        ("wrong", "the Secret wrong of image.pushSecretRef"),
        ("nowhere", "image.pushSecretRef"),
    ] {
        let task = space.task(|spec| spec["image"]["pushSecretRef"]["name"] = json!(secret));
        let refused = space.build(&owner, &task, &["six"]).await;
        let Err(SandboxError::Refused {
            object,
            reason,
            remedy,
        }) = refused
        else {
            panic!("{refused:?}");
        };
        eprintln!("{object}: {reason}; {remedy}");
        assert!(remedy.contains(says), "{remedy}");
    }
    assert!(space.jobs().await.is_empty());
    space.close().await;
}

#[tokio::test]
#[ignore = "needs a cluster with registries"]
async fn two_tasks_that_want_one_image_at_once_share_its_build() {
    let space = Space::open("shared").await;
    let (first, second) = (space.owner("first").await, space.owner("second").await);
    let task = space.task(|_| {});
    let (one, other) = futures::join!(
        space.build(&first, &task, &["six"]),
        space.build(&second, &task, &["six"]),
    );
    assert_eq!(one.unwrap().image, other.unwrap().image);
    let jobs = space.jobs().await;
    assert_eq!(jobs.len(), 1);
    let mut owners: Vec<String> = jobs[0]
        .owner_references()
        .iter()
        .map(|owner| owner.uid.clone())
        .collect();
    owners.sort();
    let mut both = vec![first.uid, second.uid];
    both.sort();
    assert_eq!(owners, both);
    space.close().await;
}

#[tokio::test]
#[ignore = "needs a cluster with registries"]
async fn a_package_more_is_one_small_layer_on_the_image_before() {
    let space = Space::open("layers").await;
    let owner = space.owner("words").await;
    let task = space.task(|spec| spec["image"]["pullSecretRef"] = json!({"name": "push"}));
    let started = Instant::now();
    space.build(&owner, &task, &["pandas"]).await.unwrap();
    eprintln!("all in {:.1} s", seconds(started));
    let before = space.requests().len();
    let started = Instant::now();
    let built = space
        .build_after(&owner, &task, &["pandas"], &["pandas", "six"])
        .await
        .unwrap();
    eprintln!("one more in {:.1} s: {built:?}", seconds(started));
    let has = |name: &str| built.resolved.iter().any(|package| package.starts_with(name));
    assert!(
        has("pandas==") && has("six==") && has("pytest=="),
        "{:?}",
        built.resolved
    );
    let requests = space.requests().split_off(before);
    let uploads = requests
        .iter()
        .filter(|line| line.contains("\"PUT ") && line.contains("/blobs/uploads/"));
    // The layer and the configuration.
    assert_eq!(uploads.count(), 2, "{requests:#?}");
    space.close().await;
}

#[tokio::test]
#[ignore = "needs a cluster with registries"]
async fn who_overrides_replaces_the_image_and_who_disables_shares_none() {
    let space = Space::open("modes").await;
    let task = |mode: &str| space.task(|spec| spec["cache"] = json!(mode));
    let first = space
        .build(&space.owner("first").await, &task("Auto"), &["six"])
        .await
        .unwrap();
    let alone = space
        .build(&space.owner("alone").await, &task("Disable"), &["six"])
        .await
        .unwrap();
    let newer = space
        .build(&space.owner("newer").await, &task("Override"), &["six"])
        .await
        .unwrap();
    let third = space
        .build(&space.owner("third").await, &task("Auto"), &["six"])
        .await
        .unwrap();
    assert!(alone.fresh && newer.fresh && !third.fresh);
    let images = [&first.image, &alone.image, &newer.image];
    assert!(
        images[0] != images[1] && images[1] != images[2] && images[2] != images[0],
        "{images:?}"
    );
    assert_eq!(third.image, newer.image);
    assert_eq!(space.jobs().await.len(), 3);
    // The first one's digest still has a tag.
    let digest = first.image.split("sha256:").nth(1).unwrap();
    let kept = format!("-{} ", &digest[..16]);
    let requests = space.requests();
    assert!(
        requests
            .iter()
            .any(|line| line.contains("PUT ") && line.contains(&kept)),
        "{requests:#?}"
    );
    space.close().await;
}

#[tokio::test]
#[ignore = "needs a cluster with registries"]
async fn a_build_reaches_private_addresses_only_where_they_are_listed() {
    let mut space = Space::open("egress").await;
    let registry = variable("CODEGEN_E2E_REGISTRY");
    let base_port = variable("CODEGEN_E2E_BASE_REGISTRY")
        .rsplit(':')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    space.settings.build.network.allow[0].ports = vec![base_port];
    space.settings.build.network.allow.truncate(1);
    let short = ("PIP_DEFAULT_TIMEOUT".to_owned(), "1".to_owned());
    space.settings.build.env = BTreeMap::from([short]);
    let task = space.task(|spec| spec["image"]["indexURL"] = json!(format!("https://{registry}/simple")));
    let owner = space.owner("words").await;
    let blocked = space.build(&owner, &task, &["six"]).await;
    let Err(SandboxError::Lost { reason, .. }) = blocked else {
        panic!("{blocked:?}");
    };
    assert!(
        reason.contains("timed out") || reason.contains("Timeout"),
        "{reason}"
    );
    space.close().await;
}

#[tokio::test]
#[ignore = "needs a cluster with registries"]
async fn a_namespace_that_refuses_builds_is_told_before_anything_is_made() {
    let space = Space::open("restricted").await;
    let labels = json!({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}});
    Api::<Namespace>::all(space.client.clone())
        .patch(&space.namespace, &PatchParams::default(), &Patch::Merge(labels))
        .await
        .unwrap();
    let owner = space.owner("words").await;
    let refused = space.build(&owner, &space.task(|_| {}), &["six"]).await;
    let Err(SandboxError::Refused { reason, remedy, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert!(reason.contains("violates PodSecurity"), "{reason}");
    assert!(remedy.contains("baseline"), "{remedy}");
    assert!(space.jobs().await.is_empty());
    space.close().await;
}

#[tokio::test]
#[ignore = "needs a cluster with registries"]
async fn an_image_that_is_there_is_taken_as_it_is() {
    let space = Space::open("reference").await;
    let image = "registry.example/team/python@sha256:11";
    let task = space.task(|spec| spec["image"] = json!({"reference": image}));
    let built = space
        .build(&space.owner("words").await, &task, &["six"])
        .await
        .unwrap();
    assert_eq!((built.image.as_str(), built.fresh), (image, false));
    space.close().await;
}
