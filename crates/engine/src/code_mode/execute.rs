//! Runs a program: what it calls is answered from the journal, or made and recorded.

use std::time::Duration;

use codegen_interpreter as interpreter;
use codegen_interpreter::{Error, Program, ProgramEnd, WorkerCall as Request, WorkerEvent};
use serde_json::Value;
use tokio::time::Instant;

use super::ask::{evidence_name, line, no_tools};
use super::journal::OpenJournal;
use super::outcomes::{INTERRUPTED, raised, to_interpreter, unknown_outcomes};
use super::record::program;
use super::{CodeModeEngine, Happened, ToolCaller};
use crate::documents::put_json;
use crate::{EngineError, damaged};
use codegen_code_mode::arguments::{bind, check};
use codegen_code_mode::ending::lacks_answer;
use codegen_code_mode::journal::{Call, CallOutcome, Earlier, Journal, JournalLookup};
use codegen_code_mode::signature::Toolbox;
use codegen_core::causes::with_causes;
use codegen_core::code_mode::{
    Answer, AnswerOutcome, Evidence, ProgramOutcome, QuestionProgress, QuestionStop, QuestionStopReason,
    Waits,
};
use codegen_core::progress::Waiting;
use codegen_core::stage::Category;
use codegen_ledger::Store;
use codegen_model::Model;
use codegen_tools::computed;

/// Depth of calls inside a program.
const RECURSION: u32 = 256;

/// Reason for which a program goes no further in this step.
pub(super) enum Halt {
    /// An end that no other program mends.
    Stop(QuestionStop),
    /// Calls wait for other objects or for a person.
    Pending(Box<Waits>),
    /// Something that is no fault of the program.
    Blocked(Waiting),
    /// No further call may begin now; what was made is recorded.
    Paused,
    /// Nothing was recorded: the step is tried again.
    Error(EngineError),
}

impl<E: Into<EngineError>> From<E> for Halt {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

/// A program under way.
pub(super) struct RunningProgram<'a, S> {
    toolbox: Toolbox,
    pub(super) journal: OpenJournal<'a, S>,
    earlier: Earlier,
    pub(super) attempt: u32,
}

