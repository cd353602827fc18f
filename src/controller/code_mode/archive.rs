//! Record of a question that has ended, packed into one Secret, or as many as it needs.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kube::Client;
use kube::api::ObjectMeta;

use crate::controller::record::own;
use crate::controller::record::pack::{LARGEST_DOCUMENT, pack};
use crate::controller::record::records::CODE_MODE;
use crate::controller::record::result::{secrets, unfolded};
use codegen_core::code_mode::QuestionProgress;
use codegen_core::digest::sha256_hex;
use codegen_ledger::StoreError;
use codegen_sandbox::kubernetes::Owner;
use codegen_sandbox::kubernetes::names::{self, Component};

/// Name of the document with the end of a question; without times, so that a second try writes the same.
pub const PROGRESS: &str = "progress.json";

/// Packs the documents of a question that has ended; gives the name of the (first) Secret. `None` where there are more than a record
/// may hold: they stay where they are.
pub async fn archive(
    client: &Client,
    owner: &Owner,
    progress: &QuestionProgress,
    mut documents: BTreeMap<String, Vec<u8>>,
) -> Result<Option<String>, StoreError> {
    documents.insert(PROGRESS.to_owned(), without_times(progress));
    let unfolded = unfolded(&documents);
    if unfolded.len() as u64 > LARGEST_DOCUMENT {
        return Ok(None);
    }
    let record = pack(&unfolded);
    let metadata = metadata(owner, &record);
    // One after the other, for the first part must be the last that is written.
    for secret in secrets(&metadata, &record) {
        own::create(client, &secret, own::is_as_wanted).await?;
    }
    Ok(metadata.name)
}

fn without_times(progress: &QuestionProgress) -> Vec<u8> {
    let mut progress = progress.clone();
    progress.started_at = Timestamp::UNIX_EPOCH;
    progress.completed_at = None;
    progress.spent.active_seconds = 0.0;
    // Plain data with string keys: writing it to memory cannot fail.
    serde_json::to_vec(&progress).unwrap_or_default()
}

fn metadata(owner: &Owner, record: &[u8]) -> ObjectMeta {
    // By what it holds: another version of the operator may pack otherwise.
    let digest = sha256_hex(record);
    let name = names::name(&owner.name, &[&owner.uid, CODE_MODE, "result", &digest]);
    let mut labels = names::labels_of_run(&owner.name, &owner.uid, Component::Result);
    labels.insert(names::PART_OF.to_owned(), name.clone());
    ObjectMeta {
        name: Some(name),
        namespace: Some(owner.namespace.clone()),
        labels: Some(labels),
        owner_references: Some(vec![owner.reference.clone()]),
        ..ObjectMeta::default()
    }
}
