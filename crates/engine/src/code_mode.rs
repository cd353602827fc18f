//! Answers a question of code mode: asks the model for a program, runs it, makes the calls of its tools.
//!
//! As everywhere: write the intent, act, write the result, move on. Replies are in the ledger. What a program called is in its journal, and
//! after a kill the program runs again from its beginning and is answered from there.

mod ask;
pub mod clients;
mod execute;
mod journal;
mod make;
mod outcomes;
mod permit;
pub mod record;
pub mod resolve;
mod tools;

use codegen_interpreter::Interpreter;
use jiff::Timestamp;
use tokio::sync::watch;

use crate::EngineError;
use codegen_api::approval::{ApprovalStatus, AwaitedApproval, QuestionGate};
use codegen_core::code_mode::{
    AnswerOutcome, Question, QuestionDecision, QuestionProgress, QuestionStage, advance, decide,
};
use codegen_core::progress::{Waiting, pause_after};
use codegen_core::stage::Category;
use codegen_ledger::Store;
use codegen_model::Model;

pub use self::tools::{CallKey, Made, ToolCaller};

/// Everything that the steps of one run need.
pub struct CodeModeEngine<'a, M, S, T> {
    /// The question.
    pub question: &'a Question,
    /// Identity that distinguishes the question from every other one, also from a later one of the same name: what is decided about a call
    /// is decided about one of this question.
    pub uid: &'a str,
    /// Writes programs.
    pub model: &'a M,
    /// Holds progress, replies, journal and documents.
    pub store: &'a S,
    /// Runs programs.
    pub interpreter: &'a Interpreter,
    /// Makes calls.
    pub tools: &'a T,
    /// The clock.
    pub clock: fn() -> Timestamp,
    /// True while something is under way whose result is not recorded yet.
    pub in_call: &'a watch::Sender<bool>,
    /// Returns true once no call of a tool may begin any more: somebody holds the question, it is gone, or this process ends.
    pub is_stopped: &'a (dyn Fn() -> bool + Send + Sync),
    /// Receives what happens.
    pub observer: &'a (dyn Fn(&Happened) + Send + Sync),
}

/// Something that happened, for whoever watches.
#[derive(Clone, Debug, PartialEq)]
pub enum Happened {
    /// The model is asked for a program.
    CallStarted {
        /// Number of the program.
        attempt: u32,
    },
    /// It answered.
    CallFinished {
        /// Tokens in and out.
        tokens: u64,
        /// Seconds that it took.
        seconds: f64,
    },
    /// A program was not run, or failed.
    ProgramFailed {
        /// Number of the program.
        attempt: u32,
        /// Error of the program.
        error: String,
    },
    /// A tool was called; calls that are answered from the journal are not.
    ToolCalled {
        /// Number of the program.
        attempt: u32,
        /// Place of the call.
        number: u32,
        /// The tool.
        tool: String,
        /// Exception that was raised; none where it gave a value.
        raised: Option<String>,
        /// Seconds that it took.
        seconds: f64,
    },
    /// A person must decide about a call before it is made.
    ApprovalAwaited(AwaitedApproval<QuestionGate>),
    /// A person has decided.
    Decided(ApprovalStatus<QuestionGate>),
    /// A call was not made, for a person has refused it.
    CallRefused {
        /// Number of the program.
        attempt: u32,
        /// Place of the call.
        number: u32,
        /// The tool.
        tool: String,
    },
}

/// Outcome of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuestionStep {
    /// It moved on.
    Advanced,
    /// Calls wait for other objects.
    Pending,
    /// A person must decide about a call.
    Gate(AwaitedApproval<QuestionGate>),
    /// Nothing to do before this moment.
    Waiting(Timestamp),
    /// It may not go on now: between two calls of its program, all of which are recorded.
    Stopped,
    /// It has ended.
    Finished,
}

