//! Texts that the model reads: rules, tools, the conversation, the question, and what went wrong before.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use minijinja::{Environment, context};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::journal::{CallEnd, CallOutcome};
use crate::lines::{cut, ends_line, in_one_line};

/// Bytes of what a program printed that the model reads.
const PRINTED_BYTES: usize = 4 * 1024;
/// Bytes of an error that the model reads.
const ERROR_BYTES: usize = 4 * 1024;
/// Calls of a program that failed that the model reads.
const LISTED_CALLS: usize = 20;
/// Characters of a result in that list.
const RESULT_CHARS: usize = 300;

/// Description that the agent gives of itself.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Persona {
    /// Beginning of the system text; may be empty.
    pub prefix: String,
    /// Texts that the agent was given to read.
    pub skills: Vec<String>,
}

/// Limits that the model is told of.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShownLimits {
    /// Calls of tools.
    pub tool_calls: u32,
    /// Seconds of the interpreter.
    pub seconds: u64,
    /// MiB of the interpreter.
    pub mebibytes: u64,
}

/// A message of the conversation before the question.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct ChatMessage {
    /// Role of the speaker.
    pub role: SpeakerRole,
    /// Text that is said.
    pub content: String,
}

/// Role of a speaker in the conversation.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum SpeakerRole {
    /// The one who asks.
    User,
    /// The one who answers.
    Assistant,
}

/// Fault of a program, whole: a document.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct Evidence {
    /// The program; empty where the reply held none.
    pub program: String,
    /// Name of the exception that rose (`ValueError`), or of the part that refused it.
    pub kind: String,
    /// The line, where it is known.
    pub line: Option<u32>,
    /// Message of the fault.
    pub error: String,
    /// Text that it printed.
    pub printed: String,
    /// The calls that it made.
    pub calls: Vec<CallEnd>,
}

/// A prompt that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("failed to write a prompt")]
pub struct QuestionPromptError(#[from] minijinja::Error);

/// The system text: the same in every call of a run. A person decides about each call of a tool in `approvals`.
pub fn system(
    persona: &Persona,
    limits: ShownLimits,
    approvals: &BTreeSet<String>,
) -> Result<String, QuestionPromptError> {
    render(
        "system",
        context! { persona => persona.prefix, skills => persona.skills, limits, approvals },
    )
}

/// Tools, conversation and question: the same in every call of a run.
pub fn prefix(
    declarations: &str,
    history: &[ChatMessage],
    question: &str,
) -> Result<String, QuestionPromptError> {
    render("prefix", context! { declarations, history, question })
}

/// Request that ends the first call of a run.
pub const FIRST: &str = "Answer with the program.";

/// Returns what a call asks for after a program that failed.
pub fn again(failed: &Evidence) -> Result<String, QuestionPromptError> {
    let calls: Vec<Value> = failed.calls.iter().take(LISTED_CALLS).map(shown).collect();
    let program = match failed.program.as_str() {
        "" => "# The reply held no program.\n".to_owned(),
        program => format!("{}\n", program.trim_end()),
    };
    let text = context! {
        program,
        kind => failed.kind,
        line => failed.line,
        error => head(&failed.error, ERROR_BYTES),
        printed => head(&failed.printed, PRINTED_BYTES),
        calls,
    };
    render("again", text)
}

/// JSON Schema of a reply.
#[must_use]
pub fn reply_schema() -> Value {
    json!({
        "type": "object", "additionalProperties": false, "required": ["program"],
        "properties": {"program": {"type": "string", "description": "The whole program, in Python."}}
    })
}

fn shown(ended: &CallEnd) -> Value {
    let (failed, result) = match &ended.outcome {
        CallOutcome::Returned(value) => (false, value.to_string()),
        CallOutcome::Raised { kind, message } => (true, format!("{kind}: {message}")),
    };
    let result = in_one_line(&result);
    let result = cut(&result, RESULT_CHARS, " ... (cut)");
    let call = in_one_line(&ended.call.to_string());
    json!({"call": call, "failed": failed, "result": result})
}

/// The beginning of a text, cut between characters.
fn head(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(bytes);
    let left_out = text.len() - end;
    format!(
        "{}\n... ({left_out} bytes are left out)",
        text.get(..end).unwrap_or_default()
    )
}

fn render(name: &str, values: minijinja::Value) -> Result<String, QuestionPromptError> {
    static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
        let mut environment = Environment::new();
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        environment.add_filter("quote", quote);
        for (name, source) in [
            ("system", include_str!("templates/system.md.j2")),
            ("prefix", include_str!("templates/prefix.md.j2")),
            ("again", include_str!("templates/again.md.j2")),
        ] {
            // A template that is none is missed when it is rendered, in every test.
            let _ = environment.add_template(name, source);
        }
        environment
    });
    Ok(TEMPLATES.get_template(name)?.render(values)?)
}

/// Every line behind `> `, so that none can be taken for one of the prompt's own.
#[expect(clippy::needless_pass_by_value, reason = "as filters take their values")]
fn quote(text: String) -> String {
    let lines: Vec<_> = text.split(ends_line).map(|line| format!("> {line}")).collect();
    lines.join("\n")
}
