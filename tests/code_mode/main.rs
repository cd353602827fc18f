//! `kubectl-codegen ask`: the real program, the real interpreter, tools over HTTP and MCP on the loopback.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests say what they expect"
)]

mod approvals;
mod command;
mod example;
mod programs;
mod server;
#[path = "../support/mod.rs"]
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rstest::rstest;
use serde_json::{Value, json};
use server::Shop;
use support::{document, expect_code};

const QUESTION: &str = "How much is it?";

/// A shop, a folder with its agent, and what is asked there.
struct Case {
    shop: Shop,
    folder: tempfile::TempDir,
}

impl Case {
    fn new(programs: &[&str]) -> Self {
        let case = Self {
            shop: Shop::open(programs),
            folder: tempfile::tempdir().unwrap(),
        };
        case.agent(&case.tools());
        case
    }

    fn tools(&self) -> Vec<Value> {
        let origin = &self.shop.origin;
        let one = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
        let refunded = json!({"type": "object", "properties": {"refunded": {"type": "boolean"}}, "required": ["refunded"]});
        vec![
            json!({"name": "rate", "http": {"url": format!("{origin}/rate/{{base}}"), "parameters": one("base"), "result": {"type": "number"}}}),
            json!({"name": "slow", "http": {"url": format!("{origin}/slow"), "result": {"type": "integer"}}}),
            json!({"name": "refund", "http": {"method": "POST", "url": format!("{origin}/refund"), "parameters": one("order"), "result": refunded}}),
            json!({"name": "docs", "mcp": {"url": format!("{origin}/mcp")}}),
        ]
    }

    /// Writes the manifest of an agent with these tools.
    fn agent(&self, tools: &[Value]) {
        self.agent_with(tools, &[]);
    }

    /// The same, where a person decides about calls of some of them.
    fn agent_with(&self, tools: &[Value], require_approval: &[&str]) {
        let agent = json!({
            "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeModeAgent", "metadata": {"name": "shop"},
            "spec": {"model": {"name": "m"}, "tools": tools, "requireApproval": require_approval},
        });
        fs::write(self.path("agent.json"), agent.to_string()).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, question: &str) -> Command {
        let mut command = self.command_to_the_internet(question);
        command.args(["--allow-host", "127.0.0.1"]);
        command
    }

    /// The same, which opens no host besides public ones.
    fn command_to_the_internet(&self, question: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-codegen"));
        command
            .current_dir(self.folder.path())
            .env_remove("OPENAI_API_KEY")
            .args(["ask", "-f", "agent.json", "-o", "json", "--output", "out"])
            .arg("--model-url")
            .arg(format!("{}/v1", self.shop.origin))
            .arg(question)
            .stdin(Stdio::null());
        command
    }

    fn ask(&self) -> Output {
        self.command(QUESTION).output().unwrap()
    }

    /// Asks, and kills the command as soon as the shop has had this request.
    fn kill_at(&self, request: &str) {
        let mut child = self
            .command(QUESTION)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        self.shop.until(request);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path("out").join(name)).unwrap()
    }
}

