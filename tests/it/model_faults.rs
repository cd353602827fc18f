//! A model that is slow, broken, wrong or refuses: what it comes to, and how many calls it costs.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::support::{OpenAi, Replies, document, examples, expect_code, manifest, program};

const KEY: &str = "sk-test-4711";

fn penguins() -> PathBuf {
    examples().join("penguins")
}

/// What goes wrong with a call.
#[derive(Clone, Copy)]
enum Fault {
    /// An HTTP status, with a body that repeats the key.
    Status(u16),
    /// The connection ends without an answer.
    Dropped,
    /// This text in the place of the reply, and why it ended.
    Text(&'static str, &'static str),
    /// No answer.
    Hangs,
}

fn kind_of(request: &Request) -> String {
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    body["response_format"]["json_schema"]["name"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// A server that has the replies of the penguins; the first `times` calls of a kind meet a fault.
async fn server(kind: &'static str, fault: Fault, times: u64) -> MockServer {
    let server = MockServer::start().await;
    let faulty = Mock::given(method("POST")).and(move |request: &Request| kind_of(request) == kind);
    let faulty = match fault {
        Fault::Dropped => {
            faulty.respond_with_err(|_: &Request| io::Error::from(io::ErrorKind::ConnectionReset))
        }
        Fault::Hangs => faulty.respond_with(ResponseTemplate::new(200).set_delay(Duration::from_hours(1))),
        Fault::Status(status) => faulty.respond_with(
            ResponseTemplate::new(status)
                .insert_header("retry-after", "0")
                .set_body_string(format!("{{\"error\": {{\"message\": \"no: {KEY}\"}}}}")),
        ),
        Fault::Text(text, finish) => faulty.respond_with(ResponseTemplate::new(200).set_body_json(json!({
            "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": finish}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10},
        }))),
    };
    faulty.up_to_n_times(times).with_priority(1).mount(&server).await;
    Mock::given(method("POST"))
        .respond_with(OpenAi(Replies::read(&penguins().join("replies.jsonl"))))
        .mount(&server)
        .await;
    server
}

fn command(server: &MockServer, output: &Path) -> Command {
    let mut command = program(output);
    command
        .args(manifest(&penguins()))
        .args(["--model-url", &format!("{}/v1", server.uri())])
        .args(["--model-key-env", "TEST_MODEL_KEY"])
        .env("TEST_MODEL_KEY", KEY);
    command
}

async fn run(mut command: Command) -> Output {
    tokio::task::spawn_blocking(move || command.output().unwrap())
        .await
        .unwrap()
}

async fn requests(server: &MockServer) -> usize {
    server.received_requests().await.unwrap().len()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// No file below a folder, and nothing that was said, holds the key.
fn assert_no_key(output: &Output, folder: &Path) {
    assert!(!String::from_utf8_lossy(&output.stdout).contains(KEY));
    assert!(!said(output).contains(KEY), "{}", said(output));
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = std::fs::read(&path).unwrap();
                assert!(
                    !String::from_utf8_lossy(&bytes).contains(KEY),
                    "{}",
                    path.display()
                );
            }
        }
    }
}

const PROSE: Fault = Fault::Text("Sure! I would read the file with pandas first.", "stop");
const CUT: Fault = Fault::Text("{\"code\": \"import argparse\\n\\ndef read_rows(pa", "length");
const CUT_UNNOTICED: Fault = Fault::Text("{\"code\": \"import argparse\\n\\ndef read_rows(pa", "stop");
const FENCED: Fault = Fault::Text("```json\n{\"failures\": []}\n```", "stop");
const FENCED_CODE: Fault = Fault::Text(
    "{\"code\": \"```python\\nprint(1)\\n```\", \"packages\": [], \"systemPackages\": []}",
    "stop",
);
const OTHER_SHAPE: Fault = Fault::Text("{\"foo\": 1}", "stop");

