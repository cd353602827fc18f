//! Model calls: their kinds, the request as it goes out, the reply as it comes back.

use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

use super::conversation::{Conversation, ToolCall};
use super::digest::sha256_hex_of_parts;
use codegen_data::context::estimate_tokens;

/// The kinds of call. The name in each request's JSON Schema is the kind, so that any server can distinguish them.
#[derive(
    Serialize, Deserialize, Clone, Copy, Debug, Display, IntoStaticStr, PartialEq, Eq, Hash, PartialOrd, Ord,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum CallKind {
    /// Behaviour of the program and how it comes about, before any code.
    Plan,
    /// The program.
    Code,
    /// The pytest suite.
    Tests,
    /// All constraints as checks.
    Constraints,
    /// Cause of each failing test.
    Diagnosis,
    /// The functions of the program that change.
    FixCode,
    /// The test functions that change.
    FixTests,
    /// Package names that exist, for ones that do not.
    FixEnvironment,
    /// Cases that were blamed for a failure, worked out again without the program.
    Cases,
    /// Cases that tell the program from near misses which the plan's do not, without the program.
    MoreCases,
    /// Decision on whether constraints that an output breaks speak of that output, without the program.
    Scope,
    /// Next actions of an agent.
    Turn,
    /// The outputs of a task that does not exist yet.
    Outputs,
    /// The program that answers a question of code mode.
    Program,
}

impl CallKind {
    /// Every kind: those that are asked without a task, then those of a task in the order in which it first meets them.
    pub const ALL: [Self; 14] = [
        Self::Program,
        Self::Outputs,
        Self::Constraints,
        Self::Plan,
        Self::Code,
        Self::Tests,
        Self::Diagnosis,
        Self::FixCode,
        Self::FixTests,
        Self::FixEnvironment,
        Self::Cases,
        Self::MoreCases,
        Self::Scope,
        Self::Turn,
    ];

    /// The kinds of a task, in the order in which it first meets them.
    #[must_use]
    pub fn of_a_task() -> &'static [Self] {
        Self::ALL.get(2..).unwrap_or_default()
    }

    /// The name on the wire (`fix_code`).
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Place of a model among those of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ModelIndex {
    /// `spec.model`.
    #[default]
    Own,
    /// An entry of `spec.escalation`.
    Escalation(usize),
}

impl std::fmt::Display for ModelIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Own => f.write_str("spec.model"),
            Self::Escalation(index) => write!(f, "spec.escalation[{index}].model"),
        }
    }
}

/// Model that a request goes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AskedModel {
    /// Its place.
    pub index: ModelIndex,
    /// Its name, where it is another than the task's own.
    pub other: Option<String>,
}

/// One request, before a provider's protocol shapes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Kind of the call; also the name of `schema`.
    pub kind: CallKind,
    /// System text and output contract; byte-identical in every call of a task.
    pub system: String,
    /// Task and data context; byte-identical in every call of a task.
    pub prefix: String,
    /// Instruction of this call.
    pub instruction: String,
    /// JSON Schema of the reply: every property required, no further properties. Of no meaning in a conversation.
    pub schema: serde_json::Value,
    /// Tools and what was said since the first message; `None` where a reply of the schema is asked for.
    pub conversation: Option<Conversation>,
    /// Upper bound of the reply's tokens.
    pub max_output_tokens: u32,
    /// The model that is asked.
    pub model: AskedModel,
}

impl Request {
    /// The user message: prefix and instruction.
    #[must_use]
    pub fn user_message(&self) -> String {
        format!("{}\n\n{}", self.prefix, self.instruction)
    }

    /// Returns the rest of the request besides system text and first message: the schema, or tools and conversation, as JSON.
    #[must_use]
    pub fn form(&self) -> String {
        match &self.conversation {
            // String keys only: writing to memory cannot fail.
            Some(conversation) => serde_json::to_string(conversation).unwrap_or_default(),
            None => self.schema.to_string(),
        }
    }

    /// Tokens of what goes out, estimated.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        estimate_tokens(&self.system) + estimate_tokens(&self.user_message()) + estimate_tokens(&self.form())
    }

    /// The same with an output limit, in tokens.
    #[must_use]
    pub fn limited(&self, limit: u64) -> Self {
        Self {
            max_output_tokens: u32::try_from(limit).unwrap_or(u32::MAX),
            ..self.clone()
        }
    }
}

/// SHA-256 (hex) of what decides a reply: kind, system, prefix, instruction and schema. The output limit is left out, for
/// it depends on what is left of the budget.
#[must_use]
pub fn request_hash(request: &Request) -> String {
    let form = request.form();
    sha256_hex_of_parts(&[
        request.kind.as_str(),
        &request.system,
        &request.prefix,
        &request.instruction,
        &form,
    ])
}

/// One reply, after a provider's protocol was taken off.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Reply {
    /// The text of the answer; JSON by the request's schema when the model kept to it.
    pub text: String,
    /// Reason for which the model stopped.
    pub finish: FinishReason,
    /// Tokens as the provider counted them (or the estimate when it did not say).
    pub usage: Usage,
    /// Tools that it calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// The message as the provider wrote it, where it holds more than text and calls: the next request repeats it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub echo: Option<serde_json::Value>,
    /// Name of the model that gave it, where that is another than the task's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// Reason for which a model stopped.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum FinishReason {
    /// It had said everything.
    #[default]
    Complete,
    /// It met the output limit: the text is cut.
    Length,
    /// It refused, or a filter did.
    Refused,
    /// Anything else, as the provider named it.
    Other(String),
}

/// Fault for which a reply cannot be used.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct ReplyFault {
    /// Its class, by which is decided what follows.
    #[serde(default, skip_serializing_if = "FaultClass::is_other")]
    pub class: FaultClass,
    /// A sentence for the model.
    pub reason: String,
}

/// Faults of replies after which something else follows than after all others.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FaultClass {
    /// The model did not want to answer.
    Refused,
    /// A plan has no case that can be used.
    NoCase,
    /// Any other.
    #[default]
    Other,
}

impl FaultClass {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    const fn is_other(&self) -> bool {
        matches!(self, Self::Other)
    }
}

impl<T: Into<String>> From<T> for ReplyFault {
    fn from(reason: T) -> Self {
        Self {
            class: FaultClass::Other,
            reason: reason.into(),
        }
    }
}

/// Tokens of one call.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Tokens sent.
    pub input: u64,
    /// Tokens received.
    pub output: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Request {
        Request {
            kind: CallKind::Code,
            system: "system".to_owned(),
            prefix: "prefix".to_owned(),
            instruction: "instruction".to_owned(),
            schema: serde_json::json!({"type": "object"}),
            conversation: None,
            max_output_tokens: 100,
            model: AskedModel::default(),
        }
    }

    #[test]
    fn the_request_hash_ignores_the_output_limit() {
        let other = Request {
            max_output_tokens: 7,
            ..request()
        };
        assert_eq!(request_hash(&request()), request_hash(&other));
    }

    #[test]
    fn the_request_hash_sees_everything_that_decides_the_reply() {
        let original = request_hash(&request());
        let changed = [
            Request {
                kind: CallKind::Tests,
                ..request()
            },
            Request {
                system: "System".to_owned(),
                ..request()
            },
            Request {
                prefix: "prefix ".to_owned(),
                ..request()
            },
            Request {
                instruction: "instruct".to_owned(),
                ..request()
            },
            Request {
                schema: serde_json::json!({"type": "array"}),
                ..request()
            },
        ];
        for request in changed {
            assert_ne!(request_hash(&request), original, "{request:?}");
        }
    }
}
