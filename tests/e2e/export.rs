//! What a task left, taken out of the cluster.

use std::path::Path;
use std::process::Command;

use k8s_openapi::api::core::v1::Secret;
use serde_json::{Value, json};

use crate::space::{Space, in_space};

/// `kubectl-codegen export`: its exit code and what it said.
fn export(space: &Space, task: &str, folder: &Path) -> (Option<i32>, String) {
    let done = Command::new(env!("CARGO_BIN_EXE_kubectl-codegen"))
        .args(["export", task, "--namespace", &space.name, "--output"])
        .arg(folder)
        .output()
        .unwrap();
    (done.status.code(), String::from_utf8(done.stderr).unwrap())
}

/// Names of the files in which `grep` finds something.
fn found(arguments: &[&str], folder: &Path) -> String {
    let done = Command::new("grep").args(arguments).arg(folder).output().unwrap();
    String::from_utf8(done.stdout).unwrap()
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn everything_that_a_task_left_can_be_taken_out_and_replayed_without_a_cluster() {
    in_space("export", async |space| {
        space.copy_secret("openai").await;
        space.apply("examples/penguins", "penguins");
        let task = space.succeeded("penguin-masses").await;
        let folder = tempfile::tempdir().unwrap();
        let (code, said) = export(space, "penguin-masses", folder.path());
        assert_eq!(code, Some(0), "{said}");
        let read = |path: &str| std::fs::read_to_string(folder.path().join(path)).expect(path);

        for path in [
            "test_solution.py",
            "data-context.txt",
            "schemas.py",
            "constraints.json",
            "conversation.jsonl",
            "test-output.txt",
            "requirements.txt",
            "requirements.lock",
            "Dockerfile",
            "run.sh",
            "launcher.py",
            "attempts/1/diagnosis.json",
            "attempts/2/solution.py.diff",
        ] {
            assert!(!read(path).is_empty(), "{path} is empty");
        }
        assert!(read("outputs/summary.csv").contains("Adelie,151,3700.7"));
        let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/penguins/penguins.csv");
        assert_eq!(
            read("inputs/penguins.csv"),
            std::fs::read_to_string(sample).unwrap()
        );
        let applied: Value = serde_saphyr::from_str(&read("task.yaml")).unwrap();
        assert_eq!(applied["spec"]["prompt"], json!(task.spec.prompt));
        let secret = space.api::<Secret>().get("openai").await.unwrap();
        let key = String::from_utf8(secret.data.unwrap()["api-key"].0.clone()).unwrap();
        assert_eq!(
            found(&["-rlwF", "--", &key], folder.path()),
            "",
            "the model's key is in it"
        );

        let local = tempfile::tempdir().unwrap();
        let replayed = Command::new(env!("CARGO_BIN_EXE_kubectl-codegen"))
            .args(["local", "-k", "examples/penguins", "--output"])
            .arg(local.path())
            .arg("--replay")
            .arg(folder.path().join("replies.jsonl"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&replayed.stderr);
        assert_eq!(replayed.status.code(), Some(0), "{said}");
        let program = std::fs::read_to_string(local.path().join("solution.py")).unwrap();
        assert_eq!(program, read("solution.py"));

        // The folder is a local result: it has all that a replay needs.
        let replayed = Command::new(env!("CARGO_BIN_EXE_kubectl-codegen"))
            .args(["local", "--again"])
            .arg(folder.path())
            .args(["--index-url", "-"])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&replayed.stdout);
        assert!(
            said.contains("came to the same end"),
            "{said}{}",
            String::from_utf8_lossy(&replayed.stderr)
        );
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn data_of_a_task_with_exposure_schema_only_stays_in_the_cluster() {
    in_space("export-schema", async |space| {
        space.copy_secret("openai").await;
        space.apply_changed("examples/penguins", "penguins", |spec| {
            spec["exposure"] = json!("SchemaOnly");
        });
        space.end("penguin-masses").await;
        let folder = tempfile::tempdir().unwrap();
        let (_, said) = export(space, "penguin-masses", folder.path());
        assert!(said.contains("outputs/summary.csv"), "{said}");
        assert!(folder.path().join("solution.py").exists());
        for path in [
            "inputs",
            "outputs",
            "test-output.txt",
            "attempts/1/test-output.txt",
        ] {
            assert!(!folder.path().join(path).exists(), "{path} is exported");
        }
    })
    .await;
}
