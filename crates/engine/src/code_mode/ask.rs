//! The call of the model, and the program in its reply.

use super::record::program_document;
use super::{CodeModeEngine, Happened, ToolCaller};
use crate::EngineError;
use crate::ask::{AskResult, Asker};
use crate::documents::{get_json, put_json};
use crate::event::Event;
use codegen_code_mode::certain::{CertainFault, certain_faults};
use codegen_code_mode::reply::program_of;
use codegen_code_mode::signature::Toolbox;
use codegen_core::call::{FinishReason, Reply};
use codegen_core::code_mode::{
    AnswerOutcome, Evidence, QuestionProgress, QuestionStop, QuestionStopReason, allow_call, request,
};
use codegen_core::progress::asked_moment;
use codegen_core::reply::words_of_refusal;
use codegen_ledger::Store;
use codegen_model::{Model, ModelError};

/// Faults of a program that the model reads.
const LISTED_FAULTS: usize = 10;

impl<M: Model, S: Store<Progress = QuestionProgress>, T: ToolCaller> CodeModeEngine<'_, M, S, T> {
    /// Asks for a program (or takes the reply that is recorded) and checks it.
    pub(super) async fn ask(
        &self,
        progress: QuestionProgress,
    ) -> Result<(QuestionProgress, AnswerOutcome), EngineError> {
        let Ok(toolbox) = self.question.toolbox() else {
            // Resolved before the question was frozen.
            return Ok((progress, no_tools()));
        };
        let evidence: Option<Evidence> = match progress.failed.last() {
            Some(failed) => Some(get_json(self.store, &failed.evidence).await?),
            None => None,
        };
        let request = request(self.question, &toolbox.declarations(), evidence.as_ref())?;
        let asker = Asker {
            model: self.model,
            store: self.store,
            clock: self.clock,
            observe: &|event| self.observe_call(progress.attempt, event),
        };
        let allow = |progress: &QuestionProgress, size| allow_call(self.question, progress, size);
        let (progress, answer) = asker.ask(progress.clone(), &request, allow).await?;
        let outcome = match answer {
            AskResult::Reply(reply) => match program_in(&reply, &toolbox) {
                // The reply has moved the sequence on.
                Ok(program) => AnswerOutcome::Written(program_document(progress.sequence - 1, &program)?),
                Err(evidence) => self.reject(&progress, *evidence).await?,
            },
            AskResult::Stopped(stop) => AnswerOutcome::Stopped(stop),
            AskResult::Failed(error) => self.call_failed(&progress, &error),
        };
        Ok((progress, outcome))
    }

    fn observe_call(&self, attempt: u32, event: &Event) {
        match event {
            Event::CallStarted { .. } => self.happened(&Happened::CallStarted { attempt }),
            Event::CallFinished {
                usage,
                seconds,
                from_ledger: false,
                ..
            } => self.happened(&Happened::CallFinished {
                tokens: usage.input + usage.output,
                seconds: *seconds,
            }),
            _ => {}
        }
    }

    /// A call without a reply fails no program.
    fn call_failed(&self, progress: &QuestionProgress, error: &ModelError) -> AnswerOutcome {
        let mut waiting = self.blocked(progress, error.category(), error.to_string());
        let asked = error.retry_after().unwrap_or_default();
        waiting.retry_at = waiting.retry_at.max(asked_moment(asked, (self.clock)()));
        AnswerOutcome::Blocked(waiting)
    }

    async fn reject(
        &self,
        progress: &QuestionProgress,
        evidence: Evidence,
    ) -> Result<AnswerOutcome, EngineError> {
        let error = line(&evidence);
        self.happened(&Happened::ProgramFailed {
            attempt: progress.attempt,
            error: error.clone(),
        });
        let evidence = put_json(self.store, evidence_name(progress), &evidence).await?;
        Ok(AnswerOutcome::Rejected { error, evidence })
    }
}

/// The document with what was wrong with the present program.
pub(super) fn evidence_name(progress: &QuestionProgress) -> String {
    format!("documents/evidence-{:04}.json", progress.attempt)
}

/// Tells the error of a program in a line.
pub(super) fn line(evidence: &Evidence) -> String {
    let place = evidence
        .line
        .map(|line| format!(" in line {line}"))
        .unwrap_or_default();
    let error = evidence.error.lines().next().unwrap_or_default();
    format!("{}{place}: {error}", evidence.kind)
}

pub(super) fn no_tools() -> AnswerOutcome {
    AnswerOutcome::Stopped(QuestionStop {
        reason: QuestionStopReason::JournalMismatch,
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
