//! From the objects of a user to a question without open ends.

use std::time::Duration;

use crate::task::{ModelSettings, model_settings};
use codegen_api::code_mode::{CodeModeAgent, CodeModeRun, DEFAULT_MAX_RETRIES, HistoryMessage};
use codegen_api::{CodeGenAgent, duration, quantity};
use codegen_code_mode::prompt::{ChatMessage, Persona, SpeakerRole};

use super::question::{Question, QuestionLimits, SourcedTool};

/// Calls of tools of an agent that names no limit.
const DEFAULT_MAX_TOOL_CALLS: u32 = 1_000;
/// Time of the interpreter.
const DEFAULT_INTERPRETER_TIME: Duration = Duration::from_secs(30);
/// Bytes of the interpreter.
const DEFAULT_MEMORY: u64 = 50 * 1024 * 1024;
/// Time of a call of a tool.
const DEFAULT_TOOL_TIMEOUT: Duration = Duration::from_mins(1);
/// Tokens of a question.
const DEFAULT_MAX_TOKENS: u64 = 200_000;
/// Model calls of a question.
const DEFAULT_MAX_MODEL_CALLS: u32 = 10;
/// Active time.
const DEFAULT_DEADLINE: Duration = Duration::from_mins(30);

/// Something that a person must change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct QuestionResolveError {
    /// Name of the field.
    pub field: String,
    /// Fault of the field, and what to write.
    pub message: String,
}

/// Collects the settings that a question goes by. `skills` are the agent's texts, read; `history` is that of the run that this one
/// continues, else its own.
pub fn question(
    run: &CodeModeRun,
    agent: &CodeModeAgent,
    shared: Option<&CodeGenAgent>,
    (skills, tools, history): (Vec<String>, Vec<SourcedTool>, Vec<ChatMessage>),
) -> Result<Question, QuestionResolveError> {
    let history = if history.is_empty() {
        messages(&run.spec.history)?
    } else {
        history
    };
    Ok(Question {
        namespace: run
            .metadata
            .namespace
            .clone()
            .unwrap_or_else(|| "default".to_owned()),
        agent: run.spec.agent_ref.name.clone(),
        model: model(agent, shared)?,
        persona: Persona {
            prefix: agent.spec.system_prompt_prefix.clone().unwrap_or_default(),
            skills,
        },
        tools,
        require_approval: agent.spec.require_approval.iter().cloned().collect(),
        history,
        message: run.spec.message.clone(),
        limits: limits(agent)?,
    })
}

/// The model of an agent, over that of the `CodeGenAgent` that it names.
pub fn model(
    agent: &CodeModeAgent,
    shared: Option<&CodeGenAgent>,
) -> Result<ModelSettings, QuestionResolveError> {
    let layers = [
        agent.spec.model.as_ref(),
        shared.and_then(|shared| shared.spec.model.as_ref()),
    ];
    let settings = model_settings(&layers.into_iter().flatten(), None);
    if settings.name.is_empty() {
        return Err(QuestionResolveError {
            field: "spec.model.name".to_owned(),
            message: "no model is named: write one here, or in the CodeGenAgent that agentRef names"
                .to_owned(),
        });
    }
    Ok(settings)
}

/// The messages of a history. Roles that are neither of the two are refused.
pub fn messages(history: &[HistoryMessage]) -> Result<Vec<ChatMessage>, QuestionResolveError> {
    let message = |(index, message): (usize, &HistoryMessage)| {
        let role = match message.role.as_str() {
            "user" => SpeakerRole::User,
            "assistant" => SpeakerRole::Assistant,
            other => {
                return Err(QuestionResolveError {
                    field: format!("spec.history[{index}].role"),
                    message: format!("`{other}` is neither `user` nor `assistant`"),
                });
            }
        };
        let content = message.content.clone();
        Ok(ChatMessage { role, content })
    };
    history.iter().enumerate().map(message).collect()
}

fn limits(agent: &CodeModeAgent) -> Result<QuestionLimits, QuestionResolveError> {
    let given = agent.spec.limits.clone().unwrap_or_default();
    let retries = agent.spec.max_retries;
    let time = |field: &str, given: Option<&String>, default| match given {
        Some(text) => duration::parse(text).map_err(|error| QuestionResolveError {
            field: format!("spec.limits.{field}"),
            message: error.to_string(),
        }),
        None => Ok(default),
    };
    let interpreter = time(
        "interpreterTime",
        given.interpreter_time.as_ref(),
        DEFAULT_INTERPRETER_TIME,
    )?;
    let tool = time("toolTimeout", given.tool_timeout.as_ref(), DEFAULT_TOOL_TIMEOUT)?;
    let deadline = time("deadline", given.deadline.as_ref(), DEFAULT_DEADLINE)?;
    Ok(QuestionLimits {
        max_retries: number(retries).unwrap_or(DEFAULT_MAX_RETRIES),
        max_tool_calls: number(given.max_tool_calls).unwrap_or(DEFAULT_MAX_TOOL_CALLS),
        interpreter_ms: u64::try_from(interpreter.as_millis()).unwrap_or(u64::MAX),
        memory_bytes: match &given.memory {
            Some(text) => quantity::bytes(text).map_err(|error| QuestionResolveError {
                field: "spec.limits.memory".to_owned(),
                message: error.to_string(),
            })?,
            None => DEFAULT_MEMORY,
        },
        tool_seconds: tool.as_secs_f64(),
        max_tokens: given
            .max_tokens
            .and_then(|tokens| u64::try_from(tokens).ok())
            .unwrap_or(DEFAULT_MAX_TOKENS),
        max_model_calls: number(given.max_model_calls).unwrap_or(DEFAULT_MAX_MODEL_CALLS),
        deadline_seconds: deadline.as_secs_f64(),
    })
}

fn number(given: Option<i32>) -> Option<u32> {
    given.and_then(|number| u32::try_from(number).ok())
}
