//! A run from its creation to its end, what it waits for, and outputs that it takes from another one.

use std::time::Duration;

use kube::runtime::controller::Action;
use kube::runtime::reflector::ObjectRef;
use rstest::rstest;
use serde_json::{Value, json};

use crate::controller::tests::api_server::NAMESPACE;
use crate::controller::tests::world::{World, soon};
use codegen_api::{CodeGenRun, CodeGenTask};

/// The run `count` of the task `words`, which has succeeded.
pub async fn applied(settings: &str) -> World {
    let mut world = World::configured(settings).await;
    world.succeeded("words").await;
    world.apply_run("count", &of_words());
    world.server.calls();
    world
}

pub fn of_words() -> Value {
    json!({"taskRef": {"name": "words"}})
}

/// Counts the Pods that were created since calls were asked for last.
pub fn pods_created(world: &World) -> usize {
    let calls = world.server.calls();
    calls.iter().filter(|call| *call == "create Pod sandbox").count()
}

/// Returns the value of the only output in the status.
fn output(world: &World, run: &str) -> Value {
    world.object::<CodeGenRun>(run)["status"]["outputs"][0]["value"].clone()
}

#[tokio::test]
async fn a_run_goes_from_creation_to_its_outputs_in_these_calls_and_no_others() {
    let mut world = applied("{}").await;
    let action = world.settle::<CodeGenRun>("count").await;
    world.server.assert_calls(
        "get CodeGenTask words
         get Secret result
         ~ create Secret snapshot
         ~ create Secret sandbox
         ~ list NetworkPolicy
         ~ get ConfigMap harness
         create Pod sandbox
         status CodeGenRun count: Running Running
         get Pod sandbox
         log of Pod sandbox
         create Secret outputs
         status CodeGenRun count: Succeeded ProgramSucceeded
         ~ delete all Secret sandbox,reader,snapshot
         ~ delete all Pod sandbox,reader,snapshot",
    );
    assert_eq!(action, Action::await_change());
    assert_eq!(output(&world, "count"), "2");
    assert_eq!(world.events("count").await, ["Succeeded"]);
}

#[tokio::test]
async fn a_run_whose_program_fails_says_how_and_leaves_nothing() {
    let mut world = applied("{}").await;
    world.node.exit_code = 3;
    world.settle::<CodeGenRun>("count").await;
    assert_eq!(
        world.stage_and_reason::<CodeGenRun>("count"),
        "Failed ProgramFailed"
    );
    assert_eq!(world.server.of_component("secrets", "outputs").len(), 0);
    assert_eq!(world.server.all("pods").len(), 0);
    assert_eq!(pods_created(&world), 1);
    assert_eq!(world.events("count").await, ["Failed"]);
}

#[tokio::test]
async fn a_run_waits_for_its_task_and_goes_on_when_that_has_succeeded() {
    let mut world = World::new().await;
    world.apply_run("count", &of_words());
    assert_eq!(
        world.reconcile::<CodeGenRun>("count").await,
        Action::await_change()
    );
    world.server.assert_calls(
        "get CodeGenTask words (absent)
         status CodeGenRun count: Pending TaskNotFound",
    );
    world.reconcile::<CodeGenRun>("count").await;
    world.server.assert_calls("get CodeGenTask words (absent)");

    let mut woken = world.context.runs.woken();
    let count = ObjectRef::new("count").within(NAMESPACE);
    world.node.outputs.insert("words".to_owned(), "2\n".to_owned());
    world.apply_task(
        "words",
        &json!({"outputs": [{"name": "words", "type": "Int"}], "testing": {"cases": "Off"}}),
    );
    world.watch_all();
    assert_eq!(woken.try_recv().unwrap(), count, "the task is there");
    world.reconcile::<CodeGenRun>("count").await;
    assert_eq!(
        world.stage_and_reason::<CodeGenRun>("count"),
        "Pending AwaitingTask"
    );
    world.settle::<CodeGenTask>("words").await;
    world.watch_all();
    assert_eq!(woken.try_recv().unwrap(), count, "the task has succeeded");
    world.settle::<CodeGenRun>("count").await;
    assert_eq!(
        world.stage_and_reason::<CodeGenRun>("count"),
        "Succeeded ProgramSucceeded"
    );
}

