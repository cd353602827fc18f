//! An API server and a registry that answer as the test wants, and what a build makes of them.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{Client, Config};
use serde_json::{Value, json};
use wiremock::matchers::{method, path_regex};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::kubernetes::settings::Settings;
use crate::kubernetes::{KubernetesSandbox, Owner, RegistryCache};
use crate::{BuiltEnvironment, ImageSpec, Progressing, Sandbox as _};
use codegen_core::sandbox::Packages;
use codegen_core::task::Task;
use codegen_core::test_support::task;
use codegen_package_index::PackageIndex;

const BASE: &str =
    "registry.example/python@sha256:1111111111111111111111111111111111111111111111111111111111111111";
/// Manifest that anybody could push.
const MANIFEST: &[u8] = br#"{"schemaVersion":2,"layers":[],"annotations":{}}"#;

/// A cluster without anything in it, a registry, and the operator.
struct Scene {
    cluster: MockServer,
    registry: MockServer,
    registries: RegistryCache,
    settings: Settings,
    task: Task,
}

impl Scene {
    async fn open() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (cluster, registry) = (MockServer::start().await, MockServer::start().await);
        let missing = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404});
        Mock::given(method("GET"))
            .respond_with(ResponseTemplate::new(404).set_body_json(missing))
            .mount(&cluster)
            .await;
        Mock::given(method("POST"))
            .respond_with(|request: &Request| ResponseTemplate::new(201).set_body_bytes(request.body.clone()))
            .mount(&cluster)
            .await;
        let host = registry.address().to_string();
        let mut task = task();
        task.image.base = BASE.to_owned();
        task.image.repository = Some(format!("{host}/team"));
        let mut settings = Settings {
            operator_image: Some("registry.example/operator:1".to_owned()),
            ..Settings::default()
        };
        settings.registries.insecure.push(host);
        Self {
            cluster,
            registry,
            registries: RegistryCache::default(),
            settings,
            task,
        }
    }

    fn repository(&self) -> String {
        format!("{}/team", self.registry.address())
    }

    /// From now on every tag that is asked for has this manifest.
    async fn has(&self, manifest: Vec<u8>) {
        self.registry.reset().await;
        Mock::given(path_regex("/manifests/"))
            .respond_with(ResponseTemplate::new(200).set_body_bytes(manifest))
            .mount(&self.registry)
            .await;
    }

    /// The same, signed by the operator for the tag of the environment with these packages.
    async fn has_signed(&self, pip: &[&str]) {
        let tag = self.tag(pip).await;
        self.has_signed_at(&tag).await;
    }

    /// From now on every tag that is asked for has what the operator signed for this one.
    async fn has_signed_at(&self, tag: &str) {
        let keys = self.registries.signing().keys().await.unwrap();
        let signed = keys.sign(MANIFEST, &self.repository(), tag).unwrap();
        self.has(signed).await;
    }

    /// The tag that is asked for when these packages are wanted.
    async fn tag(&self, pip: &[&str]) -> String {
        self.tag_in("lab", &self.spec(pip)).await
    }

    /// The tag that is asked for when a task of a namespace wants this.
    async fn tag_in(&self, namespace: &str, spec: &ImageSpec) -> String {
        self.registry.reset().await;
        self.build_in(namespace, spec).await;
        let requests = self.registry.received_requests().await.unwrap();
        let paths = requests.iter().map(|request| request.url.path());
        let mut tags = paths.filter_map(|path| path.split_once("/manifests/"));
        let (_, tag) = tags.next().unwrap();
        assert!(tag.starts_with("codegen-env-"), "{tag}");
        tag.to_owned()
    }

    fn spec(&self, pip: &[&str]) -> ImageSpec {
        let pip = pip.iter().map(ToString::to_string).collect();
        let packages = Packages { pip, apt: Vec::new() };
        ImageSpec::new(self.task.language, &self.task.image, &packages)
    }

    async fn build(&self, spec: &ImageSpec) -> Progressing<BuiltEnvironment> {
        self.build_in("lab", spec).await
    }

    async fn build_in(&self, namespace: &str, spec: &ImageSpec) -> Progressing<BuiltEnvironment> {
        let owner = Owner {
            namespace: namespace.to_owned(),
            name: "words".to_owned(),
            uid: "0c1".to_owned(),
            run: "1".to_owned(),
            wish: "1".to_owned(),
            generation: 1,
            attempt: 1,
            reference: OwnerReference::default(),
        };
        let url = self.cluster.uri().parse().unwrap();
        let sandbox = KubernetesSandbox {
            client: Client::try_from(Config::new(url)).unwrap(),
            settings: &self.settings,
            task: &self.task,
            owner: &owner,
            inputs: &BTreeMap::new(),
            outputs: None,
            is_under_way: false,
            registries: &self.registries,
            index: &PackageIndex::new(None, Vec::new()),
        };
        sandbox.build(spec, 0).await.unwrap()
    }

    /// Returns the object of a kind that was made in the cluster last.
    async fn made(&self, resource: &str) -> Option<Value> {
        let requests = self.cluster.received_requests().await.unwrap();
        let mut made = requests
            .iter()
            .rev()
            .filter(|request| request.method == "POST" && request.url.path().ends_with(resource));
        made.next()
            .map(|request| serde_json::from_slice(&request.body).unwrap())
    }
}

