//! The status of a run, computed from its progress. One place.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::approval::message as approval_message;
use super::progress::{QuestionProgress, QuestionStage};
use crate::bounds::{cut, message_shown};
use crate::progress::Document;
use crate::stage::Category;
use crate::status::{Hold, ReadyState, conditions};
use crate::terminal::is_obeyed;
use codegen_api::code_mode::{AnswerStatus, CodeModeAttempt, CodeModeRunStatus};
use codegen_api::conditions::{code_mode_reason, reason, run_reason};
use codegen_api::status::{ArtifactRef, TokenStatus};

/// Bytes of an answer's text in a status.
const ANSWER_BYTES: usize = 8 * 1024;
/// Bytes of an answer's JSON in a status.
const JSON_BYTES: usize = 4 * 1024;
/// Bytes of a program in a status.
const CODE_BYTES: usize = 4 * 1024;
/// Bytes of the answer's line.
const SUMMARY_BYTES: usize = 120;
/// Programs that failed that a status lists.
const LISTED_ATTEMPTS: usize = 10;

/// Answer of a program: a document.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct Answer {
    /// The value of its last expression; none where it is not JSON.
    pub value: Option<Value>,
    /// The value as Python prints it.
    pub text: String,
    /// Text that it printed on the way.
    pub printed: String,
    /// Missing part of the text; nothing where it is whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<String>,
}

impl Answer {
    /// For people: the value itself where it is a string, what was printed where there is no value, else the value as it prints.
    #[must_use]
    pub fn text(&self) -> &str {
        match &self.value {
            Some(Value::String(text)) => text,
            Some(Value::Null) if !self.printed.is_empty() => self.printed.trim_end(),
            _ => &self.text,
        }
    }

    fn status(&self) -> AnswerStatus {
        let json = self
            .value
            .as_ref()
            .filter(|value| !value.is_string())
            .map(Value::to_string);
        AnswerStatus {
            text: cut(self.text(), ANSWER_BYTES),
            json: json.filter(|json| json.len() <= JSON_BYTES),
        }
    }
}

/// Context of the status besides the state.
#[derive(Clone, Debug, Default)]
pub struct QuestionStatusContext<'a> {
    /// Generation of the spec.
    pub generation: Option<i64>,
    /// Hold on the run.
    pub hold: Option<&'a Hold>,
    /// The answer, where there is one.
    pub answer: Option<&'a Answer>,
    /// The present program.
    pub code: Option<&'a str>,
    /// The conversation with the answer, where there is one.
    pub conversation: Option<&'a Document>,
    /// Instruction that says how a person decides about a call.
    pub how_to_decide: &'a str,
}

/// The status of a run.
#[must_use]
pub fn status(
    progress: &QuestionProgress,
    before: &[Condition],
    around: &QuestionStatusContext<'_>,
    now: Timestamp,
) -> CodeModeRunStatus {
    // What has ended waits for nothing.
    let hold = around.hold.filter(|_| !progress.stage.is_terminal());
    let (kind, reason, message) = match hold {
        Some(hold) => (hold.until.into(), hold.reason.to_owned(), hold.message.clone()),
        None => said(progress, around),
    };
    let message = message_shown(&message);
    let spent = &progress.spent;
    let mut tokens = TokenStatus::new(
        i64::try_from(spent.tokens.input).unwrap_or(i64::MAX),
        i64::try_from(spent.tokens.output).unwrap_or(i64::MAX),
    );
    tokens.lost = i64::try_from(spent.lost_tokens).unwrap_or(i64::MAX);
    let answer = around.answer.map(Answer::status);
    CodeModeRunStatus {
        observed_generation: around.generation,
        stage: Some(progress.stage.as_str().to_owned()),
        conditions: conditions(kind, (&reason, &message), around.generation, before, now),
        reason: Some(reason),
        message: Some(message),
        summary: answer.as_ref().map(|answer| summary(&answer.text)),
        answer,
        code: around.code.map(|code| cut(code, CODE_BYTES)),
        error: progress.failed.last().map(|failed| failed.error.clone()),
        attempt: signed(progress.attempt),
        attempts: attempts(progress),
        tool_calls: progress
            .tool_calls
            .iter()
            .map(|(tool, times)| (tool.clone(), signed(*times)))
            .collect(),
        tool_call_count: signed(progress.tool_calls.values().sum()),
        waiting_for: progress.waits.calls.clone(),
        approval: progress
            .waits
            .approval
            .as_ref()
            .map(|awaited| awaited.asked.clone()),
        approvals: progress.approvals.clone(),
        tokens: Some(tokens),
        model_calls: signed(spent.model_calls - spent.lost_calls.min(spent.model_calls)),
        lost_calls: signed(spent.lost_calls),
        artifacts: artifacts(progress, around.conversation),
        result: None,
        progress: None,
        started_at: Some(Time(progress.started_at)),
        completed_at: progress.completed_at.map(Time),
    }
}

