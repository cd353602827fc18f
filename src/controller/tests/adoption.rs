//! Adoption of objects: one that is there is taken where it is what would be made, and named where somebody has put something else in its
//! place.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

use crate::controller::record::pack::{pack, unpacked};
use crate::controller::tests::api_server::Fault;
use crate::controller::tests::world::World;
use codegen_api::CodeGenTask;

const ALL: [&str; 3] = ["plan", "code", "tests"];

/// The name of the only object of a resource that is for this.
fn only(world: &World, resource: &str, component: &str) -> String {
    let found = world.server.of_component(resource, component);
    assert_eq!(found.len(), 1, "{found:#?}");
    found[0]["metadata"]["name"].as_str().unwrap().to_owned()
}

/// Another operator came to the snapshot of a task and no further.
async fn with_a_snapshot() -> World {
    let mut world = World::new().await;
    world.apply_task("words", &json!({}));
    stop_at_snapshot(&mut world).await;
    world
}

async fn stop_at_snapshot(world: &mut World) {
    for _ in 0..2 {
        let fault = Fault::Refused(500, "InternalError");
        world.server.fail("status CodeGenTask words", fault);
    }
    world.reconcile::<CodeGenTask>("words").await;
    world.restart().await;
}

#[tokio::test]
async fn a_snapshot_of_an_earlier_try_is_taken() {
    let mut world = with_a_snapshot().await;
    let before = world.server.of_component("secrets", "snapshot");
    world
        .until::<CodeGenTask>("words", "ReadingSamples Progressing")
        .await;
    assert_eq!(world.server.of_component("secrets", "snapshot"), before);
    world.ends_well("words").await;
    assert_eq!(world.provider.calls().await, ALL);
}

#[tokio::test]
async fn a_snapshot_of_an_earlier_try_with_another_agent_stands_in_nobodys_way() {
    let mut world = World::new().await;
    world.server.create(json!({
        "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeGenAgent", "metadata": {"name": "shared"},
        "spec": {"limits": {"maxTokens": 500_000}},
    }));
    world.apply_task("words", &json!({"agentRef": {"name": "shared"}}));
    stop_at_snapshot(&mut world).await;
    world.server.edit("codegenagents", "shared", |agent| {
        agent["spec"]["limits"]["maxTokens"] = 600_000.into();
    });
    world.ends_well("words").await;
    assert_eq!(world.server.of_component("secrets", "snapshot"), [""; 0]);
}

#[tokio::test]
async fn a_short_name_of_a_model_stands_for_what_it_did_when_its_task_began() {
    let mut world = World::new().await;
    let base_url = format!("{}/v1", world.provider.origin());
    let model = json!({"provider": "Anthropic", "name": "sonnet", "baseURL": base_url});
    world.apply_task("words", &json!({"model": model}));
    world
        .until::<CodeGenTask>("words", "ReadingSamples Progressing")
        .await;
    let sent = |world: &World| {
        world
            .server
            .get::<CodeGenTask>("words")
            .unwrap()
            .status
            .unwrap()
            .model
    };
    assert_eq!(sent(&world).as_deref(), Some("claude-sonnet-5"));
    // An earlier version of the operator knew another one.
    let name = only(&world, "secrets", "snapshot");
    world.server.edit("secrets", &name, |secret| {
        let index = BASE64.decode(secret["data"]["snapshot.json"].as_str().unwrap());
        let index = String::from_utf8(index.unwrap()).unwrap();
        assert!(index.contains("claude-sonnet-5"), "{index}");
        let earlier = BASE64.encode(index.replace("claude-sonnet-5", "claude-sonnet-4"));
        secret["data"]["snapshot.json"] = earlier.into();
    });
    world.restart().await;
    world.until::<CodeGenTask>("words", "Planning Progressing").await;
    assert_eq!(sent(&world).as_deref(), Some("claude-sonnet-4"));
}

#[tokio::test]
async fn a_snapshot_that_somebody_has_planted_is_named_and_no_model_is_asked() {
    let changes: [fn(&mut Value); 3] = [
        |secret| secret["immutable"] = false.into(),
        |secret| secret["data"]["snapshot.json"] = "e30=".into(),
        |secret| secret["data"]["file.1"] = "YQ==".into(),
    ];
    for change in changes {
        let mut world = with_a_snapshot().await;
        let name = only(&world, "secrets", "snapshot");
        world.server.edit("secrets", &name, change);
        world.settle::<CodeGenTask>("words").await;
        assert_eq!(
            world.stage_and_reason::<CodeGenTask>("words"),
            "Pending Configuration"
        );
        let message = world.message::<CodeGenTask>("words");
        assert!(message.contains(&format!("Secret data/{name}")), "{message}");
        assert_eq!(world.provider.calls().await, [""; 0]);
        world.server.remove("secrets", &name);
        world.ends_well("words").await;
    }
}

#[tokio::test]
async fn a_pod_of_an_earlier_try_is_taken_and_its_report_is_believed() {
    let mut world = World::new().await;
    world.apply_task("words", &json!({}));
    world
        .until::<CodeGenTask>("words", "RunningTests Progressing")
        .await;
    world.reconcile::<CodeGenTask>("words").await;
    only(&world, "pods", "sandbox");
    world.restart().await;
    world.settle::<CodeGenTask>("words").await;
    let calls = world.server.calls();
    assert!(
        !calls.iter().any(|call| call.starts_with("create Pod")),
        "{calls:#?}"
    );
    assert_eq!(
        world.stage_and_reason::<CodeGenTask>("words"),
        "Succeeded Unverified"
    );
}

