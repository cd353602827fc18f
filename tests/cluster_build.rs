//! Image builds in a real cluster: the one of `KUBECONFIG`, with the registries that the environment names.
//!
//! Run by hand with the variables of the test cluster's environment file and `CODEGEN_OPERATOR_IMAGE`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
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
use kube::api::{Api, DeleteParams, ListParams, PostParams};
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
            "metadata": {"name": name},
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
    async fn build(
        &self,
        owner: &Owner,
        task: &Task,
        pip: &[&str],
        apt: &[&str],
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
        let owned = |list: &[&str]| list.iter().map(ToString::to_string).collect();
        let packages = Packages {
            pip: owned(pip),
            apt: owned(apt),
        };
        let spec = ImageSpec::new(task.language, &task.image, &packages);
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
        let is_ours = |line: &&str| {
            line.contains(&path) && line.contains("HTTP/1.1\"")
                || line.contains(&path) && line.contains("HTTP/2.0\"")
        };
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
    let built = space.build(&first, &task, &["six"], &[]).await.unwrap();
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
    let found = space.build(&second, &task, &["six"], &[]).await.unwrap();
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
    let unknown = space.build(&owner, &task, &["no-such-package-3f2a"], &[]).await;
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
        let refused = space.build(&owner, &task, &["six"], &[]).await;
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
        space.build(&first, &task, &["six"], &[]),
        space.build(&second, &task, &["six"], &[]),
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
