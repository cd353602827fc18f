//! A namespace for builds, and what every namespace of these tests is made with.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use base64::Engine as _;
use codegen_api::CodeGenTask;
use codegen_core::lock::Lock;
use codegen_core::sandbox::Packages;
use codegen_core::task::{FrozenFiles, Task, resolve};
use codegen_package_index::PackageIndex;
use codegen_sandbox::kubernetes::settings::{AllowedTarget, Registries, Settings};
use codegen_sandbox::kubernetes::{MountedInput, Owner, RegistryCache};
use codegen_sandbox::{
    BuiltEnvironment, ImageSpec, KubernetesSandbox, Progressing, Sandbox as _, SandboxError,
};
use futures::StreamExt as _;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, Secret};
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::runtime::wait::await_condition;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Client, Resource as _, ResourceExt as _};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

pub use crate::builds::server::variable;

/// Longest wait for a build.
pub const BUILT: Duration = Duration::from_mins(5);

/// An image with Python and pytest, by digest: found where an earlier run built it, else built.
pub async fn sandbox_image() -> String {
    static IMAGE: OnceCell<String> = OnceCell::const_new();
    let build = async || {
        let mut space = Space::open("sandbox").await;
        space.repository = format!("{}/sandbox-tests", variable("CODEGEN_E2E_REGISTRY"));
        let owner = space.owner("words").await;
        let built = space.build(&owner, &space.task(|_| {}), &[]).await.unwrap();
        space.close().await;
        built.image
    };
    IMAGE.get_or_init(build).await.clone()
}

pub async fn create<K>(api: &Api<K>, object: &K) -> K
where
    K: kube::Resource + Clone + std::fmt::Debug + serde::Serialize + serde::de::DeserializeOwned,
{
    api.create(&PostParams::default(), object).await.unwrap()
}

/// A namespace of a new name that enforces this Pod security level.
pub async fn make_namespace(client: &Client, prefix: &str, level: &str) -> String {
    let suffix: String = std::iter::repeat_with(fastrand::lowercase).take(5).collect();
    let name = format!("{prefix}-{suffix}");
    let object = serde_json::from_value(json!({
        "metadata": {"name": name, "labels": {"pod-security.kubernetes.io/enforce": level}},
    }));
    create(&Api::<Namespace>::all(client.clone()), &object.unwrap()).await;
    name
}

/// A task that owns children; a ConfigMap stands for it.
pub async fn make_owner(client: &Client, namespace: &str, name: &str) -> Owner {
    let map: ConfigMap = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
    let map = create(&Api::namespaced(client.clone(), namespace), &map).await;
    Owner {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        uid: map.uid().unwrap(),
        run: "run".to_owned(),
        wish: String::new(),
        generation: 1,
        attempt: 1,
        reference: map.controller_owner_ref(&()).unwrap(),
    }
}

/// Credentials of the test cluster's registry.
pub fn credentials(name: &str, password: &str) -> Secret {
    credentials_for(&variable("CODEGEN_E2E_REGISTRY"), name, password)
}

/// The same for that registry under another name.
pub fn credentials_for(registry: &str, name: &str, password: &str) -> Secret {
    serde_json::from_value(json!({
        "metadata": {"name": name, "labels": {"codegen-operator.dev/use": "registry"}},
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": docker_config(registry, password)},
    }))
    .unwrap()
}

/// The content of a `.dockerconfigjson` for one registry.
pub fn docker_config(registry: &str, password: &str) -> String {
    let login = format!("{}:{password}", variable("CODEGEN_E2E_REGISTRY_USER"));
    let auth = base64::engine::general_purpose::STANDARD.encode(login);
    json!({"auths": {registry: {"auth": auth}}}).to_string()
}

/// The password of that registry.
pub fn password() -> String {
    let file = variable("CODEGEN_E2E_REGISTRY_PASSWORD_FILE");
    std::fs::read_to_string(file).unwrap().trim().to_owned()
}

