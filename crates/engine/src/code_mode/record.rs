//! Record that a question leaves in its store, for whoever shows it.

use std::collections::BTreeMap;

use super::journal::{self, OpenJournal};
use crate::EngineError;
use crate::documents::{get_json, to_bytes};
use codegen_code_mode::journal::{Call, CallEnd};
use codegen_code_mode::reply::program_of;
use codegen_core::call::CallKind;
use codegen_core::code_mode::{Answer, QuestionProgress, QuestionStage};
use codegen_core::digest::sha256_hex;
use codegen_core::progress::Document;
use codegen_ledger::{Entry, Ledger, Prefix, Store, StoreError};

/// Name of the document with the program of a reply, without the reply's number.
const PROGRAM: &str = "documents/program-";
const ENDING: &str = ".json";

/// Record of a question so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QuestionRecord {
    /// The present program.
    pub program: Option<String>,
    /// The answer.
    pub answer: Option<Answer>,
    /// Calls of tools that have ended, by the number of the program.
    pub calls: Vec<(u32, Vec<CallEnd>)>,
    /// Calls that were begun and whose outcome nobody has recorded, with the number of the program.
    pub in_flight: Vec<(u32, Call)>,
    /// Number of calls that the programs have made of each tool, also of calls that have not ended.
    pub made: BTreeMap<String, u32>,
    /// Calls of the model.
    pub entries: Vec<Entry>,
}

/// Reads what a question left.
pub async fn record<S: Store>(store: &S, progress: &QuestionProgress) -> Result<QuestionRecord, EngineError> {
    let mut record = QuestionRecord::default();
    if let Some(document) = &progress.program {
        record.program = program(store, document).await?;
    }
    if let Some(answer) = &progress.answer {
        record.answer = Some(get_json(store, answer).await?);
    }
    for attempt in 1..=progress.attempt {
        let journal = OpenJournal::open(store, attempt).await?;
        let journal = journal.journal();
        record.calls.push((attempt, journal.ended().cloned().collect()));
        let in_flight = journal.in_flight().map(|call| (attempt, call.clone()));
        record.in_flight.extend(in_flight);
        for (tool, times) in journal.made_by_tool() {
            *record.made.entry(tool).or_default() += times;
        }
    }
    record.entries = Ledger::new(store)
        .entries_of(&[CallKind::Program], progress.sequence)
        .await?;
    Ok(record)
}

/// Every document that a question has left, by name. A program is in its reply.
pub async fn documents<S: Store>(
    store: &S,
    progress: &QuestionProgress,
) -> Result<BTreeMap<String, Vec<u8>>, StoreError> {
    let mut all = BTreeMap::new();
    let failed = progress.failed.iter().map(|failed| &failed.evidence);
    for document in failed.chain(&progress.answer) {
        if let Some(bytes) = store.read(&document.name).await? {
            all.insert(document.name.clone(), bytes);
        }
    }
    calls(store, progress, &mut all).await?;
    for attempt in 1..=progress.attempt {
        for segment in 1.. {
            let name = journal::name(attempt, segment);
            let Some(bytes) = store.read(&name).await? else {
                break;
            };
            all.insert(name, bytes);
        }
    }
    Ok(all)
}

/// The recorded replies, with the beginnings of their prompts.
async fn calls<S: Store>(
    store: &S,
    progress: &QuestionProgress,
    all: &mut BTreeMap<String, Vec<u8>>,
) -> Result<(), StoreError> {
    // Of a question that was stopped the next call may have a reply that nothing followed from.
    let further = u32::from(progress.stage != QuestionStage::Succeeded);
    for sequence in 1..progress.sequence + further {
        let name = Entry::name(sequence, CallKind::Program);
        let Some(bytes) = store.read(&name).await? else {
            continue;
        };
        let entry: Option<Entry> = serde_json::from_slice(&bytes).ok();
        all.insert(name, bytes);
        let prefix = entry.map(|entry| Prefix::name(&entry.prefix));
        if let Some(name) = prefix.filter(|name| !all.contains_key(name))
            && let Some(bytes) = store.read(&name).await?
        {
            all.insert(name, bytes);
        }
    }
    Ok(())
}

/// The program in the reply `sequence`, by name and digest. Nothing is written: the reply is recorded.
pub(super) fn program_document(sequence: u32, program: &str) -> Result<Document, EngineError> {
    let name = format!("{PROGRAM}{sequence:04}{ENDING}");
    let bytes = to_bytes(&name, &program)?;
    Ok(Document::of(name, &bytes))
}

/// The program that `document` names.
pub async fn program<S: Store>(store: &S, document: &Document) -> Result<Option<String>, StoreError> {
    let damaged = |detail: String| StoreError::Damaged {
        name: document.name.clone(),
        detail,
    };
    let number = document.name.strip_prefix(PROGRAM);
    let sequence = number.and_then(|number| number.strip_suffix(ENDING)?.parse().ok());
    let Some(sequence) = sequence else { return Ok(None) };
    let Some(entry) = Ledger::new(store).find(sequence, CallKind::Program).await? else {
        return Ok(None);
    };
    let program = program_of(&entry.reply.text).map_err(|error| damaged(error.to_string()))?;
    let bytes = serde_json::to_vec(&program).map_err(|error| damaged(error.to_string()))?;
    if sha256_hex(&bytes) != document.sha256 {
        return Err(damaged(format!("reply {sequence} holds another program")));
    }
    Ok(Some(program))
}
