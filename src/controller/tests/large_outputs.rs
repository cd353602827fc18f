//! Outputs of a rehearsal that are too large for its report: another Pod, and no other attempt or call.

use serde_json::{Value, json};

use crate::controller::tests::world::World;
use codegen_api::CodeGenTask;
use codegen_core::stored_outputs::FoundOutput;

const OPERATOR: &str = "operatorImage: registry.example/operator@sha256:00";

fn read() -> FoundOutput {
    FoundOutput::Read {
        sha256: "0123456789abcdef".repeat(4),
        bytes: 8 << 20,
        files: 1,
        value: None,
        findings: Vec::new(),
    }
}

/// A task whose only output is larger than a report.
async fn large(found: FoundOutput, spec: &Value) -> World {
    let mut world = World::configured(OPERATOR).await;
    world.node.large.insert("words".to_owned(), 8 << 20);
    world.node.found = vec![found];
    let mut whole = json!({"outputs": [{"name": "words", "type": "File"}], "testing": {"cases": "Off"}});
    for (field, value) in spec.as_object().unwrap() {
        whole[field] = value.clone();
    }
    world.apply_task("words", &whole);
    world.settle::<CodeGenTask>("words").await;
    world
}

fn pods_created(world: &World) -> usize {
    let calls = world.server.calls();
    calls.iter().filter(|call| call.contains("create Pod")).count()
}

#[tokio::test]
async fn a_large_output_is_checked_in_another_pod_and_spends_no_attempt_and_no_call() {
    let world = large(read(), &json!({})).await;
    let message = world.message::<CodeGenTask>("words");
    assert_eq!(
        world.stage_and_reason::<CodeGenTask>("words"),
        "Succeeded Unverified",
        "{message}"
    );
    assert_eq!(world.provider.calls().await, ["plan", "code", "tests"]);
    assert_eq!(pods_created(&world), 2, "{:#?}", world.server.calls());
    let status = world.status_of("words");
    assert_eq!(status.attempts.len(), 1);
    let rehearsal = status.rehearsal.unwrap();
    assert_eq!(
        rehearsal.message.unwrap(),
        "the output words has 8388608 bytes, sha256 0123456789ab, and was checked on the disk that the program wrote it to"
    );
    assert!(
        message.contains(
            "a CodeGenRun with spec.outputs.persistentVolumeClaim makes them of the same samples again"
        ),
        "{message}"
    );
}

#[tokio::test]
async fn what_the_checker_finds_wrong_fails_the_attempt() {
    let wrong = FoundOutput::Wrong("it is a link or a socket".to_owned());
    let world = large(wrong, &json!({"limits": {"maxIterations": 1}})).await;
    assert_eq!(
        world.stage_and_reason::<CodeGenTask>("words"),
        "Failed IterationsExhausted"
    );
    let message = world.message::<CodeGenTask>("words");
    assert!(
        message.contains("output words: it is a link or a socket"),
        "{message}"
    );
}

#[tokio::test]
async fn what_is_larger_than_a_disk_takes_still_waits_for_a_person() {
    let world = large(FoundOutput::TooLarge(None), &json!({})).await;
    assert_eq!(
        world.condition::<CodeGenTask>("words", "Stalled").as_deref(),
        Some("True OutputTooLarge")
    );
    assert_eq!(world.status_of("words").attempts.len(), 0);
}

#[tokio::test]
async fn outputs_that_fit_their_report_cost_no_other_pod() {
    let mut world = World::configured(OPERATOR).await;
    world.node.outputs.insert("words".to_owned(), "2\n".to_owned());
    let spec = json!({"outputs": [{"name": "words", "type": "File"}], "testing": {"cases": "Off"}});
    world.apply_task("words", &spec);
    world.ends_well("words").await;
    let message = world.message::<CodeGenTask>("words");
    assert!(!message.contains("CodeGenRun"), "{message}");
    assert_eq!(pods_created(&world), 1);
}

#[tokio::test]
async fn a_task_that_names_room_for_its_outputs_writes_them_there_from_the_first() {
    let spec = json!({
        "testing": {"cases": "Off", "mode": "Skip"},
        "sandbox": {"resources": {"limits": {"ephemeral-storage": "2Gi"}}},
    });
    let mut world = large(read(), &spec).await;
    world.ends_well("words").await;
    assert_eq!(pods_created(&world), 1, "{:#?}", world.server.calls());
}
