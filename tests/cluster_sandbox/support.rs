//! A namespace for sandboxes and a task in it.

use std::collections::BTreeMap;
use std::time::Duration;

use codegen_core::sandbox::{Job, Report};
use codegen_core::task::Task;
use codegen_package_index::PackageIndex;
use codegen_sandbox::kubernetes::settings::Settings;
use codegen_sandbox::kubernetes::{MountedInput, Owner, RegistryCache};
use codegen_sandbox::{KubernetesSandbox, Progressing, Sandbox as _, SandboxError};
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, LocalObjectReference, Namespace, Pod, ResourceQuota};
use kube::api::{DeleteParams, ListParams, ObjectMeta};
use kube::runtime::wait::await_condition;
use kube::runtime::watcher;
use kube::{Api, Client};
use serde_json::json;

pub use crate::jobs::{job, program, tests};
pub use crate::space::create;
use crate::space::{credentials, make_namespace, make_owner, password, sandbox_image};

/// How long one run may take here.
pub const PATIENCE: Duration = Duration::from_mins(4);

/// A namespace of its own; `new` makes one at the level that sandboxes must keep.
pub struct World {
    pub client: Client,
    pub namespace: String,
    pub settings: Settings,
    pub task: Task,
    pub inputs: BTreeMap<String, MountedInput>,
    registries: RegistryCache,
    index: PackageIndex,
    owner: Owner,
    image: String,
}

impl World {
    pub async fn new(test: &str) -> Self {
        Self::at(test, "restricted").await
    }

