//! A task that has ended is tried again when somebody asks for it.

use serde_json::{Value, json};

use crate::controller::tests::world::World;
use codegen_api::CodeGenTask;
use codegen_engine::test_support::{Fake, failure, splits};

const ALL: [&str; 3] = ["plan", "code", "tests"];
const HINT: &str = "words are separated by white space";

/// Somebody asks for another try.
fn ask(world: &World, token: &str, replan: Option<&str>, hint: Option<&str>) {
    world.server.edit("codegentasks", "words", |task| {
        let annotations = &mut task["metadata"]["annotations"];
        *annotations = json!({"codegen-operator.dev/retry": token});
        for (name, value) in [("retry-replan", replan), ("retry-hint", hint)] {
            if let Some(value) = value {
                annotations[format!("codegen-operator.dev/{name}")] = value.into();
            }
        }
    });
}

/// A task whose only attempt has failed, and whose next one passes.
async fn failed() -> World {
    let mut world = World::new().await;
    world.node.sandbox =
        Fake::new(|_, _, _| vec![failure("test_solution.py::test_counts", "AssertionError", "3")]);
    world.apply_task("words", &json!({"limits": {"maxIterations": 1}}));
    world.settle::<CodeGenTask>("words").await;
    assert_eq!(
        world.stage_and_reason::<CodeGenTask>("words"),
        "Failed IterationsExhausted"
    );
    world.node.sandbox = Fake::new(splits);
    world
}

#[tokio::test]
async fn a_task_that_failed_goes_on_with_fresh_replies_and_a_hint() {
    let mut world = failed().await;
    ask(&world, "1", None, Some(HINT));
    world.ends_well("words").await;
    assert_eq!(world.provider.calls().await, [ALL.as_slice(), &ALL[1..]].concat());
    let said = world.provider.said().await;
    let hinted: Vec<bool> = said.iter().map(|text| text.contains(HINT)).collect();
    assert_eq!(hinted, [false, false, false, true, true]);
    let status = world.status_of("words");
    assert_eq!(
        (status.retry_handled.as_deref(), status.retry_refused.as_deref()),
        (Some("1"), None)
    );
    let [retry] = status.retries.as_slice() else {
        panic!("one try: {:?}", status.retries)
    };
    assert_eq!(
        (retry.replan, retry.hint.as_deref(), retry.after.as_str()),
        (false, Some(HINT), "IterationsExhausted")
    );
    assert_eq!(status.attempts.len(), 2);
    // The same annotation asks for nothing more.
    world.server.calls();
    world.reconcile::<CodeGenTask>("words").await;
    world.server.assert_calls("");
    let events = world.events("words").await;
    assert!(events.contains(&"Retried".to_owned()), "{events:?}");
}

#[tokio::test]
async fn an_operator_that_begins_after_the_wish_goes_on_with_it() {
    let mut world = failed().await;
    ask(&world, "1", Some("true"), None);
    world.until::<CodeGenTask>("words", "Planning Progressing").await;
    world.restart().await;
    world.ends_well("words").await;
    assert_eq!(world.provider.calls().await, [ALL, ALL].concat());
}

#[tokio::test]
async fn what_cannot_be_tried_again_says_why_and_stays_failed() {
    let mut world = failed().await;
    ask(&world, "1", None, Some(" "));
    world.settle::<CodeGenTask>("words").await;
    let status = world.status_of("words");
    assert_eq!(status.retry_handled.as_deref(), Some("1"));
    assert!(status.retry_refused.unwrap().contains("the hint is empty"));
    assert_eq!(status.stage.as_deref(), Some("Failed"));
    assert!(status.message.unwrap().contains("It is not tried again"));
    assert_eq!(world.provider.calls().await, ALL);
    ask(&world, "2", None, None);
    world
        .until::<CodeGenTask>("words", "GeneratingCode Progressing")
        .await;
    assert_eq!(world.status_of("words").retry_refused, None);
}

#[tokio::test]
async fn a_task_that_has_succeeded_is_tried_again_from_its_result() {
    let mut world = World::new().await;
    world.apply_task("words", &json!({}));
    world.ends_well("words").await;
    let before = world.server.of_component("secrets", "result");
    ask(&world, "1", None, Some(HINT));
    world
        .until::<CodeGenTask>("words", "GeneratingCode Progressing")
        .await;
    assert_eq!(
        world.server.of_component("secrets", "result"),
        before,
        "until there is another end, everything from before is in that of the first"
    );
    world.restart().await;
    world.ends_well("words").await;
    assert_eq!(world.provider.calls().await, [ALL.as_slice(), &ALL[1..]].concat());
    let status = world.status_of("words");
    assert_eq!((status.model_calls, status.attempts.len()), (5, 2));
    assert_eq!(world.server.of_component("secrets", "result").len(), 1);
    assert_eq!(world.server.of_component("secrets", "snapshot").len(), 0);
}

#[tokio::test]
async fn a_task_that_has_succeeded_is_not_tried_again_by_a_bare_wish_or_with_other_inputs() {
    let mut world = World::new().await;
    let config_map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "text"}, "data": {"a.txt": "a b"}});
    world.server.create(config_map);
    let samples = json!([{"name": "text", "configMapKeyRef": {"name": "text", "key": "a.txt"}}]);
    world.apply_task("words", &json!({"samples": samples}));
    world.ends_well("words").await;
    let program = world.status_of("words").result;
    let refused = async |world: &mut World| {
        world.settle::<CodeGenTask>("words").await;
        let status = world.status_of("words");
        assert_eq!(
            (status.stage.as_deref(), &status.result),
            (Some("Succeeded"), &program)
        );
        status.retry_refused.unwrap_or_default()
    };
    ask(&world, "1", None, None);
    let why = refused(&mut world).await;
    assert!(why.contains("ask for a new plan, or give a hint"), "{why}");
    world.server.edit("configmaps", "text", |map: &mut Value| {
        map["data"]["a.txt"] = "a b c".into();
    });
    ask(&world, "2", Some("true"), None);
    let why = refused(&mut world).await;
    assert!(why.contains("are not what they were"), "{why}");
    world.server.edit("configmaps", "text", |map: &mut Value| {
        map["data"]["a.txt"] = "a b".into();
    });
    ask(&world, "3", None, Some(" "));
    let why = refused(&mut world).await;
    assert!(!why.is_empty());
    assert_eq!(world.provider.calls().await, ALL);
    // The defaults of its runs are what they were.
    let snapshots = world.server.of_component("secrets", "snapshot");
    let names: Vec<&Value> = snapshots
        .iter()
        .map(|secret| &secret["metadata"]["name"])
        .collect();
    assert_eq!(names, [&json!(world.status_of("words").snapshot.unwrap().name)]);
}
