//! Calls of finished programs: each is a `CodeGenRun` of the question's, made once under a name that follows from the call.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Secret;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Map, Value};

use crate::controller::context::Context;
use crate::controller::runs::outputs;
use crate::controller::runs::status::ended_in;
use codegen_api::code_mode::CodeModeRun;
use codegen_api::common::LocalRef;
use codegen_api::run::RunInput;
use codegen_api::run_status::RunOutputStatus;
use codegen_api::values::ValueType;
use codegen_api::{CodeGenRun, CodeGenRunSpec};
use codegen_code_mode::journal::CallOutcome;
use codegen_core::code_mode::{FileHandle, SourcedTool, ToolOrigin, handles, run_inputs, run_result};
use codegen_core::stage::Stage;
use codegen_engine::code_mode::{CallKey, Made, ToolCaller};
use codegen_sandbox::kubernetes::{Owner, names};

/// The runs that a question has made for its calls.
pub struct ChildRuns<'a> {
    /// State that all passes share.
    pub context: &'a Context,
    /// Owner of the runs.
    pub owner: &'a Owner,
    /// Labels of the question's run that decide which operator works on it.
    pub labels: BTreeMap<String, String>,
}

impl<'a> ChildRuns<'a> {
    /// Those of `run`.
    #[must_use]
    pub fn new(context: &'a Context, owner: &'a Owner, run: &CodeModeRun) -> Self {
        let decides = |key: &String| context.selector.mentions(key);
        let labels = run.labels().iter().filter(|(key, _)| decides(key));
        Self {
            context,
            owner,
            labels: labels.map(|(key, value)| (key.clone(), value.clone())).collect(),
        }
    }

    fn of_somebody_else(&self, name: &str) -> Made {
        let message = format!(
            "the CodeGenRun {}/{name} has the name of this call and was made by somebody else: delete it",
            self.owner.namespace
        );
        blocked(message, true)
    }

    fn name(&self, key: &CallKey) -> String {
        let (attempt, number) = (key.attempt.to_string(), key.number.to_string());
        names::name(&self.owner.name, &[&self.owner.uid, "call", &attempt, &number])
    }

    fn runs(&self) -> Api<CodeGenRun> {
        Api::namespaced(self.context.client.clone(), &self.owner.namespace)
    }

    /// The run of that name, if it is one of this question's.
    async fn own(&self, name: &str) -> Result<Option<CodeGenRun>, Made> {
        let found = self.runs().get_opt(name).await;
        let found = found
            .map_err(|error| blocked(format!("the CodeGenRun {name} cannot be read: {error}"), false))?;
        let Some(run) = found else { return Ok(None) };
        if self.is_own(&run) {
            return Ok(Some(run));
        }
        Err(self.of_somebody_else(name))
    }

    fn is_own(&self, run: &CodeGenRun) -> bool {
        let mut owners = run.owner_references().iter();
        owners.any(|owner| owner.uid == self.owner.uid && owner.controller == Some(true))
    }

    async fn create(&self, name: String, tool: &SourcedTool, arguments: &Map<String, Value>) -> Made {
        // Of another question's run nothing is passed on, whatever a program makes up.
        for (parameter, file) in handles(&tool.tool, arguments) {
            match self.output(&file).await {
                Ok(_) => {}
                Err(Made::Ended(CallOutcome::Raised { kind, message })) => {
                    return raised(&kind, &format!("{parameter}: {message}"));
                }
                Err(made) => return made,
            }
        }
        let inputs = match run_inputs(&tool.tool, arguments) {
            Ok(inputs) => inputs,
            Err(why) => return raised("ValueError", &why),
        };
        let run = self.run(name.clone(), &tool.origin, inputs);
        match self.runs().create(&PostParams::default(), &run).await {
            Ok(_) => Made::Pending(name),
            // Of an earlier try whose reply was lost; the next pass looks whose it is.
            Err(kube::Error::Api(status)) if status.is_already_exists() => Made::Pending(name),
            // What the API server says of the arguments is the program's matter.
            Err(kube::Error::Api(status)) if status.is_invalid() => raised("ValueError", &status.message),
            Err(kube::Error::Api(status)) if status.is_forbidden() => blocked(
                format!("the CodeGenRun {name} was refused: {}", status.message),
                true,
            ),
            // The reply may be lost, and the run be there.
            Err(error) => match self.own(&name).await {
                Ok(Some(_)) => Made::Pending(name),
                _ => blocked(format!("the CodeGenRun {name} cannot be created: {error}"), false),
            },
        }
    }

    fn run(&self, name: String, origin: &ToolOrigin, inputs: Vec<RunInput>) -> CodeGenRun {
        CodeGenRun {
            metadata: ObjectMeta {
                name: Some(name),
                namespace: Some(self.owner.namespace.clone()),
                labels: Some(self.labels.clone()),
                owner_references: Some(vec![self.owner.reference.clone()]),
                ..ObjectMeta::default()
            },
            spec: spec(origin, inputs),
            status: None,
        }
    }

