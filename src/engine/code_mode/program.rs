//! Where the present program of a question is found.

use crate::code_mode::reply::program_of;
use crate::ledger::{Ledger, Store, StoreError};
use crate::pipeline::call::CallKind;
use crate::pipeline::digest::sha256_hex;
use crate::pipeline::progress::Document;

const PREFIX: &str = "documents/program-";
const SUFFIX: &str = ".json";

/// Name of the document with the program in the reply `sequence`.
pub(super) fn name(sequence: u32) -> String {
    format!("{PREFIX}{sequence:04}{SUFFIX}")
}

/// The program that `document` names. One that was deferred by a process that is gone is in the reply that it came from.
pub(crate) async fn program<S: Store>(store: &S, document: &Document) -> Result<Option<String>, StoreError> {
    let damaged = |detail: String| StoreError::Damaged {
        name: document.name.clone(),
        detail,
    };
    if let Some(bytes) = store.read(&document.name).await? {
        return serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()));
    }
    let number = document.name.strip_prefix(PREFIX);
    let sequence = number.and_then(|number| number.strip_suffix(SUFFIX)?.parse().ok());
    let Some(sequence) = sequence else { return Ok(None) };
    let Some(entry) = Ledger::new(store).find(sequence, CallKind::Program).await? else {
        return Ok(None);
    };
    let program = program_of(&entry.reply.text).map_err(|error| damaged(error.to_string()))?;
    let bytes = serde_json::to_vec(&program).map_err(|error| damaged(error.to_string()))?;
    if sha256_hex(&bytes) != document.sha256 {
        return Err(damaged(format!("reply {sequence} holds another program")));
    }
    store.defer(&document.name, &bytes).await?;
    Ok(Some(program))
}
