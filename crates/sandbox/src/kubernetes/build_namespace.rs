//! Builds in a namespace of their own. Their Jobs cannot be owned by tasks of other namespaces: labels say who waits for them, and
//! a Job for which nobody waits any more is deleted.
//!
//! A Job has for each such task a label and an annotation that end in the task's uid; the annotation names the task.

use std::collections::BTreeMap;

use k8s_openapi::api::batch::v1::Job;
use kube::api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, Preconditions};
use kube::{Api, Client};
use serde_json::json;

use super::Owner;
use super::names::{COMPONENT, Component, MANAGED_BY, OPERATOR, TASK_NAMESPACE};
use codegen_api::CodeGenTask;

/// Prefix of the names of these labels and annotations.
const WAITS: &str = "waits.codegen-operator.dev/";

/// A task that waits for a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingTask {
    /// Its uid.
    pub uid: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// Labels of a Job for which `owner` waits.
#[must_use]
pub(super) fn labels(owner: &Owner) -> BTreeMap<String, String> {
    BTreeMap::from([
        // A label makes the Jobs of a task selectable. An annotation beside it has the name, which may be longer than the 63 characters of
        // a label.
        (TASK_NAMESPACE.to_owned(), owner.namespace.clone()),
        (format!("{WAITS}{}", owner.uid), String::new()),
    ])
}

/// Annotations of a Job for which `owner` waits.
#[must_use]
pub(super) fn annotations(owner: &Owner) -> BTreeMap<String, String> {
    let task = format!("{}/{}", owner.namespace, owner.name);
    BTreeMap::from([(format!("{WAITS}{}", owner.uid), task)])
}

/// The change of a Job with which `owner` waits for it as well.
#[must_use]
pub(super) fn join(owner: &Owner) -> Patch<serde_json::Value> {
    // A merge patch adds one key and leaves those of other tasks alone, so two that join at once do not conflict.
    Patch::Merge(json!({"metadata": {"labels": labels(owner), "annotations": annotations(owner)}}))
}

/// Reports whether `owner` waits for the Job.
#[must_use]
pub(super) fn is_waited_for_by(job: &ObjectMeta, owner: &Owner) -> bool {
    waiting(job).iter().any(|waiting| waiting.uid == owner.uid)
}

/// Lists the tasks that wait for a Job.
#[must_use]
pub fn waiting(job: &ObjectMeta) -> Vec<WaitingTask> {
    let annotations = job.annotations.iter().flatten();
    let waits = annotations.filter_map(|(name, task)| {
        let (namespace, task) = task.split_once('/')?;
        Some(WaitingTask {
            uid: name.strip_prefix(WAITS)?.to_owned(),
            namespace: namespace.to_owned(),
            name: task.to_owned(),
        })
    });
    waits.collect()
}

/// The task with this uid is not ours any more: where it is gone, so are the builds in `namespace` that nobody else waits for.
pub async fn release(client: &Client, namespace: &str, uid: &str) -> Result<(), kube::Error> {
    let jobs: Api<Job> = Api::namespaced(client.clone(), namespace);
    let its = ListParams::default().labels(&format!("{WAITS}{uid}"));
    // By label: the operator does not keep in mind for which builds a task waits, and a restart loses nothing.
    for job in jobs.list_metadata(&its).await?.items {
        retain_waiters(client, &jobs, &job.metadata, |waiting| waiting != uid).await?;
    }
    Ok(())
}

/// Of the builds in `namespace`, those stay for which a task waits that is there. `of` limits it to those of one namespace's tasks;
/// `is_known` says which uids need not be asked for.
pub async fn sweep(
    client: &Client,
    namespace: &str,
    of: Option<&str>,
    is_known: impl Fn(&str) -> bool,
) -> Result<(), kube::Error> {
    let jobs: Api<Job> = Api::namespaced(client.clone(), namespace);
    let mut selector = format!(
        "{MANAGED_BY}={OPERATOR},{COMPONENT}={}",
        Component::Build.as_str()
    );
    // Without a namespace the mere presence of the label selects builds of this kind; those beside their tasks have an owner that collects
    // them.
    selector.push_str(&of.map_or_else(
        || format!(",{TASK_NAMESPACE}"),
        |of| format!(",{TASK_NAMESPACE}={of}"),
    ));
    for job in jobs
        .list_metadata(&ListParams::default().labels(&selector))
        .await?
        .items
    {
        retain_waiters(client, &jobs, &job.metadata, &is_known).await?;
    }
    Ok(())
}