#[tokio::test]
async fn a_run_whose_secret_is_missing_says_so_once_and_goes_on_when_it_is_there() {
    let mut world = World::new().await;
    world.succeeded("words").await;
    let secret = json!({"name": "TOKEN", "secretKeyRef": {"name": "token", "key": "token"}});
    world.apply_run(
        "count",
        &json!({"taskRef": {"name": "words"}, "sandbox": {"secrets": [secret]}}),
    );
    world.settle::<CodeGenRun>("count").await;
    assert_eq!(
        world.stage_and_reason::<CodeGenRun>("count"),
        "Running Configuration"
    );
    let message = world.message::<CodeGenRun>("count");
    assert!(message.contains("data/token"), "{message}");
    assert_eq!(pods_created(&world), 0);
    let action = world.reconcile::<CodeGenRun>("count").await;
    assert!(action != Action::await_change());
    world.server.assert_calls("get Secret token (absent)");

    world.server.create(json!({
        "apiVersion": "v1", "kind": "Secret", "data": {"token": "c2VjcmV0"},
        "metadata": {"name": "token", "labels": {"codegen-operator.dev/use": "sandbox"}},
    }));
    world.settle::<CodeGenRun>("count").await;
    assert_eq!(
        world.stage_and_reason::<CodeGenRun>("count"),
        "Succeeded ProgramSucceeded"
    );
    assert_eq!(pods_created(&world), 1);
}

#[tokio::test]
async fn a_run_beyond_the_limit_waits_in_the_queue_until_a_place_is_free() {
    let mut world = applied("limits: {maxConcurrentRuns: 1}").await;
    world.apply_run("next", &json!({"taskRef": {"name": "words"}, "cache": "Disable"}));
    world.reconcile::<CodeGenRun>("count").await;
    let action = world.reconcile::<CodeGenRun>("next").await;
    assert_eq!(action, Action::requeue(Duration::from_secs(1)));
    assert_eq!(world.stage_and_reason::<CodeGenRun>("next"), "Pending Queued");
    let mut woken = world.context.runs.woken();
    world.node.end_pods(&world.server).await;
    world.settle::<CodeGenRun>("count").await;
    assert_eq!(soon(woken.recv()).await.unwrap().name, "next");
    world.settle::<CodeGenRun>("next").await;
    assert_eq!(
        world.stage_and_reason::<CodeGenRun>("next"),
        "Succeeded ProgramSucceeded"
    );
}

#[tokio::test]
async fn a_run_of_the_same_takes_the_outputs_of_the_one_before_it_and_starts_no_program() {
    let mut world = applied("{}").await;
    world.settle::<CodeGenRun>("count").await;
    world.apply_run("again", &of_words());
    world.server.calls();
    world.settle::<CodeGenRun>("again").await;
    world.server.assert_calls(
        "get CodeGenTask words
         get CodeGenRun count
         get Secret outputs
         create Secret outputs
         status CodeGenRun again: Succeeded OutputsAdopted
         ~ delete all Secret sandbox,reader,snapshot
         ~ delete all Pod sandbox,reader,snapshot",
    );
    assert_eq!(output(&world, "again"), "2");
    assert_eq!(
        world.object::<CodeGenRun>("again")["status"]["adoptedFrom"],
        "count"
    );
}

#[rstest]
#[case::it_says_so(json!({"cache": "Override"}), json!({}))]
#[case::they_were_changed(json!({}), json!({"data": {"file.1": "Mwo="}}))]
#[case::they_are_anothers(json!({}), json!({"type": "Opaque"}))]
#[tokio::test]
async fn a_run_of_the_same_runs_itself_where(#[case] spec: Value, #[case] outputs: Value) {
    let mut world = applied("{}").await;
    world.settle::<CodeGenRun>("count").await;
    let stored = world.server.of_component("secrets", "outputs");
    let name = stored[0]["metadata"]["name"].as_str().unwrap();
    world.server.edit("secrets", name, |secret| {
        for (field, value) in outputs.as_object().unwrap() {
            secret[field] = value.clone();
        }
    });
    let mut whole = of_words();
    whole
        .as_object_mut()
        .unwrap()
        .extend(spec.as_object().unwrap().clone());
    world.apply_run("again", &whole);
    world.server.calls();
    world.settle::<CodeGenRun>("again").await;
    assert_eq!(
        world.stage_and_reason::<CodeGenRun>("again"),
        "Succeeded ProgramSucceeded"
    );
    assert_eq!(pods_created(&world), 1);
}
