//! What a question leaves where a person looks.

use std::collections::BTreeMap;

use serde::Serialize;

use super::error::{AskError, stopped};
use crate::api::code_mode::CodeModeRunStatus;
use crate::code_mode::journal::Ended;
use crate::code_mode::prompt::{Message, Role};
use crate::engine::code_mode::record::Record;
use crate::ledger::{FolderStore, Ledger, export_replies};
use crate::pipeline::code_mode::{Answer, Question};

/// Messages of a conversation that the next question takes.
const MOST_MESSAGES: usize = 200;
/// Characters of one of them.
const MOST_CHARACTERS: usize = 65_536;

/// A call of a tool with the number of its program.
#[derive(Serialize)]
struct Line<'a> {
    program: u32,
    #[serde(flatten)]
    ended: &'a Ended,
}

/// The files of a question by name.
pub(super) async fn files(
    question: &Question,
    record: &Record,
    status: &CodeModeRunStatus,
    store: &FolderStore,
) -> Result<BTreeMap<String, Vec<u8>>, AskError> {
    let mut files = BTreeMap::new();
    let mut add = |name: &str, text: String| files.insert(name.to_owned(), text.into_bytes());
    if let Some(program) = &record.program {
        add("program.py", format!("{}\n", program.trim_end()));
    }
    if let Some(answer) = &record.answer {
        add("answer.txt", format!("{}\n", answer.text()));
        if let Some(value) = &answer.value {
            add("answer.json", format!("{value:#}\n"));
        }
        add("history.json", json(&history(question, answer))?);
    }
    let messages = Ledger::new(store).conversation(&record.entries).await;
    add(
        "conversation.jsonl",
        lines(messages.map_err(|error| stopped(&error))?)?,
    );
    let calls = record.calls.iter().flat_map(|(program, calls)| {
        let program = *program;
        calls.iter().map(move |ended| Line { program, ended })
    });
    add("journal.jsonl", lines(calls)?);
    add("replies.jsonl", export_replies(&record.entries));
    add(
        "status.yaml",
        serde_saphyr::to_string(status).map_err(|error| stopped(&error))?,
    );
    Ok(files)
}

/// The conversation with this question and its answer, as the next question takes it: the newest messages of one that is too long.
fn history(question: &Question, answer: &Answer) -> Vec<Message> {
    let text = match answer.text().trim() {
        "" => "(no text)",
        text => text,
    };
    let said = |role, content: &str| Message {
        role,
        content: content.chars().take(MOST_CHARACTERS).collect(),
    };
    let mut messages = question.history.clone();
    messages.push(said(Role::User, &question.message));
    messages.push(said(Role::Assistant, text));
    let excess = messages.len().saturating_sub(MOST_MESSAGES);
    messages.drain(..excess);
    messages
}

fn json(value: &impl Serialize) -> Result<String, AskError> {
    let text = serde_json::to_string_pretty(value).map_err(|error| stopped(&error))?;
    Ok(text + "\n")
}

fn lines(values: impl IntoIterator<Item = impl Serialize>) -> Result<String, AskError> {
    let mut text = String::new();
    for value in values {
        text.push_str(&serde_json::to_string(&value).map_err(|error| stopped(&error))?);
        text.push('\n');
    }
    Ok(text)
}
