//! Makes the calls of a program, some at a time, and records what they came to.

use std::collections::BTreeMap;
use std::time::Instant;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use serde_json::Value;

use super::execute::{Halt, RunningProgram, Wish};
use super::outcomes::{MadeCall, no_room, raised, unknown_outcomes};
use super::tools::{CallKey, Made};
use super::{CodeModeEngine, Happened, ToolCaller};
use crate::EngineError;
use codegen_api::code_mode::PendingCall;
use codegen_code_mode::journal::{Call, CallEnd, CallOutcome, JournalEntry};
use codegen_code_mode::signature::{Effect, READ_TEXT};
use codegen_core::code_mode::{QuestionProgress, in_time};
use codegen_core::progress::Waiting;
use codegen_core::stage::Category;
use codegen_ledger::Store;
use codegen_model::Model;

/// Calls that are made at once, and runs of durable ones that are under way at once.
const AT_ONCE: usize = 16;

/// Outcomes of calls that were made together, by their numbers.
#[derive(Default)]
struct Together {
    outcomes: BTreeMap<u32, CallOutcome>,
    pending: BTreeMap<u32, PendingCall>,
    /// Nobody knows, and why.
    unknown: BTreeMap<u32, (Call, String)>,
    blocked: BTreeMap<u32, Waiting>,
}

impl Together {
    /// Returns the reason for which the program goes no further. Calls of unknown outcome go first, for a person must be told of them.
    fn halt(&mut self) -> Option<Halt> {
        let unknown: Vec<_> = std::mem::take(&mut self.unknown).into_values().collect();
        if !unknown.is_empty() {
            return Some(Halt::Stop(unknown_outcomes(&unknown)));
        }
        let (_, blocked) = self.blocked.pop_first()?;
        Some(Halt::Blocked(blocked))
    }
}

