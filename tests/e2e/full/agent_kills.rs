//! The operator is killed again and again while an agent works.

use std::time::Duration;

use codegen_api::CodeGenTask;
use fastrand::Rng;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use crate::faults::model::Model;
use crate::faults::own::{OPERATOR, Own};
use crate::faults::seed;
use crate::full::seen::Seen;
use crate::space::{Space, TO_THE_END, condition, has_ended, in_spaces, is_task, status_of};

const EXAMPLE: &str = "examples/penguins-agent";
const RECORDING: &str = include_str!("../../../examples/penguins-agent/replies.jsonl");
/// Its calls, and its turns among them.
const CALLS: u64 = 7;
const TURNS: i32 = 5;
const KILLS: usize = 10;
/// How long the model takes.
const LATENCY: Duration = Duration::from_millis(800);
/// Longest time that an operator works before it is killed, seconds.
const LONGEST: f64 = 3.0;
/// The task that nobody disturbs.
const WITHOUT_KILLS: &str = "undisturbed";

fn name(number: usize) -> String {
    format!("t{number:02}")
}

/// Applies the example under this name, changed.
fn apply(space: &Space, name: &str, change: impl Fn(&mut Value)) {
    let mut objects = space.objects(EXAMPLE, "penguins-agent");
    for task in objects.iter_mut().filter(|object| is_task(object)) {
        task["metadata"]["name"] = json!(name);
        task["spec"]["model"]["provider"] = json!("OpenAI");
        task["spec"]["model"]["apiKeySecretRef"]["name"] = json!("openai");
        change(task);
    }
    space.apply_objects(&objects);
}

/// Applies the task of this number for the space's own operator.
fn begin(space: &Space, model: &Model, number: usize) {
    let name = name(number);
    apply(space, &name, |task| {
        task["metadata"]["labels"] = json!({OPERATOR: space.name});
        // Tasks that ask the same would adopt each other's programs.
        let prompt = task["spec"]["prompt"].as_str().unwrap();
        task["spec"]["prompt"] = json!(format!("{prompt} ({name})"));
        task["spec"]["model"]["baseURL"] = json!(model.base_url(&name));
    });
}

/// What must be the same however often the operator was killed.
fn end_state(task: &CodeGenTask) -> Value {
    let status = task.status.as_ref().unwrap();
    let attempts = status
        .attempts
        .iter()
        .map(|attempt| json!([attempt.tests, attempt.acceptance_tests, attempt.summary]));
    // These say when something happened.
    let with_times = ["conversation", "test-output", "agent-trace"];
    let artifacts = status
        .artifacts
        .iter()
        .filter(|artifact| !with_times.contains(&artifact.name.as_str()))
        .map(|artifact| json!([artifact.name, artifact.sha256]));
    json!({
        "end": condition(task, "Succeeded"), "stage": status.stage, "tests": status.tests,
        "attempts": attempts.collect::<Vec<_>>(), "packages": status.packages, "rehearsal": status.rehearsal,
        "artifacts": artifacts.collect::<Vec<_>>(), "agent": status.agent,
        "replies": status.model_calls - status.lost_calls,
    })
}

/// Kills the operator at random moments, a task being under way at each; how many tasks were begun.
async fn kill_often(space: &Space, model: &Model, mut own: Own, seed: u64) -> (usize, Own) {
    let mut random = Rng::with_seed(seed);
    let (mut begun, mut killed) = (1, 0);
    while killed < KILLS {
        let pause = random.f64() * LONGEST;
        tokio::time::sleep(Duration::from_secs_f64(pause)).await;
        let api = space.api::<CodeGenTask>();
        let task = api.get(&name(begun - 1)).await.unwrap();
        if has_ended(&task) {
            begin(space, model, begun);
            begun += 1;
            continue;
        }
        own.kill();
        own.ended().await;
        drop(own);
        killed += 1;
        let status = task.status.unwrap_or_default();
        eprintln!(
            "kill {killed:2} after {pause:.1} s: {} {}, {} turns",
            name(begun - 1),
            status.stage.unwrap_or_default(),
            status.agent.map_or(0, |agent| agent.turns)
        );
        own = Own::start(space, model, seed).await;
    }
    (begun, own)
}

/// Holds a task against the one that nobody disturbed, and its requests against the calls that it lost.
async fn expect_as_without_kills(space: &Space, model: &Model, name: &str, expected: &CodeGenTask) {
    let task = space.end(name).await;
    let status = task.status.as_ref().unwrap();
    let asked = model.asked(name).await;
    let lost = u64::try_from(status.lost_calls).unwrap();
    let said = format!("{name}: {lost} calls lost; the model's count: {asked:?}");
    eprintln!("{said}");
    assert_eq!(end_state(&task), end_state(expected), "{said}");
    assert_eq!(asked.distinct, CALLS, "{said}");
    assert!(
        asked.requests - asked.distinct <= lost,
        "{said}: a recorded reply was asked for again"
    );
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e-full"]
async fn an_agent_whose_operator_is_killed_ten_times_asks_for_no_recorded_turn_again_and_ends_the_same() {
    Box::pin(in_spaces("faults-agent", 2, async |spaces| {
        let [space, undisturbed] = spaces else {
            panic!("two spaces are asked for");
        };
        let seed = seed();
        eprintln!("{KILLS} kills, seed {seed} (CODEGEN_E2E_SEED)");
        undisturbed.copy_secret("openai").await;
        apply(undisturbed, WITHOUT_KILLS, |_| {});

        let names: Vec<String> = (0..=KILLS).map(name).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let model = Model::start(space, RECORDING, &names, LATENCY).await;
        let pods = Seen::watch::<Pod>(space, "codegen-operator.dev/component=sandbox");
        let own = Own::start(space, &model, seed).await;
        begin(space, &model, 0);
        // Nothing that an agent does is hit while an image is built.
        space
            .until(&name(0), "with its image", TO_THE_END, |task| {
                status_of(task, "ImageReady") == Some("True")
            })
            .await;
        let (begun, own) = kill_often(space, &model, own, seed).await;

        let expected = undisturbed.succeeded(WITHOUT_KILLS).await;
        let agent = expected.status.as_ref().unwrap().agent.clone().unwrap();
        assert_eq!(agent.turns, TURNS, "{agent:?}");
        for number in 0..begun {
            expect_as_without_kills(space, &model, &name(number), &expected).await;
        }
        drop(own);
        let pods = pods.end();
        let all: usize = pods.values().sum();
        eprintln!("{begun} tasks, {} tries of sandboxes in {all} Pods", pods.len());
        assert_eq!(pods.len(), all, "a try had two Pods: {pods:#?}");
    }))
    .await;
}
