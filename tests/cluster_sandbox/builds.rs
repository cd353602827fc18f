//! Image builds, with the registries that the environment names.

mod faults;
mod hostile;
mod image;
#[path = "../support/python_index.rs"]
mod index;
mod proxy;
#[path = "../support/faulty_registry.rs"]
mod registry;
#[path = "../support/server.rs"]
pub mod server;
mod sources;

use std::collections::BTreeMap;
use std::time::Instant;

use codegen_core::sandbox::Packages;
use codegen_sandbox::kubernetes::{Owner, build_namespace};
use codegen_sandbox::{ImageSpec, PackageProblemKind, Progressing, Sandbox as _, SandboxError};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt as _;
use kube::api::ListParams;
use serde_json::json;

use self::image::pushed;
use self::index::{Index, wheel};
use crate::space::{Space, variable};

fn seconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64()
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
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
#[ignore = "needs a cluster: make e2e"]
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
#[ignore = "needs a cluster: make e2e"]
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
#[ignore = "needs a cluster: make e2e"]
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
#[ignore = "needs a cluster: make e2e"]
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
#[ignore = "needs a cluster: make e2e"]
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
#[ignore = "needs a cluster: make e2e"]
async fn a_namespace_that_refuses_builds_is_reported_before_anything_is_created() {
    let space = Space::open_at("restricted", "restricted").await;
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
#[ignore = "needs a cluster: make e2e"]
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

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn tasks_of_a_restricted_namespace_have_their_builds_made_in_another() {
    let builds = Space::open("builds").await;
    let mut tenant = Space::open_at("tenant", "restricted").await;
    let (first, second, task) = (
        tenant.owner("first").await,
        tenant.owner("second").await,
        tenant.task(|_| {}),
    );
    let refused = tenant.build(&first, &task, &["six"]).await;
    let Err(SandboxError::Refused { remedy, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert!(remedy.contains("build.namespace"), "{remedy}");

    tenant.settings.build.namespace = Some(builds.namespace.clone());
    let inputs = BTreeMap::new();
    let one = tenant.sandbox(&first, &task, &inputs);
    let other = tenant.sandbox(&second, &task, &inputs);
    let packages = Packages {
        pip: vec!["six".to_owned()],
        apt: vec![],
    };
    let spec = ImageSpec::new(task.language, &task.image, &packages);
    for sandbox in [&one, &other] {
        assert_eq!(sandbox.build(&spec, 0).await.unwrap(), Progressing::Pending);
    }
    let jobs = builds.jobs().await;
    let waiting = build_namespace::waiting(&jobs[0].metadata);
    let names: Vec<&str> = waiting.iter().map(|task| task.name.as_str()).collect();
    assert_eq!((jobs.len(), names.len()), (1, 2), "{names:?}");
    assert_eq!(
        build_namespace::namespace_of_tasks(&jobs[0]),
        Some(tenant.namespace.clone())
    );
    let there = secrets_of(&builds, &jobs[0]).await;
    assert_eq!(there.len(), 1);
    assert_eq!(there[0].owner_references()[0].name, jobs[0].name_any());

    build_namespace::release(&tenant.client, &builds.namespace, &first.uid)
        .await
        .unwrap();
    assert_eq!(
        build_namespace::waiting(&builds.jobs().await[0].metadata).len(),
        1
    );
    let built = builds.until_answered(|| other.build(&spec, 0)).await.unwrap();
    eprintln!("built elsewhere: {built:?}");
    assert!(built.fresh);
    assert_eq!(
        secrets_of(&builds, &jobs[0]).await.len(),
        0,
        "credentials are gone with the end of the build"
    );
    assert!(tenant.jobs().await.is_empty());

    a_build_goes_when_nobody_waits_for_it(&builds, &tenant, &second).await;
    tenant.close().await;
    builds.close().await;
}

/// The Secrets that belong to a build.
async fn secrets_of(space: &Space, job: &Job) -> Vec<Secret> {
    let its = ListParams::default().labels(&format!("codegen-operator.dev/part-of={}", job.name_any()));
    space.api::<Secret>().list(&its).await.unwrap().items
}

/// `waits` is the one who waits for the only build.
async fn a_build_goes_when_nobody_waits_for_it(builds: &Space, tenant: &Space, waits: &Owner) {
    let of = Some(tenant.namespace.as_str());
    let is_there = |uid: &str| uid == waits.uid;
    build_namespace::sweep(&tenant.client, &builds.namespace, of, is_there)
        .await
        .unwrap();
    assert_eq!(builds.jobs().await.len(), 1, "somebody waits for it");
    build_namespace::sweep(&tenant.client, &builds.namespace, Some("another"), |_| false)
        .await
        .unwrap();
    assert_eq!(
        builds.jobs().await.len(),
        1,
        "it is for the tasks of another namespace"
    );
    build_namespace::sweep(&tenant.client, &builds.namespace, of, |_| false)
        .await
        .unwrap();
    let left = builds.jobs().await;
    assert!(
        left.iter().all(|job| job.metadata.deletion_timestamp.is_some()),
        "{left:?}"
    );
}

#[tokio::test]
#[ignore = "needs a cluster: make e2e"]
async fn an_image_is_made_again_of_the_same_archives_and_of_no_others() {
    let mut space = Space::open("again").await;
    let index = Index::start(vec![wheel("tiny", &[("tiny.py", "x = 1\n")])]).await;
    space.allow(index.address());
    let owner = space.owner("words").await;
    let task = |place: &str| {
        space.task(|spec| {
            spec["image"]["indexURL"] = json!(index.url(None));
            spec["image"]["repository"] = json!(format!("{}/{place}", space.repository));
        })
    };
    let built = space.build(&owner, &task("first"), &["tiny"]).await.unwrap();
    let lock = built.lock.clone().expect("the digests of all that is installed");
    assert_eq!(lock.names(), ["pytest==1.0", "tiny==1.0"]);
    let image = pushed(&built.image).await;
    assert_eq!(image.file("opt/codegen/requirements.txt"), lock.to_string());

    // Another repository has not got the image: it is made again.
    let again = space
        .build_again(&owner, &task("second"), &["tiny"], Some(lock.clone()))
        .await
        .unwrap();
    assert_eq!((again.resolved, again.lock), (built.resolved, Some(lock.clone())));

    index.exchange(wheel("tiny", &[("tiny.py", "import evil\n")]));
    let refused = space
        .build_again(&owner, &task("third"), &["tiny"], Some(lock))
        .await;
    let Err(SandboxError::Refused { object, reason, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(object, "pip package tiny==1.0");
    assert!(
        reason.contains("serves another file than was installed before"),
        "{reason}"
    );
    space.close().await;
}
