//! The model's call: intent, call, record, and the program in its reply.

use futures::future::join;

use super::record::program_document;
use super::{CodeModeEngine, CodeModeError, Happened, ToolCaller};
use crate::code_mode::certain::{CertainFault, certain_faults};
use crate::code_mode::reply::program_of;
use crate::code_mode::signature::Toolbox;
use crate::ledger::{Ledger, Store};
use crate::model::{Model, ModelError};
use crate::pipeline::call::{FinishReason, Reply, Request};
use crate::pipeline::code_mode::{Evidence, Outcome, Progress, Stop, StopReason, allow_call, request};
use crate::pipeline::progress::{Intent, asked_moment};
use crate::pipeline::reply::words_of_refusal;

/// Faults of a program that the model reads.
const LISTED_FAULTS: usize = 10;

enum Answered {
    /// A reply, which is recorded, and the program in it.
    Reply(Progress, Result<String, Box<Evidence>>),
    Otherwise(Progress, Outcome),
}

impl Answered {
    fn by(progress: Progress, reply: &Reply, tools: &Toolbox) -> Self {
        Self::Reply(progress.with_call_answered(reply.usage), program_in(reply, tools))
    }
}

impl<M: Model, S: Store, T: ToolCaller> CodeModeEngine<'_, M, S, T> {
    /// Asks for a program (or takes the reply that is recorded) and checks it.
    pub(super) async fn ask(&self, progress: Progress) -> Result<(Progress, Outcome), CodeModeError> {
        let Ok(toolbox) = self.question.toolbox() else {
            // Resolved before the question was frozen.
            return Ok((progress, no_tools()));
        };
        let evidence: Option<Evidence> = match progress.failed.last() {
            Some(failed) => Some(self.get(&failed.evidence).await?),
            None => None,
        };
        let request = request(self.question, &toolbox.declarations(), evidence.as_ref())?;
        let (progress, program) = match self.answered(progress, &request, &toolbox).await? {
            Answered::Reply(progress, program) => (progress, program),
            Answered::Otherwise(progress, outcome) => return Ok((progress, outcome)),
        };
        let outcome = match program {
            // The reply has moved the sequence on.
            Ok(program) => Outcome::Written(program_document(progress.sequence - 1, &program)?),
            Err(evidence) => self.reject(&progress, *evidence).await?,
        };
        Ok((progress, outcome))
    }

    async fn answered(
        &self,
        progress: Progress,
        request: &Request,
        tools: &Toolbox,
    ) -> Result<Answered, CodeModeError> {
        // The record goes before everything: what has a reply is never asked for again.
        if let Some(entry) = Ledger::new(self.store)
            .find(progress.sequence, request.kind)
            .await?
        {
            return Ok(Answered::by(progress, &entry.reply, tools));
        }
        // A call in flight at a kill, which may have been billed.
        let progress = progress.with_call_lost();
        let size = request.tokens();
        let limit = match allow_call(self.question, &progress, size) {
            Ok(limit) => limit,
            Err(stop) => return Ok(Answered::Otherwise(progress, Outcome::Stopped(stop))),
        };
        self.send(progress, &request.limited(limit), size + limit, tools)
            .await
    }

    async fn send(
        &self,
        progress: Progress,
        request: &Request,
        estimate: u64,
        tools: &Toolbox,
    ) -> Result<Answered, CodeModeError> {
        let sequence = progress.sequence;
        let started_at = (self.clock)();
        let progress = progress.with_intent(Intent::new(request, sequence, estimate));
        let ledger = Ledger::new(self.store);
        // Before the request: a kill during the call leaves a trace of it. What all calls begin with may be there without one.
        let prepare = ledger.prepare(request);
        let (saved, prepared) = join(Box::pin(self.save(&progress)), Box::pin(prepare)).await;
        saved?;
        self.happened(&Happened::CallStarted {
            attempt: progress.attempt,
        });
        let reply = match self.model.call(request).await {
            Ok(reply) => reply,
            Err(error) => return Ok(self.call_failed(progress, &error)),
        };
        let finished_at = (self.clock)();
        let times = (started_at, finished_at);
        // That of another process, if it was recorded first.
        let entry = match prepared {
            Ok(()) => Box::pin(ledger.record_prepared(sequence, request, reply, times)).await,
            // Written with the reply, or said.
            Err(_) => Box::pin(ledger.record(sequence, request, reply, times)).await,
        }?;
        self.happened(&Happened::CallFinished {
            tokens: entry.reply.usage.input + entry.reply.usage.output,
            seconds: finished_at.duration_since(started_at).as_secs_f64(),
        });
        Ok(Answered::by(progress, &entry.reply, tools))
    }

    /// A call without a reply fails no program. It is spent where a bill may show it.
    fn call_failed(&self, progress: Progress, error: &ModelError) -> Answered {
        let mut waiting = self.blocked(&progress, error.category(), error.to_string());
        let asked = error.retry_after().unwrap_or_default();
        waiting.retry_at = waiting.retry_at.max(asked_moment(asked, (self.clock)()));
        let progress = if error.may_be_billed() {
            progress.with_call_lost()
        } else {
            progress.with_call_not_made()
        };
        Answered::Otherwise(progress, Outcome::Blocked(waiting))
    }

    async fn reject(&self, progress: &Progress, evidence: Evidence) -> Result<Outcome, CodeModeError> {
        let error = line(&evidence);
        self.happened(&Happened::ProgramFailed {
            attempt: progress.attempt,
            error: error.clone(),
        });
        let evidence = self.put(evidence_name(progress), &evidence).await?;
        Ok(Outcome::Rejected { error, evidence })
    }
}

