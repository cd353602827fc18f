//! The Events of a cluster that belong to a story.

use std::collections::BTreeSet;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Event;
use kube::api::ListParams;
use kube::{Api, Resource, ResourceExt};

use super::story::{Happening, StorySubject, TASK, of_events};
use crate::cli::cluster::{Cluster, refusal};
use crate::cli::command::warning;
use crate::cli::progress::ProgressPrinter;
use codegen_api::CodeGenTask;
use codegen_sandbox::kubernetes::names;

/// Events of one page of a list.
const PAGE: u32 = 500;

/// Collects the objects whose Events belong to the story of a task.
pub(super) async fn of_task(
    cluster: &Cluster,
    object: &CodeGenTask,
    progress: &ProgressPrinter,
) -> StorySubject {
    StorySubject {
        kind: "CodeGenTask",
        label: TASK,
        runs: BTreeSet::new(),
        name: object.name_any(),
        uid: object.uid().unwrap_or_default(),
        jobs: match jobs(cluster, object).await {
            Ok(jobs) => jobs,
            Err(error) => {
                progress.lines(&warning(&left_out::<Job>("those of builds", &error, cluster)));
                BTreeSet::new()
            }
        },
    }
}

/// The Events of an object, its Pods, its Jobs and its runs, as far as they may be read.
pub(super) async fn events(
    cluster: &Cluster,
    subject: &StorySubject,
    progress: &ProgressPrinter,
) -> Vec<Happening> {
    let api: Api<Event> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let mut which = ListParams::default().limit(PAGE);
    let mut all = Vec::new();
    loop {
        match api.list(&which).await {
            Ok(page) => {
                all.extend(of_events(&page.items, subject));
                match page.metadata.continue_.filter(|next| !next.is_empty()) {
                    Some(next) => which.continue_token = Some(next),
                    None => return all,
                }
            }
            Err(error) => {
                progress.lines(&warning(&left_out::<Event>(
                    "Events of the cluster",
                    &error,
                    cluster,
                )));
                return all;
            }
        }
    }
}

fn left_out<K>(what: &str, error: &kube::Error, cluster: &Cluster) -> String
where
    K: Resource<DynamicType = ()>,
{
    let why = refusal::<K>(error, "", &cluster.namespace);
    format!("{what} are left out: {why}; the stock ClusterRole view may read them")
}

/// Names of the Jobs that build for a task.
async fn jobs(cluster: &Cluster, object: &CodeGenTask) -> Result<BTreeSet<String>, kube::Error> {
    let api: Api<Job> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let uid = object.uid().unwrap_or_default();
    let its = ListParams::default().labels(&format!("{}={uid}", names::TASK_UID));
    let jobs = api.list_metadata(&its).await?;
    Ok(jobs.items.iter().map(ResourceExt::name_any).collect())
}
