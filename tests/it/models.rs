//! The same manifest runs against a server of either protocol, with no change but the address.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Output;
use std::time::Duration;

use codegen_model::ReplyServer;
use serde_json::Value;
use wiremock::matchers::{header, method, path};
use wiremock::{Mock, MockServer};

use crate::support::identity::without_identity;
use crate::support::{Anthropic, OpenAi, Replies, document, examples, expect_code, manifest, program};

fn penguins() -> PathBuf {
    examples().join("penguins")
}

async fn run(server: &MockServer, provider: &str) -> (Output, tempfile::TempDir) {
    let output = tempfile::tempdir().unwrap();
    let mut command = program(output.path());
    command
        .args(manifest(&penguins()))
        .args([
            "--model-url",
            &format!("{}/v1", server.uri()),
            "--provider",
            provider,
            "--model",
            "some-model",
        ])
        .args(["--model-key-env", "TEST_MODEL_KEY"])
        .env("TEST_MODEL_KEY", "sk-test-4711");
    let done = tokio::task::spawn_blocking(move || command.output().unwrap())
        .await
        .unwrap();
    (done, output)
}

fn check(done: &Output) {
    expect_code(done, 0);
    let status = document(done)["status"].clone();
    assert_eq!(status["stage"], "Succeeded");
    assert_eq!(status["modelCalls"], 6);
    assert_eq!(
        (&status["tokens"]["input"], &status["tokens"]["output"]),
        (&600.into(), &60.into())
    );
    assert!(!String::from_utf8_lossy(&done.stderr).contains("sk-test-4711"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_runs_against_an_openai_compatible_server() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/chat/completions"))
        .and(header("authorization", "Bearer sk-test-4711"))
        .respond_with(OpenAi(Replies::read(&penguins().join("replies.jsonl"))))
        .mount(&server)
        .await;
    let (done, _output) = run(&server, "openai").await;
    check(&done);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_runs_against_an_anthropic_messages_server() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/messages"))
        .and(header("x-api-key", "sk-test-4711"))
        .respond_with(Anthropic(Replies::read(&penguins().join("replies.jsonl"))))
        .mount(&server)
        .await;
    let (done, _output) = run(&server, "anthropic").await;
    check(&done);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_prefix_of_every_call_is_the_same_and_acceptance_tests_are_in_none() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(OpenAi(Replies::read(&penguins().join("replies.jsonl"))))
        .mount(&server)
        .await;
    let (done, _output) = run(&server, "openai").await;
    expect_code(&done, 0);
    let acceptance = std::fs::read_to_string(penguins().join("test_acceptance.py")).unwrap();
    let secret_lines: Vec<&str> = acceptance
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("def test_"))
        .collect();
    assert!(!secret_lines.is_empty());
    let mut systems = Vec::new();
    let mut prefixes = Vec::new();
    for request in server.received_requests().await.unwrap() {
        let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
        let text = String::from_utf8_lossy(&request.body).into_owned();
        assert!(
            secret_lines.iter().all(|line| !text.contains(line)),
            "an acceptance test went out"
        );
        systems.push(body["messages"][0]["content"].as_str().unwrap().to_owned());
        let user = body["messages"][1]["content"].as_str().unwrap();
        let data = user.find("# Data").unwrap();
        let end = user[data..]
            .find("\n\n")
            .map_or(user.len(), |offset| data + offset);
        prefixes.push(user[..end].to_owned());
        assert_eq!(
            user.matches("# Data").count(),
            1,
            "the data context goes out once"
        );
    }
    assert_eq!(systems.len(), 6);
    assert!(systems.windows(2).all(|pair| pair[0] == pair[1]));
    assert!(prefixes.windows(2).all(|pair| pair[0] == pair[1]));
}

/// The replies of an agent, for a model of each protocol under a base address of its own.
async fn serve(recording: &str) -> SocketAddr {
    let mut server = ReplyServer::new(Duration::ZERO);
    for protocol in ["openai", "anthropic"] {
        server.add(Some(protocol), recording).unwrap();
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, server.router()).await });
    address
}

/// The status at the end of a task, and each file that it leaves whose content has no times in it.
async fn agent(address: SocketAddr, protocol: &'static str) -> (Value, Vec<String>) {
    let output = tempfile::tempdir().unwrap();
    let mut command = program(output.path());
    command
        .args(manifest(&examples().join("multi-input-agent")))
        .args(["--model-url", &format!("http://{address}/{protocol}/v1")])
        .args(["--provider", protocol, "--model", "some-model"])
        .args(["--model-key-env", "TEST_MODEL_KEY"])
        .env("TEST_MODEL_KEY", "sk-test-4711");
    let done = tokio::task::spawn_blocking(move || command.output().unwrap())
        .await
        .unwrap();
    expect_code(&done, 0);
    let status = without_identity(&document(&done)["status"], "order-filter-agent");
    let files = [
        "solution.py",
        "test_solution.py",
        "conversation.jsonl",
        "outputs/filtered.csv",
    ];
    let read = |file| std::fs::read_to_string(output.path().join(file)).unwrap();
    (status, files.map(read).into())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_leaves_the_same_whichever_protocol_its_model_speaks() {
    let recording = std::fs::read_to_string(examples().join("multi-input-agent/replies.jsonl")).unwrap();
    let address = serve(&recording).await;
    let (openai, anthropic) = tokio::join!(agent(address, "openai"), agent(address, "anthropic"));
    assert_eq!(openai.0["agent"]["toolCalls"]["Edit"], 2, "{:#}", openai.0);
    assert_eq!(openai, anthropic);
}
