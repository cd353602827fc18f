//! Reads what is recorded of a task: Secrets with a reply or document each, and the result that they end in.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::try_join_all;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};

use crate::controller::record::pack::{LARGEST_DOCUMENT, unpacked};
use crate::controller::record::result::TASK;
use crate::controller::record::snapshot::Snapshot;
use crate::controller::record::unpack::unpack;
use crate::controller::record::{own, progress, snapshot};
use codegen_api::{CodeGenAgent, CodeGenTask};
use codegen_core::call::CallKind;
use codegen_core::task::{Task, resolve};
use codegen_ledger::{Entry, StoreError};
use codegen_sandbox::kubernetes::names;

/// Type of the Secrets that hold replies and documents.
pub const RECORD_TYPE: &str = "codegen-operator.dev/record";
/// Annotation with the names of the further Secrets of a document, in order.
pub const CONTINUED_IN: &str = "codegen-operator.dev/continued-in";
/// Key of a content as it is.
pub const PLAIN: &str = "content";
/// Key of a packed content.
pub const PACKED: &str = "content.gz";

/// Mark that distinguishes the documents of a question of code mode from other objects of its run: in the place of a task's revision.
pub const CODE_MODE: &str = "code-mode";

/// Name of the document with everything that a question goes by.
pub const QUESTION: &str = "question.json";

/// Requests that are made at once.
const AT_ONCE: usize = 8;

/// The Secrets of one revision of a task.
#[derive(Clone, Copy)]
pub struct Records<'a> {
    /// Speaks to the API server.
    pub client: &'a Client,
    /// Namespace of the task.
    pub namespace: &'a str,
    /// Name of the task.
    pub task: &'a str,
    /// Its uid.
    pub uid: &'a str,
    /// The revision: its decisive hash.
    pub run: &'a str,
}

impl Records<'_> {
    /// Name of the (first) Secret of a document.
    #[must_use]
    pub fn first_name(&self, document: &str) -> String {
        names::name(self.task, &[self.uid, self.run, document])
    }

    /// A document, if it is there. A program that stands in its reply as it is was never written a second time.
    pub async fn read(&self, document: &str) -> Result<Option<Vec<u8>>, StoreError> {
        if let Some(found) = self.fetch(document).await? {
            return Ok(Some(found));
        }
        match call_of(document) {
            Some(call) => Ok(self.fetch(&call).await?.and_then(|entry| source_in(&entry))),
            None => Ok(None),
        }
    }

    /// A document that has Secrets of its own, put together and unpacked.
    pub async fn fetch(&self, document: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let name = self.first_name(document);
        let Some(first) = self.get(&name).await? else {
            return Ok(None);
        };
        let damaged = |detail: &str| StoreError::Damaged {
            name: format!("Secret {}/{name} ({document})", self.namespace),
            detail: detail.to_owned(),
        };
        let labels = first.metadata.labels.as_ref();
        if labels
            .and_then(|labels| labels.get(names::TASK_UID))
            .map(String::as_str)
            != Some(self.uid)
        {
            return Err(damaged("it belongs to another task"));
        }
        let annotations = first.metadata.annotations.as_ref();
        let further = annotations.and_then(|annotations| annotations.get(CONTINUED_IN).cloned());
        let (is_packed, mut bytes) = content(first).ok_or_else(|| damaged("it has no content"))?;
        for part in further.iter().flat_map(|names| names.split(',')) {
            let secret = self.get(part).await?;
            let secret = secret.ok_or_else(|| damaged("a further part is gone"))?;
            let (_, more) = content(secret).ok_or_else(|| damaged("a further part has no content"))?;
            bytes.extend(more);
        }
        if !is_packed {
            return Ok(Some(bytes));
        }
        unpacked(&bytes, LARGEST_DOCUMENT)
            .map(Some)
            .map_err(|error| damaged(&error.to_string()))
    }

    async fn get(&self, name: &str) -> Result<Option<Secret>, StoreError> {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), self.namespace);
        let object = || format!("Secret {}/{name}", self.namespace);
        match secrets.get_opt(name).await {
            Ok(Some(found)) if !own::is_own(&found, RECORD_TYPE) => Err(own::replaced(object())),
            Ok(found) => Ok(found),
            Err(error) => Err(StoreError::Remote {
                action: format!("read the {}", object()),
                source: Box::new(error),
            }),
        }
    }
}

