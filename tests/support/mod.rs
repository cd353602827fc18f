//! What the end-to-end tests share: calling the program, and model servers that answer with recorded replies.

#![allow(dead_code, reason = "each test binary uses its own part")]

pub mod gate;
pub mod identity;
pub mod task;
pub mod terminal;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;

use serde_json::{Value, json};

/// The examples folder.
pub fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

/// The program, with an output folder of its own and no key of the environment.
pub fn program(output: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-codegen"));
    command
        .arg("local")
        .arg("--output")
        .arg(output)
        .args(["-o", "json"]);
    command
        .env_remove("OPENAI_API_KEY")
        .env_remove("ANTHROPIC_API_KEY");
    command
}

/// The program in a folder, with no key and no choice of colours of the environment.
pub fn codegen(folder: &Path) -> assert_cmd::Command {
    let mut command = assert_cmd::Command::cargo_bin("kubectl-codegen").unwrap();
    command
        .current_dir(folder)
        .env_remove("OPENAI_API_KEY")
        .env_remove("ANTHROPIC_API_KEY")
        .env_remove("NO_COLOR");
    command
}

/// A folder with these files.
pub fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// An example, run on its recorded replies.
pub fn replayed(example: &Path, output: &Path) -> Output {
    program(output)
        .args(manifest(example))
        .arg("--replay")
        .arg(example.join("replies.jsonl"))
        .output()
        .unwrap()
}

/// The arguments that name an example's manifest.
pub fn manifest(folder: &Path) -> [PathBuf; 2] {
    let flag = if folder.join("kustomization.yaml").exists() {
        "-k"
    } else {
        "-f"
    };
    [flag.into(), folder.to_owned()]
}

/// The one JSON document on stdout. Everything that the program said is in the panic when there is none.
pub fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!(
            "stdout is not one JSON document ({error})\n--- stdout\n{}\n--- stderr\n{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )
    })
}

/// Fails with everything that the program said unless it ended with `code`.
pub fn expect_code(output: &Output, code: i32) {
    assert_eq!(
        output.status.code(),
        Some(code),
        "--- stdout\n{}\n--- stderr\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Recorded replies by kind, in order.
pub struct Replies(Mutex<BTreeMap<String, Vec<Value>>>);

impl Replies {
    /// Those of a file.
    pub fn read(file: &Path) -> Self {
        let mut by_kind: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for line in std::fs::read_to_string(file)
            .unwrap()
            .lines()
            .filter(|line| !line.trim().is_empty())
        {
            let line: Value = serde_json::from_str(line).unwrap();
            by_kind
                .entry(line["kind"].as_str().unwrap().to_owned())
                .or_default()
                .push(line["reply"].clone());
        }
        Self(Mutex::new(by_kind))
    }

    fn next(&self, kind: &str) -> Option<Value> {
        let mut by_kind = self.0.lock().unwrap();
        let replies = by_kind.get_mut(kind)?;
        if replies.is_empty() {
            None
        } else {
            Some(replies.remove(0))
        }
    }
}

/// A server of the OpenAI chat completions protocol.
pub struct OpenAi(pub Replies);

impl wiremock::Respond for OpenAi {
    fn respond(&self, request: &wiremock::Request) -> wiremock::ResponseTemplate {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let kind = body["response_format"]["json_schema"]["name"]
            .as_str()
            .unwrap_or_default();
        match self.0.next(kind) {
            Some(reply) => wiremock::ResponseTemplate::new(200).set_body_json(json!({
                "model": body["model"],
                "choices": [{"message": {"role": "assistant", "content": reply.to_string()}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 100, "completion_tokens": 10},
            })),
            None => wiremock::ResponseTemplate::new(400).set_body_string(format!("no reply of kind {kind} is left")),
        }
    }
}

/// A server of the Anthropic Messages protocol.
pub struct Anthropic(pub Replies);

impl wiremock::Respond for Anthropic {
    fn respond(&self, request: &wiremock::Request) -> wiremock::ResponseTemplate {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let kind = body["tool_choice"]["name"].as_str().unwrap_or_default();
        match self.0.next(kind) {
            Some(reply) => wiremock::ResponseTemplate::new(200).set_body_json(json!({
                "type": "message", "role": "assistant", "model": body["model"],
                "content": [{"type": "tool_use", "id": "toolu_1", "name": kind, "input": reply}],
                "stop_reason": "tool_use",
                "usage": {"input_tokens": 100, "output_tokens": 10},
            })),
            None => wiremock::ResponseTemplate::new(400)
                .set_body_string(format!("no reply of kind {kind} is left")),
        }
    }
}