/// A namespace for one test, and what an operator of that test would know.
pub struct Space {
    pub client: Client,
    pub namespace: String,
    pub settings: Settings,
    pub repository: String,
    registries: RegistryCache,
    index: PackageIndex,
}

impl Space {
    pub async fn open(name: &str) -> Self {
        Self::open_at(name, "baseline").await
    }

    /// With the Pod Security level that it enforces.
    pub async fn open_at(name: &str, level: &str) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::try_default().await.expect("the cluster of KUBECONFIG");
        let namespace = make_namespace(&client, &format!("build-{name}"), level).await;
        let registry = variable("CODEGEN_E2E_REGISTRY");
        let space = Self {
            settings: settings(&registry),
            registries: RegistryCache::default(),
            index: PackageIndex::new(None, Vec::new()),
            repository: format!("{registry}/build/{namespace}"),
            client,
            namespace,
        };
        for (name, password) in [("push", password()), ("wrong", "not-the-password".to_owned())] {
            create(&space.api(), &credentials(name, &password)).await;
        }
        space
    }

    /// Lets builds reach a server at a private address.
    pub fn allow(&mut self, server: SocketAddr) {
        self.settings.build.network.allow.push(AllowedTarget {
            cidr: format!("{}/32", server.ip()),
            ports: vec![server.port()],
        });
    }

    pub async fn close(self) {
        let all: Api<Namespace> = Api::all(self.client.clone());
        all.delete(&self.namespace, &DeleteParams::default())
            .await
            .unwrap();
    }

    pub fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// A task that owns builds; a ConfigMap stands for it.
    pub async fn owner(&self, name: &str) -> Owner {
        make_owner(&self.client, &self.namespace, name).await
    }

    /// The owner that a task is which the installed operator does not touch.
    pub async fn task_of_another_operator(&self, name: &str) -> Owner {
        let task: CodeGenTask = serde_json::from_value(json!({
            "metadata": {"name": name, "labels": {"codegen-operator.dev/operator": "another"}},
            "spec": {"prompt": "Count words.", "model": {"name": "recorded"}, "suspend": true},
        }))
        .unwrap();
        let task = create(&Api::namespaced(self.client.clone(), &self.namespace), &task).await;
        Owner {
            uid: task.uid().unwrap(),
            reference: task.controller_owner_ref(&()).unwrap(),
            ..make_owner(&self.client, &self.namespace, name).await
        }
    }

    pub fn task(&self, change: impl FnOnce(&mut Value)) -> Task {
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
        if let Ok(index) = std::env::var("CODEGEN_E2E_INDEX_URL") {
            spec["image"]["indexURL"] = json!(index);
        }
        change(&mut spec);
        let task = CodeGenTask::new("words", serde_json::from_value(spec).unwrap());
        resolve(&task, None, FrozenFiles::default()).unwrap()
    }

    /// Asks until there is an answer, each time that a Job or Pod has changed.
    pub async fn build(
        &self,
        owner: &Owner,
        task: &Task,
        pip: &[&str],
    ) -> Result<BuiltEnvironment, SandboxError> {
        self.build_again(owner, task, pip, None).await
    }

    /// The same for a task that had this image before, which is gone.
    pub async fn build_again(
        &self,
        owner: &Owner,
        task: &Task,
        pip: &[&str],
        lock: Option<Lock>,
    ) -> Result<BuiltEnvironment, SandboxError> {
        let inputs = BTreeMap::new();
        let sandbox = self.sandbox(owner, task, &inputs);
        let packages = Packages {
            pip: pip.iter().map(ToString::to_string).collect(),
            apt: vec![],
        };
        let spec = ImageSpec {
            lock,
            ..ImageSpec::new(task.language, &task.image, &packages)
        };
        self.until_answered(|| sandbox.build(&spec, 0)).await
    }

    pub fn sandbox<'a>(
        &'a self,
        owner: &'a Owner,
        task: &'a Task,
        inputs: &'a BTreeMap<String, MountedInput>,
    ) -> KubernetesSandbox<'a> {
        KubernetesSandbox {
            client: self.client.clone(),
            settings: &self.settings,
            task,
            owner,
            inputs,
            outputs: None,
            is_under_way: false,
            registries: &self.registries,
            index: &self.index,
        }
    }

    pub async fn until_answered<F>(&self, ask: impl Fn() -> F) -> Result<BuiltEnvironment, SandboxError>
    where
        F: Future<Output = Result<Progressing<BuiltEnvironment>, SandboxError>>,
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
                    Ok(Progressing::Pending | Progressing::Unseen | Progressing::Queued(_)) => {}
                }
                changes.next().await;
            }
        };
        tokio::time::timeout(BUILT, answered)
            .await
            .expect("an answer in time")
    }

    /// A Pod beside the builds that takes connections at port 8080; its address.
    pub async fn listener(&self) -> String {
        let code = "import http.server\nhttp.server.HTTPServer(('', 8080), http.server.SimpleHTTPRequestHandler).serve_forever()";
        let pod = json!({
            "metadata": {"name": "listener"},
            "spec": {
                "automountServiceAccountToken": false,
                "terminationGracePeriodSeconds": 0,
                "containers": [{
                    "name": "listener",
                    "image": variable("CODEGEN_E2E_PYTHON_IMAGE"),
                    "command": ["python3", "-c", code],
                    "readinessProbe": {"tcpSocket": {"port": 8080}, "periodSeconds": 1},
                }],
            },
        });
        create(&self.api::<Pod>(), &serde_json::from_value(pod).unwrap()).await;
        let ready = await_condition(self.api::<Pod>(), "listener", is_ready);
        let pod = tokio::time::timeout(BUILT, ready)
            .await
            .expect("the listener is ready in time")
            .unwrap();
        pod.and_then(|pod| pod.status?.pod_ip).unwrap()
    }

    pub async fn jobs(&self) -> Vec<Job> {
        self.api::<Job>()
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
    }

    /// Requests to this test's repository that the registry has logged.
    pub fn requests(&self) -> Vec<String> {
        let log = std::fs::read_to_string(variable("CODEGEN_E2E_REGISTRY_LOG")).unwrap();
        let path = format!("/v2/build/{}/", self.namespace);
        let is_ours = |line: &&str| line.contains(&path) && line.contains(" HTTP/");
        log.lines().filter(is_ours).map(str::to_owned).collect()
    }
}