/// The six calls of the penguins, and what one fault adds to them: a request where the model turned it away, a call where it may be
/// billed or the answer was of no use.
#[rstest]
#[case::too_many_requests("constraints", Fault::Status(429), 6)]
#[case::server_error("plan", Fault::Status(500), 6)]
#[case::dropped_connection("code", Fault::Dropped, 7)]
#[case::prose("plan", PROSE, 7)]
#[case::cut("code", CUT, 7)]
#[case::cut_without_a_word("code", CUT_UNNOTICED, 7)]
#[case::cut_tests("tests", CUT, 7)]
#[case::fenced_code("code", FENCED_CODE, 7)]
#[case::fenced("diagnosis", FENCED, 7)]
#[case::other_shape("fix_code", OTHER_SHAPE, 7)]
#[tokio::test(flavor = "multi_thread")]
async fn one_fault_costs_one_request_or_one_call_and_no_iteration(
    #[case] kind: &'static str,
    #[case] fault: Fault,
    #[case] calls: u64,
) {
    let (server, output) = (server(kind, fault, 1).await, tempfile::tempdir().unwrap());
    let ended = run(command(&server, output.path())).await;
    expect_code(&ended, 0);
    let status = document(&ended)["status"].clone();
    assert_eq!(status["modelCalls"], calls, "{status:#}");
    assert_eq!(status["attempts"].as_array().unwrap().len(), 2);
    assert_eq!(requests(&server).await, 7);
    assert_no_key(&ended, output.path());
}

