//! Entries of a list: a task, a run or a question. Pure.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Serialize;
use serde_json::{Value, json};

use crate::cli::args::PENDING;
use crate::cli::recorded::RecordedTask;
use codegen_api::code_mode::CodeModeRun;
use codegen_api::status::CodeGenTaskStatus;
use codegen_api::{CodeGenRun, CodeGenTask, GROUP, VERSION};

/// An object of a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Listed {
    /// `None` on this machine.
    pub namespace: Option<String>,
    /// As commands take it: a task's name or folder, `codemoderun/NAME` of a question.
    pub name: String,
    /// As kubectl names it; on this machine as commands do.
    pub full_name: String,
    pub agent: Option<String>,
    pub since: Option<Timestamp>,
    pub stage: String,
    pub reason: Option<String>,
    pub message: Option<String>,
    pub attempt: Option<i32>,
    pub tests: Option<String>,
    pub tokens: i64,
    /// Calls of the model.
    pub calls: i32,
    /// The image of the program.
    pub image: Option<String>,
    /// For scripts.
    pub document: Value,
}

impl Listed {
    /// A task of a cluster.
    pub fn of_task(mut task: CodeGenTask) -> Self {
        let status = task.status.clone().unwrap_or_default();
        let agent = task.spec.agent_ref.as_ref().map(|agent| agent.name.clone());
        let listed = Self::of_object(&mut task.metadata, "codegentask", "");
        Self {
            agent,
            document: document(&task),
            ..listed.with_status(status)
        }
    }

    /// A task of this machine.
    pub fn of_folder(task: RecordedTask) -> Self {
        let name = task.argument();
        let document = json!({
            "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "CodeGenTask",
            "metadata": {"name": task.name}, "folder": name, "status": task.status,
        });
        let listed = Self {
            since: task.progress.as_ref().map(|progress| progress.started_at),
            full_name: name.clone(),
            name,
            document,
            ..Self::default()
        };
        listed.with_status(task.status)
    }

    /// A run of a program.
    pub fn of_run(mut run: CodeGenRun) -> Self {
        let status = run.status.clone().unwrap_or_default();
        let listed = Self::of_object(&mut run.metadata, "codegenrun", "codegenrun/");
        Self {
            stage: stage(status.stage),
            reason: status.reason,
            message: status.message,
            image: status.image,
            document: document(&run),
            ..listed
        }
    }

    /// A question.
    pub fn of_question(mut run: CodeModeRun) -> Self {
        let status = run.status.clone().unwrap_or_default();
        let listed = Self::of_object(&mut run.metadata, "codemoderun", "codemoderun/");
        let attempt = Some(status.attempt).filter(|attempt| *attempt > 0);
        Self {
            agent: Some(run.spec.agent_ref.name.clone()),
            stage: stage(status.stage),
            reason: status.reason,
            message: status.message,
            attempt,
            tokens: status.tokens.map_or(0, |tokens| tokens.total),
            calls: status.model_calls,
            document: document(&run),
            ..listed
        }
    }

    /// Reads the metadata; the owners of fields are of no use to anybody here, and are dropped.
    fn of_object(metadata: &mut ObjectMeta, type_: &str, prefix: &str) -> Self {
        metadata.managed_fields = None;
        let name = metadata.name.clone().unwrap_or_default();
        Self {
            namespace: metadata.namespace.clone(),
            full_name: format!("{type_}.{GROUP}/{name}"),
            name: format!("{prefix}{name}"),
            since: metadata.creation_timestamp.as_ref().map(|time| time.0),
            ..Self::default()
        }
    }

    fn with_status(self, status: CodeGenTaskStatus) -> Self {
        Self {
            stage: stage(status.stage),
            reason: status.reason,
            message: status.message,
            attempt: status.attempt,
            tests: status.tests,
            tokens: status.tokens.total,
            calls: status.model_calls,
            image: status.program_image,
            ..self
        }
    }
}

fn stage(stage: Option<String>) -> String {
    stage.unwrap_or_else(|| PENDING.to_owned())
}

fn document(object: &impl Serialize) -> Value {
    serde_json::to_value(object).unwrap_or_default()
}