fn is_ready(pod: Option<&Pod>) -> bool {
    let conditions = pod.and_then(|pod| pod.status.as_ref()?.conditions.as_ref());
    conditions.is_some_and(|all| all.iter().any(|one| one.type_ == "Ready" && one.status == "True"))
}

/// Reaches the registries that the environment names; a base registry is our own cluster's, spoken to without TLS.
fn settings(registry: &str) -> Settings {
    let base = std::env::var("CODEGEN_E2E_BASE_REGISTRY").ok();
    let authority = std::env::var_os("CODEGEN_E2E_REGISTRY_CA");
    let mut settings = Settings {
        operator_image: Some(variable("CODEGEN_OPERATOR_IMAGE")),
        registries: Registries {
            insecure: base.iter().cloned().collect(),
            authorities: authority.map(PathBuf::from).into_iter().collect(),
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
    settings.build.network.allow = base
        .iter()
        .map(String::as_str)
        .chain([registry])
        .filter_map(address)
        .collect();
    settings
}

/// A registry that is named by its address may be a private one.
fn address(registry: &str) -> Option<AllowedTarget> {
    let (host, port) = registry.split_once(':')?;
    let address: Ipv4Addr = host.parse().ok()?;
    Some(AllowedTarget {
        cidr: format!("{address}/32"),
        // At that address the API server may listen as well.
        ports: vec![port.parse().ok()?],
    })
}
