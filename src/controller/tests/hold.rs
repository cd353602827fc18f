//! Tasks that cannot go on for now: each says why once, costs nothing meanwhile, and goes on when that is over.

use std::time::Duration;

use kube::Api;
use kube::runtime::controller::Action;
use serde_json::json;

use crate::controller::approvals;
use crate::controller::tests::api_server::{Fault, NAMESPACE};
use crate::controller::tests::world::{World, soon};
use codegen_api::{CodeGenApproval, CodeGenTask};
use codegen_sandbox::kubernetes::isolation::{API_SERVER, IsolationVerdict};

const ALL: [&str; 3] = ["plan", "code", "tests"];

fn again_after(seconds: u64) -> Action {
    Action::requeue(Duration::from_secs(seconds))
}

#[tokio::test]
async fn a_task_whose_key_is_missing_says_so_once_calls_nobody_and_goes_on_when_the_key_is_there() {
    let mut world = World::new().await;
    let model = json!({
        "name": "test-model", "baseURL": format!("{}/v1", world.provider.origin()),
        "apiKeySecretRef": {"name": "openai", "key": "api-key"},
    });
    world.apply_task("words", &json!({"model": model}));
    let action = world.settle::<CodeGenTask>("words").await;
    assert_eq!(
        world.stage_and_reason::<CodeGenTask>("words"),
        "Planning Configuration"
    );
    let message = world.message::<CodeGenTask>("words");
    assert!(message.contains("data/openai"), "{message}");
    assert_eq!(action, again_after(2));
    world.server.calls();
    assert_eq!(
        world.reconcile::<CodeGenTask>("words").await,
        again_after(4),
        "later each time"
    );
    world.server.assert_calls("get Secret openai (absent)");
    for _ in 0..2 {
        assert_eq!(world.reconcile::<CodeGenTask>("words").await, again_after(5));
    }
    assert_eq!(world.provider.calls().await, [""; 0]);

    world.server.create(json!({
        "apiVersion": "v1", "kind": "Secret", "data": {"api-key": "c2s="}, "metadata": {
            "name": "openai", "labels": {"codegen-operator.dev/use": "model"},
            "annotations": {"codegen-operator.dev/hosts": world.provider.host()},
        },
    }));
    world.ends_well("words").await;
    assert_eq!(world.provider.calls().await, ALL);
}

#[tokio::test]
async fn a_task_whose_sample_is_missing_goes_on_when_it_is_there() {
    let mut world = World::new().await;
    let sample = json!({"name": "lines", "configMapKeyRef": {"name": "texts", "key": "lines.csv"}});
    world.apply_task("words", &json!({"samples": [sample]}));
    assert_eq!(world.settle::<CodeGenTask>("words").await, again_after(2));
    assert_eq!(
        world.stage_and_reason::<CodeGenTask>("words"),
        "Pending Configuration"
    );
    let message = world.message::<CodeGenTask>("words");
    assert!(
        message.contains("ConfigMap data/texts, which is not there"),
        "{message}"
    );

    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "texts"}, "data": {"lines.csv": "a,b\n1,2\n"}});
    world.server.create(map);
    world
        .until::<CodeGenTask>("words", "GeneratingCode Progressing")
        .await;
    assert_eq!(world.provider.calls().await, ["plan"]);
}

#[tokio::test]
async fn a_suspended_task_pauses_before_its_next_step_and_goes_on_where_it_was() {
    let mut world = World::new().await;
    world.apply_task("words", &json!({}));
    world
        .until::<CodeGenTask>("words", "GeneratingCode Progressing")
        .await;
    world.server.edit("codegentasks", "words", |task| {
        task["spec"]["suspend"] = true.into();
    });
    world.server.calls();
    assert_eq!(
        world.reconcile::<CodeGenTask>("words").await,
        Action::await_change()
    );
    world
        .server
        .assert_calls("status CodeGenTask words: GeneratingCode Suspended");
    assert_eq!(
        world.reconcile::<CodeGenTask>("words").await,
        Action::await_change()
    );
    world.server.assert_calls("");

    world.server.edit("codegentasks", "words", |task| {
        task["spec"]["suspend"] = false.into();
    });
    world.ends_well("words").await;
    assert_eq!(world.provider.calls().await, ALL);
}

