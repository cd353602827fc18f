//! Runs that meet a conflict, an old cache, a deletion, a lost reply, or what an earlier try has left.

use std::sync::Arc;

use kube::runtime::controller::Action;
use rstest::rstest;
use serde_json::{Value, json};

use crate::controller::tests::api_server::Fault;
use crate::controller::tests::runs::{applied, pods_created};
use crate::controller::tests::world::World;
use codegen_api::CodeGenRun;

const SUCCEEDED: &str = "Succeeded ProgramSucceeded";

fn label(world: &World) {
    world.server.edit("codegenruns", "count", |run| {
        run["metadata"]["labels"] = json!({"team": "a"});
    });
}

/// The run after its Pod has ended, before that was seen.
async fn ended() -> World {
    let mut world = applied("{}").await;
    world.until::<CodeGenRun>("count", "Running Running").await;
    assert_eq!(world.node.end_pods(&world.server).await, 1);
    world
}

#[tokio::test]
async fn a_conflict_at_the_first_write_starts_no_second_pod() {
    let mut world = applied("{}").await;
    let seen: Arc<CodeGenRun> = world.cached("count");
    label(&world);
    assert_eq!(world.reconcile_seen(seen).await, Action::await_change());
    world.settle::<CodeGenRun>("count").await;
    assert_eq!(world.stage_and_reason::<CodeGenRun>("count"), SUCCEEDED);
    let calls = world.server.calls();
    let times = |line: &str| calls.iter().filter(|call| call.starts_with(line)).count();
    assert_eq!(
        times("status CodeGenRun count: Running Running -> 409 Conflict"),
        1,
        "{calls:#?}"
    );
    assert_eq!(
        calls.iter().filter(|call| *call == "create Pod sandbox").count(),
        1,
        "{calls:#?}"
    );
}

#[tokio::test]
async fn a_conflict_at_the_last_write_uses_the_outputs_that_are_stored_already() {
    let mut world = ended().await;
    let seen: Arc<CodeGenRun> = world.cached("count");
    label(&world);
    world.server.calls();
    assert_eq!(world.reconcile_seen(seen).await, Action::await_change());
    world.server.assert_calls(
        "get Pod sandbox
         log of Pod sandbox
         create Secret outputs
         status CodeGenRun count: Succeeded ProgramSucceeded -> 409 Conflict",
    );
    world.settle::<CodeGenRun>("count").await;
    world.server.assert_calls(
        "get Pod sandbox
         log of Pod sandbox
         create Secret outputs -> 409 AlreadyExists
         get Secret outputs
         status CodeGenRun count: Succeeded ProgramSucceeded
         ~ delete all Secret sandbox,reader,snapshot
         ~ delete all Pod sandbox,reader,snapshot",
    );
}

#[tokio::test]
async fn a_run_that_is_seen_as_it_was_before_the_last_write_is_left_alone() {
    let mut world = applied("{}").await;
    let new: Arc<CodeGenRun> = world.cached("count");
    world.reconcile::<CodeGenRun>("count").await;
    let running: Arc<CodeGenRun> = world.cached("count");
    world.server.calls();
    assert_eq!(world.reconcile_seen(new).await, Action::await_change());
    world.server.assert_calls("");
    world.node.end_pods(&world.server).await;
    world.reconcile::<CodeGenRun>("count").await;
    assert_eq!(world.stage_and_reason::<CodeGenRun>("count"), SUCCEEDED);
    world.server.calls();
    assert_eq!(world.reconcile_seen(running).await, Action::await_change());
    world.server.assert_calls("");
}

#[tokio::test]
async fn an_operator_that_begins_with_a_run_as_it_was_before_its_start_starts_no_second_pod() {
    let mut world = applied("{}").await;
    let seen: Arc<CodeGenRun> = world.cached("count");
    world.reconcile::<CodeGenRun>("count").await;
    world.restart().await;
    assert_eq!(world.reconcile_seen(seen).await, Action::await_change());
    assert_eq!(world.server.of_component("pods", "sandbox").len(), 1);
    world.settle::<CodeGenRun>("count").await;
    assert_eq!(world.stage_and_reason::<CodeGenRun>("count"), SUCCEEDED);
    assert_eq!(pods_created(&world), 0);
}

