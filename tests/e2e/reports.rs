//! What a task tells: its Events, `kubectl-codegen watch` and `kubectl-codegen code`. The statuses are the test's, the task is
//! suspended, so that no operator works on it.

use std::collections::BTreeMap;
use std::process::{Command, Output, Stdio};

use codegen_api::CodeGenTask;
use codegen_api::status::CodeGenTaskStatus;
use codegen_core::status::{Hold, Until};
use codegen_engine::event::{Event, Observer as _};
use codegen_operator::controller::process::health;
use codegen_operator::controller::telemetry::events::Events;
use codegen_operator::controller::telemetry::metrics::Metrics;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::events::v1::Event as KubeEvent;
use kube::api::{ListParams, ObjectMeta, PostParams};
use serde_json::json;

use crate::space::{Space, in_space};

async fn suspended(space: &Space) -> CodeGenTask {
    let task: CodeGenTask = serde_json::from_value(json!({
        "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeGenTask", "metadata": {"name": "told"},
        "spec": {"prompt": "p", "model": {"name": "m"}, "suspend": true},
    }))
    .unwrap();
    space.api().create(&PostParams::default(), &task).await.unwrap()
}

/// Writes a status over whatever an operator may have written meanwhile.
async fn write(space: &Space, status: &CodeGenTaskStatus) {
    loop {
        let mut task = space.api::<CodeGenTask>().get("told").await.unwrap();
        task.status = Some(CodeGenTaskStatus {
            observed_generation: task.metadata.generation,
            ..status.clone()
        });
        match space
            .api()
            .replace_status("told", &PostParams::default(), &task)
            .await
        {
            Ok(_) => return,
            Err(kube::Error::Api(answer)) if answer.is_conflict() => {}
            Err(error) => panic!("{error}"),
        }
    }
}

fn plugin(space: &Space, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-codegen"));
    command.args(arguments).args(["--namespace", &space.name]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn at(stage: &str) -> CodeGenTaskStatus {
    CodeGenTaskStatus {
        stage: Some(stage.to_owned()),
        reason: Some("Progressing".to_owned()),
        run: Some("r1".to_owned()),
        ..CodeGenTaskStatus::default()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

async fn ended(command: std::process::Child) -> Output {
    tokio::task::spawn_blocking(|| command.wait_with_output().unwrap())
        .await
        .unwrap()
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn watch_ends_with_the_task_and_code_prints_its_program() {
    in_space("watch", async |space| {
        suspended(space).await;
        write(space, &at("Planning")).await;
        let early = ended(plugin(space, &["code", "told"]).spawn().unwrap()).await;
        assert_eq!(early.status.code(), Some(1));
        assert!(
            text(&early.stderr).contains("is in stage"),
            "{}",
            text(&early.stderr)
        );

        let watching = plugin(space, &["watch", "told", "--timeout", "1m"])
            .spawn()
            .unwrap();
        let program = ConfigMap {
            metadata: ObjectMeta {
                name: Some("told-result".to_owned()),
                ..ObjectMeta::default()
            },
            data: Some(BTreeMap::from([(
                "solution.py".to_owned(),
                "print(1)\n".to_owned(),
            )])),
            ..ConfigMap::default()
        };
        space
            .api()
            .create(&PostParams::default(), &program)
            .await
            .unwrap();
        let succeeded = CodeGenTaskStatus {
            reason: Some("TestsPassed".to_owned()),
            result: Some("told-result".to_owned()),
            image: Some("registry.example/codegen@sha256:0c1".to_owned()),
            ..at("Succeeded")
        };
        write(space, &succeeded).await;
        let watched = ended(watching).await;
        let (stdout, stderr) = (text(&watched.stdout), text(&watched.stderr));
        assert_eq!(watched.status.code(), Some(0), "{stdout}{stderr}");
        assert!(stdout.contains("✓ told succeeded: TestsPassed"), "{stdout}");
        assert!(stderr.contains("✓ image"), "{stderr}");
        // It has ended, and its record cannot be read.
        let watched = ended(plugin(space, &["watch", "told"]).spawn().unwrap()).await;
        let (stdout, stderr) = (text(&watched.stdout), text(&watched.stderr));
        assert_eq!(watched.status.code(), Some(0), "{stdout}{stderr}");
        assert!(stdout.contains("✓ told succeeded: TestsPassed"), "{stdout}");
        assert!(
            stderr.contains("what follows is what its status says"),
            "{stderr}"
        );
        assert!(stderr.contains("✓ image"), "{stderr}");

        let printed = ended(plugin(space, &["code", "told"]).spawn().unwrap()).await;
        assert_eq!(printed.status.code(), Some(0));
        assert_eq!(
            (text(&printed.stdout).as_str(), printed.stderr.len()),
            ("print(1)\n", 0)
        );
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn what_is_not_there_is_named_and_a_time_that_is_over_ends_the_watch() {
    in_space("watch-absent", async |space| {
        let absent = ended(plugin(space, &["watch", "absent"]).spawn().unwrap()).await;
        assert_eq!(absent.status.code(), Some(2));
        let told = text(&absent.stderr);
        assert!(
            told.contains(&format!("no CodeGenTask absent in namespace {}", space.name)),
            "{told}"
        );
        suspended(space).await;
        let late = ended(
            plugin(space, &["watch", "told", "--timeout", "1s"])
                .spawn()
                .unwrap(),
        )
        .await;
        assert_eq!(late.status.code(), Some(1));
        assert!(text(&late.stderr).contains("--timeout"), "{}", text(&late.stderr));
        let mut wrong = plugin(space, &["code", "told", "--context", "no-such-context"]);
        let wrong = ended(wrong.spawn().unwrap()).await;
        assert_eq!(wrong.status.code(), Some(2));
        assert!(
            text(&wrong.stderr).contains("no-such-context"),
            "{}",
            text(&wrong.stderr)
        );
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn an_event_is_taken_by_the_api_server_and_the_same_again_is_counted() {
    in_space("events", async |space| {
        let task = suspended(space).await;
        let (events, sending) = Events::new(space.client.clone(), "pod-1".to_owned(), Metrics::new());
        let long = "ü".repeat(2_000);
        let hold = Hold {
            reason: "Configuration",
            message: long,
            until: Until::Corrected,
        };
        events.held(&task, &hold);
        events.held(&task, &hold);
        let observer = events.observer(&task);
        for _ in 0..2 {
            observer.event(&Event::BuildFailed {
                message: "no such package".to_owned(),
            });
        }
        drop((events, observer));
        sending.await;
        let about_it = ListParams::default().fields("reportingController=codegen-operator");
        let mut found = space.api::<KubeEvent>().list(&about_it).await.unwrap().items;
        found.retain(|event| event.reporting_instance.as_deref() == Some("pod-1"));
        found.sort_by(|a, b| a.reason.cmp(&b.reason));
        let told: Vec<_> = found
            .iter()
            .map(|event| {
                (
                    event.reason.as_deref().unwrap(),
                    event.series.as_ref().map(|series| series.count),
                )
            })
            .collect();
        assert_eq!(told, [("Configuration", Some(2)), ("ImageFailed", None)]);
        let described = space.kubectl(&["describe", "codegentask", "told"]);
        assert!(described.contains("no such package"), "{described}");
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn the_installed_definitions_have_every_field_of_this_version() {
    let client = kube::Client::try_default().await.unwrap();
    assert_eq!(health::missing_fields(&client).await.unwrap(), []);
}
