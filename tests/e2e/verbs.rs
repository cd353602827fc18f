//! What is recorded of tasks in a cluster: tests, logs, differences, stories, costs, replays.

use std::process::{Command, Output};
use std::{fs, path::Path};

use codegen_api::CodeGenTask;
use serde_json::{Value, json};

use crate::run_command::said;
use crate::space::{Space, TO_THE_END, in_space, kubectl};

/// Reads what the stock role view shows, and nothing else.
const VIEWER: &str = "vera";
const TASK: &str = "penguin-masses";

fn codegen(space: &Space, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kubectl-codegen"))
        .args(arguments)
        .args(["--namespace", &space.name])
        .output()
        .unwrap()
}

/// The kubeconfig of whoever may view.
fn kubeconfig(space: &Space, folder: &Path) -> String {
    let user = format!("--user={VIEWER}");
    space.kubectl(&["create", "rolebinding", "viewers", "--clusterrole=view", &user]);
    let view = kubectl(&["config", "view", "--raw", "--minify", "--output", "json"], "");
    let mut config: Value = serde_json::from_str(&view).unwrap();
    config["users"][0]["user"]["as"] = json!(VIEWER);
    let file = folder.join("kubeconfig");
    fs::write(&file, config.to_string()).unwrap();
    file.to_str().unwrap().to_owned()
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_finished_task_is_shown_by_every_command_and_replayed_to_the_same_end() {
    in_space("verbs", async |space| {
        space.copy_secret("openai").await;
        space.apply("examples/penguins", "penguins");
        space.succeeded(TASK).await;
        let (tests, _) = said(&codegen(space, &["tests", TASK]), 0);
        assert!(tests.starts_with("attempt 2 passed"), "{tests}");
        said(&codegen(space, &["tests", TASK, "--attempt", "1", "--failed"]), 1);
        let (logs, _) = said(&codegen(space, &["logs", TASK]), 0);
        assert!(
            logs.contains("==> pod/build-cg") && logs.contains("attempt 2: "),
            "{logs}"
        );
        let (diff, _) = said(&codegen(space, &["diff", TASK]), 1);
        assert!(diff.starts_with("--- 1/"), "{diff}");
        let (end, story) = said(&codegen(space, &["watch", TASK]), 0);
        for happened in ["✓ image", "✗ attempt 1", "✓ attempt 2"] {
            assert!(story.contains(happened), "no {happened} in {story}");
        }
        assert!(end.contains("succeeded: TestsPassed"), "{end}");
        let (cost, note) = said(&codegen(space, &["cost", TASK]), 0);
        assert!(
            cost.contains("plan") && cost.contains("unknown") && note.contains("--price"),
            "{cost}{note}"
        );
        let (all, _) = said(&codegen(space, &["cost", "--by", "namespace"]), 0);
        assert!(all.contains(&space.name), "{all}");
        space.apply_objects(&[json!({
            "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeGenRun", "metadata": {"name": "other"},
            "spec": {"taskRef": {"name": TASK}, "inputs": [{"name": "measurements", "source": {"inline": "a,b\n1,2\n"}}]},
        })]);
        let (lines, _) = said(&codegen(space, &["logs", TASK, "--run", "other", "-f"]), 0);
        assert!(
            lines.starts_with("run other Failed: ") && lines.contains("KeyError"),
            "{lines}"
        );
        // What the task ran with is kept with it.
        space.kubectl(&["delete", "configmap", "penguins", "penguin-acceptance"]);
        let folder = tempfile::tempdir().unwrap();
        let exported = folder.path().to_str().unwrap();
        said(&codegen(space, &["export", TASK, "--output", exported]), 0);
        let again = Command::new(env!("CARGO_BIN_EXE_kubectl-codegen"))
            .args(["local", "--again", exported, "--index-url", "-"])
            .output()
            .unwrap();
        let (again, _) = said(&again, 0);
        assert!(again.contains("came to the same end"), "{again}");
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_task_under_way_shows_its_program_and_is_exported() {
    in_space("verbs-live", async |space| {
        space.copy_secret("openai").await;
        space.apply_changed("examples/penguins", "penguins", |spec| {
            spec["approvals"] = json!(["Image"]);
        });
        let waits = |task: &CodeGenTask| {
            task.status
                .as_ref()
                .is_some_and(|status| status.approval.is_some())
        };
        space.until(TASK, "at the gate Image", TO_THE_END, waits).await;
        let (program, caution) = said(&codegen(space, &["code", TASK]), 1);
        assert!(
            program.contains("def ") && caution.contains("has not passed its tests yet"),
            "{program}{caution}"
        );
        let (_, none) = said(&codegen(space, &["tests", TASK]), 1);
        assert!(
            none.contains("no attempt of penguin-masses is recorded yet"),
            "{none}"
        );
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().to_str().unwrap();
        let (_, exported) = said(&codegen(space, &["export", TASK, "--output", target]), 1);
        assert!(
            exported.contains("export it again when it has ended"),
            "{exported}"
        );
        assert_eq!(
            fs::read_to_string(folder.path().join("solution.py")).unwrap(),
            program
        );
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn who_may_view_sees_counts_story_and_program_and_learns_what_the_rest_takes() {
    in_space("verbs-view", async |space| {
        space.copy_secret("openai").await;
        space.apply("examples/penguins", "penguins");
        space.succeeded(TASK).await;
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = kubeconfig(space, folder.path());
        let shown = |arguments: &[&str], code: i32| {
            let arguments = [arguments, &["--kubeconfig", &kubeconfig]].concat();
            said(&codegen(space, &arguments), code)
        };
        let (tests, note) = shown(&["tests", TASK], 0);
        assert!(
            tests.starts_with("ATTEMPT") && note.contains("right to get Secrets"),
            "{tests}{note}"
        );
        let (_, story) = shown(&["watch", TASK], 0);
        assert!(story.contains("✓ attempt 2"), "{story}");
        let (logs, _) = shown(&["logs", TASK], 0);
        assert!(logs.contains("==> pod/build-cg"), "{logs}");
        let (program, _) = shown(&["code", TASK], 0);
        assert!(program.contains("def "), "{program}");
        let (_, refused) = shown(&["diff", TASK], 2);
        assert!(refused.contains("right to get Secrets"), "{refused}");
    })
    .await;
}
