//! A pool over the binary of this build, and programs run to their end.

use std::path::PathBuf;

use codegen_interpreter::{
    Error, Interpreter, Program, ProgramEnd, Raised, ReplyOutcome, WorkerCall, WorkerEvent, WorkerLimits,
};
use serde_json::{Value, json};

pub fn binary() -> PathBuf {
    env!("CARGO_BIN_EXE_codegen-interpreter").into()
}

pub fn pool() -> Interpreter {
    Interpreter {
        binary: Some(binary()),
        ..Interpreter::default()
    }
}

/// Limits that no honest program of these tests meets, whatever else the machine does.
pub fn limits() -> WorkerLimits {
    WorkerLimits {
        time_ms: 60_000,
        ..WorkerLimits::default()
    }
}

/// A program with the tools `a`, `b` and `double`.
pub fn program(code: &str) -> Program {
    Program {
        code: code.to_owned(),
        functions: ["a", "b", "double"].map(str::to_owned).to_vec(),
        limits: limits(),
    }
}

/// All that a program did.
#[derive(Debug, PartialEq)]
pub struct Course {
    pub batches: Vec<Vec<WorkerCall>>,
    pub end: WorkerEvent,
}

impl Course {
    pub fn finished(self) -> ProgramEnd {
        match self.end {
            WorkerEvent::Finished(finished) => finished,
            other => panic!("it did not finish: {other:#?}"),
        }
    }

    pub fn value(self) -> Value {
        let finished = self.finished();
        let text = finished.text;
        finished.value.unwrap_or_else(|| panic!("no value: {text}"))
    }

    pub fn raised(self) -> Raised {
        match self.end {
            WorkerEvent::Raised(raised) => raised,
            other => panic!("nothing was raised: {other:#?}"),
        }
    }

    /// Each batch as text: `0 a(1)`.
    pub fn calls(&self) -> Vec<Vec<String>> {
        let text = |call: &WorkerCall| {
            let args: Vec<String> = call.args.iter().map(Value::to_string).collect();
            format!("{} {}({})", call.id, call.name, args.join(", "))
        };
        self.batches
            .iter()
            .map(|batch| batch.iter().map(text).collect())
            .collect()
    }
}

pub async fn course(
    pool: &Interpreter,
    program: Program,
    mut answer: impl FnMut(&WorkerCall) -> ReplyOutcome,
) -> Result<Course, Error> {
    let mut session = pool.start(program).await?;
    let mut batches = Vec::new();
    loop {
        match session.next().await? {
            WorkerEvent::Calls(calls) => {
                session.answer(calls.iter().map(&mut answer).collect()).await?;
                batches.push(calls);
            }
            end => return Ok(Course { batches, end }),
        }
    }
}

/// Twice the first argument.
pub fn double(call: &WorkerCall) -> ReplyOutcome {
    ReplyOutcome::Return(json!(call.args[0].as_i64().unwrap() * 2))
}

pub fn raise(kind: &str, message: &str) -> ReplyOutcome {
    ReplyOutcome::Raise {
        kind: kind.to_owned(),
        message: message.to_owned(),
    }
}

pub async fn run_with(program: Program, answer: impl FnMut(&WorkerCall) -> ReplyOutcome) -> Course {
    course(&pool(), program, answer).await.unwrap()
}

pub async fn run(code: &str) -> Course {
    run_with(program(code), double).await
}
