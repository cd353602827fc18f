//! Results of tasks beside each other on this machine: what asks the same takes over, what is paused waits.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use wiremock::matchers::method;
use wiremock::{Mock, MockServer};

use crate::support::{OpenAi, Replies, examples, expect_code};

/// A server with the replies of the smallest example, for two tasks.
async fn server() -> MockServer {
    let server = MockServer::start().await;
    let replies = fs::read_to_string(examples().join("prompt-only/replies.jsonl")).unwrap();
    let mut file = tempfile::NamedTempFile::new().unwrap();
    writeln!(file, "{replies}\n{replies}").unwrap();
    Mock::given(method("POST"))
        .respond_with(OpenAi(Replies::read(file.path())))
        .mount(&server)
        .await;
    server
}

/// The smallest example under this name, with these fields besides.
fn task(folder: &Path, name: &str, spec: &Value) {
    let text = fs::read_to_string(examples().join("prompt-only/task.yaml")).unwrap();
    let mut task: Value = serde_saphyr::from_str(&text).unwrap();
    task["metadata"]["name"] = name.into();
    for (field, value) in spec.as_object().unwrap() {
        task["spec"][field] = value.clone();
    }
    fs::write(folder.join(format!("{name}.json")), task.to_string()).unwrap();
}

/// Runs the task in `codegen-out` of the folder.
async fn run(folder: &Path, name: &str, server: &MockServer) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-codegen"));
    command
        .env_remove("OPENAI_API_KEY")
        .env_remove("ANTHROPIC_API_KEY")
        .args(["local", "-o", "json", "-f"])
        .arg(format!("{name}.json"))
        .args(["--model-url", &format!("{}/v1", server.uri())])
        .current_dir(folder);
    tokio::task::spawn_blocking(move || command.output().unwrap())
        .await
        .unwrap()
}

fn status(output: &Output) -> Value {
    crate::support::document(output)["status"].clone()
}

async fn calls(server: &MockServer) -> usize {
    server.received_requests().await.unwrap().len()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_asks_the_same_adopts_the_program_of_its_neighbour() {
    let (folder, server) = (tempfile::tempdir().unwrap(), server().await);
    task(folder.path(), "first", &json!({}));
    task(folder.path(), "again", &json!({}));
    task(folder.path(), "bare", &json!({"reuse": {"rerunTests": false}}));
    task(folder.path(), "disabled", &json!({"cache": "Disable"}));
    let first = run(folder.path(), "first", &server).await;
    expect_code(&first, 0);
    let asked = calls(&server).await;
    // That of the one that ended last.
    for (name, origin) in [("again", "first"), ("bare", "again")] {
        let ended = run(folder.path(), name, &server).await;
        expect_code(&ended, 0);
        let status = status(&ended);
        let told = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(
            (&status["adoptedFrom"], &status["modelCalls"]),
            (&json!(origin), &json!(0)),
            "{told}"
        );
        assert_eq!(status["attempts"].as_array().unwrap().len(), 1);
        let whose = format!("{origin} asked the same and succeeded");
        assert!(told.contains(&whose), "{told}");
        let left = folder.path().join("codegen-out").join(name).join("solution.py");
        assert!(left.exists());
    }
    assert_eq!(calls(&server).await, asked, "no model is asked");
    let ignored = std::fs::read_to_string(folder.path().join("codegen-out/.gitignore"));
    assert_eq!(ignored.unwrap(), "*\n", "no repository takes the results");
    // It neither takes over nor is taken over.
    let own = run(folder.path(), "disabled", &server).await;
    expect_code(&own, 0);
    assert_eq!(calls(&server).await, 2 * asked);
    assert!(status(&own)["adoptedFrom"].is_null());
}

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_with_a_model_of_one_name_are_two_models() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (server().await, server().await);
    task(folder.path(), "first", &json!({}));
    task(folder.path(), "again", &json!({}));
    expect_code(&run(folder.path(), "first", &one).await, 0);
    let again = run(folder.path(), "again", &other).await;
    expect_code(&again, 0);
    assert!(status(&again)["adoptedFrom"].is_null());
    assert_eq!(calls(&other).await, calls(&one).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_is_paused_makes_no_step_and_goes_on_when_it_is_not() {
    let (folder, server) = (tempfile::tempdir().unwrap(), server().await);
    task(folder.path(), "words", &json!({"suspend": true}));
    let held = run(folder.path(), "words", &server).await;
    expect_code(&held, 1);
    assert_eq!(status(&held)["reason"], "Suspended");
    assert!(String::from_utf8_lossy(&held.stderr).contains("spec.suspend is true: remove it"));
    assert_eq!(calls(&server).await, 0);
    task(folder.path(), "words", &json!({"suspend": false}));
    let ended = run(folder.path(), "words", &server).await;
    expect_code(&ended, 0);
    // Its end is its end.
    task(folder.path(), "words", &json!({"suspend": true}));
    let again = run(folder.path(), "words", &server).await;
    expect_code(&again, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_corrected_example_costs_no_call() {
    let (folder, server) = (tempfile::tempdir().unwrap(), server().await);
    let with_example = |text: &str| {
        let expect = json!([{"output": "stdout", "check": "Contains", "value": text}]);
        json!({"examples": [{"about": "the last product", "expect": expect}], "limits": {"maxIterations": 1}})
    };
    task(folder.path(), "table", &with_example("101"));
    let failed = run(folder.path(), "table", &server).await;
    expect_code(&failed, 1);
    let asked = calls(&server).await;
    assert!(asked > 0);
    task(folder.path(), "table", &with_example("100"));
    let corrected = run(folder.path(), "table", &server).await;
    expect_code(&corrected, 0);
    let words_of = |output: &Output| {
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let told = words_of(&corrected);
    for words in [
        "changed since the run before: examples; what that came to is in codegen-out/table/.runs/",
        "the program of the run before was held against them first, without a call",
    ] {
        assert!(told.contains(words), "{told}");
    }
    let shown = status(&corrected);
    assert_eq!(
        (&shown["modelCalls"], &shown["stage"]),
        (&json!(0), &json!("Succeeded"))
    );
    assert_eq!(calls(&server).await, asked, "no model is asked");
    // Another prompt is another program.
    task(
        folder.path(),
        "table",
        &json!({"prompt": "Print the table of 1 to 10."}),
    );
    let asked_anew = run(folder.path(), "table", &server).await;
    expect_code(&asked_anew, 0);
    assert!(calls(&server).await > asked);
    let told = words_of(&asked_anew);
    let changed = ["examples, prompt", "prompt, examples"];
    let changed = changed.map(|fields| format!("changed since the run before: {fields}; "));
    assert!(changed.iter().any(|text| told.contains(text)), "{told}");
}
