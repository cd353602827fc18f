//! Tasks whose program an agent writes: its commands are Pods like those of every sandbox.

use serde_json::{Value, json};

use crate::api::CodeGenTask;
use crate::controller::tests::world::World;
use crate::engine::tests::world::{code, tests};
use crate::pipeline::call::CallKind;

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

async fn world() -> World {
    let world = World::answering("{}", &[(CallKind::Turn, turns())]).await;
    world.apply_task("words", &json!({"backend": "Agent", "testing": {"cases": "Off"}}));
    world
}

/// The task in its first turn, whose command runs.
async fn at_work() -> World {
    let mut world = world().await;
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
