//! Records at an API server: those of tasks, and what reading one has in common with reading that of a question.

use std::collections::BTreeMap;

use super::task::{Place, RecordedTask};
use crate::cli::cluster::{Cluster, is_forbidden};
use crate::cli::command::CommandError;
use crate::controller::record::{progress, records};
use codegen_api::{CodeGenAgent, CodeGenTask, Namespaced};
use codegen_engine::results::is_private;
use codegen_ledger::StoreError;

/// Times that a record is read that goes on meanwhile.
const MOST_READS: u32 = 4;

/// Documents by their names in a record.
pub(super) type DocumentBytes = BTreeMap<String, Vec<u8>>;

/// An object with its documents, or with the reason that they cannot be read.
pub(super) type WithDocuments<K> = (K, Result<DocumentBytes, String>);

/// Reads an object and its documents, of which `read` says also whether all are there that the status names. `what` the documents are stands
/// in the reason that they cannot be read.
pub(super) async fn with_documents<K: Namespaced>(
    cluster: &Cluster,
    name: &str,
    what: &str,
    read: impl AsyncFn(&K) -> Result<(DocumentBytes, bool), StoreError>,
) -> Result<WithDocuments<K>, CommandError> {
    let mut object: K = cluster.get(name).await?;
    let mut reads = 0;
    loop {
        reads += 1;
        let found = match read(&object).await {
            Ok((documents, true)) => return Ok((object, Ok(documents))),
            Err(error) if is_forbidden(&error) => return Ok((object, Err(withheld(cluster, what)))),
            found => found,
        };
        // They move into the result at the end, which may have come since the status was read.
        let now: K = cluster.get(name).await?;
        if now.meta().resource_version == object.meta().resource_version || reads == MOST_READS {
            return Ok((object, Ok(found?.0)));
        }
        object = now;
    }
}

fn withheld(cluster: &Cluster, what: &str) -> String {
    let namespace = &cluster.namespace;
    format!(
        "{what} may hold data, so they are in Secrets, which you may not read in namespace {namespace}: \
         ask for the right to get Secrets there, which the stock ClusterRole edit has \
         (kubectl create rolebinding NAME -n {namespace} --clusterrole edit --user YOU)"
    )
}

/// Reads what is recorded of the task `name`. Where its Secrets may not be read, the status is all there is.
pub(in crate::cli) async fn from_cluster(
    cluster: &Cluster,
    name: &str,
) -> Result<RecordedTask, CommandError> {
    let read = async |object: &CodeGenTask| {
        let documents = records::documents(&cluster.client, object).await?;
        let index = object.status.as_ref().map(progress::index).unwrap_or_default();
        let is_whole = index.iter().all(|name| documents.contains_key(name));
        Ok((documents, is_whole))
    };
    let what = "replies, programs and test reports";
    let (object, documents) = with_documents(cluster, name, what, read).await?;
    let task = match &documents {
        Ok(documents) => records::resolved(&cluster.client, &object, documents).await?,
        Err(_) => None,
    };
    let agent = match task {
        None => agent(cluster, &object).await,
        // It has the agent's settings, as they were.
        Some(_) => None,
    };
    let status = object.status.clone().unwrap_or_default();
    Ok(RecordedTask {
        name: object.metadata.name.clone().unwrap_or_default(),
        progress: progress::recorded(&status).ok().flatten(),
        // What nobody knows counts as private.
        is_private: task.as_ref().is_none_or(is_private),
        status,
        task,
        withheld: documents.as_ref().err().cloned(),
        documents: documents.unwrap_or_default(),
        foreign: None,
        place: Place::Cluster {
            object: Box::new(object),
            agent: agent.map(Box::new),
        },
    })
}

/// The agent of a task; `None` where there is none, or it may not be read.
async fn agent(cluster: &Cluster, object: &CodeGenTask) -> Option<CodeGenAgent> {
    let name = &object.spec.agent_ref.as_ref()?.name;
    cluster.api().get_opt(name).await.ok().flatten()
}
