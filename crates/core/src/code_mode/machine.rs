//! Decision of the next step, and effects of an outcome on the state.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::progress::{
    FailedProgram, QuestionProgress, QuestionStage, QuestionStop, QuestionStopReason, Waits,
};
use super::question::Question;
use crate::bounds;
use crate::budget::{Exceeded, calls_allow, time_allows, tokens_allow};
use crate::progress::{Document, Waiting};
use crate::terminal::spelled_out;
use codegen_api::approval::{ApprovalStatus, AwaitedApproval, QuestionGate};

/// Characters of an error in the state.
const ERROR_BYTES: usize = 300;
/// Calls that are named of those that a program waits for.
const NAMED_CALLS: usize = 8;
/// Output tokens that a call asks for where the budget leaves room.
const MAX_OUTPUT_TOKENS: u64 = 8_192;

/// Next step of a question.
#[derive(Clone, Debug, PartialEq)]
pub enum QuestionDecision {
    /// Nothing: it has ended.
    Finished,
    /// Nothing before this moment.
    Wait(Timestamp),
    /// It ends.
    Stop(QuestionStop),
    /// The model writes a program.
    Ask,
    /// The program runs.
    Run,
    /// A person decides about a call.
    AwaitApproval(AwaitedApproval<QuestionGate>),
}

/// Outcome of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum AnswerOutcome {
    /// The model wrote a program.
    Written(Document),
    /// Its reply held none, or one that cannot run: what is wrong with it.
    Rejected {
        /// In a line.
        error: String,
        /// For the next request.
        evidence: Document,
    },
    /// The program ran.
    Ran {
        /// Outcome of the run.
        ran: ProgramOutcome,
        /// Counts of its calls, by tool.
        calls: BTreeMap<String, u32>,
    },
    /// A person has decided about a call.
    Decided(ApprovalStatus<QuestionGate>),
    /// Something that is no fault of the program failed.
    Blocked(Waiting),
    /// It ends.
    Stopped(QuestionStop),
}

/// Outcome of a program.
#[derive(Clone, Debug, PartialEq)]
pub enum ProgramOutcome {
    /// An answer.
    Answered(Document),
    /// A fault of its own.
    Failed {
        /// In a line.
        error: String,
        /// For the next request.
        evidence: Document,
    },
    /// Calls that wait for other objects or for a person.
    Pending(Waits),
    /// An end that no other program mends.
    Ended(QuestionStop),
}

/// Decides the next step.
#[must_use]
pub fn decide(question: &Question, progress: &QuestionProgress, now: Timestamp) -> QuestionDecision {
    if progress.stage.is_terminal() {
        return QuestionDecision::Finished;
    }
    if let Some(waiting) = progress.waiting.as_ref().filter(|waiting| !waiting.is_over(now)) {
        return QuestionDecision::Wait(waiting.retry_at);
    }
    if let Err(stop) = in_time(question, progress, now) {
        return QuestionDecision::Stop(stop);
    }
    match progress.stage {
        QuestionStage::Writing => match allow_another_call(question, progress) {
            Ok(()) => QuestionDecision::Ask,
            Err(stop) => QuestionDecision::Stop(stop),
        },
        QuestionStage::Running => match &progress.waits.approval {
            // Whether a run of another call has ended meanwhile is seen where those are watched.
            Some(awaited) if progress.waits.calls.is_empty() => {
                QuestionDecision::AwaitApproval(awaited.asked.clone())
            }
            _ => QuestionDecision::Run,
        },
        QuestionStage::Succeeded | QuestionStage::Failed => QuestionDecision::Finished,
    }
}

/// Checks that there is active time left.
pub fn in_time(question: &Question, progress: &QuestionProgress, now: Timestamp) -> Result<(), QuestionStop> {
    let time = time_allows(progress.active_seconds(now), question.limits.deadline_seconds);
    time.map_err(|exceeded| spent_up(progress, &exceeded))
}