impl<M: Model, S: Store<Progress = QuestionProgress>, T: ToolCaller> CodeModeEngine<'_, M, S, T> {
    /// Runs the present program from its beginning: what it came to, `None` where it may not go on now.
    pub(super) async fn run(
        &self,
        progress: &QuestionProgress,
    ) -> Result<Option<AnswerOutcome>, EngineError> {
        let (Some(document), Ok(toolbox)) = (&progress.program, self.question.toolbox()) else {
            return Ok(Some(no_tools()));
        };
        let code = program(self.store, document).await?;
        let code = code.ok_or_else(|| damaged(&document.name, "it is gone"))?;
        let mut run = RunningProgram {
            earlier: self.earlier(progress).await?,
            journal: OpenJournal::open(self.store, progress.attempt).await?,
            toolbox,
            attempt: progress.attempt,
        };
        // Those that this program got before a kill are used up.
        for ended in run.journal.journal().ended().filter(|ended| ended.is_copy) {
            run.earlier.take(&ended.call);
        }
        let ran = match self.follow(progress, &mut run, code).await {
            Ok(ran) => ran,
            Err(Halt::Stop(stop)) => ProgramOutcome::Ended(stop),
            Err(Halt::Pending(waits)) => ProgramOutcome::Pending(*waits),
            Err(Halt::Blocked(waiting)) => {
                run.journal.flush().await?;
                return Ok(Some(AnswerOutcome::Blocked(waiting)));
            }
            Err(Halt::Paused) => {
                run.journal.flush().await?;
                return Ok(None);
            }
            Err(Halt::Error(error)) => return Err(error),
        };
        run.journal.flush().await?;
        let calls = run.journal.journal().made_by_tool();
        Ok(Some(AnswerOutcome::Ran { ran, calls }))
    }

    /// Collects the calls of earlier programs of the run that must not be made twice.
    async fn earlier(&self, progress: &QuestionProgress) -> Result<Earlier, EngineError> {
        let mut journals: Vec<Journal> = Vec::new();
        for attempt in 1..progress.attempt {
            journals.push(OpenJournal::open(self.store, attempt).await?.journal().clone());
        }
        Ok(Earlier::of(&journals, |tool| self.question.effect(tool)))
    }

    async fn follow(
        &self,
        progress: &QuestionProgress,
        run: &mut RunningProgram<'_, S>,
        code: String,
    ) -> Result<ProgramOutcome, Halt> {
        let limits = interpreter::WorkerLimits {
            time_ms: self.question.limits.interpreter_ms,
            memory_bytes: self.question.limits.memory_bytes,
            recursion: RECURSION,
            ..interpreter::WorkerLimits::default()
        };
        let program = Program {
            code: code.clone(),
            functions: run.toolbox.names(),
            limits,
        };
        let started = self.interpreter.start(program).await;
        let mut session = match started {
            Ok(session) => session,
            Err(error) => return self.fell_out(progress, run, code, &error).await,
        };
        loop {
            let event = match session.next().await {
                Ok(event) => event,
                Err(error) => return self.fell_out(progress, run, code, &error).await,
            };
            match event {
                WorkerEvent::Calls(calls) => {
                    let outcomes = self.answer(progress, run, calls).await?;
                    if let Err(error) = session.answer(outcomes).await {
                        return self.fell_out(progress, run, code, &error).await;
                    }
                }
                WorkerEvent::Finished(finished) => {
                    let is_none = finished.value == Some(Value::Null);
                    if let Some(lacks) = is_none.then(|| lacks_answer(&code, &finished.printed)).flatten() {
                        let evidence = Evidence {
                            program: code,
                            kind: "No answer".to_owned(),
                            error: lacks.to_owned(),
                            printed: finished.printed,
                            ..Evidence::default()
                        };
                        return self.failed(progress, run, evidence).await;
                    }
                    let answer = answered(finished);
                    run.journal.flush().await?;
                    let name = format!("documents/answer-{:04}.json", progress.attempt);
                    return Ok(ProgramOutcome::Answered(
                        put_json(self.store, name, &answer).await?,
                    ));
                }
                WorkerEvent::Raised(raised) => {
                    let evidence = Evidence {
                        program: code,
                        kind: raised.kind,
                        line: raised.line,
                        error: raised.message,
                        printed: raised.printed,
                        calls: Vec::new(),
                    };
                    return self.failed(progress, run, evidence).await;
                }
            }
        }
    }

    /// A worker that ended before its program is the program's doing; that there is none, is not.
    async fn fell_out(
        &self,
        progress: &QuestionProgress,
        run: &mut RunningProgram<'_, S>,
        code: String,
        error: &Error,
    ) -> Result<ProgramOutcome, Halt> {
        if !matches!(error, Error::WorkerDied { .. } | Error::ProgramTooLong { .. }) {
            let waiting = self.blocked(progress, Category::Configuration, with_causes(error));
            return Err(Halt::Blocked(waiting));
        }
        let evidence = Evidence {
            program: code,
            kind: "The interpreter ended".to_owned(),
            error: with_causes(error),
            ..Evidence::default()
        };
        self.failed(progress, run, evidence).await
    }

    async fn failed(
        &self,
        progress: &QuestionProgress,
        run: &mut RunningProgram<'_, S>,
        evidence: Evidence,
    ) -> Result<ProgramOutcome, Halt> {
        run.journal.flush().await?;
        let evidence = Evidence {
            calls: run.journal.journal().ended().cloned().collect(),
            ..evidence
        };
        let error = line(&evidence);
        self.happened(&Happened::ProgramFailed {
            attempt: progress.attempt,
            error: error.clone(),
        });
        let evidence = put_json(self.store, evidence_name(progress), &evidence).await?;
        Ok(ProgramOutcome::Failed { error, evidence })
    }

    /// Answers a batch of calls, in their order.
    async fn answer(
        &self,
        progress: &QuestionProgress,
        run: &mut RunningProgram<'_, S>,
        requests: Vec<Request>,
    ) -> Result<Vec<interpreter::ReplyOutcome>, Halt> {
        let mut answers = Vec::with_capacity(requests.len());
        let (mut wanted, mut undecided) = (Vec::new(), Vec::new());
        for request in requests {
            match self.course(progress, run, request).await? {
                Course::Answered(outcome) => answers.push(Some(outcome)),
                Course::Wanted(wish) => {
                    answers.push(None);
                    wanted.push(wish);
                }
                Course::Undecided(call) => undecided.push(call),
            }
        }
        let (made, pending) = self.make(progress, run, wanted).await?;
        if !pending.is_empty() || !undecided.is_empty() {
            run.journal.flush().await?;
            let waits = Waits {
                calls: pending,
                approval: None,
            };
            let waits = self.wait_for_approval(progress, &undecided, waits).await?;
            return Err(Halt::Pending(Box::new(waits)));
        }
        let mut made = made.into_iter();
        let outcomes = answers
            .into_iter()
            .filter_map(|answer| answer.or_else(|| made.next()));
        Ok(outcomes.map(to_interpreter).collect())
    }

    /// Decides the course of a call that the program makes. Nothing of it is made yet.
    async fn course(
        &self,
        progress: &QuestionProgress,
        run: &mut RunningProgram<'_, S>,
        request: Request,
    ) -> Result<Course, Halt> {
        let number = request.id.saturating_add(1);
        let call = match self.called(run, request, number) {
            Ok(call) => call,
            Err(refused) => return Ok(Course::Answered(refused)),
        };
        if let Some(outcome) = self.recorded(run, &call)? {
            return Ok(Course::Answered(outcome));
        }
        if let Err(refused) = self.check(&run.toolbox, &call).await {
            return Ok(Course::Answered(refused));
        }
        let copy = run.earlier.take(&call);
        // What is answered from an earlier program is not made, and what has no room cannot be.
        if copy.is_some() || run.journal.is_full() {
            return Ok(Course::Wanted(Wish { call, copy }));
        }
        Ok(self.permit(progress, &mut run.journal, call).await?)
    }

    /// Holds the arguments of a call to the schema of its tool, which may be a server's.
    async fn check(&self, toolbox: &Toolbox, call: &Call) -> Result<(), CallOutcome> {
        let Some(signature) = toolbox.find(&call.tool) else {
            return Ok(());
        };
        let (tool, schema) = (call.tool.clone(), signature.tool.parameters.clone());
        let arguments = Value::Object(call.arguments.clone());
        let deadline = Instant::now() + Duration::from_secs_f64(self.question.limits.tool_seconds);
        match computed(deadline, move || check(&tool, &schema, &arguments)).await {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) => Err(raised(error.kind(), error.to_string())),
            None => Err(raised(
                "TimeoutError",
                format!(
                    "{}(): its arguments could not be compared with its schema in time",
                    call.tool
                ),
            )),
        }
    }

    /// The call with the arguments of its tool, or the exception that it is.
    fn called(
        &self,
        run: &RunningProgram<'_, S>,
        request: Request,
        number: u32,
    ) -> Result<Call, CallOutcome> {
        let most = self.question.limits.max_tool_calls;
        if number > most {
            let message = format!("limits.maxToolCalls: more than {most} calls of tools");
            return Err(raised("RuntimeError", message));
        }
        let Some(signature) = run.toolbox.find(&request.name) else {
            let message = format!("there is no tool `{}`", request.name);
            return Err(raised("NameError", message));
        };
        let arguments = bind(signature, request.args, request.kwargs.into_iter().collect());
        Ok(Call {
            number,
            arguments: arguments.map_err(|error| raised(error.kind(), error.to_string()))?,
            tool: request.name,
        })
    }

    /// Looks up the recorded outcome of a call; nothing where it is to be made.
    fn recorded(&self, run: &RunningProgram<'_, S>, call: &Call) -> Result<Option<CallOutcome>, Halt> {
        let journal = run.journal.journal();
        let found = journal.find(call).map_err(|mismatch| {
            Halt::Stop(QuestionStop {
                reason: QuestionStopReason::JournalMismatch,
                message: mismatch.to_string(),
            })
        })?;
        match found {
            JournalLookup::Ended(outcome) => Ok(Some(outcome.clone())),
            JournalLookup::InFlight if !self.question.is_repeatable(&call.tool) => {
                let calls = journal.in_flight();
                let calls: Vec<_> = calls.map(|call| (call.clone(), INTERRUPTED.to_owned())).collect();
                Err(Halt::Stop(unknown_outcomes(&calls)))
            }
            JournalLookup::InFlight | JournalLookup::New => Ok(None),
        }
    }
}

/// The answer of a program, with what is missing of it.
fn answered(finished: ProgramEnd) -> Answer {
    // A text that JSON has is whole in the value.
    let cut = finished
        .cut
        .filter(|_| !matches!(finished.value, Some(Value::String(_))));
    let cut = cut.map(|cut| {
        let whole = match cut.whole_bytes {
            Some(bytes) => format!("it has {bytes} bytes"),
            None => "it is longer".to_owned(),
        };
        let rest = match &finished.value {
            Some(_) => "the whole value is in answer.json, and in the document of -o json",
            None => "the rest is lost: ask for less",
        };
        let shown = finished.text.len();
        format!("the text of the answer is cut to {shown} bytes, for {whole}; {rest}")
    });
    Answer {
        value: finished.value,
        text: finished.text,
        printed: finished.printed,
        cut,
    }
}

/// Course of a call that a program makes.
pub(super) enum Course {
    /// Its outcome is there.
    Answered(CallOutcome),
    /// It is to be made.
    Wanted(Wish),
    /// A person must decide about it first.
    Undecided(Call),
}

/// A call that is to be made, or answered with what an equal call of an earlier program gave.
pub(super) struct Wish {
    pub(super) call: Call,
    pub(super) copy: Option<Value>,
}