    async fn came_to(&self, run: &CodeGenRun) -> Made {
        let name = run.name_any();
        match ended_in(run) {
            None => Made::Pending(name),
            Some(Stage::Succeeded) => {
                let outputs = run.status.as_ref().map(|status| status.outputs.as_slice());
                let outputs = outputs.unwrap_or_default();
                let mut long = BTreeMap::new();
                for output in outputs.iter().filter(|output| is_long(output)) {
                    match self.text(output, "RuntimeError", &output.name).await {
                        Ok(text) => long.insert(output.name.clone(), text),
                        Err(why) => return why,
                    };
                }
                let result = run_result(&name, outputs, |output| long.get(&output.name).cloned());
                Made::Ended(CallOutcome::Returned(result))
            }
            Some(_) => {
                let message = run.status.as_ref().and_then(|status| status.message.as_deref());
                let message = message.unwrap_or("it says nothing of why");
                raised("RuntimeError", &format!("the run {name} has failed: {message}"))
            }
        }
    }

    /// Reads the text of an output, called `named` in messages.
    async fn text(&self, output: &RunOutputStatus, kind: &str, named: &str) -> Result<String, Made> {
        let secrets: Api<Secret> = Api::namespaced(self.context.client.clone(), &self.owner.namespace);
        let found = outputs::read(&secrets, output).await;
        let files = found.map_err(|error| blocked(format!("{named} cannot be read: {error}"), false))?;
        let Some(files) = files else {
            return Err(raised(kind, &format!("what was written to {named} is gone")));
        };
        let bytes = files.first().map(|file| file.bytes.as_slice());
        Ok(String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned())
    }

    /// Finds the output that a handle stands for, if a tool of this question gave it.
    async fn output(&self, file: &FileHandle) -> Result<RunOutputStatus, Made> {
        let unknown = || {
            raised(
                "ValueError",
                &format!("no tool gave the file {}/{}", file.run, file.output),
            )
        };
        let found = self.runs().get_opt(&file.run).await;
        let found = found.map_err(|error| {
            blocked(
                format!("the CodeGenRun {} cannot be read: {error}", file.run),
                false,
            )
        })?;
        let run = found.filter(|run| self.is_own(run)).ok_or_else(unknown)?;
        let outputs = run.status.unwrap_or_default().outputs;
        let is_meant = |output: &RunOutputStatus| output.name == file.output && output.sha256 == file.sha256;
        outputs.into_iter().find(is_meant).ok_or_else(unknown)
    }
}

/// Makes the run of a call, or looks at the one that is there.
impl ToolCaller for ChildRuns<'_> {
    async fn call(&self, tool: &SourcedTool, key: &CallKey, arguments: &Map<String, Value>) -> Made {
        let name = self.name(key);
        match self.own(&name).await {
            Ok(Some(run)) if !is_of(&run, tool, arguments) => self.of_somebody_else(&name),
            Ok(Some(run)) => self.came_to(&run).await,
            Ok(None) => self.create(name, tool, arguments).await,
            Err(why) => why,
        }
    }

    async fn read_text(&self, handle: &Value, limit: usize) -> Made {
        let Some(file) = FileHandle::read(handle) else {
            return raised("ValueError", "this is no file: pass on what a tool gave");
        };
        let output = match self.output(&file).await {
            Ok(output) => output,
            Err(made) => return made,
        };
        let named = format!("{}/{}", file.run, file.output);
        if output.type_ == ValueType::Dir {
            return raised(
                "ValueError",
                &format!("{named} is a folder, which read_text does not read"),
            );
        }
        if output.claim.is_some() {
            return raised(
                "ValueError",
                &format!("{named} lies on a claim, which read_text does not read"),
            );
        }
        let text = match self.text(&output, "ValueError", &named).await {
            Ok(text) => text,
            Err(made) => return made,
        };
        if text.contains('\0') {
            return raised("ValueError", &format!("{named} is no text"));
        }
        Made::Ended(CallOutcome::Returned(Value::String(
            text.chars().take(limit).collect(),
        )))
    }
}

fn spec(origin: &ToolOrigin, inputs: Vec<RunInput>) -> CodeGenRunSpec {
    let mut spec = CodeGenRunSpec {
        inputs,
        ..CodeGenRunSpec::default()
    };
    match origin {
        ToolOrigin::Task { name, .. } => spec.task_ref = Some(LocalRef { name: name.clone() }),
        ToolOrigin::Program { image, pull_secret } => {
            spec.program_image = Some(image.clone());
            spec.pull_secret_ref.clone_from(pull_secret);
        }
        ToolOrigin::Http { .. } | ToolOrigin::Mcp { .. } | ToolOrigin::McpCommand { .. } => {}
    }
    spec
}

/// Reports whether a run asks for what the call does: anybody who makes runs can write whose it is.
fn is_of(run: &CodeGenRun, tool: &SourcedTool, arguments: &Map<String, Value>) -> bool {
    let asked = run_inputs(&tool.tool, arguments).map(|inputs| spec(&tool.origin, inputs));
    // How long it stays afterwards decides nothing of what it does.
    let found = CodeGenRunSpec {
        ttl_seconds_after_finished: None,
        ..run.spec.clone()
    };
    asked.is_ok_and(|asked| asked == found)
}

fn is_long(output: &RunOutputStatus) -> bool {
    output.value.is_none() && ![ValueType::File, ValueType::Dir].contains(&output.type_)
}

fn blocked(message: String, needs_person: bool) -> Made {
    Made::Blocked {
        message,
        needs_person,
    }
}

fn raised(kind: &str, message: &str) -> Made {
    Made::Ended(CallOutcome::Raised {
        kind: kind.to_owned(),
        message: message.to_owned(),
    })
}
