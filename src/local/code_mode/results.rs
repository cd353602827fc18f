//! Results that a question leaves where a person looks.

use std::collections::BTreeMap;

use serde::Serialize;

use super::error::{AskError, stopped};
use codegen_api::code_mode::CodeModeRunStatus;
use codegen_code_mode::journal::{Call, CallEnd};
use codegen_engine::code_mode::record::QuestionRecord;
use codegen_ledger::{Ledger, Store, export_replies};

/// A call of a tool with the number of its program.
#[derive(Serialize)]
struct Line<'a> {
    program: u32,
    #[serde(flatten)]
    ended: &'a CallEnd,
}

/// A call that was begun, in the place of what it came to.
#[derive(Serialize)]
struct InFlight<'a> {
    program: u32,
    #[serde(flatten)]
    call: &'a Call,
    outcome: &'static str,
}

/// The files of a question by name.
pub(crate) async fn files(
    record: &QuestionRecord,
    conversation: Option<&[u8]>,
    status: &CodeModeRunStatus,
    store: &impl Store,
) -> Result<BTreeMap<String, Vec<u8>>, AskError> {
    let mut files = BTreeMap::new();
    let of_talk = conversation.map(|file| ("conversation.json".to_owned(), file.to_vec()));
    files.extend(of_talk);
    let mut add = |name: &str, text: String| files.insert(name.to_owned(), text.into_bytes());
    if let Some(program) = &record.program {
        add("program.py", format!("{}\n", program.trim_end()));
    }
    if let Some(answer) = &record.answer {
        add("answer.txt", format!("{}\n", answer.text()));
        if let Some(value) = &answer.value {
            add("answer.json", format!("{value:#}\n"));
        }
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
    let in_flight = record.in_flight.iter().map(|(program, call)| InFlight {
        program: *program,
        call,
        outcome: "unknown",
    });
    add("journal.jsonl", lines(calls)? + &lines(in_flight)?);
    add("replies.jsonl", export_replies(&record.entries));
    add(
        "status.yaml",
        serde_saphyr::to_string(status).map_err(|error| stopped(&error))?,
    );
    Ok(files)
}

fn lines(values: impl IntoIterator<Item = impl Serialize>) -> Result<String, AskError> {
    let mut text = String::new();
    for value in values {
        text.push_str(&serde_json::to_string(&value).map_err(|error| stopped(&error))?);
        text.push('\n');
    }
    Ok(text)
}
