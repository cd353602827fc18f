//! One recorded model call, and what a list of them gives: the conversation and the replay file.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use codegen_core::call::{CallKind, Reply, Request};
use codegen_core::conversation::ToolCall;
use codegen_core::digest::sha256_hex_of_parts;
use codegen_model::RecordedReply;

/// One model call with its reply.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Place in the run, counted from 1.
    pub sequence: u32,
    /// Kind of the call.
    pub kind: CallKind,
    /// SHA-256 of the request, hex.
    pub request_hash: String,
    /// Id of the fixed prefix that the request began with.
    pub prefix: String,
    /// Text of the request after the prefix; empty for a later turn of an agent, which repeats what its first turn said.
    pub instruction: String,
    /// Reply of the model.
    pub reply: Reply,
    /// Time at which the request went out.
    pub started_at: Timestamp,
    /// Time at which the reply was complete.
    pub finished_at: Timestamp,
}

impl Entry {
    /// Name in the store (`calls/0003-code.json`).
    #[must_use]
    pub fn name(sequence: u32, kind: CallKind) -> String {
        format!("calls/{sequence:04}-{kind}.json")
    }

    /// Returns the text of `request` after the prefix that is recorded.
    pub(super) fn instruction_of(request: &Request) -> String {
        let is_later_turn = request
            .conversation
            .as_ref()
            .is_some_and(|conversation| !conversation.exchanges.is_empty());
        if is_later_turn {
            String::new()
        } else {
            request.instruction.clone()
        }
    }

    /// The messages of this call, whose fixed part is `prefix`.
    pub(super) fn messages(&self, prefix: &Prefix) -> [Message; 3] {
        let user = format!("{}\n\n{}", prefix.prefix, self.instruction);
        let parts = [
            (Role::System, prefix.system.clone()),
            (Role::User, user),
            (Role::Assistant, self.reply.text.clone()),
        ];
        parts.map(|(role, content)| Message {
            call: self.sequence,
            kind: self.kind,
            role,
            content,
            calls: if role == Role::Assistant {
                self.reply.calls.clone()
            } else {
                Vec::new()
            },
        })
    }
}

/// The part that all requests of a run begin with: stored once.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Prefix {
    /// System text and output contract.
    pub system: String,
    /// Task and data context.
    pub prefix: String,
}

impl Prefix {
    /// The fixed part of `request`.
    #[must_use]
    pub fn of(request: &Request) -> Self {
        Self {
            system: request.system.clone(),
            prefix: request.prefix.clone(),
        }
    }

    /// An id that follows from the contents: 16 hexadecimal digits.
    #[must_use]
    pub fn id(&self) -> String {
        let mut id = sha256_hex_of_parts(&[&self.system, &self.prefix]);
        id.truncate(16);
        id
    }

    /// Name in the store.
    #[must_use]
    pub fn name(id: &str) -> String {
        format!("calls/prefix-{id}.json")
    }
}

/// One message of the conversation.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// Place of the call in the run, counted from 1.
    pub call: u32,
    /// Kind of the call.
    pub kind: CallKind,
    /// Role of the message.
    pub role: Role,
    /// Text of the message.
    pub content: String,
    /// Tools that are called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
}

/// Role of a message in a conversation.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The system text.
    System,
    /// The request.
    User,
    /// The reply.
    Assistant,
    /// Answer of a tool.
    Tool,
}

/// The calls as JSON Lines that a recorded model replays.
#[must_use]
pub fn export_replies(entries: &[Entry]) -> String {
    let line = |entry: &Entry| {
        let recorded = RecordedReply::new(entry.kind, &entry.request_hash, &entry.reply);
        // String keys only: writing to memory cannot fail.
        serde_json::to_string(&recorded).unwrap_or_default() + "\n"
    };
    entries.iter().map(line).collect()
}