#[tokio::test]
async fn a_pod_that_somebody_has_changed_is_deleted_and_its_report_is_not_believed() {
    let mut world = World::new().await;
    world.apply_task("words", &json!({}));
    world
        .until::<CodeGenTask>("words", "RunningTests Progressing")
        .await;
    world.reconcile::<CodeGenTask>("words").await;
    let name = only(&world, "pods", "sandbox");
    world.server.edit("pods", &name, |pod| {
        pod["spec"]["containers"][0]["command"] = json!(["/bin/true"]);
    });
    world.node.end_pods(&world.server).await;
    world.server.calls();
    world.reconcile::<CodeGenTask>("words").await;
    world.server.assert_calls(
        "get Pod sandbox
         delete Pod sandbox
         status CodeGenTask words: RunningTests Infrastructure",
    );
    let message = world.message::<CodeGenTask>("words");
    assert!(
        message.contains(&format!("Pod data/{name}")) && message.contains("its command differs"),
        "{message}"
    );
}

#[tokio::test]
async fn a_record_that_somebody_has_replaced_is_named_and_not_read() {
    let mut world = World::new().await;
    world.apply_task("words", &json!({}));
    let fault = Fault::Refused(500, "InternalError");
    world
        .server
        .fail("status CodeGenTask words: GeneratingCode", fault);
    world
        .until::<CodeGenTask>("words", "Planning Infrastructure")
        .await;
    let records = world.server.of_component("secrets", "record");
    let of_plan = |record: &&Value| {
        record["metadata"]["annotations"]["codegen-operator.dev/document"] == "calls/0001-plan.json"
    };
    let plan = records.iter().find(of_plan).unwrap();
    let name = plan["metadata"]["name"].as_str().unwrap();
    world
        .server
        .edit("secrets", name, |secret| secret["immutable"] = false.into());
    world.restart().await;
    world.settle::<CodeGenTask>("words").await;
    let message = world.message::<CodeGenTask>("words");
    assert!(message.contains(&format!("Secret data/{name}")), "{message}");
    assert_eq!(world.provider.calls().await, ["plan"]);
}

#[tokio::test]
async fn the_result_of_a_task_that_asked_the_same_is_adopted_and_its_tests_are_run_again() {
    let mut world = World::new().await;
    world.apply_task("words", &json!({}));
    world.settle::<CodeGenTask>("words").await;
    world.apply_task("again", &json!({}));
    world.server.calls();
    world.ends_well("again").await;
    let calls = world.server.calls();
    assert_eq!(
        calls.iter().filter(|call| *call == "create Pod sandbox").count(),
        1,
        "{calls:#?}"
    );
    assert_eq!(world.provider.calls().await, ALL);
    assert_eq!(world.status_of("again").adopted_from.as_deref(), Some("words"));
}

#[tokio::test]
async fn where_the_tests_need_not_run_again_a_task_that_asked_the_same_succeeds_at_once() {
    let mut world = World::new().await;
    world.apply_task("words", &json!({}));
    world.settle::<CodeGenTask>("words").await;
    world.apply_task("again", &json!({"reuse": {"rerunTests": false}}));
    world.server.calls();
    world.settle::<CodeGenTask>("again").await;
    world.server.assert_calls(
        "~ get CodeGenTask words
         ~ get Secret result
         ~ create Secret result
         ~ create ConfigMap result
         status CodeGenTask again: Succeeded Unverified
         ~ delete all Secret record,sandbox,reader,snapshot
         ~ delete all Pod record,sandbox,reader,snapshot",
    );
    assert_eq!(world.provider.calls().await, ALL);
}

/// Puts another program into the record of a result.
fn replace_program(secret: &mut Value) {
    let content = &mut secret["data"]["record.json.gz"];
    let packed = BASE64.decode(content.as_str().unwrap()).unwrap();
    let mut record: Value = serde_json::from_slice(&unpacked(&packed, 1 << 20).unwrap()).unwrap();
    let program = record.get_mut("documents/solution-0002.py").unwrap();
    *program = BASE64.encode("print(2)\n").into();
    *content = BASE64.encode(pack(record.to_string().as_bytes())).into();
}

#[tokio::test]
async fn a_result_that_is_not_what_its_task_says_is_not_adopted() {
    let changes: [fn(&mut Value); 2] = [|secret| secret["type"] = "Opaque".into(), replace_program];
    for change in changes {
        let mut world = World::new().await;
        world.apply_task("words", &json!({}));
        world.settle::<CodeGenTask>("words").await;
        let name = only(&world, "secrets", "result");
        world.server.edit("secrets", &name, change);
        world.apply_task("again", &json!({"reuse": {"rerunTests": false}}));
        world.ends_well("again").await;
        assert_eq!(world.provider.calls().await, [ALL, ALL].concat());
        assert_eq!(world.status_of("again").adopted_from, None);
    }
}