#[tokio::test]
async fn a_task_at_a_gate_waits_for_exactly_its_approval_and_goes_on_with_it() {
    let mut world = World::new().await;
    world.apply_task("words", &json!({"approvals": ["Plan"]}));
    let action = world.settle::<CodeGenTask>("words").await;
    assert_eq!(
        world.stage_and_reason::<CodeGenTask>("words"),
        "GeneratingCode AwaitingApproval"
    );
    assert_eq!(action, again_after(300));
    world.server.calls();
    assert_eq!(world.reconcile::<CodeGenTask>("words").await, again_after(300));
    world.server.assert_calls("");
    assert_eq!(world.provider.calls().await, ["plan"]);

    let task = world.object::<CodeGenTask>("words");
    world.server.create(json!({
        "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeGenApproval", "metadata": {"name": "words-plan"},
        "spec": {
            "taskRef": {"name": "words", "uid": task["metadata"]["uid"]}, "gate": "Plan",
            "hash": task["status"]["approval"]["hash"], "decision": "Approve", "decidedBy": "ada",
        },
    }));
    let decisions: Api<CodeGenApproval> = Api::namespaced(world.context.client.clone(), NAMESPACE);
    let mut woken = world.context.tasks.woken();
    tokio::select! {
        () = approvals::watch_decisions(&world.context, decisions) => unreachable!("it does not end"),
        task = soon(woken.recv()) => assert_eq!(task.unwrap().name, "words"),
    }
    world.ends_well("words").await;
    assert_eq!(world.provider.calls().await, ALL);
}

#[tokio::test]
async fn a_task_beyond_the_limit_waits_in_the_queue_until_a_place_is_free() {
    let mut world = World::configured("limits: {maxConcurrentTasks: 1}").await;
    world.apply_task("words", &json!({}));
    world.apply_task("next", &json!({"prompt": "Count the words of another text."}));
    world.until::<CodeGenTask>("words", "Planning Progressing").await;
    world.server.calls();
    assert_eq!(world.reconcile::<CodeGenTask>("next").await, again_after(300));
    world
        .server
        .assert_calls("status CodeGenTask next: Pending Queued");
    world.reconcile::<CodeGenTask>("next").await;
    world.server.assert_calls("");

    let mut woken = world.context.tasks.woken();
    world.settle::<CodeGenTask>("words").await;
    assert_eq!(soon(woken.recv()).await.unwrap().name, "next");
    world.ends_well("next").await;
}

#[tokio::test]
async fn a_task_is_held_before_its_first_code_runs_until_it_is_shown_that_the_cluster_isolates() {
    let mut world = World::new().await;
    let pools = world.context.settings.sandbox.node_pools();
    let why = "the first look is under way".to_owned();
    world
        .context
        .isolation
        .found(&pools[0], IsolationVerdict::Unknown { why });
    world.apply_task("words", &json!({}));
    world.settle::<CodeGenTask>("words").await;
    assert_eq!(
        world.stage_and_reason::<CodeGenTask>("words"),
        "GeneratingTests Queued"
    );
    assert_eq!(world.server.all("pods").len(), 0);

    let blocked = vec![API_SERVER.to_owned()];
    world.context.isolation.found(
        &pools[0],
        IsolationVerdict::Enforced {
            blocked,
            unproved: Vec::new(),
        },
    );
    world.ends_well("words").await;
    assert_eq!(world.provider.calls().await, ALL);
}

#[tokio::test]
async fn the_wait_for_a_place_makes_the_pause_after_a_failure_no_longer() {
    let mut world = World::configured("limits: {maxConcurrentTasks: 1}").await;
    world.apply_task("words", &json!({}));
    world.reconcile::<CodeGenTask>("words").await;
    world.apply_task("next", &json!({"prompt": "Count the words of another text."}));
    for _ in 0..3 {
        assert_eq!(world.reconcile::<CodeGenTask>("next").await, again_after(300));
    }
    world.server.remove("codegentasks", "words");
    world.watch_all();
    let failed = Fault::Refused(500, "InternalError");
    world.server.fail("create Secret snapshot", failed);
    assert_eq!(world.reconcile::<CodeGenTask>("next").await, again_after(1));
}
