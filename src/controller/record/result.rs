//! The archive of a task that has ended: program and suite in a `ConfigMap`, everything else packed in Secrets.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::ObjectMeta;
use kube::{Client, ResourceExt};

use crate::controller::record::own;
use crate::controller::record::pack::pack;
use crate::controller::record::parts::{LARGEST_PART, part_name};
use crate::controller::record::revision::Revision;
use crate::controller::record::unpack::{PARTS, RECORD, RESULT_TYPE};
use codegen_api::status::ArtifactRef;
use codegen_core::progress::Progress;
use codegen_engine::EngineError;
use codegen_engine::results::{self, Results, SOLUTION, TESTS};
use codegen_ledger::{Ledger, MemoryStore, StoreError};
use codegen_sandbox::kubernetes::Owner;
use codegen_sandbox::kubernetes::names::{self, Component};

/// Name of the document with the task as it was resolved, which a change of the object leaves alone.
pub const TASK: &str = "documents/task.json";

/// Archive of a task that has ended.
pub struct ArchivedResult {
    /// Name of the `ConfigMap` with program and suite, and of the Secret with the record.
    pub name: String,
    /// References to the results in the status.
    pub artifacts: Vec<ArtifactRef>,
}

/// Archives the results of a revision: program and suite in a `ConfigMap`, all else in a Secret.
pub async fn archive(
    client: &Client,
    run: &Revision,
    progress: &Progress,
    mut documents: BTreeMap<String, Vec<u8>>,
) -> Result<ArchivedResult, StoreError> {
    let owner = &run.owner;
    // Plain data with string keys: writing it to memory cannot fail.
    documents.insert(TASK.to_owned(), serde_json::to_vec(&run.task).unwrap_or_default());
    let name = name(owner, progress);
    let record = pack(&unfolded(&documents));
    let mut results = collected(run, progress, documents).await?;
    let mut labels = names::labels(&owner.name, &owner.uid, Component::Result);
    labels.insert(names::PART_OF.to_owned(), name.clone());
    let metadata = ObjectMeta {
        name: Some(name.clone()),
        namespace: Some(owner.namespace.clone()),
        labels: Some(labels),
        owner_references: Some(vec![owner.reference.clone()]),
        ..ObjectMeta::default()
    };
    let code = readable(&metadata, &mut results);
    let secrets = secrets(&metadata, &record);
    // One after the other, for the first part must be the last that is written.
    let record = async {
        for secret in &secrets {
            own::create(client, secret, has_same_labels).await?;
        }
        Ok(())
    };
    // Writes. Neither object refers to the other.
    tokio::try_join!(own::create(client, &code, has_same_labels), record)?;
    Ok(ArchivedResult {
        name,
        artifacts: results.artifacts,
    })
}

/// The name of the results, which another end of the run does not have.
fn name(owner: &Owner, progress: &Progress) -> String {
    let end = [progress.sequence.to_string(), progress.attempt.to_string()];
    let mut parts = vec![owner.uid.as_str(), &owner.run, "result", &end[0], &end[1]];
    // After a kill it may be another origin that is adopted.
    if let (Some(origin), Some(program)) = (&progress.adopted_from, &progress.documents.solution) {
        parts.extend([origin.as_str(), &program.sha256]);
    }
    names::name(&owner.name, &parts)
}

/// The results that the documents of a run come to.
async fn collected(
    run: &Revision,
    progress: &Progress,
    documents: BTreeMap<String, Vec<u8>>,
) -> Result<Results, StoreError> {
    let store = <MemoryStore>::holding(documents);
    let entries = Ledger::new(&store).entries(progress.sequence).await?;
    let collected = results::collect(&run.task, progress, &store, &entries).await;
    collected.map_err(|error| match error {
        EngineError::Store(error) => error,
        error => StoreError::Damaged {
            name: format!(
                "the record of CodeGenTask {}/{}",
                run.owner.namespace, run.owner.name
            ),
            detail: error.to_string(),
        },
    })
}

/// Program and suite, taken out of the results.
fn readable(metadata: &ObjectMeta, results: &mut Results) -> ConfigMap {
    let code = [SOLUTION, TESTS].into_iter().filter_map(|path| {
        let text = String::from_utf8(results.files.remove(path)?).ok()?;
        Some((path.to_owned(), text))
    });
    ConfigMap {
        metadata: metadata.clone(),
        data: Some(code.collect()),
        immutable: Some(true),
        ..ConfigMap::default()
    }
}

/// The record in as many Secrets as it needs. The first part last: where it is, all are.
pub fn secrets(metadata: &ObjectMeta, record: &[u8]) -> Vec<Secret> {
    let parts: Vec<&[u8]> = record.chunks(LARGEST_PART).collect();
    let count = parts.len().to_string();
    let name = metadata.name.as_deref().unwrap_or_default();
    let secret = |(number, part): (usize, &&[u8])| Secret {
        metadata: ObjectMeta {
            name: Some(part_name(name, number)),
            annotations: Some(BTreeMap::from([(PARTS.to_owned(), count.clone())])),
            ..metadata.clone()
        },
        type_: Some(RESULT_TYPE.to_owned()),
        data: Some(BTreeMap::from([(RECORD.to_owned(), ByteString(part.to_vec()))])),
        immutable: Some(true),
        ..Secret::default()
    };
    parts.iter().enumerate().rev().map(secret).collect()
}

/// Reports whether both belong to the same end: its name follows from that, so that the owner is all there is to compare.
fn has_same_labels<K: ResourceExt>(wanted: &K, found: &K) -> bool {
    wanted.labels() == found.labels()
}

/// Returns the record as it is before it is packed.
pub fn unfolded(documents: &BTreeMap<String, Vec<u8>>) -> Vec<u8> {
    let record: BTreeMap<&String, ByteString> = documents
        .iter()
        .map(|(name, bytes)| (name, ByteString(bytes.clone())))
        .collect();
    // Plain data with string keys: writing it to memory cannot fail.
    serde_json::to_vec(&record).unwrap_or_default()
}