#[tokio::test]
async fn an_image_that_somebody_pushed_under_the_tag_of_an_environment_is_built_anew() {
    let scene = Scene::open().await;
    scene.has(MANIFEST.to_vec()).await;
    // Who goes by the tag alone has it.
    let tag = format!("{}:codegen-env-3f2a", scene.repository());
    let registry = codegen_registry::Registry::new(&codegen_registry::Access {
        insecure_hosts: scene.settings.registries.insecure.clone(),
        ..codegen_registry::Access::default()
    });
    assert!(registry.unwrap().image(&tag).await.unwrap().is_some());

    let built = scene.build(&scene.spec(&["six"])).await;
    assert!(matches!(built, Progressing::Pending), "{built:?}");
    let job = scene.made("/jobs").await.unwrap().to_string();
    assert!(job.contains("--untagged") && !job.contains("--replace"), "{job}");
}

#[tokio::test]
async fn an_environment_that_the_operator_signed_is_taken() {
    let scene = Scene::open().await;
    scene.has_signed(&["six"]).await;
    match scene.build(&scene.spec(&["six"])).await {
        Progressing::Done(built) => {
            assert!(!built.fresh);
            let prefix = format!("{}@sha256:", scene.repository());
            assert!(built.image.starts_with(&prefix), "{}", built.image);
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_environment_from_a_short_index_is_its_namespaces_own() {
    let scene = Scene::open().await;
    let from = |index: &str| ImageSpec {
        index_url: Some(index.to_owned()),
        ..scene.spec(&["six"])
    };
    // What is known by a name that stands for the same everywhere goes by that name alone: who builds it first builds it for everybody.
    let full = from("http://pypi.lab.svc/simple");
    let theirs = scene.tag_in("lab", &full).await;
    scene.has_signed_at(&theirs).await;
    let taken = scene.build_in("team", &full).await;
    assert!(
        matches!(&taken, Progressing::Done(built) if !built.fresh),
        "{taken:?}"
    );
    // A short one stands for a server of whoever has a Service of that name.
    let short = from("http://pypi/simple");
    let theirs = scene.tag_in("lab", &short).await;
    scene.has_signed_at(&theirs).await;
    let own = scene.build_in("lab", &short).await;
    assert!(matches!(own, Progressing::Done(_)), "{own:?}");
    let built = scene.build_in("team", &short).await;
    assert!(matches!(built, Progressing::Pending), "{built:?}");
    assert_ne!(scene.tag_in("team", &short).await, theirs);
}

#[tokio::test]
async fn a_build_waits_for_room_in_a_quota_and_makes_nothing() {
    let scene = Scene::open().await;
    let words =
        "pods \"build\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=8, limited: pods=8";
    let full = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": words});
    Mock::given(method("POST"))
        .and(path_regex("/pods$"))
        .respond_with(ResponseTemplate::new(403).set_body_json(full))
        .with_priority(1)
        .mount(&scene.cluster)
        .await;
    let spec = scene.spec(&["six"]);
    assert_eq!(scene.build(&spec).await, Progressing::Queued(words.to_owned()));
    let requests = scene.cluster.received_requests().await.unwrap();
    let made = requests.iter().filter(|request| request.method == "POST");
    assert_eq!(made.count(), 1);
}
