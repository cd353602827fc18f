//! The example of code mode on a cluster: an agent with a task's program, an HTTP endpoint and an MCP server, and questions to it.

use std::process::Command;

use codegen_api::CodeGenRun;
use codegen_api::code_mode::{CodeModeAgent, CodeModeRun};
use kube::ResourceExt as _;
use kube::api::ListParams;
use kube::runtime::conditions::is_deleted;
use kube::runtime::wait::await_condition;
use serde_json::{Value, json};

use crate::space::{HOME, SOON, Space, TO_THE_END, in_space};

/// The example with the model, the Python and the addresses of the test cluster.
fn example(space: &Space) -> Vec<Value> {
    example_at(space, "examples/code-mode")
}

fn example_at(space: &Space, path: &str) -> Vec<Value> {
    let python = std::env::var("CODEGEN_E2E_PYTHON_IMAGE").ok();
    let host = format!("shop-tools.{}.svc.cluster.local:8080", space.name);
    let mut objects = space.objects(path, "code-mode");
    for object in &mut objects {
        match (object["kind"].as_str().unwrap(), &python) {
            ("CodeGenAgent", _) => {
                object["spec"]["model"]["baseURL"] =
                    json!(format!("http://replies.{HOME}:8080/code-mode/v1"));
            }
            ("CodeModeAgent", _) => {
                let text = object.to_string().replace("shop-tools.default.svc:8080", &host);
                *object = serde_json::from_str(&text).unwrap();
            }
            ("Deployment", Some(python)) => {
                object["spec"]["template"]["spec"]["containers"][0]["image"] = json!(python);
            }
            _ => {}
        }
    }
    objects
}

/// The question as soon as it has ended.
pub async fn ended(space: &Space, name: &str) -> CodeModeRun {
    let has_ended = |run: Option<&CodeModeRun>| {
        let status = run.and_then(|run| run.status.as_ref());
        status.is_some_and(|status| status.completed_at.is_some())
    };
    let wait = await_condition(space.api::<CodeModeRun>(), name, has_ended);
    if let Ok(found) = Box::pin(tokio::time::timeout(TO_THE_END, wait)).await {
        return found.unwrap().unwrap();
    }
    let run = space.api::<CodeModeRun>().get(name).await.unwrap();
    panic!("{name} has not ended: {:#?}", run.status);
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn the_example_of_code_mode_answers_with_a_program_that_calls_every_tool() {
    in_space("code-mode", async |space| {
        space.copy_secret("openai").await;
        space.apply_objects(&example(space));
        let march = ended(space, "march").await;
        let status = march.status.clone().unwrap();
        assert_eq!(status.reason.as_deref(), Some("Answered"), "{status:#?}");
        let text = status.answer.unwrap().text;
        assert!(text.contains("came to 577.88 euros"), "{text}");
        let called: Vec<&str> = status.tool_calls.keys().map(String::as_str).collect();
        for tool in ["clean_orders", "exchange_rate"] {
            assert!(called.contains(&tool), "{called:?}");
        }
        assert_eq!((status.attempt, status.model_calls, status.lost_calls), (1, 1, 0));
        runs_are_its_own(space, &march).await;
        agent_says_what_it_can_do(space).await;
        let listed = space.kubectl(&["get", "codemoderuns"]);
        assert!(
            listed.lines().all(|line| line.chars().count() <= 100) && listed.contains("Succeeded"),
            "{listed}"
        );
        goes_on_and_is_deleted(space).await;
    })
    .await;
}

/// Each call of the task's program is a run that belongs to the question.
async fn runs_are_its_own(space: &Space, question: &CodeModeRun) {
    let runs = space
        .api::<CodeGenRun>()
        .list(&ListParams::default())
        .await
        .unwrap();
    assert_eq!(runs.items.len(), 2);
    for run in runs {
        let owner = &run.owner_references()[0];
        assert_eq!(Some(&owner.uid), question.uid().as_ref());
        assert_eq!(run.status.unwrap().stage.as_deref(), Some("Succeeded"));
    }
}

async fn agent_says_what_it_can_do(space: &Space) {
    let is_ready = |agent: Option<&CodeModeAgent>| {
        let status = agent.and_then(|agent| agent.status.as_ref());
        status.is_some_and(|status| {
            status
                .conditions
                .iter()
                .any(|said| said.type_ == "Ready" && said.status == "True")
        })
    };
    let wait = await_condition(space.api::<CodeModeAgent>(), "shop", is_ready);
    let agent = Box::pin(tokio::time::timeout(SOON, wait))
        .await
        .expect("the agent is not ready");
    let status = agent.unwrap().unwrap().status.unwrap();
    let sources: Vec<&str> = status.tools.iter().map(|tool| tool.source.as_str()).collect();
    for source in ["Task", "HTTP", "MCP", "Builtin"] {
        assert!(sources.contains(&source), "{sources:?}");
    }
    assert!(status.uses_durable_tools);
}

/// Another question goes on with the conversation; its runs need no Pod, for they take the outputs of those before; and it goes when its time
/// is over.
async fn goes_on_and_is_deleted(space: &Space) {
    let spec = json!({"agentRef": {"name": "shop"}, "message": "Once more?", "continues": {"name": "march"}});
    space.apply_objects(&[json!({
        "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeModeRun", "metadata": {"name": "again"}, "spec": spec,
    })]);
    let again = ended(space, "again").await;
    asked_from_the_command_line(space);
    let status = again.status.clone().unwrap();
    assert_eq!(status.reason.as_deref(), Some("Answered"), "{status:#?}");
    let change = json!({"spec": {"ttlSecondsAfterFinished": 0}}).to_string();
    space.kubectl(&[
        "patch",
        "codemoderun",
        "again",
        "--type=merge",
        "--patch",
        &change,
    ]);
    let uid = again.uid().unwrap();
    let gone = await_condition(space.api::<CodeModeRun>(), "again", is_deleted(&uid));
    Box::pin(tokio::time::timeout(SOON, gone))
        .await
        .expect("it stays")
        .unwrap();
}

/// `kubectl-codegen ask` makes a run, follows it and prints the answer.
fn asked_from_the_command_line(space: &Space) {
    let asked = Command::new(env!("CARGO_BIN_EXE_kubectl-codegen"))
        .args([
            "ask",
            "shop",
            "How much was it?",
            "--namespace",
            &space.name,
            "-o",
            "json",
        ])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&asked.stderr);
    assert!(asked.status.success(), "{said}");
    let document: Value = serde_json::from_slice(&asked.stdout).unwrap();
    assert!(
        document["answer"].as_str().unwrap().contains("577.88"),
        "{document}"
    );
    let run = document["run"].as_str().unwrap();
    assert!(run.starts_with("shop-") && said.contains(run), "{said}");
    assert_eq!(document["toolCalls"]["clean_orders"], 2);
}