impl<M: Model, S: Store<Progress = QuestionProgress>, T: ToolCaller> CodeModeEngine<'_, M, S, T> {
    /// Makes calls, some at a time, and records what they came to: the outcomes, and the calls that wait for other objects. The limits are
    /// looked at before each batch.
    pub(super) async fn make(
        &self,
        progress: &QuestionProgress,
        run: &mut RunningProgram<'_, S>,
        wishes: Vec<Wish>,
    ) -> Result<(Vec<CallOutcome>, Vec<PendingCall>), Halt> {
        let mut outcomes: Vec<CallOutcome> = Vec::with_capacity(wishes.len());
        let mut pending = Vec::new();
        let mut wishes = wishes.into_iter();
        loop {
            let batch = self.next_batch(&mut wishes, pending.len());
            if batch.is_empty() {
                return Ok((outcomes, pending));
            }
            if run.journal.is_full() {
                outcomes.extend(batch.into_iter().chain(wishes).map(|_| no_room()));
                return Ok((outcomes, pending));
            }
            if let Err(halt) = self.may_go_on(progress) {
                run.journal.flush().await?;
                return Err(halt);
            }
            let made = self.make_together(progress, run, batch).await?;
            outcomes.extend(made.outcomes.into_values());
            pending.extend(made.pending.into_values());
        }
    }

    /// The calls that are made next, where so many wait for other objects. Durable ones beyond those that may be under way are put off to
    /// another run of the program, which waits for the others anyway.
    fn next_batch(&self, wishes: &mut impl Iterator<Item = Wish>, under_way: usize) -> Vec<Wish> {
        let mut room = AT_ONCE.saturating_sub(under_way);
        let has_room = |wish: &Wish| {
            if self.question.effect(&wish.call.tool) != Effect::Durable {
                return true;
            }
            let is_within = room > 0;
            room = room.saturating_sub(1);
            is_within
        };
        wishes.filter(has_room).take(AT_ONCE).collect()
    }

    /// Checks that another call may begin.
    fn may_go_on(&self, progress: &QuestionProgress) -> Result<(), Halt> {
        if (self.is_stopped)() {
            return Err(Halt::Paused);
        }
        in_time(self.question, progress, (self.clock)()).map_err(Halt::Stop)
    }

    /// Records which of these calls must not be made twice, before any is made.
    async fn begin(&self, run: &mut RunningProgram<'_, S>, batch: &[Wish]) -> Result<(), EngineError> {
        let is_once = |wish: &&Wish| wish.copy.is_none() && !self.question.is_repeatable(&wish.call.tool);
        let begun: Vec<JournalEntry> = batch
            .iter()
            .filter(is_once)
            .map(|wish| JournalEntry::Begun(wish.call.clone()))
            .collect();
        if begun.is_empty() {
            return Ok(());
        }
        for entry in begun {
            run.journal.buffer(entry).await?;
        }
        run.journal.flush().await
    }

    /// Makes these calls at once, and records each when it has ended, also where another one ends the run: it was made.
    async fn make_together(
        &self,
        progress: &QuestionProgress,
        run: &mut RunningProgram<'_, S>,
        batch: Vec<Wish>,
    ) -> Result<Together, Halt> {
        self.begin(run, &batch).await?;
        let attempt = run.attempt;
        let fresh = batch.into_iter().map(|Wish { call, copy }| async move {
            let finished = self.call(attempt, &call, copy).await;
            (call, finished)
        });
        // Those that end at the same moment are written together.
        let mut ended = fresh.collect::<FuturesUnordered<_>>().ready_chunks(AT_ONCE);
        let mut together = Together::default();
        while let Some(calls) = ended.next().await {
            let must_last = calls
                .iter()
                .any(|(call, _)| !self.question.is_repeatable(&call.tool));
            for (call, finished) in calls {
                self.settle(progress, run, (call, finished), &mut together)
                    .await?;
            }
            if must_last {
                run.journal.flush().await?;
            }
        }
        let halt = together.halt();
        if halt.is_some() {
            run.journal.flush().await?;
        }
        halt.map_or(Ok(together), Err)
    }

    /// Records what a call came to, in the journal's buffer.
    async fn settle(
        &self,
        progress: &QuestionProgress,
        run: &mut RunningProgram<'_, S>,
        (call, finished): (Call, MadeCall),
        together: &mut Together,
    ) -> Result<(), EngineError> {
        let number = call.number;
        match finished.made {
            Made::Ended(outcome) => {
                let raised = match &outcome {
                    CallOutcome::Returned(_) => None,
                    CallOutcome::Raised { kind, message } => Some(format!("{kind}: {message}")),
                };
                self.happened(&Happened::ToolCalled {
                    attempt: progress.attempt,
                    number,
                    tool: call.tool.clone(),
                    raised,
                    seconds: finished.seconds,
                });
                together.outcomes.insert(number, outcome.clone());
                let entry = JournalEntry::Ended(CallEnd {
                    call,
                    outcome,
                    is_copy: finished.is_copy,
                    is_refused: false,
                    started_at: finished.started_at,
                    ended_at: (self.clock)().to_string(),
                });
                run.journal.buffer(entry).await?;
            }
            Made::Pending(run) => {
                let pending = PendingCall {
                    number: i32::try_from(number).unwrap_or(i32::MAX),
                    tool: call.tool,
                    run,
                };
                together.pending.insert(number, pending);
            }
            Made::Unknown(why) => drop(together.unknown.insert(number, (call, why))),
            Made::Blocked {
                message,
                needs_person,
            } => {
                let category = if needs_person {
                    Category::Configuration
                } else {
                    Category::Infrastructure
                };
                let message = format!("call {number} of `{}`: {message}", call.tool);
                if !self.question.is_repeatable(&call.tool) {
                    run.journal.buffer(JournalEntry::Withdrawn(call)).await?;
                }
                let blocked = self.blocked(progress, category, message);
                together.blocked.insert(number, blocked);
            }
        }
        Ok(())
    }

    async fn call(&self, attempt: u32, call: &Call, copy: Option<Value>) -> MadeCall {
        let started_at = (self.clock)().to_string();
        let began = Instant::now();
        let is_copy = copy.is_some();
        let made = if let Some(value) = copy {
            Made::Ended(CallOutcome::Returned(value))
        } else if call.tool == READ_TEXT {
            let limit = call
                .arguments
                .get("limit")
                .and_then(Value::as_u64)
                .unwrap_or(10_000);
            let handle = call.arguments.get("file").unwrap_or(&Value::Null);
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            self.tools.read_text(handle, limit).await
        } else if let Some(tool) = self.question.tool(&call.tool) {
            let key = CallKey {
                attempt,
                number: call.number,
            };
            self.tools.call(tool, &key, &call.arguments).await
        } else {
            Made::Ended(raised("NameError", format!("there is no tool `{}`", call.tool)))
        };
        MadeCall {
            made,
            is_copy,
            started_at,
            seconds: began.elapsed().as_secs_f64(),
        }
    }
}