/// Removes from a Job those who do not wait any more, and deletes it when nobody is left.
async fn retain_waiters(
    client: &Client,
    jobs: &Api<Job>,
    job: &ObjectMeta,
    is_known: impl Fn(&str) -> bool,
) -> Result<(), kube::Error> {
    let (mut stay, mut gone) = (Vec::new(), Vec::new());
    for waiting in waiting(job) {
        // The list in memory is asked first: it saves a request for each task that this operator works on.
        if is_known(&waiting.uid) || is_there(client, &waiting).await? {
            stay.push(waiting);
        } else {
            gone.push(waiting);
        }
    }
    let name = job.name.as_deref().unwrap_or_default();
    if stay.is_empty() {
        // Whoever has joined since then has changed its version.
        let as_seen = DeleteParams {
            preconditions: Some(Preconditions {
                uid: job.uid.clone(),
                resource_version: job.resource_version.clone(),
            }),
            // In the background: the Pod goes with the Job, and nobody waits for it here.
            ..DeleteParams::background()
        };
        return unless_changed(jobs.delete(name, &as_seen).await.map(drop));
    }
    if gone.is_empty() {
        return Ok(());
    }
    let without: BTreeMap<String, Option<String>> = gone
        .iter()
        // `null` removes a key in a merge patch.
        .map(|gone| (format!("{WAITS}{}", gone.uid), None))
        .collect();
    let patch = Patch::Merge(json!({"metadata": {"labels": without, "annotations": without}}));
    let patched = jobs.patch_metadata(name, &PatchParams::default(), &patch).await;
    unless_changed(patched.map(drop))
}

/// Reports whether the task that waits is there: another operator may work on it.
async fn is_there(client: &Client, waiting: &WaitingTask) -> Result<bool, kube::Error> {
    let tasks: Api<CodeGenTask> = Api::namespaced(client.clone(), &waiting.namespace);
    let found = tasks.get_metadata_opt(&waiting.name).await?;
    // A task of the same name that was created anew has another uid, and does not wait for this build.
    Ok(found.is_some_and(|task| task.metadata.uid.as_ref() == Some(&waiting.uid)))
}

/// A Job that is gone, or has changed since it was listed, is left to another pass: a change says that somebody waits.
fn unless_changed(result: Result<(), kube::Error>) -> Result<(), kube::Error> {
    match result {
        Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => Ok(()),
        other => other,
    }
}

/// The namespace of the tasks that an object of a build is for.
#[must_use]
pub fn namespace_of_tasks<K: kube::ResourceExt>(object: &K) -> Option<String> {
    object
        .labels()
        .get(TASK_NAMESPACE)
        .cloned()
        .or_else(|| object.namespace())
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

    use super::*;

    fn owner(uid: &str, name: &str) -> Owner {
        Owner {
            namespace: "team-a".to_owned(),
            name: name.to_owned(),
            uid: uid.to_owned(),
            run: String::new(),
            wish: String::new(),
            generation: 1,
            attempt: 0,
            reference: OwnerReference::default(),
        }
    }

    #[test]
    fn a_job_says_who_waits_for_it() {
        let (first, second) = (owner("0c1", "penguins"), owner("7d2", "words"));
        let mut annotations = annotations(&first);
        annotations.insert("codegen-operator.dev/made-for".to_owned(), "a/b".to_owned());
        let job = ObjectMeta {
            labels: Some(labels(&first)),
            annotations: Some(annotations),
            ..ObjectMeta::default()
        };
        assert_eq!(
            waiting(&job),
            [WaitingTask {
                uid: "0c1".to_owned(),
                namespace: "team-a".to_owned(),
                name: "penguins".to_owned()
            }]
        );
        assert!(is_waited_for_by(&job, &first) && !is_waited_for_by(&job, &second));
    }
}
