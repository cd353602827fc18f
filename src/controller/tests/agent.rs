//! Tasks whose program an agent writes: its commands are Pods like those of every sandbox.

use jiff::Timestamp;
use rstest::rstest;
use serde_json::{Value, json};

use crate::controller::tests::api_server::Fault;
use crate::controller::tests::world::World;
use codegen_api::CodeGenTask;
use codegen_core::call::CallKind;
use codegen_engine::test_support::{code, tests};

/// Writes both files and looks at them, has them tested, and is done.
fn turns() -> Value {
    let write = |path: &str, source: &Value| json!(["Write", {"file_path": path, "content": source["code"]}]);
    let bash = |command: &str| json!(["Bash", {"command": command}]);
    json!([
        [
            write("solution.py", &code("return len(text.split())")),
            write("test_solution.py", &tests(2)),
            bash("ls"),
        ],
        [bash("pytest")],
        [],
    ])
}

/// The same with a turn between that looks at the files once more.
fn listing_twice() -> Value {
    let mut turns = turns();
    let looks = json!([["Bash", {"command": "ls -l"}]]);
    turns.as_array_mut().unwrap().insert(1, looks);
    turns
}

async fn world() -> World {
    world_with(turns()).await
}

async fn world_with(turns: Value) -> World {
    configured("{}", turns).await
}

async fn configured(settings: &str, turns: Value) -> World {
    let world = World::answering(settings, &[(CallKind::Turn, turns)]).await;
    world.apply_task("words", &json!({"backend": "Agent", "testing": {"cases": "Off"}}));
    world
}

/// The task in its first turn, whose command runs.
async fn at_work() -> World {
    at_work_in(world().await).await
}

async fn at_work_in(mut world: World) -> World {
    for _ in 0..20 {
        world.reconcile::<CodeGenTask>("words").await;
        if !pods(&world).is_empty() {
            assert_eq!(
                world.stage_and_reason::<CodeGenTask>("words"),
                "Working Progressing"
            );
            return world;
        }
    }
    panic!("no command runs: {}", world.message::<CodeGenTask>("words"));
}

fn pods(world: &World) -> Vec<Value> {
    world.server.of_component("pods", "sandbox")
}

#[tokio::test]
async fn an_agents_task_asks_for_each_turn_once_and_its_events_sum_it_up() {
    let mut world = world().await;
    world.ends_well("words").await;
    assert_eq!(world.provider.calls().await, ["plan", "turn", "turn", "turn"]);
    let agent = world.status_of("words").agent.unwrap();
    assert_eq!(
        (agent.turns, agent.tool_calls["Bash"], agent.tool_calls["Write"]),
        (3, 2, 2)
    );
    let events = world.events("words").await;
    for reason in ["AgentTurn", "AgentEnded", "Succeeded"] {
        assert!(events.iter().any(|event| event == reason), "{events:?}");
    }
}

#[tokio::test]
async fn from_the_end_of_a_turns_commands_to_the_next_ones_there_are_these_calls_and_no_others() {
    let mut world = at_work_in(world_with(listing_twice()).await).await;
    world.node.end_pods(&world.server).await;
    world.server.calls();
    world.reconcile::<CodeGenTask>("words").await;
    world.server.assert_calls(
        "get Pod sandbox
         log of Pod sandbox
         create Secret record documents/step-0001.json
         status CodeGenTask words: Working Progressing",
    );
    world.reconcile::<CodeGenTask>("words").await;
    // The intent, the reply, and the state that follows from it.
    world.server.assert_calls(
        "status CodeGenTask words: Working Progressing
         create Secret record calls/0003-turn.json
         status CodeGenTask words: Working Progressing",
    );
    world.reconcile::<CodeGenTask>("words").await;
    world.server.assert_calls(
        "get Pod words (absent)
         ~ get ConfigMap harness
         ~ list NetworkPolicy
         ~ create Secret sandbox
         create Pod sandbox",
    );
}

#[rstest]
#[case::results("create Secret record documents/step-0001")]
#[case::intent("status CodeGenTask words: Working")]
#[case::reply("create Secret record calls/0003-turn")]
#[case::job("create Secret sandbox")]
#[case::sandbox("create Pod sandbox")]
#[tokio::test]
async fn a_write_of_a_turn_that_fails_or_whose_reply_is_lost_costs_no_turn_and_no_command(
    #[case] write: &str,
    #[values(Fault::ReplyLost, Fault::Refused(503, "ServiceUnavailable"))] fault: Fault,
) {
    let mut world = at_work_in(world_with(listing_twice()).await).await;
    world.server.fail(write, fault);
    // A pass that failed is requeued, and a sandbox that could not be made is tried again after a pause.
    world.settle::<CodeGenTask>("words").await;
    world.edit_progress("words", |progress| {
        if let Some(waiting) = &mut progress.waiting {
            waiting.retry_at = Timestamp::UNIX_EPOCH;
        }
    });
    world.ends_well("words").await;
    // Says so where the write was not met.
    world.server.calls();
    let calls = world.provider.calls().await;
    assert_eq!(calls, ["plan", "turn", "turn", "turn", "turn"]);
    let commands = world.node.sandbox.asked.lock().unwrap().len();
    assert_eq!(commands, 2);
}

#[tokio::test]
async fn the_commands_of_an_agent_run_under_the_harness_of_its_operator() {
    let world = at_work().await;
    let [pod]: [Value; 1] = pods(&world).try_into().unwrap();
    let volumes = pod["spec"]["volumes"].as_array().unwrap();
    let mounted: Vec<&Value> = volumes
        .iter()
        .map(|volume| &volume["configMap"]["name"])
        .filter(|name| name.is_string())
        .collect();
    let harness = world.server.of_component("configmaps", "harness");
    assert_eq!(mounted, [&harness[0]["metadata"]["name"]]);
    assert!(
        harness[0]["data"]
            .as_object()
            .unwrap()
            .contains_key("command_session.py")
    );
}

#[tokio::test]
async fn an_operator_that_begins_while_a_command_runs_asks_for_no_turn_again() {
    let mut world = at_work().await;
    world.restart().await;
    world.ends_well("words").await;
    assert_eq!(world.provider.calls().await, ["plan", "turn", "turn", "turn"]);
}

#[tokio::test]
async fn a_task_that_is_suspended_while_a_command_runs_goes_on_where_it_was() {
    let mut world = at_work().await;
    world.server.edit("codegentasks", "words", |task| {
        task["spec"]["suspend"] = json!(true);
    });
    world.settle::<CodeGenTask>("words").await;
    let reason = world.stage_and_reason::<CodeGenTask>("words");
    assert_eq!(reason, "Working Suspended");
    assert_eq!(world.provider.calls().await, ["plan", "turn"]);
    world.server.edit("codegentasks", "words", |task| {
        task["spec"]["suspend"] = json!(false);
    });
    world.ends_well("words").await;
    assert_eq!(world.provider.calls().await, ["plan", "turn", "turn", "turn"]);
}

#[tokio::test]
async fn a_task_that_is_edited_while_a_command_runs_begins_anew_and_leaves_no_command() {
    let mut world = at_work().await;
    world.server.edit("codegentasks", "words", |task| {
        task["spec"]["prompt"] = json!("Count the words of a short text.");
    });
    world.ends_well("words").await;
    assert_eq!(
        world.provider.calls().await,
        ["plan", "turn", "plan", "turn", "turn", "turn"]
    );
    assert_eq!(pods(&world), Vec::<Value>::new());
}
