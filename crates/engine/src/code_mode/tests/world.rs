//! Tools in memory, and what a question meets them with.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use codegen_interpreter::Interpreter;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use super::MemoryStore;
use crate::EngineError;
use crate::code_mode::{CallKey, CodeModeEngine, Made, QuestionStep, ToolCaller};
use crate::test_support::Script;
use codegen_api::approval::{ApprovalDecision, ApprovalStatus, QuestionGate};
use codegen_code_mode::journal::CallOutcome;
use codegen_code_mode::signature::Effect;
use codegen_core::call::{CallKind, FinishReason};
use codegen_core::code_mode::test_support::{question, sourced};
use codegen_core::code_mode::{AwaitedCall, Question, QuestionProgress, SourcedTool};

/// Uid of the question.
pub const UID: &str = "uid-1";

/// Behaviour of a tool in memory at a call.
pub type Conduct = fn(&World, &CallKey, &Map<String, Value>) -> Made;

/// Tools in memory, with every call that reached them.
pub struct World {
    pub question: Question,
    pub script: Script,
    pub conducts: BTreeMap<&'static str, Conduct>,
    pub made: Mutex<Vec<String>>,
    /// Highest number of a run that is waited for and has ended.
    pub runs_ended: AtomicUsize,
    /// Hashes of the calls about which a decision was recorded.
    pub decided: Mutex<Vec<String>>,
    /// Reports whether somebody holds the question.
    pub is_stopped: fn(&World) -> bool,
    /// Other workers than the usual ones.
    pub pool: Interpreter,
    pub clock: fn() -> Timestamp,
}

fn said(awaited: &AwaitedCall, decision: ApprovalDecision) -> ApprovalStatus<QuestionGate> {
    ApprovalStatus {
        gate: awaited.asked.gate,
        decision,
        decided_by: "ada".to_owned(),
        verified: true,
        decided_at: Time(Timestamp::now()),
        hash: awaited.asked.hash.clone(),
        reason: Some("not now".to_owned()),
    }
}

impl ToolCaller for World {
    async fn call(&self, tool: &SourcedTool, key: &CallKey, arguments: &Map<String, Value>) -> Made {
        let arguments_text = Value::Object(arguments.clone());
        self.made
            .lock()
            .unwrap()
            .push(format!("{} {arguments_text}", tool.tool.name));
        self.conducts[tool.tool.name.as_str()](self, key, arguments)
    }

    async fn read_text(&self, handle: &Value, limit: usize) -> Made {
        let text: String = format!("text of {}", handle["file"])
            .chars()
            .take(limit)
            .collect();
        Made::Ended(CallOutcome::Returned(json!(text)))
    }
}

fn doubled(_: &World, _: &CallKey, arguments: &Map<String, Value>) -> Made {
    Made::Ended(CallOutcome::Returned(json!(
        arguments["id"].as_i64().unwrap() * 2
    )))
}

fn fails(_: &World, _: &CallKey, _: &Map<String, Value>) -> Made {
    Made::Ended(CallOutcome::Raised {
        kind: "ConnectionError".to_owned(),
        message: "the till is closed".to_owned(),
    })
}

fn of_a_run(world: &World, key: &CallKey, _: &Map<String, Value>) -> Made {
    if world.runs_ended.load(Ordering::Relaxed) >= key.number as usize {
        return Made::Ended(CallOutcome::Returned(json!(key.number)));
    }
    Made::Pending(format!("run-{}", key.number))
}

/// Tools of every kind, and a model that answers with these programs, the last one again and again.
pub fn world(programs: &[&str]) -> World {
    let mut script = Script::new();
    for program in programs {
        script = script.with_text(CallKind::Program, program, FinishReason::Complete);
    }
    let tools = vec![
        sourced("rate", Effect::ReadOnly),
        sourced("refund", Effect::Once),
        sourced("report", Effect::Durable),
        sourced("till", Effect::ReadOnly),
    ];
    World {
        question: question(tools),
        script,
        conducts: BTreeMap::from([
            ("rate", doubled as Conduct),
            ("refund", doubled),
            ("report", of_a_run),
            ("till", fails),
        ]),
        made: Mutex::default(),
        runs_ended: AtomicUsize::new(0),
        decided: Mutex::default(),
        is_stopped: |_| false,
        pool: Interpreter::default(),
        clock: Timestamp::now,
    }
}

impl World {
    pub fn made(&self) -> Vec<String> {
        self.made.lock().unwrap().clone()
    }

    /// Steps until it ends or waits.
    pub async fn go_on(&self, store: &MemoryStore) -> Result<QuestionProgress, EngineError> {
        self.go_on_with(store, |_| None).await
    }

    /// The same, where a person `says` something of the calls that wait.
    pub async fn go_on_with(
        &self,
        store: &MemoryStore,
        says: impl Fn(&AwaitedCall) -> Option<ApprovalDecision>,
    ) -> Result<QuestionProgress, EngineError> {
        self.go_on_through(store, self, says).await
    }

    /// The same with other tools.
    pub async fn go_on_through(
        &self,
        store: &MemoryStore,
        tools: &impl ToolCaller,
        says: impl Fn(&AwaitedCall) -> Option<ApprovalDecision>,
    ) -> Result<QuestionProgress, EngineError> {
        let engine = CodeModeEngine {
            question: &self.question,
            uid: UID,
            model: &self.script,
            store,
            interpreter: &self.pool,
            tools,
            clock: self.clock,
            in_call: &watch::Sender::new(false),
            is_stopped: &|| (self.is_stopped)(self),
            observer: &|_| {},
        };
        let mut progress = engine.load().await?;
        for _ in 0..100 {
            let (next, step) = engine.step(progress).await?;
            progress = next;
            let awaited = progress.waits.approval.clone();
            let said = awaited.and_then(|awaited| Some(said(&awaited, says(&awaited)?)));
            match (step, said) {
                (QuestionStep::Advanced, _) => {}
                (QuestionStep::Gate(asked), Some(said)) => {
                    assert_eq!(asked.hash, said.hash);
                    progress = engine.take_decision(progress, said).await?;
                    self.decided.lock().unwrap().push(asked.hash);
                }
                _ => return Ok(progress),
            }
        }
        panic!("it neither ends nor waits: {progress:?}");
    }
}
