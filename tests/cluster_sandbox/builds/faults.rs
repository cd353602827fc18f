//! A registry that is full, slow, busy or breaks off: what is told of it, and that the image is there when it is over.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use codegen_core::sandbox::Packages;
use codegen_core::task::Task;
use codegen_sandbox::kubernetes::Owner;
use codegen_sandbox::{BuiltEnvironment, ImageSpec, Sandbox as _, SandboxError};
use serde_json::json;

use super::image::tags;
use super::index::Index;
use super::registry::{DOWN, FULL, Fault, FaultyRegistry, is_upload, is_write};
use super::server::Head;
use crate::space::{Space, create, credentials_for, password, variable};

const BUSY: Fault = Fault::Answer {
    status: "429 Too Many Requests",
    headers: &[("Content-Type", "application/json"), ("Retry-After", "1")],
    body: r#"{"errors":[{"code":"TOOMANYREQUESTS","message":"too many requests"}]}"#,
};
/// A namespace whose images go to a registry with faults.
struct Scene {
    space: Space,
    registry: FaultyRegistry,
    _index: Index,
    task: Task,
    owner: Owner,
}

impl Scene {
    async fn open(name: &str) -> Self {
        let mut space = Space::open(name).await;
        let (registry, index) = (FaultyRegistry::start().await, Index::start(vec![]).await);
        for server in [registry.address(), index.address()] {
            space.allow(server);
        }
        let host = registry.address().to_string();
        space.settings.registries.insecure.push(host.clone());
        space.repository = format!("{host}/build/{}", space.namespace);
        create(&space.api(), &credentials_for(&host, "faulty", &password())).await;
        let task = space.task(|spec| {
            spec["image"]["pushSecretRef"]["name"] = json!("faulty");
            spec["image"]["indexURL"] = json!(index.url(None));
        });
        let owner = space.owner("words").await;
        Self {
            space,
            registry,
            _index: index,
            task,
            owner,
        }
    }

    /// The engine's try of this number: how often a build was lost before.
    async fn build(&self, repeat: u32) -> Result<BuiltEnvironment, SandboxError> {
        let inputs = std::collections::BTreeMap::new();
        let sandbox = self.space.sandbox(&self.owner, &self.task, &inputs);
        let spec = ImageSpec::new(self.task.language, &self.task.image, &Packages::default());
        self.space.until_answered(|| sandbox.build(&spec, repeat)).await
    }

    /// A build that must be lost, and what is said of it.
    async fn lost(&self, repeat: u32) -> String {
        match self.build(repeat).await {
            Err(SandboxError::Lost { child, reason }) => {
                eprintln!("{child}: {reason}");
                reason
            }
            other => panic!("{other:?}"),
        }
    }

    /// The fault is over: the next try brings the image, and nothing of the failed ones is left but their Jobs.
    async fn recovers(self, jobs: usize) {
        self.registry.recover();
        let built = self.build(u32::try_from(jobs).unwrap() - 1).await.unwrap();
        assert!(built.fresh, "{built:?}");
        assert_eq!(self.space.jobs().await.len(), jobs, "one Job for each try");
        let real = self.space.repository.replace(
            &self.registry.address().to_string(),
            &variable("CODEGEN_E2E_REGISTRY"),
        );
        assert_eq!(tags(&real).await.len(), 1, "one tag");
        self.space.close().await;
    }
}

/// The first `count` requests that the rule meets fail.
fn first(count: usize, meets: fn(&Head) -> bool, fault: Fault) -> impl Fn(&Head) -> Option<Fault> {
    let met = Arc::new(AtomicUsize::new(0));
    move |head| (meets(head) && met.fetch_add(1, Ordering::Relaxed) < count).then(|| fault.clone())
}

