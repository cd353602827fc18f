//! A task written in a test: manifest, objects, recorded replies, and what came of it.

use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};
use tempfile::TempDir;
use wiremock::matchers::method;
use wiremock::{Mock, MockServer};

use super::{document, program};

/// A task and the replies of its model.
pub struct ScriptedTask {
    spec: Value,
    objects: Vec<Value>,
    replies: Vec<Value>,
    arguments: Vec<String>,
}

impl ScriptedTask {
    /// A task with this spec; prompt and model are given where it has none. What such a task asks for settles no result, so its plan has
    /// no cases unless the spec asks for some.
    pub fn new(mut spec: Value) -> Self {
        let fields = spec.as_object_mut().unwrap();
        fields.entry("prompt").or_insert_with(|| json!("Do the work."));
        fields
            .entry("model")
            .or_insert_with(|| json!({"provider": "OpenAI", "name": "some-model"}));
        let testing = fields.entry("testing").or_insert_with(|| json!({}));
        testing
            .as_object_mut()
            .unwrap()
            .entry("cases")
            .or_insert_with(|| json!("Off"));
        Self {
            spec,
            objects: Vec::new(),
            replies: Vec::new(),
            arguments: Vec::new(),
        }
    }

    /// Sets a field of the spec.
    pub fn set(&mut self, field: &str, value: Value) {
        self.spec[field] = value;
    }

    /// A further object of the manifest.
    pub fn object(mut self, object: Value) -> Self {
        self.objects.push(object);
        self
    }

    /// A ConfigMap of these keys.
    pub fn config_map(self, name: &str, data: &Value) -> Self {
        self.object(
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}),
        )
    }

    /// A Secret of these keys.
    pub fn secret(self, name: &str, data: &Value) -> Self {
        self.object(
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data}),
        )
    }

    /// A further argument of the command.
    pub fn argument(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// The next reply.
    pub fn reply(mut self, kind: &str, reply: &Value) -> Self {
        self.replies
            .push(json!({"kind": kind, "reply": reply, "usage": {"input": 10, "output": 1}}));
        self
    }

    /// Plan and program.
    pub fn code(self, code: &str) -> Self {
        self.reply(
            "plan",
            // What such a task asks for settles no result.
            &json!({
                "description": "Does the work.", "approach": "Step by step.", "libraries": [],
                "cases": [], "unstable": [],
            }),
        )
        .reply(
            "code",
            &json!({"code": code, "packages": [], "systemPackages": []}),
        )
    }

    /// The suite.
    pub fn tests(self, code: &str) -> Self {
        self.reply("tests", &json!({"code": code}))
    }

    /// Runs it on its recorded replies.
    pub fn run(&self) -> Done {
        let folder = tempfile::tempdir().unwrap();
        let replies = self.write(folder.path()).1;
        self.start(folder, &["--replay".into(), replies.display().to_string()])
    }

    /// Runs it against a server of the OpenAI protocol that gives its replies; also returns every request of the model.
    pub async fn run_served(self) -> (Done, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let replies = super::Replies::read(&self.write(folder.path()).1);
        let server = MockServer::start().await;
        Mock::given(method("POST"))
            .respond_with(super::OpenAi(replies))
            .mount(&server)
            .await;
        let address = format!("{}/v1", server.uri());
        let run = move || self.start(folder, &["--model-url".into(), address]);
        let done = tokio::task::spawn_blocking(run).await.unwrap();
        let requests = server.received_requests().await.unwrap().into_iter();
        (
            done,
            requests
                .map(|request| String::from_utf8(request.body).unwrap())
                .collect(),
        )
    }

    fn start(&self, folder: TempDir, arguments: &[String]) -> Done {
        let manifest = self.write(folder.path()).0;
        let output = program(&folder.path().join("out"))
            .arg("-f")
            .arg(manifest)
            .args(arguments)
            .args(&self.arguments)
            .env("OPENAI_API_KEY", "sk-test-4711")
            .output()
            .unwrap();
        Done { output, folder }
    }

    fn write(&self, folder: &Path) -> (PathBuf, PathBuf) {
        let task = json!({
            "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeGenTask",
            "metadata": {"name": "written"}, "spec": self.spec,
        });
        let documents: Vec<String> = self.objects.iter().chain([&task]).map(Value::to_string).collect();
        let manifest = folder.join("task.yaml");
        std::fs::write(&manifest, format!("---\n{}\n", documents.join("\n---\n"))).unwrap();
        let lines: Vec<String> = self.replies.iter().map(Value::to_string).collect();
        let replies = folder.join("replies.jsonl");
        std::fs::write(&replies, lines.join("\n")).unwrap();
        (manifest, replies)
    }
}

/// The lines of a function's body, four spaces deep.
pub fn indented(body: &str) -> String {
    body.lines().fold(String::new(), |mut text, line| {
        text.push_str("    ");
        text.push_str(line);
        text.push('\n');
        text
    })
}

/// What came of a run.
pub struct Done {
    /// Exit code, stdout, stderr.
    pub output: Output,
    folder: TempDir,
}

impl Done {
    /// The status.
    pub fn status(&self) -> Value {
        document(&self.output)["status"].clone()
    }

    /// A file of the output folder.
    pub fn file(&self, path: &str) -> String {
        let path = self.folder.path().join("out").join(path);
        std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}\n{}", path.display(), self.said()))
    }

    /// The output folder.
    pub fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    /// Everything that was said.
    pub fn said(&self) -> String {
        format!(
            "--- stdout\n{}\n--- stderr\n{}",
            String::from_utf8_lossy(&self.output.stdout),
            String::from_utf8_lossy(&self.output.stderr)
        )
    }

    /// What the tests of the last run printed, empty when nothing ran.
    pub fn test_output(&self) -> String {
        std::fs::read_to_string(self.out().join("test-output.txt")).unwrap_or_default()
    }

    /// Succeeded, with everything that was said when it did not.
    pub fn succeeded(self) -> Self {
        assert_eq!(
            self.output.status.code(),
            Some(0),
            "{}\n{}",
            self.said(),
            self.test_output()
        );
        assert_eq!(self.status()["stage"], "Succeeded", "{}", self.said());
        self
    }

    /// Did not succeed, with everything that was said when it did.
    pub fn did_not_succeed(self) -> Self {
        assert_eq!(
            self.output.status.code(),
            Some(1),
            "{}\n{}",
            self.said(),
            self.test_output()
        );
        assert_ne!(self.status()["stage"], "Succeeded", "{}", self.said());
        self
    }
}