/// Everything that is recorded of a task by name, under way or ended. What was not written yet is left out.
pub async fn documents(
    client: &Client,
    object: &CodeGenTask,
) -> Result<BTreeMap<String, Vec<u8>>, StoreError> {
    let none = String::new();
    let metadata = &object.metadata;
    let Some(status) = &object.status else {
        return Ok(BTreeMap::new());
    };
    let records = Records {
        client,
        namespace: metadata.namespace.as_ref().unwrap_or(&none),
        task: metadata.name.as_ref().unwrap_or(&none),
        uid: metadata.uid.as_ref().unwrap_or(&none),
        run: status.run.as_ref().unwrap_or(&none),
    };
    // Of a task that goes on after an end, what is from before it is in that end's result.
    let mut all = match &status.result {
        Some(result) => unpack(client, records.namespace, result).await?,
        None => BTreeMap::new(),
    };
    let index: BTreeSet<String> = progress::index(status);
    let missing: Vec<&String> = index.iter().filter(|name| !all.contains_key(*name)).collect();
    let mut found = Vec::new();
    for some in missing.chunks(AT_ONCE) {
        found.extend(try_join_all(some.iter().map(|name| records.read(name))).await?);
    }
    let found = missing.into_iter().cloned().zip(found);
    all.extend(found.filter_map(|(name, bytes)| Some((name, bytes?))));
    Ok(all)
}

/// The task as it was resolved when it began: by its result, and before that by its snapshot. `None` where it has neither.
pub async fn resolved(
    client: &Client,
    object: &CodeGenTask,
    documents: &BTreeMap<String, Vec<u8>>,
) -> Result<Option<Task>, StoreError> {
    if let Some(task) = documents.get(TASK) {
        return Ok(serde_json::from_slice(task).ok());
    }
    let status = object.status.as_ref();
    let Some(snapshot) = status.and_then(|status| status.snapshot.as_ref()) else {
        return Ok(None);
    };
    let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
    let found = snapshot::read(client, namespace, &snapshot.name).await?;
    Ok(found.and_then(|Snapshot { agent, files, .. }| {
        let name = object.spec.agent_ref.as_ref().map(|agent| agent.name.as_str());
        let agent = agent.map(|spec| CodeGenAgent::new(name.unwrap_or_default(), spec));
        resolve(object, agent.as_ref(), files).ok()
    }))
}

/// The call whose reply may hold a document as it is (`documents/solution-0003.py`: `calls/0003-code.json`).
#[must_use]
pub fn call_of(document: &str) -> Option<String> {
    let name = document.strip_prefix("documents/")?.strip_suffix(".py")?;
    let (what, number) = name.rsplit_once('-')?;
    let kind = match what {
        "solution" => CallKind::Code,
        "tests" => CallKind::Tests,
        _ => return None,
    };
    Some(Entry::name(number.parse().ok()?, kind))
}

/// The source that a recorded reply gives.
#[must_use]
pub fn source_in(entry: &[u8]) -> Option<Vec<u8>> {
    let entry: Entry = serde_json::from_slice(entry).ok()?;
    let reply: serde_json::Value = serde_json::from_str(&entry.reply.text).ok()?;
    Some(reply.get("code")?.as_str()?.as_bytes().to_vec())
}

/// The content of a Secret, and whether it is packed.
fn content(secret: Secret) -> Option<(bool, Vec<u8>)> {
    let mut data = secret.data?;
    match data.remove(PLAIN) {
        Some(bytes) => Some((false, bytes.0)),
        None => Some((true, data.remove(PACKED)?.0)),
    }
}