/// The output limit of a call whose request is estimated at `request` tokens.
pub fn allow_call(
    question: &Question,
    progress: &QuestionProgress,
    request: u64,
) -> Result<u64, QuestionStop> {
    let limit = question.limits.max_tokens;
    let tokens = tokens_allow(&progress.spent, limit, request, MAX_OUTPUT_TOKENS);
    tokens.map_err(|exceeded| spent_up(progress, &exceeded))
}

fn allow_another_call(question: &Question, progress: &QuestionProgress) -> Result<(), QuestionStop> {
    let calls = calls_allow(&progress.spent, question.limits.max_model_calls);
    calls.map_err(|exceeded| spent_up(progress, &exceeded))
}

fn spent_up(progress: &QuestionProgress, Exceeded { limit, spent }: &Exceeded) -> QuestionStop {
    let last = progress.failed.last().map_or_else(
        || "Nothing had failed before.".to_owned(),
        |failed| format!("Last failure: {}", failed.error),
    );
    QuestionStop {
        reason: QuestionStopReason::BudgetExceeded,
        message: format!("{limit}: {spent}. {last} Raise {limit} of the agent and ask again."),
    }
}

/// The state after an outcome.
#[must_use]
pub fn advance(
    question: &Question,
    mut progress: QuestionProgress,
    outcome: AnswerOutcome,
    now: Timestamp,
) -> QuestionProgress {
    if progress.stage.is_terminal() {
        return progress;
    }
    if !matches!(outcome, AnswerOutcome::Blocked(_)) {
        progress.waiting = None;
    }
    match outcome {
        AnswerOutcome::Written(program) => {
            progress.program = Some(program);
            progress.stage = QuestionStage::Running;
        }
        AnswerOutcome::Rejected { error, evidence } => {
            progress.program = None;
            progress.fail(question, 0, &error, evidence, now);
        }
        AnswerOutcome::Ran { ran, calls } => progress.take_run(question, ran, calls, now),
        AnswerOutcome::Decided(decision) => progress.take_decision(decision),
        AnswerOutcome::Blocked(waiting) => progress.waiting = Some(waiting),
        AnswerOutcome::Stopped(stop) => progress.end(stop, now),
    }
    progress.count_time(now);
    progress
}

impl QuestionProgress {
    fn take_run(
        &mut self,
        question: &Question,
        ran: ProgramOutcome,
        calls: BTreeMap<String, u32>,
        now: Timestamp,
    ) {
        self.waits = Waits::default();
        // In the journal by now, whose loss must not make it count a second time.
        self.decided = None;
        if let ProgramOutcome::Pending(mut waits) = ran {
            // Counted when the program has ended: it runs again from its beginning.
            waits.calls.truncate(NAMED_CALLS);
            self.waits = waits;
            return;
        }
        let made = calls.values().sum();
        for (tool, times) in calls {
            *self.tool_calls.entry(tool).or_default() += times;
        }
        match ran {
            ProgramOutcome::Answered(answer) => {
                self.answer = Some(answer);
                self.stage = QuestionStage::Succeeded;
                self.completed_at = Some(now);
            }
            ProgramOutcome::Failed { error, evidence } => self.fail(question, made, &error, evidence, now),
            ProgramOutcome::Ended(stop) => self.end(stop, now),
            ProgramOutcome::Pending(_) => {}
        }
    }

    fn fail(&mut self, question: &Question, calls: u32, error: &str, evidence: Document, now: Timestamp) {
        let error = bounds::cut(&spelled_out(error), ERROR_BYTES);
        self.failed.push(FailedProgram {
            attempt: self.attempt,
            error: error.clone(),
            calls,
            evidence,
        });
        if self.attempt > question.limits.max_retries {
            let message = format!(
                "{} programs failed, the last one with: {error}. Give the agent better tools or skills, or raise \
                 maxRetries, and ask again.",
                self.attempt
            );
            let reason = QuestionStopReason::RetriesExhausted;
            return self.end(QuestionStop { reason, message }, now);
        }
        self.attempt += 1;
        self.stage = QuestionStage::Writing;
    }

    fn end(&mut self, stop: QuestionStop, now: Timestamp) {
        self.intent = None;
        self.waits = Waits::default();
        self.stop = Some(stop);
        self.stage = QuestionStage::Failed;
        self.completed_at = Some(now);
    }
}