#[rstest]
#[case::prose("plan", PROSE, 4)]
#[case::cut("code", CUT, 5)]
#[case::other_shape("plan", OTHER_SHAPE, 4)]
#[tokio::test(flavor = "multi_thread")]
async fn three_useless_replies_in_a_row_end_the_task(
    #[case] kind: &'static str,
    #[case] fault: Fault,
    #[case] calls: u64,
) {
    let (server, output) = (server(kind, fault, 99).await, tempfile::tempdir().unwrap());
    let ended = run(command(&server, output.path())).await;
    expect_code(&ended, 1);
    let status = document(&ended)["status"].clone();
    assert_eq!(
        (&status["stage"], &status["reason"]),
        (&"Failed".into(), &"InvalidReply".into())
    );
    assert_eq!(status["modelCalls"], calls);
    assert_eq!(requests(&server).await as u64, calls);
    let again = run(command(&server, output.path())).await;
    expect_code(&again, 1);
    assert_eq!(
        requests(&server).await as u64,
        calls,
        "the end of a task is its end"
    );
    assert!(
        said(&again).contains("this is the end of an earlier run"),
        "{}",
        said(&again)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suite_that_is_useless_three_times_is_left_out_where_cases_decide() {
    let (server, output) = (
        server("tests", OTHER_SHAPE, 99).await,
        tempfile::tempdir().unwrap(),
    );
    let ended = run(command(&server, output.path())).await;
    expect_code(&ended, 0);
    let status = document(&ended)["status"].clone();
    let evidence = &status["evidence"];
    assert_eq!(
        (&evidence["strength"], &evidence["suiteStrength"]),
        (&"Independent".into(), &"NoSuite".into())
    );
    assert!(
        status["message"].to_string().contains("no usable test"),
        "{status:#}"
    );
}

#[rstest]
#[case::no_such_key(Fault::Status(401), "check the API key: the variable TEST_MODEL_KEY")]
#[case::forbidden(Fault::Status(403), "check the API key: the variable TEST_MODEL_KEY")]
#[case::no_such_model(Fault::Status(404), "check spec.model.name")]
#[case::bad_request(Fault::Status(422), "check spec.model.parameters")]
#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_waits_for_a_person_and_goes_on_when_the_cause_is_fixed(
    #[case] fault: Fault,
    #[case] advice: &str,
) {
    let (server, output) = (server("plan", fault, 1).await, tempfile::tempdir().unwrap());
    let ended = run(command(&server, output.path())).await;
    expect_code(&ended, 1);
    let status = document(&ended)["status"].clone();
    assert_eq!(
        (&status["stage"], &status["reason"]),
        (&"Planning".into(), &"Configuration".into())
    );
    let message = status["message"].as_str().unwrap();
    assert!(message.contains(advice), "{message}");
    assert_eq!(requests(&server).await, 2);
    assert_no_key(&ended, output.path());
    let again = run(command(&server, output.path())).await;
    expect_code(&again, 0);
    assert_eq!(requests(&server).await, 7, "the constraints were recorded");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_hangs_is_given_up_and_asked_again_by_the_next_process() {
    let (server, output) = (
        server("code", Fault::Hangs, 3).await,
        tempfile::tempdir().unwrap(),
    );
    let mut hanging = command(&server, output.path());
    hanging.args(["--model-timeout", "400ms"]);
    let ended = run(hanging).await;
    expect_code(&ended, 1);
    let status = document(&ended)["status"].clone();
    assert_eq!(
        (&status["stage"], &status["reason"]),
        (&"GeneratingCode".into(), &"Infrastructure".into())
    );
    assert!(
        status["message"]
            .as_str()
            .unwrap()
            .contains("gave no reply within 0.4 s")
    );
    assert_eq!(requests(&server).await, 5);
    assert_eq!(
        said(&ended).matches("gave no reply").count(),
        2,
        "once as it happens, once in the end"
    );
    let again = run(command(&server, output.path())).await;
    expect_code(&again, 0);
    let status = document(&again)["status"].clone();
    assert_eq!(
        (&status["modelCalls"], &status["lostCalls"]),
        (&9.into(), &3.into())
    );
    let lost = status["tokens"]["lost"].as_u64().unwrap();
    assert!(lost > 3 * 16_384, "three replies at their longest: {lost}");
    assert_eq!(requests(&server).await, 9);
    let said = said(&again);
    assert!(
        said.contains("9 calls,") && said.contains("; 3 calls lost, which may be billed: "),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_cannot_be_reached_spends_nothing_and_the_flag_that_names_it_is_named() {
    let output = tempfile::tempdir().unwrap();
    // Port 1 (tcpmux) is one at which nobody answers.
    let command = || {
        let mut command = program(output.path());
        command
            .args(manifest(&penguins()))
            .args(["--model-url", "http://127.0.0.1:1/v1"])
            .args(["--model-timeout", "400ms"]);
        command
    };
    for _ in 0..2 {
        let ended = run(command()).await;
        expect_code(&ended, 1);
        let status = document(&ended)["status"].clone();
        assert_eq!(status["reason"], "Infrastructure", "{status:#}");
        assert_eq!(
            (
                &status["modelCalls"],
                &status["lostCalls"],
                &status["tokens"]["total"]
            ),
            (&0.into(), &0.into(), &0.into())
        );
        let message = status["message"].as_str().unwrap();
        assert!(
            message.contains("check --model-url, ") && message.contains("does not count"),
            "{message}"
        );
    }
}

#[test]
fn a_key_that_is_empty_is_refused_before_anything_is_sent() {
    let output = tempfile::tempdir().unwrap();
    let manifest = output.path().join("task.yaml");
    let text = "apiVersion: codegen-operator.dev/v1alpha1\nkind: CodeGenTask\nmetadata: {name: sum}\nspec:\n  \
                prompt: add\n  model: {name: m}\n";
    std::fs::write(&manifest, text).unwrap();
    let mut command = program(output.path());
    command.arg("-f").arg(&manifest).env("OPENAI_API_KEY", " ");
    let ended = command.output().unwrap();
    expect_code(&ended, 2);
    assert!(
        said(&ended).contains("the variable OPENAI_API_KEY is set and empty"),
        "{}",
        said(&ended)
    );
}

#[rstest]
#[case("0s", "no call is answered in no time")]
#[case("5", "is not a duration")]
fn a_timeout_that_is_none_is_refused(#[case] given: &str, #[case] words: &str) {
    let output = tempfile::tempdir().unwrap();
    let mut command = program(output.path());
    command.args(["-f", "task.yaml", "--model-timeout", given]);
    let ended = command.output().unwrap();
    expect_code(&ended, 2);
    assert!(said(&ended).contains(words), "{}", said(&ended));
}
