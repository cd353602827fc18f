//! A task from its creation to its end.

use std::time::Duration;

use futures::future::join;
use jiff::Timestamp;
use kube::runtime::controller::Action;
use rstest::rstest;
use serde_json::{Value, json};

use crate::controller::tests::world::World;
use codegen_api::CodeGenTask;

/// Every call of a task without samples, whose program passes at once.
const HAPPY: &str = "
    create Secret snapshot
    status CodeGenTask words: ReadingSamples Progressing
    create Secret record documents/data-context.txt
    create Secret record documents/profiles.json
    status CodeGenTask words: Planning Progressing
    status CodeGenTask words: Planning Progressing
    create Secret record calls/prefix
    create Secret record calls/0001-plan.json
    status CodeGenTask words: GeneratingCode Progressing
    status CodeGenTask words: GeneratingCode Progressing
    create Secret record calls/0002-code.json
    status CodeGenTask words: GeneratingTests Progressing
    status CodeGenTask words: GeneratingTests Progressing
    create Secret record calls/0003-tests.json
    status CodeGenTask words: RunningTests Progressing
    get Pod words (absent)
    ~ create Secret sandbox
    ~ list NetworkPolicy
    ~ get ConfigMap codegen-harness (absent)
    ~ create ConfigMap harness
    ~ create NetworkPolicy sandbox
    create Pod sandbox
    get Pod sandbox
    log of Pod sandbox
    create Secret record documents/run-0001.json
    ~ create Secret result
    ~ create ConfigMap result
    status CodeGenTask words: Succeeded Unverified
    ~ delete all Secret record,sandbox,reader,snapshot
    ~ delete all Pod record,sandbox,reader,snapshot
";

#[tokio::test]
async fn a_task_goes_from_creation_to_its_program_in_these_calls_and_no_others() {
    let mut world = World::new().await;
    world.apply_task("words", &json!({}));
    let action = world.settle::<CodeGenTask>("words").await;
    world.server.assert_calls(HAPPY);
    assert_eq!(
        world.stage_and_reason::<CodeGenTask>("words"),
        "Succeeded Unverified"
    );
    assert_eq!(action, Action::await_change());
    assert_eq!(world.provider.calls().await, ["plan", "code", "tests"]);
    assert_eq!(world.server.all("pods"), Vec::<Value>::new());
    assert_eq!(
        world.events("words").await,
        ["ImageFound", "AttemptPassed", "Succeeded"]
    );
}

#[tokio::test]
async fn what_a_task_makes_is_its_own_but_for_what_the_sandboxes_of_a_namespace_share() {
    let mut world = World::new().await;
    world.apply_task("words", &json!({}));
    world
        .until::<CodeGenTask>("words", "RunningTests Progressing")
        .await;
    world.reconcile::<CodeGenTask>("words").await;
    let owner = world.object::<CodeGenTask>("words")["metadata"]["uid"].clone();
    let mut shared = Vec::new();
    for resource in ["secrets", "configmaps", "pods", "networkpolicies"] {
        for object in world.server.all(resource) {
            let owners = object["metadata"]["ownerReferences"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            match owners.as_slice() {
                [only] => assert_eq!(
                    (&only["uid"], &only["controller"]),
                    (&owner, &json!(true)),
                    "{object}"
                ),
                _ => shared.push(object["kind"].clone()),
            }
        }
    }
    assert_eq!(shared, ["ConfigMap", "NetworkPolicy"]);
}

#[tokio::test]
async fn a_task_that_has_ended_is_left_alone_and_cleared_up_after_once_more_by_an_operator_that_begins_just_then()
 {
    let mut world = World::new().await;
    world.apply_task("words", &json!({}));
    world.settle::<CodeGenTask>("words").await;
    world.server.calls();
    let action = world.reconcile::<CodeGenTask>("words").await;
    assert_eq!(action, Action::await_change());
    world.server.assert_calls("");
    world.restart_now().await;
    world.reconcile::<CodeGenTask>("words").await;
    world.server.assert_calls(
        "~ delete all Secret record,sandbox,reader,snapshot
         ~ delete all Pod record,sandbox,reader,snapshot",
    );
}

#[tokio::test]
async fn a_task_whose_time_is_over_is_deleted() {
    let mut world = World::new().await;
    world.apply_task("words", &json!({"ttlSecondsAfterFinished": 0}));
    world.until::<CodeGenTask>("words", "Succeeded Unverified").await;
    world.server.calls();
    world.reconcile::<CodeGenTask>("words").await;
    world.server.assert_calls("delete CodeGenTask words");
    assert_eq!(world.server.all("codegentasks"), Vec::<Value>::new());
}

#[tokio::test]
async fn a_task_whose_time_ends_while_it_waits_for_a_place_among_calls_makes_no_call() {
    let mut world = World::configured("limits: {maxCallsPerEndpoint: 1}").await;
    world.apply_task("words", &json!({"limits": {"deadline": "1s"}}));
    while !world
        .stage_and_reason::<CodeGenTask>("words")
        .starts_with("Planning")
    {
        world.reconcile::<CodeGenTask>("words").await;
    }
    let object = world.cached::<CodeGenTask>("words");
    let url = object.spec.model.as_ref().unwrap().base_url.clone().unwrap();
    let place = world.context.calls.enter(&url).await.unwrap();
    let over = Timestamp::now() + Duration::from_secs(1);
    let time_passes = async {
        while Timestamp::now() < over {
            tokio::task::yield_now().await;
        }
        drop(place);
    };
    join(world.reconcile_seen(object), time_passes).await;
    assert_eq!(world.provider.calls().await, Vec::<String>::new());
    assert!(
        world
            .stage_and_reason::<CodeGenTask>("words")
            .starts_with("Failed")
    );
}

#[rstest]
#[case::of_a_newer_version("progressVersion", json!(99), "another version has begun it (state 99")]
#[case::of_an_older_version("progressVersion", json!(3), "another version has begun it (state 3")]
#[case::damaged("progress", json!({"packed": "no base64"}), "its state is damaged")]
#[tokio::test]
async fn a_state_that_cannot_be_read_is_said_and_stays_as_it_was(
    #[case] field: &str,
    #[case] value: Value,
    #[case] words: &str,
) {
    let mut world = World::new().await;
    world.apply_task("words", &json!({}));
    world
        .until::<CodeGenTask>("words", "GeneratingCode Progressing")
        .await;
    world
        .server
        .edit("codegentasks", "words", |task| task["status"][field] = value);
    let state = |world: &World| {
        let status = world.server.get::<CodeGenTask>("words").unwrap().status.unwrap();
        (status.progress, status.progress_version)
    };
    let (before, calls) = (state(&world), world.provider.calls().await);
    world.settle::<CodeGenTask>("words").await;
    assert_eq!(state(&world), before);
    assert_eq!(
        world.stage_and_reason::<CodeGenTask>("words"),
        "GeneratingCode Configuration"
    );
    let message = world.message::<CodeGenTask>("words");
    assert!(message.contains(words), "{message}");
    assert_eq!(world.provider.calls().await, calls);
}
