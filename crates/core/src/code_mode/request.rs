//! The request for a program.

use super::question::Question;
use crate::call::{AskedModel, CallKind, Request};
use codegen_code_mode::prompt::{self, Evidence, QuestionPromptError, ShownLimits};

/// The request for a program: the first one, or one after a program that failed.
pub fn request(
    question: &Question,
    declarations: &str,
    failed: Option<&Evidence>,
) -> Result<Request, QuestionPromptError> {
    let limits = ShownLimits {
        tool_calls: question.limits.max_tool_calls,
        seconds: question.limits.interpreter_ms.div_ceil(1000),
        mebibytes: question.limits.memory_bytes / (1024 * 1024),
    };
    let instruction = match failed {
        None => prompt::FIRST.to_owned(),
        Some(evidence) => prompt::again(evidence)?,
    };
    Ok(Request {
        kind: CallKind::Program,
        system: prompt::system(&question.persona, limits, &question.require_approval)?,
        prefix: prompt::prefix(declarations, &question.history, &question.message)?,
        instruction,
        schema: prompt::reply_schema(),
        conversation: None,
        max_output_tokens: 0,
        model: AskedModel::default(),
    })
}