#[rstest]
#[case::before_its_first_pass("")]
#[case::with_a_pod("Running Running")]
#[tokio::test]
async fn a_run_that_is_being_deleted_is_left_alone_and_gives_up_its_place(#[case] stage: &str) {
    let mut world = applied("limits: {maxConcurrentRuns: 1}").await;
    world.apply_run("next", &json!({"taskRef": {"name": "words"}, "cache": "Disable"}));
    world.until::<CodeGenRun>("count", stage).await;
    let has_begun = !stage.is_empty();
    if has_begun {
        world.reconcile::<CodeGenRun>("next").await;
    }
    world.server.edit("codegenruns", "count", |run| {
        run["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    });
    world.server.calls();
    let mut woken = world.context.runs.woken();
    assert_eq!(
        world.reconcile::<CodeGenRun>("count").await,
        Action::await_change()
    );
    world.server.assert_calls("");
    if has_begun {
        assert_eq!(woken.try_recv().unwrap().name, "next");
    }
}

#[tokio::test]
async fn a_run_that_goes_while_it_is_reconciled_is_not_made_again() {
    let mut world = ended().await;
    let seen: Arc<CodeGenRun> = world.cached("count");
    world.server.remove("codegenruns", "count");
    assert_eq!(world.reconcile_seen(seen).await, Action::await_change());
    assert_eq!(world.server.all("codegenruns").len(), 0);
}

#[tokio::test]
async fn a_run_whose_time_is_over_is_deleted() {
    let mut world = World::new().await;
    world.succeeded("words").await;
    world.apply_run(
        "count",
        &json!({"taskRef": {"name": "words"}, "ttlSecondsAfterFinished": 0}),
    );
    world.until::<CodeGenRun>("count", SUCCEEDED).await;
    world.server.calls();
    world.reconcile::<CodeGenRun>("count").await;
    world.server.assert_calls("delete CodeGenRun count");
}

#[tokio::test]
async fn a_lost_reply_to_the_last_write_loses_neither_the_clearing_up_nor_the_event() {
    let mut world = ended().await;
    world
        .server
        .fail("status CodeGenRun count: Succeeded", Fault::ReplyLost);
    world.settle::<CodeGenRun>("count").await;
    assert_eq!(world.stage_and_reason::<CodeGenRun>("count"), SUCCEEDED);
    let calls = world.server.calls();
    let cleared = calls.iter().filter(|call| call.starts_with("delete all Pod"));
    assert_eq!(cleared.count(), 1, "{calls:#?}");
    assert_eq!(world.server.all("pods").len(), 0);
    assert!(
        world
            .context
            .metrics
            .text()
            .unwrap()
            .contains("runs_ended_total{stage=\"Succeeded\"")
    );
    assert_eq!(world.events("count").await, ["Succeeded"]);
}

#[rstest]
#[case::of_what_it_goes_by("create Secret snapshot")]
#[case::of_its_job("create Secret sandbox")]
#[case::of_its_pod("create Pod sandbox")]
#[case::of_its_start("status CodeGenRun count: Running")]
#[case::of_its_outputs("create Secret outputs")]
#[tokio::test]
async fn a_lost_reply_on_the_way_starts_no_second_pod(#[case] call: &str) {
    let mut world = applied("{}").await;
    world.server.fail(call, Fault::ReplyLost);
    for _ in 0..2 {
        world.settle::<CodeGenRun>("count").await;
    }
    assert_eq!(
        world.stage_and_reason::<CodeGenRun>("count"),
        SUCCEEDED,
        "{}",
        world.message::<CodeGenRun>("count")
    );
    let calls = world.server.calls();
    let made = calls
        .iter()
        .filter(|call| *call == "create Pod sandbox" || *call == "create Pod sandbox -> 504 Timeout");
    assert_eq!(made.count(), 1, "{calls:#?}");
}

#[tokio::test]
async fn a_pod_of_an_earlier_try_is_taken() {
    let mut world = applied("{}").await;
    for _ in 0..2 {
        world
            .server
            .fail("status CodeGenRun count", Fault::Refused(500, "InternalError"));
    }
    world.reconcile::<CodeGenRun>("count").await;
    world.restart().await;
    world.settle::<CodeGenRun>("count").await;
    assert_eq!(world.stage_and_reason::<CodeGenRun>("count"), SUCCEEDED);
    assert_eq!(pods_created(&world), 0);
}

#[tokio::test]
async fn a_pod_that_somebody_has_changed_is_deleted_and_another_one_takes_its_place() {
    let mut world = ended().await;
    let pods = world.server.all("pods");
    let name = pods[0]["metadata"]["name"].as_str().unwrap();
    world.server.edit("pods", name, |pod| {
        pod["spec"]["containers"][0]["command"] = json!(["/bin/true"]);
    });
    world.server.calls();
    world.settle::<CodeGenRun>("count").await;
    assert_eq!(world.stage_and_reason::<CodeGenRun>("count"), SUCCEEDED);
    let calls = world.server.calls();
    assert_eq!(
        calls[..2],
        ["get Pod sandbox", "delete Pod sandbox"],
        "{calls:#?}"
    );
    assert_eq!(
        calls.iter().filter(|call| *call == "create Pod sandbox").count(),
        1
    );
}

#[tokio::test]
async fn what_a_run_goes_by_is_not_read_where_somebody_has_replaced_it() {
    let mut world = applied("{}").await;
    world.until::<CodeGenRun>("count", "Running Running").await;
    let name = world.object::<CodeGenRun>("count")["status"]["snapshot"]
        .as_str()
        .unwrap()
        .to_owned();
    world
        .server
        .edit("secrets", &name, |secret| secret["immutable"] = false.into());
    world.restart().await;
    world.settle::<CodeGenRun>("count").await;
    assert_eq!(
        world.stage_and_reason::<CodeGenRun>("count"),
        "Running Configuration"
    );
    let message = world.message::<CodeGenRun>("count");
    assert!(message.contains(&format!("Secret data/{name}")), "{message}");
}

#[tokio::test]
async fn outputs_that_somebody_has_put_in_the_place_of_the_programs_are_named() {
    let mut world = ended().await;
    let fault = Fault::Refused(409, "Conflict");
    world.server.fail("status CodeGenRun count: Succeeded", fault);
    world.reconcile::<CodeGenRun>("count").await;
    let outputs = world.server.of_component("secrets", "outputs");
    let name = outputs[0]["metadata"]["name"].as_str().unwrap();
    let change = |secret: &mut Value| secret["data"]["file.1"] = "Mwo=".into();
    world.server.edit("secrets", name, change);
    world.settle::<CodeGenRun>("count").await;
    assert_eq!(
        world.stage_and_reason::<CodeGenRun>("count"),
        "Running Configuration"
    );
    let message = world.message::<CodeGenRun>("count");
    assert!(message.contains(&format!("Secret data/{name}")), "{message}");
}

/// One execution of the run after the other, each of whose Pods comes to such an end.
async fn executed(world: &mut World, ends: &[fn(&World, &str)]) {
    for end in ends {
        // Made, and then seen under way.
        for _ in 0..2 {
            world.reconcile::<CodeGenRun>("count").await;
        }
        let pods = world.server.of_component("pods", "sandbox");
        let under_way = pods.iter().filter(|pod| pod["status"]["phase"].is_null());
        let names: Vec<&str> = under_way
            .map(|pod| pod["metadata"]["name"].as_str().unwrap())
            .collect();
        let [name] = names.as_slice() else {
            panic!("one Pod is under way, and not {names:?}");
        };
        end(world, name);
        world.reconcile::<CodeGenRun>("count").await;
    }
}

/// The node of the Pod is gone.
fn lost(world: &World, pod: &str) {
    world.server.remove("pods", pod);
}

/// The program has ended the harness.
fn silent(world: &World, pod: &str) {
    world.server.edit("pods", pod, |pod| {
        let ended = json!({"exitCode": 137, "reason": "Error", "finishedAt": "2026-01-01T00:00:00Z"});
        pod["status"] = json!({"phase": "Failed", "containerStatuses": [{
            "name": "sandbox", "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": {"terminated": ended},
        }]});
    });
}

#[tokio::test]
async fn nodes_that_go_do_not_count_as_programs_that_end_their_sandbox() {
    let mut world = applied("{}").await;
    executed(&mut world, &[lost, lost, lost, silent, silent, silent]).await;
    assert_eq!(world.object::<CodeGenRun>("count")["status"]["executions"], 6);
    world.settle::<CodeGenRun>("count").await;
    assert_eq!(world.stage_and_reason::<CodeGenRun>("count"), SUCCEEDED);
}

#[tokio::test]
async fn a_program_that_ends_its_sandbox_again_and_again_has_failed() {
    let mut world = applied("{}").await;
    executed(&mut world, &[silent, silent, silent, silent]).await;
    assert_eq!(
        world.stage_and_reason::<CodeGenRun>("count"),
        "Failed LimitExceeded"
    );
}
