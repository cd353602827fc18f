//! The registry fails, and the operator is killed, while a program is published.

use std::time::{Duration, Instant};

use codegen_api::CodeGenTask;
use serde_json::{Value, json};

use super::faulty_registry::{Fault, FaultyRegistry, is_upload};
use super::model::Model;
use super::own::{Own, apply_changed};
use super::registry::{add, login, message};
use super::remains::expect_tags_left;
use super::server::variable;
use super::{RECORDING, expect_same_end, seed};
use crate::registry::{digest_of, tags};
use crate::space::{SOON, Space, TO_THE_END, in_space, stage_of, status_of};

const TASK: &str = "t1";
/// Longer than any test.
const NEVER: Duration = Duration::from_hours(1);

/// Waits until the registry was asked for something like this since its request number `since`.
async fn asked(registry: &FaultyRegistry, since: usize, what: &str, is: impl Fn(&str) -> bool) {
    let begun = Instant::now();
    let mut look = tokio::time::interval(Duration::from_millis(20));
    loop {
        look.tick().await;
        let requests = registry.requests();
        if requests[since..].iter().any(|request| is(request)) {
            return;
        }
        assert!(begun.elapsed() < SOON, "no {what} in {:#?}", &requests[since..]);
    }
}

/// Waits until the registry has this tag.
async fn has(space: &Space, tag: &str) {
    let begun = Instant::now();
    let mut look = tokio::time::interval(Duration::from_millis(50));
    loop {
        look.tick().await;
        let tags = tags(&space.repository()).await;
        if tags.iter().any(|known| known == tag) {
            return;
        }
        assert!(begun.elapsed() < SOON, "no {tag} in {tags:?}");
    }
}

async fn killed(mut own: Own) {
    own.kill();
    own.ended().await;
}

/// The status names the image of this digest, and besides what belongs to it only the environment is there.
async fn expect_one_publication(space: &Space, tag: &str, published: &str) {
    let status = space
        .api::<CodeGenTask>()
        .get(TASK)
        .await
        .unwrap()
        .status
        .unwrap();
    let image = status.program_image.unwrap();
    assert!(image.ends_with(published), "{image} is not {published}");

    let bill = published.replace(':', "-");
    let mut left = expect_tags_left(space, &[TASK], 1).await;
    left.retain(|known| ![tag, &bill, &format!("{bill}.sbom")].contains(&known.as_str()));
    assert_eq!(left.len(), 1, "only the environment besides: {left:?}");
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_program_is_published_once_whatever_becomes_of_the_registry_and_the_operator() {
    in_space("faults-publish", async |space| {
        // The environment goes to the registry itself, the program to the same repository by way of the one with faults.
        let registry = FaultyRegistry::start().await;
        let address = registry.address().to_string();
        let model = Model::start(space, RECORDING, &[TASK], Duration::ZERO).await;
        let insecure = |config: &mut Value| add(&mut config["registries"]["insecure"], json!(address));
        let operator = async || Own::start_with(space, &model, seed(), insecure).await;
        let host = variable("CODEGEN_E2E_REGISTRY");
        registry.fail(|head| is_upload(head).then_some(Fault::FailHalfWay));
        let own = operator().await;
        space.apply_objects(&[login(&[&host, &address])]);
        apply_changed(space, &model, TASK, |task| {
            task["spec"]["image"]["pushSecretRef"] = json!({"name": "faulty"});
            let repository = space.repository().replace(&host, &address);
            task["spec"]["publish"] = json!({"repository": repository});
        });

        let words = "the upload of the blob";
        let waits = space
            .until(TASK, words, TO_THE_END, |task| message(task).contains(words))
            .await;
        eprintln!("{}", message(&waits));
        for part in [&address, "500 Internal Server Error"] {
            assert!(message(&waits).contains(part), "{part}");
        }
        assert_eq!(stage_of(&waits), Some("Publishing"));
        assert_eq!(status_of(&waits, "Reconciling"), Some("True"));
        assert_eq!(waits.status.unwrap().attempts.len(), 1, "it costs no attempt");

        // Some bytes of the layer have arrived.
        let since = registry.requests().len();
        registry.fail(|head| is_upload(head).then_some(Fault::SlowBody(Duration::from_millis(20))));
        asked(&registry, since, "upload", |request| {
            request.starts_with("PUT") && request.contains("/blobs/uploads/")
        })
        .await;
        killed(own).await;
        assert_eq!(tags(&space.repository()).await.len(), 1, "only the environment");

        // The image is there, and nobody was told.
        let tag = format!("{}.{TASK}", space.name);
        let manifest = format!("/manifests/{tag}");
        let ending = manifest.clone();
        registry.fail(move |head| {
            (head.method == "PUT" && head.target.ends_with(&ending)).then_some(Fault::SlowAnswer(NEVER))
        });
        let own = operator().await;
        has(space, &tag).await;
        killed(own).await;
        let published = digest_of(&space.repository(), &tag).await;

        let since = registry.requests().len();
        registry.recover();
        let _own = operator().await;
        assert_eq!(expect_same_end(space, &model, TASK).await, 0);
        let again: Vec<String> = registry.requests().split_off(since);
        let is_again = |request: &&String| request.starts_with("PUT") && request.ends_with(&manifest);
        assert_eq!(again.iter().find(is_again), None, "{again:#?}");
        expect_one_publication(space, &tag, &published).await;
    })
    .await;
}
