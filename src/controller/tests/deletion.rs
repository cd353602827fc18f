//! Tasks that are deleted on their way. There is no finalizer: what belongs to a task goes with it, and the operator only lets go.

use kube::ResourceExt as _;
use kube::runtime::controller::Action;
use rstest::rstest;
use serde_json::json;
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::controller::tests::api_server::Fault;
use crate::controller::tests::world::{World, soon};
use codegen_api::{CodeGenRun, CodeGenTask};
use codegen_core::digest::sha256_hex;

#[rstest]
#[case::before_its_first_pass("", 0)]
#[case::before_a_call("Planning Progressing", 0)]
#[case::beside_a_build("GeneratingTests Progressing", 0)]
#[case::before_its_pod("RunningTests Progressing", 0)]
#[case::with_a_pod("RunningTests Progressing", 1)]
#[tokio::test]
async fn a_task_that_is_being_deleted_is_left_alone_and_gives_up_its_place(
    #[case] stage: &str,
    #[case] passes: usize,
) {
    let mut world = World::configured("limits: {maxConcurrentTasks: 1}").await;
    world.apply_task("words", &json!({}));
    world.apply_task("next", &json!({"prompt": "Count the words of another text."}));
    world.until::<CodeGenTask>("words", stage).await;
    for _ in 0..passes {
        world.reconcile::<CodeGenTask>("words").await;
    }
    let has_begun = !stage.is_empty();
    if has_begun {
        world.reconcile::<CodeGenTask>("next").await;
    }
    let asked = world.provider.calls().await;
    world.server.edit("codegentasks", "words", |task| {
        task["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    });
    world.server.calls();
    let mut woken = world.context.tasks.woken();
    assert_eq!(
        world.reconcile::<CodeGenTask>("words").await,
        Action::await_change()
    );
    world.server.assert_calls("");
    assert_eq!(world.provider.calls().await, asked);
    if has_begun {
        assert_eq!(soon(woken.recv()).await.unwrap().name, "next");
    }
}

#[rstest]
#[case::at_its_first_write("")]
#[case::in_a_call("Planning Progressing")]
#[case::at_its_end("RunningTests Progressing")]
#[tokio::test]
async fn a_task_that_goes_while_it_is_reconciled_is_not_made_again(#[case] stage: &str) {
    let mut world = World::new().await;
    world.apply_task("words", &json!({}));
    world.until::<CodeGenTask>("words", stage).await;
    if stage.starts_with("RunningTests") {
        world.reconcile::<CodeGenTask>("words").await;
        world.node.end_pods(&world.server).await;
    }
    let seen = world.cached::<CodeGenTask>("words");
    world.server.remove("codegentasks", "words");
    world.server.calls();
    assert_eq!(world.reconcile_seen(seen).await, Action::await_change());
    let calls = world.server.calls();
    let writes = calls.iter().filter(|call| call.starts_with("status CodeGenTask"));
    assert_eq!(writes.count(), 1, "{calls:#?}");
    assert_eq!(world.server.all("codegentasks").len(), 0);
}

#[tokio::test]
async fn a_task_of_the_same_name_takes_nothing_of_the_one_before_it() {
    let mut world = World::new().await;
    world.apply_task("words", &json!({}));
    world
        .until::<CodeGenTask>("words", "GeneratingCode Progressing")
        .await;
    world.server.remove("codegentasks", "words");
    world.apply_task("words", &json!({}));
    world.ends_well("words").await;
    assert_eq!(world.provider.calls().await, ["plan", "plan", "code", "tests"]);
}

#[tokio::test]
async fn a_failed_task_that_may_not_be_deleted_stays_as_it_ended() {
    let mut world = World::new().await;
    let spec = json!({"limits": {"maxModelCalls": 1}, "ttlSecondsAfterFinished": 0});
    world.apply_task("words", &spec);
    world.until::<CodeGenTask>("words", "Failed BudgetExceeded").await;
    let ended = world.object::<CodeGenTask>("words");
    world.server.calls();
    world
        .server
        .fail("delete CodeGenTask words", Fault::Refused(403, "Forbidden"));
    world.reconcile::<CodeGenTask>("words").await;
    world
        .server
        .assert_calls("delete CodeGenTask words -> 403 Forbidden");
    assert_eq!(world.object::<CodeGenTask>("words"), ended);
    world.reconcile::<CodeGenTask>("words").await;
    assert_eq!(world.server.all("codegentasks").len(), 0);
}

#[tokio::test]
async fn a_task_that_took_the_name_of_an_ended_one_is_not_deleted_in_its_place() {
    let mut world = World::new().await;
    world.apply_task("words", &json!({"ttlSecondsAfterFinished": 0}));
    world.until::<CodeGenTask>("words", "Succeeded Unverified").await;
    let ended = world.cached::<CodeGenTask>("words");
    world.server.remove("codegentasks", "words");
    world.apply_task("words", &json!({}));
    world.reconcile_seen(ended).await;
    assert_eq!(world.server.all("codegentasks").len(), 1);
}

#[tokio::test]
async fn nothing_is_held_in_memory_of_a_run_that_goes_while_the_watch_is_broken() {
    let server = MockServer::start().await;
    let file = ResponseTemplate::new(200).set_body_string("two words");
    let fetched = Mock::given(path("/text")).respond_with(file).expect(2);
    fetched.mount(&server).await;
    let mut world = World::configured(&format!("egress: {{allow: ['{}']}}", server.uri())).await;
    world.apply_run("count", &json!({"taskRef": {"name": "words"}}));
    world.reconcile::<CodeGenRun>("count").await;
    assert_eq!(
        world.stage_and_reason::<CodeGenRun>("count"),
        "Pending TaskNotFound"
    );
    let uid = world.cached::<CodeGenRun>("count").uid().unwrap();
    let (url, sha256) = (format!("{}/text", server.uri()), sha256_hex(b"two words"));
    for _ in 0..2 {
        let downloads = &world.context.downloads;
        downloads.get(&uid, "text", &url, &sha256).await.unwrap();
    }

    world.goes_unseen::<CodeGenRun>("count");
    let downloads = &world.context.downloads;
    downloads.get(&uid, "text", &url, &sha256).await.unwrap();
    server.verify().await;
    let mut woken = world.context.runs.woken();
    world.apply_task("words", &json!({}));
    world.watch_all();
    assert!(woken.try_recv().is_err(), "nobody waits for the task");
}