const PUBLISHED: &str = "registry.example.com/shop/best-seller";

/// The example with a published program: what is published and the question are answered by a recording of their own.
fn with_published_program(space: &Space) -> Vec<Value> {
    let recording = json!(format!("http://replies.{HOME}:8080/code-mode-published/v1"));
    let folder = tempfile::tempdir().unwrap();
    // kustomize takes no other folder by an absolute path.
    let root = "../".repeat(folder.path().canonicalize().unwrap().components().count() - 1);
    let example = format!("{root}{}/examples/code-mode", &env!("CARGO_MANIFEST_DIR")[1..]);
    let text = json!({"resources": [example], "components": [format!("{example}/published")]});
    std::fs::write(folder.path().join("kustomization.yaml"), text.to_string()).unwrap();
    let mut objects = example_at(space, folder.path().to_str().unwrap());
    // The question of the example below would take the recorded program of this one.
    objects.retain(|object| object["metadata"]["name"] != "march");
    for object in &mut objects {
        match (
            object["kind"].as_str().unwrap(),
            object["metadata"]["name"].as_str().unwrap(),
        ) {
            ("CodeGenTask", "best-seller") => object["spec"]["model"]["baseURL"] = recording.clone(),
            ("CodeModeAgent", _) => {
                let key = json!({"name": "openai", "key": "api-key"});
                let model = json!({"provider": "OpenAI", "name": "gpt-5", "baseURL": recording, "apiKeySecretRef": key});
                let spec = object["spec"].as_object_mut().unwrap();
                spec.remove("agentRef");
                spec.insert("model".to_owned(), model);
                spec.insert("requireApproval".to_owned(), json!(["stock"]));
            }
            _ => {}
        }
    }
    let text = Value::from(objects).to_string();
    serde_json::from_str(&text.replace(PUBLISHED, &space.repository())).unwrap()
}

/// Approves of the call that the question waits with, once it is another one than `before`; gives its hash.
async fn approve_call(space: &Space, name: &str, before: Option<&str>) -> String {
    let asked = |run: Option<&CodeModeRun>| {
        let status = run.and_then(|run| run.status.as_ref());
        let approval = status.and_then(|status| status.approval.as_ref());
        approval.is_some_and(|approval| Some(approval.hash.as_str()) != before)
    };
    let wait = await_condition(space.api::<CodeModeRun>(), name, asked);
    let Ok(found) = Box::pin(tokio::time::timeout(TO_THE_END, wait)).await else {
        let run = space.api::<CodeModeRun>().get(name).await.unwrap();
        panic!("{name} asks nobody: {:#?}", run.status);
    };
    let approval = found.unwrap().unwrap().status.unwrap().approval.unwrap();
    let question = format!("codemoderun/{name}");
    let decided = Command::new(env!("CARGO_BIN_EXE_kubectl-codegen"))
        .args(["approve", &question, "--yes", "--namespace", &space.name])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&decided.stderr);
    assert!(decided.status.success() && said.contains("stock"), "{said}");
    approval.hash
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn a_program_calls_a_task_a_published_program_a_server_and_an_mcp_server_and_catches_an_error() {
    in_space("code-mode-published", async |space| {
        space.copy_secret("openai").await;
        space.apply_objects(&with_published_program(space));
        // Persons decide about each call of `stock`, one after the other.
        let first = approve_call(space, "best-sellers", None).await;
        approve_call(space, "best-sellers", Some(&first)).await;
        let question = ended(space, "best-sellers").await;
        let status = question.status.clone().unwrap();
        assert_eq!(status.reason.as_deref(), Some("Answered"), "{status:#?}");
        assert_eq!(status.approvals.len(), 2, "{status:#?}");
        assert!(status.approvals.iter().all(|decision| decision.verified), "{status:#?}");
        assert_eq!(
            status.answer.unwrap().text,
            "2027-02: notebook, 10 sold, 9 left.\n2027-03: desk lamp, 8 sold, 3 left.\nOne USD is worth 0.92 euros.\nThere is no rate of JPY."
        );
        for (tool, times) in [("clean_orders", 2), ("best_seller", 2), ("exchange_rate", 2), ("stock", 2)] {
            assert_eq!(status.tool_calls.get(tool), Some(&times), "{tool}: {:?}", status.tool_calls);
        }
    })
    .await;
}