fn always(meets: fn(&Head) -> bool, fault: Fault) -> impl Fn(&Head) -> Option<Fault> {
    first(usize::MAX, meets, fault)
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn a_full_registry_is_reported_in_its_own_words_and_the_push_is_tried_again() {
    let scene = Scene::open("full").await;
    scene.registry.fail(always(is_write, FULL));
    let reason = scene.lost(0).await;
    assert!(reason.contains("no space left on device"), "{reason}");
    assert!(reason.contains(&scene.registry.address().to_string()), "{reason}");
    scene.recovers(2).await;
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn a_push_that_fails_half_way_goes_on_with_what_is_missing() {
    let scene = Scene::open("half").await;
    // What the build itself makes, which another build makes anew, breaks off each time; the layers of its base arrive.
    let small = |head: &Head| is_upload(head) && head.length() < 1 << 20;
    scene.registry.fail(always(small, Fault::FailHalfWay));
    let reason = scene.lost(0).await;
    assert!(
        reason.contains("500") && reason.contains("the upload of the blob"),
        "{reason}"
    );
    let before = scene.registry.requests().len();
    scene.registry.recover();
    scene.build(1).await.unwrap();
    let again = scene.registry.requests().split_off(before);
    let blobs = again
        .iter()
        .filter(|line| line.starts_with("HEAD ") && line.contains("/blobs/"))
        .count();
    let uploads = again
        .iter()
        .filter(|line| line.starts_with("PUT ") && line.contains("/blobs/uploads/"))
        .count();
    assert!(uploads < blobs, "what had arrived is not sent again: {again:#?}");
    scene.recovers(2).await;
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn a_registry_that_is_busy_or_breaks_off_for_a_moment_costs_no_second_job() {
    let scene = Scene::open("moment").await;
    let (busy, cut) = (first(2, is_write, BUSY), first(2, is_upload, Fault::CutHalfWay));
    scene.registry.fail(move |head| busy(head).or_else(|| cut(head)));
    let built = scene.build(0).await.unwrap();
    assert!(built.fresh, "{built:?}");
    assert_eq!(scene.space.jobs().await.len(), 1);
    scene.recovers(1).await;
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn a_registry_that_stays_busy_or_keeps_breaking_off_is_named() {
    let scene = Scene::open("busy").await;
    scene.registry.fail(always(is_write, BUSY));
    let reason = scene.lost(0).await;
    assert!(reason.contains("too many requests"), "{reason}");
    scene.registry.fail(always(is_upload, Fault::CutHalfWay));
    let reason = scene.lost(1).await;
    assert!(reason.contains("the upload of the blob"), "{reason}");
    scene.recovers(3).await;
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn a_registry_that_is_down_or_slow_by_the_byte_holds_nothing_up_and_starts_no_job() {
    let scene = Scene::open("slow").await;
    scene.registry.fail(always(|_| true, DOWN));
    let down = scene.build(0).await;
    let Err(SandboxError::Cluster { source, .. }) = &down else {
        panic!("{down:?}");
    };
    assert!(source.to_string().contains("503"), "{source}");

    scene
        .registry
        .fail(always(|_| true, Fault::SlowAnswer(Duration::from_secs(2))));
    let started = Instant::now();
    let slow = scene.build(0).await;
    let Err(SandboxError::Cluster { source, .. }) = &slow else {
        panic!("{slow:?}");
    };
    let seconds = started.elapsed().as_secs();
    eprintln!("{seconds} s: {source}");
    assert!(seconds < 60, "{seconds} s");
    assert!(source.to_string().contains("no whole answer"), "{source}");
    assert!(scene.space.jobs().await.is_empty());
    scene.recovers(1).await;
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn a_push_that_is_slow_by_the_byte_ends_at_the_deadline_of_its_build() {
    let mut scene = Scene::open("crawl").await;
    scene.space.settings.build.deadline_seconds = 20;
    scene
        .registry
        .fail(always(is_upload, Fault::SlowBody(Duration::from_secs(1))));
    let reason = scene.lost(0).await;
    assert!(reason.contains("ran out of time"), "{reason}");
    scene.space.settings.build.deadline_seconds = 900;
    scene.recovers(2).await;
}
