//! A world in memory: a scripted model, a sandbox that knows the bug, a store that can stop.

mod data;
mod model;
mod sandbox;

use std::collections::VecDeque;
use std::sync::Mutex;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::event::{Event, Observer};
use crate::{Engine, EngineError, Step, Surroundings};
use codegen_api::approval::{ApprovalDecision, ApprovalStatus, AwaitedApproval};
use codegen_core::call::CallKind;
use codegen_core::machine::Outcome;
use codegen_core::progress::Progress;
use codegen_core::sandbox::TestFailure;
use codegen_core::task::Task;
use codegen_ledger::{MemoryStore, Store};

pub use self::data::FixedData;
pub use self::model::Script;
pub use self::sandbox::{Fake, Judge, failure};

/// Keeps every event.
#[derive(Default)]
pub struct Watcher(pub Mutex<VecDeque<Event>>);

impl Observer for Watcher {
    fn event(&self, event: &Event) {
        self.0.lock().unwrap().push_back(event.clone());
    }
}

/// A task in its world.
pub struct World {
    pub task: Task,
    pub script: Script,
    pub sandbox: Fake,
    pub data: FixedData,
    pub surroundings: Surroundings,
    pub watcher: Watcher,
    pub clock: fn() -> Timestamp,
}

impl World {
    pub fn new(task: Task, script: Script, judge: Judge) -> Self {
        Self {
            task,
            script,
            sandbox: Fake::new(judge),
            data: FixedData::default(),
            surroundings: Surroundings::default(),
            watcher: Watcher::default(),
            clock: || Timestamp::from_second(1_000).unwrap(),
        }
    }

    fn engine<'a, S: Store<Progress = Progress>>(
        &'a self,
        store: &'a S,
        in_call: &'a watch::Sender<bool>,
    ) -> Engine<'a, Script, S, Fake, FixedData> {
        Engine {
            task: &self.task,
            model: &self.script,
            store,
            sandbox: &self.sandbox,
            data: &self.data,
            surroundings: &self.surroundings,
            observer: &self.watcher,
            clock: self.clock,
            in_call,
        }
    }

    /// Steps until the task ends, waits, or the store stops.
    pub async fn live<S: Store<Progress = Progress>>(&self, store: &S) -> Result<Progress, EngineError> {
        let (in_call, _) = watch::channel(false);
        let engine = self.engine(store, &in_call);
        let mut progress = engine.load("run").await?;
        for _ in 0..500 {
            let (next, step) = Box::pin(engine.step(progress)).await?;
            progress = next;
            match step {
                Step::Advanced => {}
                Step::Gate(asked) => progress = Box::pin(engine.apply(progress, approval(&asked))).await?,
                Step::Finished | Step::Waiting(_) => return Ok(progress),
                Step::Pending | Step::Unseen | Step::Queued(_) => panic!("nothing in this world is pending"),
            }
        }
        panic!("the task neither ends nor waits: {:?}", progress.stage);
    }
}

impl World {
    /// The end of the task, with a store of its own.
    pub async fn end(&self) -> Progress {
        self.live(&<MemoryStore>::new()).await.unwrap()
    }

    /// The calls that were made, in order.
    pub fn kinds(&self) -> Vec<CallKind> {
        let requests = self.script.requests.lock().unwrap();
        requests.iter().map(|request| request.kind).collect()
    }

    /// Applies an outcome from outside a step, in a process of its own.
    pub async fn apply<S: Store<Progress = Progress>>(&self, store: &S, outcome: Outcome) -> Progress {
        let (in_call, _) = watch::channel(false);
        let engine = self.engine(store, &in_call);
        let progress = engine.load("run").await.unwrap();
        Box::pin(engine.apply(progress, outcome)).await.unwrap()
    }
}

/// Somebody approves of what is asked.
fn approval(asked: &AwaitedApproval) -> Outcome {
    Outcome::Decided(ApprovalStatus {
        gate: asked.gate,
        decision: ApprovalDecision::Approve,
        decided_by: "ada".into(),
        verified: false,
        decided_at: Time(Timestamp::UNIX_EPOCH),
        hash: asked.hash.clone(),
        reason: None,
    })
}

pub fn plan() -> Value {
    json!({"description": "Counts words.", "approach": "Split at white space.", "libraries": []})
}

/// A program whose `count` has this body.
pub fn code(body: &str) -> Value {
    let code = format!(
        "\"\"\"Count words.\"\"\"\n\n\ndef count(text: str) -> int:\n    \"\"\"Number of words.\"\"\"\n    {body}\n\n\n\
         def main() -> None:\n    \"\"\"Print the count of an example.\"\"\"\n    print(count(\"a b\"))\n\n\n\
         if __name__ == \"__main__\":\n    main()\n"
    );
    json!({"code": code, "packages": [], "systemPackages": []})
}

/// A suite that expects this number for two words.
pub fn tests(expected: u32) -> Value {
    json!({"code": format!("import solution\n\n\ndef test_counts():\n    assert solution.count(\"a b\") == {expected}\n")})
}

pub fn fixed_count(body: &str) -> Value {
    json!({"code": format!("def count(text: str) -> int:\n    \"\"\"Number of words.\"\"\"\n    {body}\n")})
}

pub fn fixed_test(expected: u32) -> Value {
    json!({"code": format!("def test_counts():\n    assert solution.count(\"a b\") == {expected}\n")})
}

pub fn diagnosis(error_type: &str, functions: &[&str], packages: &[&str]) -> Value {
    json!({"failures": [{
        "failure": 1, "errorType": error_type, "expected": "2", "actual": "3", "rootCause": "It counts characters.",
        "suggestedFix": "Split first.", "functions": functions, "packages": packages, "systemPackages": [],
    }]})
}

/// Fails until the program splits and the suite expects 2.
pub fn splits(solution: &str, tests: &str, _installed: &[String]) -> Vec<TestFailure> {
    let right = if solution.contains("split()") { 2 } else { 3 };
    if tests.contains(&format!("\") == {right}\n")) {
        return Vec::new();
    }
    vec![failure(
        "test_solution.py::test_counts",
        "AssertionError",
        &format!("assert {right} == ?"),
    )]
}

/// Plan, a program that counts characters, a right suite, its diagnosis and its fix.
pub fn one_logic_bug() -> Script {
    Script::new()
        .with(CallKind::Plan, &plan())
        .with(CallKind::Code, &code("return len(text)"))
        .with(CallKind::Tests, &tests(2))
        .with(CallKind::Diagnosis, &diagnosis("logic", &["count"], &[]))
        .with(CallKind::FixCode, &fixed_count("return len(text.split())"))
}