fn stderr(output: &Output) -> String {
    // Wrapped for people.
    let text = String::from_utf8_lossy(&output.stderr);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

const LOOPING: &str = "import asyncio
total = 0.0
for base in ['USD', 'QQQ', 'CHF']:
    try:
        total += await rate(base)
    except RuntimeError as error:
        print(error)
apples, pears = await asyncio.gather(stock('apple'), stock('pears!'))
{'total': total, 'left': apples['left'] + pears['left']}";

#[test]
fn a_program_loops_over_http_catches_an_error_and_asks_a_server_at_once() {
    let case = Case::new(&[LOOPING]);
    let output = case.ask();
    expect_code(&output, 0);
    let document = document(&output);
    assert_eq!(document["value"], json!({"total": 2.0, "left": 11}));
    assert_eq!(document["toolCalls"], json!({"rate": 3, "stock": 2}));
    assert_eq!(document["status"]["stage"], "Succeeded");
    assert_eq!(case.shop.count("rate QQQ"), 1);
    let journal = case.read("journal.jsonl");
    let third: Value = serde_json::from_str(journal.lines().nth(1).unwrap()).unwrap();
    let message = third["outcome"]["raised"]["message"].as_str().unwrap();
    assert!(message.contains("there is no currency QQQ"), "{message}");
    assert_eq!(case.read("program.py").trim_end(), LOOPING);
}

#[test]
fn a_program_that_cannot_work_calls_nothing_and_is_asked_for_again() {
    let wrong = "await rate(1)";
    let case = Case::new(&[wrong, "await rate('USD') * 2"]);
    let output = case.ask();
    expect_code(&output, 0);
    let document = document(&output);
    assert_eq!(
        (&document["value"], &document["attempts"]),
        (&json!(3.0), &json!(2))
    );
    assert_eq!(case.shop.count("rate 1"), 0);
    let second = case.read("conversation.jsonl");
    assert!(second.contains("It cannot work"), "{second}");
}

const PAYING: &str = "total = 0.0
for base in ['USD', 'CHF']:
    total += await rate(base)
paid = await refund('o-1')
left = await slow()
f\"{total} {paid['refunded']} {left}\"";

#[test]
fn after_a_kill_no_recorded_reply_and_no_recorded_call_is_asked_for_again() {
    let case = Case::new(&[PAYING]);
    case.kill_at("slow");
    let output = case.ask();
    expect_code(&output, 0);
    assert_eq!(document(&output)["answer"], "2.0 True 7");
    let counts =
        ["model", "rate USD", "rate CHF", "POST /refund o-1", "slow"].map(|had| case.shop.count(had));
    assert_eq!(counts, [1, 1, 1, 1, 2]);
    // Ended: printed without a call, of whatever kind.
    let again = case.command(QUESTION).arg("--cached").output().unwrap();
    assert_eq!(document(&again)["answer"], "2.0 True 7");
    assert_eq!((case.shop.count("model"), case.shop.count("slow")), (1, 2));
}

#[test]
fn a_question_that_has_ended_is_asked_anew_and_its_answer_is_printed_with_its_age_where_that_is_wanted() {
    let case = Case::new(&["1", "2", "3"]);
    for answer in ["1", "2"] {
        assert_eq!(document(&case.ask())["answer"], answer);
    }
    let cached = case.command(QUESTION).arg("--cached").output().unwrap();
    assert_eq!(document(&cached)["answer"], "2");
    let told = stderr(&cached);
    assert!(
        told.contains(" s ago (20") && told.contains("nothing was called now"),
        "{told}"
    );
    assert_eq!(case.shop.count("model"), 2);
    // Nothing to print yet: asked.
    let mut other = case.command("And tomorrow?");
    expect_code(&other.arg("--cached").output().unwrap(), 0);
    assert_eq!(case.shop.count("model"), 3);
}

#[test]
fn a_call_that_must_not_be_made_twice_and_was_in_flight_at_a_kill_ends_the_question() {
    let case = Case::new(&["await refund('lost')"]);
    case.kill_at("POST /refund lost");
    let output = case.ask();
    expect_code(&output, 1);
    let document = document(&output);
    assert_eq!(document["status"]["reason"], "UnknownOutcome");
    let message = document["status"]["message"].as_str().unwrap();
    assert!(message.contains("refund(order=\"lost\")"), "{message}");
    assert_eq!(case.shop.count("POST /refund lost"), 1);
}

#[test]
fn the_same_call_is_made_again_where_the_agent_says_so() {
    let case = Case::new(&["await refund('lost')"]);
    let mut tools = case.tools();
    tools[2]["onUnknownOutcome"] = json!("Retry");
    case.agent(&tools);
    case.kill_at("POST /refund lost");
    let mut child = case
        .command(QUESTION)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while case.shop.count("POST /refund lost") < 2 {
        assert!(child.try_wait().unwrap().is_none(), "it ended without the call");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_conversation_goes_on_with_the_history_that_a_question_left() {
    let case = Case::new(&["'It is 1.5.'", "'It was 1.4.'"]);
    let mut command = case.command(QUESTION);
    let output = command.args(["--save-history", "talk.json"]).output().unwrap();
    expect_code(&output, 0);
    let mut command = case.command("And yesterday?");
    let talk = ["--history", "talk.json", "--save-history", "talk.json"];
    let output = command.args(talk).output().unwrap();
    expect_code(&output, 0);
    assert_eq!(document(&output)["answer"], "It was 1.4.");
    let saved = fs::read_to_string(case.path("talk.json")).unwrap();
    assert_eq!(saved, case.read("conversation.json"));
    let artifacts = document(&output)["status"]["artifacts"].clone();
    let artifacts = artifacts.as_array().unwrap();
    let artifact = artifacts
        .iter()
        .find(|artifact| artifact["name"] == "conversation");
    assert_eq!(artifact.unwrap()["bytes"], saved.len());
    let history: Value = serde_json::from_str(&saved).unwrap();
    let said: Vec<&str> = history
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert_eq!(said, [QUESTION, "It is 1.5.", "And yesterday?", "It was 1.4."]);
    assert!(case.read("conversation.jsonl").contains("It is 1.5."));
}

#[test]
fn a_tool_of_this_machine_is_asked_where_the_command_line_names_its_host_alone() {
    let case = Case::new(&["await rate('USD')"]);
    for tool in ["rate", "docs"] {
        let tools = case.tools().into_iter().filter(|given| given["name"] == tool);
        case.agent(&tools.collect::<Vec<_>>());
        let refused = case
            .command_to_the_internet(QUESTION)
            .arg("--fresh")
            .output()
            .unwrap();
        assert!(!refused.status.success());
        let host = case.shop.origin.trim_start_matches("http://");
        let told = stderr(&refused);
        assert!(told.contains(&format!("--allow-host {host}")), "{told}");
        // Shown once.
        let shown = told.contains(&format!("tools of agent shop ask http://{host}"));
        assert_eq!(shown, tool == "rate", "{told}");
    }
    assert_eq!(
        [case.shop.count("GET /rate"), case.shop.count("POST /mcp")],
        [0, 0]
    );
}

#[test]
fn a_key_of_the_environment_goes_to_no_address_that_a_manifest_names_alone() {
    let case = Case::new(&["1"]);
    case.agent(&case.tools()[..1]);
    let text = fs::read_to_string(case.path("agent.json")).unwrap();
    let model = json!({"name": "m", "baseURL": format!("{}/v1", case.shop.origin)});
    let text = text.replace(r#"{"name":"m"}"#, &model.to_string());
    fs::write(case.path("agent.json"), text).unwrap();
    let ask = |options: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_kubectl-codegen"))
            .current_dir(case.folder.path())
            .env("OPENAI_API_KEY", "hunter2")
            .args(["ask", "-f", "agent.json", "--output", "out"])
            .args(["--allow-host", "127.0.0.1"])
            .args(options)
            .arg(QUESTION)
            .stdin(Stdio::null())
            .output()
            .unwrap()
    };
    let refused = ask(&[]);
    expect_code(&refused, 2);
    let told = stderr(&refused);
    assert!(
        told.contains("the key of OPENAI_API_KEY is not sent to http://127.0.0.1"),
        "{told}"
    );
    assert!(told.contains("give --model-key-env OPENAI_API_KEY"), "{told}");
    assert!(!told.contains("hunter2"), "{told}");
    assert_eq!(case.shop.count("model"), 0);
    expect_code(&ask(&["--model-key-env", "OPENAI_API_KEY"]), 0);
    assert_eq!(case.shop.count("model"), 1);
}

#[test]
fn the_replies_of_a_question_answer_it_again_without_a_model() {
    let case = Case::new(&["await rate('USD')"]);
    expect_code(&case.ask(), 0);
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-codegen"));
    let output = command
        .current_dir(case.folder.path())
        .args([
            "ask",
            "-f",
            "agent.json",
            "--output",
            "again",
            "--replay",
            "out/replies.jsonl",
            "--replay-strict",
            "--allow-host",
            "127.0.0.1",
            QUESTION,
        ])
        .output()
        .unwrap();
    expect_code(&output, 0);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "1.5\n");
    assert_eq!(case.shop.count("model"), 1);
}

#[rstest]
#[case::a_published_program(json!({"name": "forecast", "programImage": {"reference": "registry.example/forecast:v1"}}), "runs in a cluster")]
#[case::a_task_that_is_not_there(json!({"name": "clean", "taskRef": {"name": "cleaning"}}), "CodeGenTask cleaning, which is not among the manifests")]
#[case::no_tools(json!({"name": "none", "mcp": {"url": "ORIGIN/empty"}}), "lists no tools")]
#[case::a_tool_that_is_not_there(json!({"name": "none", "mcp": {"url": "ORIGIN/mcp", "toolNames": ["buy"]}}), "has no tool named buy")]
#[case::two_of_one_name(json!({"name": "stock", "http": {"url": "ORIGIN/slow"}}), "two tools are called `stock`")]
#[case::a_keyword(json!({"name": "lambda", "http": {"url": "ORIGIN/slow"}}), "is a keyword of Python")]
fn a_tool_that_cannot_be_used_is_refused_before_the_model_is_asked(
    #[case] tool: Value,
    #[case] expected: &str,
) {
    let case = Case::new(&["1"]);
    let tool = tool.to_string().replace("ORIGIN", &case.shop.origin);
    let mut tools = case.tools();
    tools.push(serde_json::from_str(&tool).unwrap());
    case.agent(&tools);
    let output = case.ask();
    expect_code(&output, 2);
    assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    assert_eq!(case.shop.count("model"), 0);
}

/// A Secret with these labels and annotations.
fn secret(labels: &Value, annotations: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "stringData": {"key": "hunter-22"},
        "metadata": {"name": "rates", "labels": labels, "annotations": annotations},
    })
}