/// The document with what was wrong with the present program.
pub(super) fn evidence_name(progress: &Progress) -> String {
    format!("documents/evidence-{:04}.json", progress.attempt)
}

/// What was wrong, in a line.
pub(super) fn line(evidence: &Evidence) -> String {
    let place = evidence
        .line
        .map(|line| format!(" in line {line}"))
        .unwrap_or_default();
    let error = evidence.error.lines().next().unwrap_or_default();
    format!("{}{place}: {error}", evidence.kind)
}

pub(super) fn no_tools() -> Outcome {
    Outcome::Stopped(Stop {
        reason: StopReason::JournalMismatch,
        message: "the agent's tools do not go together any more; ask again".to_owned(),
    })
}

fn unusable(error: String) -> Evidence {
    Evidence {
        kind: "No program".to_owned(),
        error,
        ..Evidence::default()
    }
}

/// The first line is for people, who read no other one.
fn refused(text: &str) -> String {
    let words = words_of_refusal(text).map(|words| format!(": {words}"));
    format!(
        "the reply was a refusal{}\nAnswer with a program.",
        words.unwrap_or_default()
    )
}

/// The program in a reply, unless its source shows that it cannot work; else what is wrong with it.
fn program_in(reply: &Reply, tools: &Toolbox) -> Result<String, Box<Evidence>> {
    let program = match reply.finish {
        FinishReason::Length => {
            Err("the reply was cut at its length; answer with a shorter program".to_owned())
        }
        FinishReason::Refused => Err(refused(&reply.text)),
        FinishReason::Complete | FinishReason::Other(_) => {
            program_of(&reply.text).map_err(|error| error.to_string())
        }
    };
    let program = program.map_err(|error| Box::new(unusable(error)))?;
    let faults = certain_faults(&program, tools);
    if faults.is_empty() {
        Ok(program)
    } else {
        Err(Box::new(faulty(program, &faults)))
    }
}

fn faulty(program: String, faults: &[CertainFault]) -> Evidence {
    let lines: Vec<_> = faults
        .iter()
        .take(LISTED_FAULTS)
        .map(|fault| format!("line {}: {}", fault.line, fault.message))
        .collect();
    Evidence {
        program,
        kind: "It cannot work, so that nothing was called".to_owned(),
        line: None,
        error: lines.join("\n"),
        ..Evidence::default()
    }
}
