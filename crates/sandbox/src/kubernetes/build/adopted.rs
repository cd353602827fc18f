//! Check that an object under the name of a build's object is the operator's. Pure.
//!
//! Whoever may write objects of a namespace may put their own in the place of a build's: what they name would be pushed.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::job::{FILES_SHA256, PUSH};
use crate::kubernetes::folder_sha256;
use crate::kubernetes::names::{COMPONENT, Component, MANAGED_BY, OPERATOR};

/// Reports whether an object carries the labels of a build, which an admission policy lets nobody else write.
pub(super) fn is_ours(metadata: &ObjectMeta) -> bool {
    let label = |name: &str| metadata.labels.as_ref().and_then(|labels| labels.get(name));
    label(MANAGED_BY).is_some_and(|by| by == OPERATOR)
        && label(COMPONENT).is_some_and(|component| component == Component::Build.as_str())
}

/// Reports whether the Pod is one of this very Job, and not one that says so by a label alone.
pub(super) fn is_pod_of(pod: &Pod, job: &Job) -> bool {
    // A Pod can carry any `job-name` label. That the Job is its controller is what the admission policy reserves for Jobs of the operator.
    is_ours(&pod.metadata) && belongs_to(&pod.metadata, job, true)
}

/// Reports whether these are the files that the Job was made for, and nobody can have changed them.
pub(super) fn are_files_of(map: &ConfigMap, job: &Job) -> bool {
    let data = map.data.iter().flatten();
    let found = folder_sha256(data.map(|(name, content)| (name.as_str(), content.as_bytes())));
    is_ours(&map.metadata)
        && belongs_to(&map.metadata, job, false)
        // Immutable, so that what was compared is still there when the Pod mounts it.
        && map.immutable == Some(true)
        // `binaryData` is mounted beside `data`, and would be a file that the digest does not cover.
        && map
            .binary_data
            .as_ref()
            .is_none_or(std::collections::BTreeMap::is_empty)
        // A Job of an earlier version announces no digest; then marks and owner are what is left to compare.
        && files_of(job).is_none_or(|wanted| wanted == found)
}

/// Reports whether the copy of credentials that is there is this one.
pub(super) fn is_copy(wanted: &Secret, found: &Secret) -> bool {
    is_ours(&found.metadata)
        && found.immutable == Some(true)
        && found.type_ == wanted.type_
        && found.data == wanted.data
}

/// Returns the digest of the files that the Job says it is made from; one of an operator before this one says nothing.
fn files_of(job: &Job) -> Option<&str> {
    let spec = job.spec.as_ref()?.template.spec.as_ref()?;
    let push = spec.containers.iter().find(|container| container.name == PUSH)?;
    let mut arguments = push.args.iter().flatten();
    // The digest is read from the Job and not computed from settings: these may have changed since it was made.
    arguments.find_map(|argument| argument.strip_prefix(FILES_SHA256))
}

fn belongs_to(metadata: &ObjectMeta, job: &Job, as_controller: bool) -> bool {
    let uid = job.metadata.uid.as_deref();
    let mut owners = metadata.owner_references.iter().flatten();
    // The files have the Job as a plain owner, Pods have it as their controller.
    owners.any(|owner| Some(owner.uid.as_str()) == uid && (!as_controller || owner.controller == Some(true)))
}

#[cfg(test)]
mod tests;
