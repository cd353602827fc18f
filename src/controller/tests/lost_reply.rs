//! A write lands, and its reply is lost: the operator does not know, and goes by what it finds.

use rstest::rstest;
use serde_json::json;

use crate::controller::tests::api_server::Fault;
use crate::controller::tests::world::World;
use codegen_api::CodeGenTask;

const ALL: [&str; 3] = ["plan", "code", "tests"];

/// A task of which the reply to this write is lost.
async fn losing(call: &str) -> World {
    let mut world = World::new().await;
    world.apply_task("words", &json!({}));
    world.server.fail(call, Fault::ReplyLost);
    // A pass that failed is requeued.
    for _ in 0..2 {
        world.settle::<CodeGenTask>("words").await;
    }
    let (stage, message) = (
        world.stage_and_reason::<CodeGenTask>("words"),
        world.message::<CodeGenTask>("words"),
    );
    assert_eq!(stage, "Succeeded Unverified", "{message}");
    assert_eq!(world.provider.calls().await, ALL);
    world
}

#[tokio::test]
async fn a_lost_reply_to_the_last_write_loses_neither_the_clearing_up_nor_the_event() {
    let mut world = losing("status CodeGenTask words: Succeeded").await;
    let calls = world.server.calls();
    let last = calls
        .iter()
        .position(|call| call.starts_with("status CodeGenTask words: Succeeded"));
    let cleared = |call: &&String| call.starts_with("delete all Secret");
    assert_eq!(
        calls[last.unwrap()..].iter().filter(cleared).count(),
        1,
        "{calls:#?}"
    );
    assert_eq!(world.server.of_component("secrets", "record").len(), 0);
    assert_eq!(world.server.of_component("secrets", "result").len(), 1);
    // Events of the step itself are sent after its write, which is found.
    assert_eq!(
        world.events("words").await,
        ["ImageFound", "AttemptPassed", "Succeeded"]
    );
}

#[rstest]
#[case::of_the_snapshot("create Secret snapshot")]
#[case::of_the_first_progress("status CodeGenTask words: ReadingSamples")]
#[case::of_a_document("create Secret record documents/profiles.json")]
#[case::of_what_samples_say("status CodeGenTask words: Planning")]
#[case::of_a_plan("status CodeGenTask words: GeneratingCode")]
#[case::of_a_program("status CodeGenTask words: GeneratingTests")]
#[case::of_a_suite("status CodeGenTask words: RunningTests")]
#[case::of_a_report("create Secret record documents/run-0001.json")]
#[case::of_a_result("create Secret result")]
#[case::of_a_published_result("create ConfigMap result")]
#[tokio::test]
async fn a_lost_reply_on_the_way_costs_no_call_and_no_execution(#[case] call: &str) {
    let world = losing(call).await;
    let calls = world.server.calls();
    let pods = calls.iter().filter(|call| *call == "create Pod sandbox");
    assert_eq!(pods.count(), 1, "{calls:#?}");
    assert_eq!(world.status_of("words").lost_calls, 0);
}

#[tokio::test]
async fn a_lost_reply_to_the_intent_of_a_call_counts_no_call_as_lost() {
    let mut world = World::new().await;
    world.apply_task("words", &json!({}));
    world.until::<CodeGenTask>("words", "Planning Progressing").await;
    let intent = "status CodeGenTask words: Planning";
    world.server.fail(intent, Fault::ReplyLost);
    world.ends_well("words").await;
    assert_eq!(world.provider.calls().await, ALL);
    assert_eq!(world.status_of("words").lost_calls, 0);
}

#[rstest]
#[case::landed(Fault::ReplyLost)]
#[case::did_not_land(Fault::Refused(500, "InternalError"))]
#[tokio::test]
async fn a_reply_of_the_model_whose_record_failed_stays_in_memory_and_is_not_requested_again(
    #[case] fault: Fault,
) {
    let mut world = World::new().await;
    world.apply_task("words", &json!({}));
    world
        .server
        .fail("create Secret record calls/0002-code.json", fault);
    world
        .until::<CodeGenTask>("words", "GeneratingCode Infrastructure")
        .await;
    world.ends_well("words").await;
    assert_eq!(world.provider.calls().await, ALL);
    assert_eq!(world.status_of("words").lost_calls, 0);
}

#[tokio::test]
async fn a_reply_whose_record_landed_is_found_by_an_operator_that_begins_then() {
    let mut world = World::new().await;
    world.apply_task("words", &json!({}));
    world
        .server
        .fail("create Secret record calls/0002-code.json", Fault::ReplyLost);
    world
        .until::<CodeGenTask>("words", "GeneratingCode Infrastructure")
        .await;
    world.restart().await;
    world.ends_well("words").await;
    assert_eq!(world.provider.calls().await, ALL);
}
