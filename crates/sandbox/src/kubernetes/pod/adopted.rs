//! Check that a Pod that stands under the name of a run is the one that would be made for it. Pure.
//!
//! Whoever may write Pods of a namespace may put another one there, with a key of their own: what it reports would be believed.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec, Volume};

use super::job_key::JOB_KEY;
use super::spec::NONCE;
use crate::kubernetes::names;

/// Variables by which a program becomes another one before it starts.
// `LD_PRELOAD`, tunables of glibc, `PYTHONPATH` and the harness's own settings decide what runs, although image and command are the same.
const LOADERS: [&str; 4] = ["LD_", "GLIBC_", "PYTHON", "CODEGEN_"];

/// Name of the difference where the Pod does not say that the operator made it.
pub(super) const LABELS: &str = "its labels";

/// Finds a difference between the Pod that would be made and the one that was found, in words; `None` where that is nothing that decides
/// what runs. What clusters add by themselves is let be: defaults, tolerations, another name of the image's registry.
pub(super) fn difference(wanted: &Pod, found: &Pod) -> Option<&'static str> {
    let marks = |pod: &Pod| {
        let labels = pod.metadata.labels.clone().unwrap_or_default();
        [names::MANAGED_BY, names::COMPONENT, names::TASK_UID].map(|name| labels.get(name).cloned())
    };
    let (Some(wants), Some(has)) = (&wanted.spec, &found.spec) else {
        return Some("it has no spec");
    };
    let [ours, their] = [wants, has].map(containers);
    let before = |spec: &PodSpec| spec.init_containers.as_ref().map_or(0, Vec::len);
    // An init container runs before ours, and an ephemeral one joins its namespaces.
    let joined = has.ephemeral_containers.as_ref().map_or(0, Vec::len);
    let checks = [
        (marks(wanted) != marks(found), LABELS),
        (
            joined > 0 || before(has) != before(wants) || their.len() != ours.len(),
            "the number of its containers",
        ),
        (
            // A shared process namespace shows the harness's memory to a container beside it.
            has.share_process_namespace == Some(true),
            "who sees its processes",
        ),
        (mounted(wants) != mounted(has), "its volumes"),
    ];
    let of_pod = checks.into_iter().find(|(differs, _)| *differs);
    of_pod.map(|(_, what)| what).or_else(|| {
        let mut pairs = ours.into_iter().zip(their);
        pairs.find_map(|(wants, has)| of_container(wants, has))
    })
}

/// Its containers in the order in which they start.
fn containers(spec: &PodSpec) -> Vec<&Container> {
    let before = spec.init_containers.iter().flatten();
    before.chain(&spec.containers).collect()
}

fn of_container(wants: &Container, has: &Container) -> Option<&'static str> {
    let checks = [
        (wants.name != has.name, "the name of its container"),
        (!is_same_image(wants, has), "its image"),
        (
            wants.command != has.command || wants.args != has.args,
            "its command",
        ),
        (wants.working_dir != has.working_dir, "its working folder"),
        // One with a policy of its own would run on beside what comes after it.
        (has.restart_policy.is_some(), "its restart policy"),
        (!has_same_variables(wants, has), "its variables"),
        (mounts(wants) != mounts(has), "what it mounts"),
    ];
    checks
        .into_iter()
        .find(|(differs, _)| *differs)
        .map(|(_, what)| what)
}

/// A cluster may fetch the image from a mirror; its digest says what it is.
fn is_same_image(wants: &Container, has: &Container) -> bool {
    let digest = |container: &Container| {
        let image = container.image.as_deref()?;
        image.rsplit_once('@').map(|(_, digest)| digest.to_owned())
    };
    wants.image == has.image || digest(wants).is_some_and(|wanted| Some(wanted) == digest(has))
}

/// Each of ours but the keys, which are drawn anew; more may be there, where it does not decide what runs.
fn has_same_variables(wants: &Container, has: &Container) -> bool {
    let by_name = |container: &Container| -> BTreeMap<String, Option<String>> {
        let variables = container.env.iter().flatten();
        let variables = variables.filter(|variable| variable.name != NONCE && variable.name != JOB_KEY);
        variables
            .map(|variable| (variable.name.clone(), variable.value.clone()))
            .collect()
    };
    let (wanted, mut found) = (by_name(wants), by_name(has));
    let is_there = wanted
        .iter()
        .all(|(name, value)| found.remove(name).as_ref() == Some(value));
    let decides = |name: &String| LOADERS.iter().any(|loader| name.starts_with(loader));
    // `envFrom` could bring any variable, so it is refused as a whole.
    is_there && has.env_from.as_ref().is_none_or(Vec::is_empty) && !found.keys().any(decides)
}

fn mounts(container: &Container) -> BTreeMap<&str, (&str, Option<&str>)> {
    let mounts = container.volume_mounts.iter().flatten();
    mounts
        .map(|mount| {
            let sub_path = mount.sub_path.as_deref().filter(|path| !path.is_empty());
            (mount.mount_path.as_str(), (mount.name.as_str(), sub_path))
        })
        .collect()
}

/// Lists the source of each volume: a kind and names.
fn mounted(spec: &PodSpec) -> BTreeMap<&str, (&'static str, Vec<&str>)> {
    let volumes = spec.volumes.iter().flatten();
    volumes
        .map(|volume| (volume.name.as_str(), source(volume)))
        .collect()
}

fn source(volume: &Volume) -> (&'static str, Vec<&str>) {
    if let Some(map) = &volume.config_map {
        return ("ConfigMap", vec![map.name.as_str()]);
    }
    if let Some(secret) = &volume.secret {
        let items = secret.items.iter().flatten();
        let items = items.flat_map(|item| [item.key.as_str(), item.path.as_str()]);
        return (
            "Secret",
            secret.secret_name.as_deref().into_iter().chain(items).collect(),
        );
    }
    if let Some(claim) = &volume.persistent_volume_claim {
        return ("PersistentVolumeClaim", vec![claim.claim_name.as_str()]);
    }
    if volume.empty_dir.is_some() {
        return ("emptyDir", Vec::new());
    }
    let Some(projected) = &volume.projected else {
        // A volume of any other kind differs from all of ours.
        return ("another", Vec::new());
    };
    let sources = projected.sources.iter().flatten();
    let secrets = sources.map(|source| source.secret.as_ref().map_or("", |secret| secret.name.as_str()));
    ("projected", secrets.collect())
}

#[cfg(test)]
mod tests;