impl<M: Model, S: Store<Progress = QuestionProgress>, T: ToolCaller> CodeModeEngine<'_, M, S, T> {
    /// The recorded progress, or a new start.
    #[cfg(test)]
    pub async fn load(&self) -> Result<QuestionProgress, EngineError> {
        let stored = self.store.load().await?;
        Ok(stored.unwrap_or_else(|| QuestionProgress::start((self.clock)())))
    }

    /// Decides what comes next, performs it, and records what it came to.
    pub async fn step(
        &self,
        progress: QuestionProgress,
    ) -> Result<(QuestionProgress, QuestionStep), EngineError> {
        self.in_call.send_replace(true);
        let performed = self.perform(progress).await;
        self.in_call.send_replace(false);
        performed
    }

    async fn perform(
        &self,
        progress: QuestionProgress,
    ) -> Result<(QuestionProgress, QuestionStep), EngineError> {
        let (progress, outcome) = match decide(self.question, &progress, (self.clock)()) {
            QuestionDecision::Finished => return Ok((progress, QuestionStep::Finished)),
            QuestionDecision::Wait(until) => return Ok((progress, QuestionStep::Waiting(until))),
            QuestionDecision::AwaitApproval(asked) => {
                // What held it before, and is said of it, holds it no more.
                self.save(&progress).await?;
                return Ok((progress, QuestionStep::Gate(asked)));
            }
            QuestionDecision::Stop(stop) => (progress, AnswerOutcome::Stopped(stop)),
            QuestionDecision::Ask => self.ask(progress).await?,
            QuestionDecision::Run => match self.run(&progress).await? {
                Some(outcome) => (progress, outcome),
                None => return Ok((progress, QuestionStep::Stopped)),
            },
        };
        let next = self.record(progress, outcome).await?;
        let step = match (&next.waiting, &next.waits.approval) {
            _ if next.stage.is_terminal() => QuestionStep::Advanced,
            (Some(waiting), _) => QuestionStep::Waiting(waiting.retry_at),
            (None, Some(awaited)) => QuestionStep::Gate(awaited.asked.clone()),
            (None, None) if next.stage == QuestionStage::Running && !next.waits.calls.is_empty() => {
                QuestionStep::Pending
            }
            (None, None) => QuestionStep::Advanced,
        };
        Ok((next, step))
    }

    /// Records what a person has decided about a call.
    pub async fn take_decision(
        &self,
        progress: QuestionProgress,
        decision: ApprovalStatus<QuestionGate>,
    ) -> Result<QuestionProgress, EngineError> {
        let happened = Happened::Decided(decision.clone());
        let next = self.record(progress, AnswerOutcome::Decided(decision)).await?;
        self.happened(&happened);
        Ok(next)
    }

    /// Advances by `outcome` and writes what follows. The state moves last: documents, replies and the journal are stored by now.
    async fn record(
        &self,
        progress: QuestionProgress,
        outcome: AnswerOutcome,
    ) -> Result<QuestionProgress, EngineError> {
        let before = progress
            .waits
            .approval
            .as_ref()
            .map(|awaited| awaited.asked.hash.clone());
        let next = advance(self.question, progress.clone(), outcome, (self.clock)());
        if next != progress {
            self.save(&next).await?;
        }
        // After the write, and once for each call.
        let asked = next.waits.approval.as_ref().map(|awaited| &awaited.asked);
        if let Some(asked) = asked.filter(|asked| Some(&asked.hash) != before.as_ref()) {
            self.happened(&Happened::ApprovalAwaited(asked.clone()));
        }
        Ok(next)
    }

    async fn save(&self, progress: &QuestionProgress) -> Result<(), EngineError> {
        Ok(self.store.save(progress).await?)
    }

    /// Something that is no fault of the program, and is tried again after a pause.
    fn blocked(&self, progress: &QuestionProgress, category: Category, message: String) -> Waiting {
        let times = progress.waiting.as_ref().map_or(0, |waiting| waiting.times);
        let now = (self.clock)();
        let pause = pause_after(times, category);
        Waiting {
            category,
            message,
            times: times.saturating_add(1),
            retry_at: now.checked_add(pause).unwrap_or(now),
            since: Some(now),
            reason: None,
        }
    }

    fn happened(&self, happened: &Happened) {
        (self.observer)(happened);
    }
}

#[cfg(test)]
mod tests;