    /// With the Pod security level that the namespace enforces.
    pub async fn at(test: &str, level: &str) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let image = sandbox_image().await;
        let client = Client::try_default().await.expect("KUBECONFIG names a cluster");
        let namespace = make_namespace(&client, &format!("pod-{test}"), level).await;
        let owner = make_owner(&client, &namespace, "words").await;
        create(
            &Api::namespaced(client.clone(), &namespace),
            &credentials("pull", &password()),
        )
        .await;
        let mut settings = Settings::default();
        settings.sandbox.image_pull_secrets = vec![LocalObjectReference { name: "pull".into() }];
        Self {
            client,
            task: task(&namespace),
            namespace,
            settings,
            inputs: BTreeMap::new(),
            registries: RegistryCache::default(),
            index: PackageIndex::new(None, Vec::new()),
            owner,
            image,
        }
    }

    pub fn sandbox(&self) -> KubernetesSandbox<'_> {
        KubernetesSandbox {
            client: self.client.clone(),
            settings: &self.settings,
            task: &self.task,
            owner: &self.owner,
            inputs: &self.inputs,
            outputs: None,
            is_under_way: false,
            registries: &self.registries,
            index: &self.index,
        }
    }

    pub fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Looks again after every event of a Pod, as the controller does, until there is more to say than that it goes on.
    pub async fn run_image(&self, image: &str, job: &Job) -> Result<Progressing<Report>, SandboxError> {
        self.observe(image, job, 0, |ran| !matches!(ran, Progressing::Pending))
            .await
    }

    /// The same for the try of this number, until it has ended: also where the node has no room for it yet.
    pub async fn run_to_its_end(
        &self,
        image: &str,
        job: &Job,
        repeat: u32,
    ) -> Result<Progressing<Report>, SandboxError> {
        self.observe(image, job, repeat, |ran| matches!(ran, Progressing::Done(_)))
            .await
    }

    /// One look at the try of this number.
    pub async fn run_try(&self, job: &Job, number: u32) -> Result<Progressing<Report>, SandboxError> {
        self.sandbox().run(&self.image, job, number).await
    }

    /// What the Pod of this name reports at its end, whoever made it.
    pub async fn reported_by(&self, pod: &str) -> Result<Progressing<Report>, SandboxError> {
        let events = watcher(self.pods(), watcher::Config::default());
        let mut events = std::pin::pin!(events);
        let looks = async {
            loop {
                match self.sandbox().pod_progress(&self.image, pod).await {
                    Ok(Progressing::Unseen) => {}
                    Ok(Progressing::Pending | Progressing::Queued(_)) => drop(events.next().await),
                    other => return other,
                }
            }
        };
        let ended = tokio::time::timeout(PATIENCE, looks).await;
        ended.expect("the run ends in time")
    }

    async fn observe(
        &self,
        image: &str,
        job: &Job,
        repeat: u32,
        is_enough: impl Fn(&Progressing<Report>) -> bool,
    ) -> Result<Progressing<Report>, SandboxError> {
        let events = watcher(self.pods(), watcher::Config::default());
        let mut events = std::pin::pin!(events);
        let looks = async {
            loop {
                match self.sandbox().run(image, job, repeat).await {
                    Ok(Progressing::Unseen) => {}
                    Ok(ran) if !is_enough(&ran) => drop(events.next().await),
                    other => return other,
                }
            }
        };
        let ended = tokio::time::timeout(PATIENCE, looks).await;
        ended.expect("the run ends in time")
    }

    pub async fn run(&self, job: &Job) -> Report {
        match self.run_to_its_end(&self.image, job, 0).await {
            Ok(Progressing::Done(report)) => report,
            other => panic!("no report: {other:?}"),
        }
    }

    pub async fn fail(&self, job: &Job) -> SandboxError {
        self.run_to_its_end(&self.image, job, 0)
            .await
            .expect_err("an error")
    }

    pub fn image(&self) -> &str {
        &self.image
    }

    /// A Pod beside the sandboxes that answers: its address and port.
    pub async fn listener(&self) -> String {
        let code = "import http.server\nhttp.server.HTTPServer(('', 8080), http.server.SimpleHTTPRequestHandler).serve_forever()";
        let pod = serde_json::from_value(json!({
            "metadata": {"name": "listener"},
            "spec": {
                "automountServiceAccountToken": false,
                "terminationGracePeriodSeconds": 0,
                "imagePullSecrets": self.settings.sandbox.image_pull_secrets,
                "securityContext": {"runAsNonRoot": true, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
                "containers": [{
                    "name": "listener",
                    "image": self.image,
                    "command": ["python3", "-c", code],
                    "readinessProbe": {"tcpSocket": {"port": 8080}, "periodSeconds": 1},
                    "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
                }],
            },
        }))
        .unwrap();
        create(&self.pods(), &pod).await;
        let ready = await_condition(self.pods(), "listener", |pod: Option<&Pod>| {
            let status = pod.and_then(|pod| pod.status.as_ref());
            let mut conditions = status
                .iter()
                .flat_map(|status| status.conditions.iter().flatten());
            conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
        });
        let pod = tokio::time::timeout(PATIENCE, ready)
            .await
            .expect("it is ready in time")
            .unwrap();
        let address = pod.and_then(|pod| pod.status?.pod_ip).unwrap();
        format!("{address}:8080")
    }

    /// Waits for the first container that runs.
    pub async fn until_one_runs(&self) {
        self.until(|pods| {
            pods.iter().any(|pod| {
                pod.status
                    .as_ref()
                    .is_some_and(|status| status.phase.as_deref() == Some("Running"))
            })
        })
        .await;
    }

    /// Waits until the scheduler has found no node for this Pod.
    pub async fn until_unschedulable(&self, name: &str) {
        self.until(|pods| {
            pods.iter()
                .filter(|pod| pod.metadata.name.as_deref() == Some(name))
                .filter_map(|pod| pod.status.as_ref()?.conditions.as_ref())
                .flatten()
                .any(|condition| condition.reason.as_deref() == Some("Unschedulable"))
        })
        .await;
    }

    /// Waits until no Pod is left.
    pub async fn until_no_pods(&self) {
        self.until(<[Pod]>::is_empty).await;
    }

    /// Looks after every event of a Pod.
    async fn until(&self, reached: impl Fn(&[Pod]) -> bool) {
        let events = watcher(self.pods(), watcher::Config::default());
        let mut events = std::pin::pin!(events);
        let looks = async {
            while !reached(&self.pods().list(&ListParams::default()).await.unwrap().items) {
                drop(events.next().await);
            }
        };
        tokio::time::timeout(PATIENCE, looks).await.expect("in time");
    }

    /// Waits until the cluster enforces the quota `none`.
    pub async fn until_quota_counts(&self) {
        let quotas: Api<ResourceQuota> = Api::namespaced(self.client.clone(), &self.namespace);
        let counted = await_condition(quotas, "none", |quota: Option<&ResourceQuota>| {
            quota
                .and_then(|quota| quota.status.as_ref()?.used.as_ref())
                .is_some()
        });
        tokio::time::timeout(PATIENCE, counted)
            .await
            .expect("in time")
            .unwrap();
    }

    /// Deletes the namespace; not waited for.
    pub async fn end(self) {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        namespaces
            .delete(&self.namespace, &DeleteParams::default())
            .await
            .unwrap();
    }

    pub async fn names<K>(&self) -> Vec<String>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>
            + Clone
            + std::fmt::Debug
            + serde::de::DeserializeOwned,
    {
        let api: Api<K> = Api::namespaced(self.client.clone(), &self.namespace);
        let list = api.list(&ListParams::default()).await.unwrap();
        list.items.iter().map(kube::ResourceExt::name_any).collect()
    }
}

pub fn named(name: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    }
}

fn task(namespace: &str) -> Task {
    serde_json::from_value(json!({
        "namespace": namespace, "name": "words", "prompt": "Count the words of a text.", "schema": null,
        "systemPrompt": null, "constraints": [], "samples": [], "inputs": [], "outputs": [], "inputFiles": [],
        "acceptanceTests": null, "testing": "Generate", "language": "Python", "maxSampleRows": 100, "exposure": "Rows",
        "model": {"provider": "OpenAI", "name": "m", "baseUrl": "http://127.0.0.1:1", "apiKeySecretRef": null,
            "parameters": {}, "headers": [], "query": {}},
        "image": {"repository": null, "base": "python:3.11", "basePackages": [], "baseSystemPackages": [],
            "pythonVersion": "3.11", "indexUrl": null},
        "sandbox": {"cpus": 1.0, "memoryBytes": 268_435_456, "timeoutSeconds": 60.0, "retries": 0, "network": "denied",
            "env": {}, "secrets": []},
        "limits": {"maxIterations": 1, "maxTokens": 1, "maxModelCalls": 1, "maxBuilds": 1, "deadlineSeconds": 60.0,
            "maxContextTokens": 4000, "reclassifyAfter": 1},
        "cache": "Auto",
    }))
    .unwrap()
}
