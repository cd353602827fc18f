//! What a question leaves in its store, for whoever shows it.

use serde::de::DeserializeOwned;

use super::journal::OpenJournal;
use super::{CodeModeError, damaged};
use crate::code_mode::journal::Ended;
use crate::ledger::{Entry, Ledger, Store};
use crate::pipeline::call::CallKind;
use crate::pipeline::code_mode::{Answer, Progress};
use crate::pipeline::progress::Document;

/// What a question left so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Record {
    /// The present program.
    pub program: Option<String>,
    /// The answer.
    pub answer: Option<Answer>,
    /// Calls of tools that have ended, by the number of the program.
    pub calls: Vec<(u32, Vec<Ended>)>,
    /// Calls of the model.
    pub entries: Vec<Entry>,
}

/// Reads what a question left.
pub(crate) async fn record<S: Store>(store: &S, progress: &Progress) -> Result<Record, CodeModeError> {
    let mut record = Record::default();
    if let Some(program) = &progress.program {
        record.program = Some(document(store, program).await?);
    }
    if let Some(answer) = &progress.answer {
        record.answer = Some(document(store, answer).await?);
    }
    for attempt in 1..=progress.attempt {
        let journal = OpenJournal::open(store, attempt).await?;
        record
            .calls
            .push((attempt, journal.journal().ended().cloned().collect()));
    }
    record.entries = Ledger::new(store)
        .entries_of(&[CallKind::Program], progress.sequence)
        .await?;
    Ok(record)
}

async fn document<S: Store, D: DeserializeOwned>(store: &S, document: &Document) -> Result<D, CodeModeError> {
    let name = &document.name;
    let bytes = store.read(name).await?.unwrap_or_default();
    serde_json::from_slice(&bytes).map_err(|error| damaged(name, &error))
}
