//! Every example on a cluster, with the calls and attempts that it has on a laptop (`tests/it/examples.rs`). `penguins` is in `outcomes`,
//! `river-level` in `river`, `prompt-only` in most.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::space::{Space, TO_THE_END, in_space};

pub struct Expected {
    pub calls: i32,
    pub attempts: usize,
}

fn with_openai(spec: &mut Value) {
    spec["model"]["provider"] = json!("OpenAI");
    spec["model"]["name"] = json!("gpt-5");
    spec["model"]["apiKeySecretRef"] = json!({"name": "openai", "key": "api-key"});
}

/// Checks what the task came to.
async fn ended_well(space: &Space, task: &str, expected: &Expected) {
    let status = space.succeeded(task).await.status.unwrap();
    assert_eq!(status.model_calls, expected.calls, "{task}: {status:#?}");
    assert_eq!(status.attempts.len(), expected.attempts, "{task}: {status:#?}");
    let status_json = serde_json::to_value(&status).unwrap();
    assert_eq!(status_json["rehearsal"]["result"], "Passed", "{task}");
    assert_eq!(status_json["evidence"]["strength"], "Independent", "{task}");
}

async fn example(name: &str, path: &str, task: &str, expected: Expected) {
    in_space(name, async |space| {
        space.copy_secret("openai").await;
        space.apply_changed(path, name, with_openai);
        ended_well(space, task, &expected).await;
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn the_example_with_packages_that_are_always_installed_succeeds() {
    let expected = Expected {
        calls: 4,
        attempts: 1,
    };
    example(
        "sensor-analysis",
        "examples/sensor-analysis",
        "sensor-analysis",
        expected,
    )
    .await;
}

/// What an agent did, besides.
pub struct Worked {
    pub turns: i32,
    pub commands: i32,
    pub denied: i32,
}

/// Checks what an example came to whose program an agent writes.
pub async fn agent_example(name: &str, task: &str, expected: Expected, worked: Worked) {
    in_space(name, async |space| {
        space.copy_secret("openai").await;
        let folder = Path::new("examples").join(name);
        let has_data = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(&folder)
            .join("kustomization.yaml")
            .exists();
        let manifest = if has_data {
            folder
        } else {
            folder.join("task.yaml")
        };
        space.apply_changed(manifest.to_str().unwrap(), name, with_openai);
        ended_well(space, task, &expected).await;
        let status = space.succeeded(task).await.status.unwrap();
        let agent = status.agent.unwrap();
        assert_eq!(
            (agent.turns, agent.denied),
            (worked.turns, worked.denied),
            "{agent:?}"
        );
        assert_eq!(agent.tool_calls["Bash"], worked.commands, "{agent:?}");
        let has_trace = status
            .artifacts
            .iter()
            .any(|artifact| artifact.name == "agent-trace");
        assert!(has_trace, "{:?}", status.artifacts);
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn the_example_that_an_agent_writes_succeeds() {
    let expected = Expected {
        calls: 7,
        attempts: 2,
    };
    let worked = Worked {
        turns: 5,
        commands: 5,
        denied: 0,
    };
    agent_example("penguins-agent", "penguin-masses-agent", expected, worked).await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn the_example_without_a_sample_succeeds() {
    let expected = Expected {
        calls: 3,
        attempts: 1,
    };
    let manifest = "examples/log-analysis/task.yaml";
    example("log-analysis", manifest, "log-analysis", expected).await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn the_example_with_two_samples_and_a_wrong_test_succeeds() {
    let expected = Expected {
        calls: 5,
        attempts: 2,
    };
    example("multi-input", "examples/multi-input", "order-filter", expected).await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn the_example_whose_replies_are_prose_cut_or_fenced_succeeds() {
    let expected = Expected {
        calls: 6,
        attempts: 1,
    };
    example(
        "durable",
        "examples/durable/task.yaml",
        "contact-cleanup",
        expected,
    )
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn the_example_with_a_package_that_no_import_shows_succeeds() {
    let expected = Expected {
        calls: 4,
        attempts: 2,
    };
    let manifest = "examples/environment-fix/task.yaml";
    example("environment-fix", manifest, "settings-converter", expected).await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn the_example_of_three_tasks_that_share_an_agent_succeeds() {
    in_space("csv-batch", async |space| {
        space.copy_secret("openai").await;
        let mut objects = space.objects("examples/csv-batch", "csv-batch");
        // The recording has the replies of one task after the other.
        let mut tasks: Vec<Value> = objects
            .extract_if(.., |object| crate::space::is_task(object))
            .collect();
        tasks.sort_by_key(|task| task["metadata"]["name"].to_string());
        space.apply_objects(&objects);
        for mut task in tasks {
            with_openai(&mut task["spec"]);
            let name = task["metadata"]["name"].as_str().unwrap().to_owned();
            space.apply_objects(&[task]);
            let expected = Expected {
                calls: 3,
                attempts: 1,
            };
            ended_well(space, &name, &expected).await;
        }
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn the_example_that_waits_for_a_person_succeeds_when_both_gates_are_approved() {
    in_space("late-fees", async |space| {
        space.copy_secret("openai").await;
        space.apply_changed("examples/approvals/task.yaml", "approvals", with_openai);
        for gate in ["Plan", "Result"] {
            let waits = |task: &codegen_api::CodeGenTask| {
                let asked = task.status.as_ref().and_then(|status| status.approval.as_ref());
                asked.is_some_and(|asked| asked.gate.to_string() == gate)
            };
            space.until("late-fees", gate, TO_THE_END, waits).await;
            let done = Command::new(env!("CARGO_BIN_EXE_kubectl-codegen"))
                .args([
                    "approve",
                    "late-fees",
                    "--gate",
                    gate,
                    "--yes",
                    "--namespace",
                    &space.name,
                ])
                .output()
                .unwrap();
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        }
        ended_well(
            space,
            "late-fees",
            &Expected {
                calls: 3,
                attempts: 1,
            },
        )
        .await;
    })
    .await;
}
