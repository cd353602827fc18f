//! The request for a program.

use serde::{Deserialize, Serialize};

use super::question::Question;
use crate::code_mode::journal::Ended;
use crate::code_mode::prompt::{self, Failure, PromptError, ShownLimits};
use crate::pipeline::call::{CallKind, Request};

/// What was wrong with a program, whole: a document.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct Evidence {
    /// The program; empty where the reply held none.
    pub program: String,
    /// What rose, or who refused it.
    pub kind: String,
    /// The line, where it is known.
    pub line: Option<u32>,
    /// What is wrong.
    pub error: String,
    /// What it printed.
    pub printed: String,
    /// The calls that it made.
    pub calls: Vec<Ended>,
}

/// The request for a program: the first one, or one after a program that failed.
pub fn request(
    question: &Question,
    declarations: &str,
    failed: Option<&Evidence>,
) -> Result<Request, PromptError> {
    let limits = ShownLimits {
        tool_calls: question.limits.max_tool_calls,
        seconds: question.limits.interpreter_ms.div_ceil(1000),
        mebibytes: question.limits.memory_bytes / (1024 * 1024),
    };
    let instruction = match failed {
        None => prompt::FIRST.to_owned(),
        Some(evidence) => prompt::again(&Failure {
            program: &evidence.program,
            kind: &evidence.kind,
            line: evidence.line,
            error: &evidence.error,
            printed: &evidence.printed,
            calls: evidence.calls.iter().collect(),
        })?,
    };
    Ok(Request {
        kind: CallKind::Program,
        system: prompt::system(&question.persona, limits, &question.require_approval)?,
        prefix: prompt::prefix(declarations, &question.history, &question.message)?,
        instruction,
        schema: prompt::reply_schema(),
        conversation: None,
        max_output_tokens: 0,
    })
}