fn with_secret(case: &Case, secret: &Value) -> Output {
    let mut tools = case.tools();
    tools[0]["http"]["headersFrom"] =
        json!([{"name": "X-Key", "secretKeyRef": {"name": "rates", "key": "key"}}]);
    case.agent(&tools);
    fs::write(case.path("secret.json"), secret.to_string()).unwrap();
    case.command(QUESTION)
        .args(["-f", "secret.json"])
        .output()
        .unwrap()
}

#[test]
fn a_header_is_sent_where_the_owner_of_its_secret_allows_it_and_shown_nowhere() {
    let case = Case::new(&["await rate('USD')"]);
    let host = case.shop.origin.replace("http://", "");
    let allowed = secret(
        &json!({"codegen-operator.dev/use": "tool"}),
        &json!({"codegen-operator.dev/hosts": host}),
    );
    let output = with_secret(&case, &allowed);
    expect_code(&output, 0);
    assert_eq!(case.shop.count("key hunter-22"), 1);
    assert!(!holds(&case.path("out"), "hunter-22"));
}

#[rstest]
#[case::no_label(json!({}), "may not be used for `tool`")]
#[case::no_host(json!({"codegen-operator.dev/use": "tool"}), "says of no host that it may be sent there")]
fn a_secret_whose_owner_does_not_allow_it_is_sent_nowhere(#[case] labels: Value, #[case] expected: &str) {
    let case = Case::new(&["await rate('USD')"]);
    let output = with_secret(&case, &secret(&labels, &json!({})));
    expect_code(&output, 2);
    assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    assert_eq!((case.shop.count("rate USD"), case.shop.count("model")), (0, 0));
}

/// Whether a file of a folder has this text.
fn holds(folder: &Path, text: &str) -> bool {
    fs::read_dir(folder).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            holds(&path, text)
        } else {
            String::from_utf8_lossy(&fs::read(&path).unwrap()).contains(text)
        }
    })
}
