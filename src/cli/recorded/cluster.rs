//! The record of a task at an API server.

use std::collections::BTreeMap;

use super::task::{Place, RecordedTask};
use crate::cli::cluster::{Cluster, is_forbidden};
use crate::cli::command::CommandError;
use crate::controller::record::{progress, records};
use codegen_api::{CodeGenAgent, CodeGenTask};
use codegen_engine::results::is_private;

/// Times that the record of a task is read that goes on meanwhile.
const MOST_READS: u32 = 4;

/// Reads what is recorded of the task `name`. Where its Secrets may not be read, the status is all there is.
pub(in crate::cli) async fn from_cluster(
    cluster: &Cluster,
    name: &str,
) -> Result<RecordedTask, CommandError> {
    let mut object = cluster.task(name).await?;
    let mut reads = 0;
    loop {
        reads += 1;
        match records::documents(&cluster.client, &object).await {
            Err(error) if is_forbidden(&error) => {
                let why = withheld(cluster);
                return recorded(cluster, object, BTreeMap::new(), Some(why)).await;
            }
            Ok(documents) if is_whole(&object, &documents) => {
                return recorded(cluster, object, documents, None).await;
            }
            read => {
                // Its documents move into the result when it ends, which may have happened since the status was read.
                let now = cluster.task(name).await?;
                let is_same = now.metadata.resource_version == object.metadata.resource_version;
                if is_same || reads == MOST_READS {
                    let documents = read.map_err(CommandError::from)?;
                    return recorded(cluster, object, documents, None).await;
                }
                object = now;
            }
        }
    }
}

/// Reports whether everything is there that the status names.
fn is_whole(object: &CodeGenTask, documents: &BTreeMap<String, Vec<u8>>) -> bool {
    let index = object.status.as_ref().map(progress::index).unwrap_or_default();
    index.iter().all(|name| documents.contains_key(name))
}

fn withheld(cluster: &Cluster) -> String {
    let namespace = &cluster.namespace;
    format!(
        "replies, programs and test reports may hold data, so they are in Secrets, which you may not read in namespace {namespace}: \
         ask for the right to get Secrets there, which the stock ClusterRole edit has \
         (kubectl create rolebinding NAME -n {namespace} --clusterrole edit --user YOU)"
    )
}

async fn recorded(
    cluster: &Cluster,
    object: CodeGenTask,
    documents: BTreeMap<String, Vec<u8>>,
    withheld: Option<String>,
) -> Result<RecordedTask, CommandError> {
    let task = match withheld {
        None => records::resolved(&cluster.client, &object, &documents).await,
        Some(_) => Ok(None),
    };
    let task = task.map_err(CommandError::from)?;
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
        documents,
        foreign: None,
        withheld,
        place: Place::Cluster {
            object: Box::new(object),
            agent: agent.map(Box::new),
        },
    })
}

/// The agent of a task; `None` where there is none, or it may not be read.
async fn agent(cluster: &Cluster, object: &CodeGenTask) -> Option<CodeGenAgent> {
    let name = &object.spec.agent_ref.as_ref()?.name;
    let agents = cluster.api::<CodeGenAgent>();
    agents.get_opt(name).await.ok().flatten()
}