/// Returns the condition that the run is in, its reason, and the words for it.
fn said(progress: &QuestionProgress, around: &QuestionStatusContext<'_>) -> (ReadyState, String, String) {
    // First: everything else goes on when somebody has decided.
    if let Some(awaited) = &progress.waits.approval {
        let message = approval_message(awaited, around.how_to_decide);
        return (
            ReadyState::WaitingForPerson,
            reason::AWAITING_APPROVAL.to_owned(),
            message,
        );
    }
    if let Some(waiting) = progress
        .waiting
        .as_ref()
        .filter(|_| !progress.stage.is_terminal())
    {
        let (kind, reason) = match waiting.category {
            Category::Infrastructure => (ReadyState::Working, reason::INFRASTRUCTURE),
            Category::Configuration => (ReadyState::WaitingForPerson, reason::CONFIGURATION),
        };
        return (kind, reason.to_owned(), waiting.message.clone());
    }
    match progress.stage {
        QuestionStage::Writing => {
            let message = match progress.attempt {
                1 => "the model writes a program".to_owned(),
                number => format!("the model writes program {number}"),
            };
            (ReadyState::Working, reason::PROGRESSING.to_owned(), message)
        }
        QuestionStage::Running => match progress.waits.calls.first() {
            Some(call) => {
                let more = progress.waits.calls.len() - 1;
                let more = if more == 0 {
                    String::new()
                } else {
                    format!(", and {more} more")
                };
                let message = format!(
                    "call {} of `{}` waits for the run {}{more}",
                    call.number, call.tool, call.run
                );
                (ReadyState::Working, run_reason::AWAITING_RUN.to_owned(), message)
            }
            None => (
                ReadyState::Working,
                run_reason::RUNNING.to_owned(),
                "the program runs".to_owned(),
            ),
        },
        QuestionStage::Succeeded => {
            let text = summary(around.answer.map_or("", Answer::text));
            let message = match around.answer.and_then(|answer| answer.cut.as_ref()) {
                Some(cut) => format!("{text} ({cut})"),
                None => text,
            };
            (
                ReadyState::Succeeded,
                code_mode_reason::ANSWERED.to_owned(),
                message,
            )
        }
        QuestionStage::Failed => {
            let (reason, message) = progress
                .stop
                .as_ref()
                .map_or(("", ""), |stop| (stop.reason.into(), stop.message.as_str()));
            (ReadyState::Failed, reason.to_owned(), message.to_owned())
        }
    }
}

fn attempts(progress: &QuestionProgress) -> Vec<CodeModeAttempt> {
    let skipped = progress.failed.len().saturating_sub(LISTED_ATTEMPTS);
    progress
        .failed
        .iter()
        .skip(skipped)
        .map(|failed| CodeModeAttempt {
            attempt: signed(failed.attempt),
            error: failed.error.clone(),
            calls: signed(failed.calls),
        })
        .collect()
}

fn artifacts(progress: &QuestionProgress, conversation: Option<&Document>) -> Vec<ArtifactRef> {
    let artifact = |name: &str, document: &Document| ArtifactRef {
        name: name.to_owned(),
        sha256: document.sha256.clone(),
        bytes: i64::try_from(document.bytes).unwrap_or(i64::MAX),
    };
    let program = progress
        .program
        .iter()
        .map(|document| artifact("program", document));
    let answer = progress
        .answer
        .iter()
        .map(|document| artifact("answer", document));
    let conversation = conversation.map(|document| artifact("conversation", document));
    program.chain(answer).chain(conversation).collect()
}

/// The first line of a text, cut.
fn summary(text: &str) -> String {
    let line = text
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default();
    // Tables of kubectl show it in a terminal.
    let line = line.replace(is_obeyed, " ");
    let cut_line = cut(line.trim(), SUMMARY_BYTES);
    if text.trim().lines().count() > 1 && !cut_line.ends_with('…') {
        return cut(&format!("{cut_line} …"), SUMMARY_BYTES + 4);
    }
    cut_line
}

fn signed(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}
