//! Claims are mounted only where their owner lets tasks use them: whoever may create tasks need not be allowed to read them.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kube::{Api, Client};

use super::cluster;
use crate::SandboxError;
use codegen_api::secret_use::{USE_LABEL, USE_OF_CLAIMS};

/// Checks whether every claim that the Pod mounts may be used. One that is not there is the scheduler's to name.
pub(super) async fn check(client: &Client, namespace: &str, pod: &Pod) -> Result<(), SandboxError> {
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(client.clone(), namespace);
    for name in mounted(pod) {
        let found = claims.get_metadata_opt(name).await;
        let found = found
            .map_err(|error| cluster(format!("read PersistentVolumeClaim {namespace}/{name}"))(error))?;
        let Some(claim) = found else { continue };
        let label = claim
            .metadata
            .labels
            .as_ref()
            .and_then(|labels| labels.get(USE_LABEL));
        if let Some(error) = refusal(namespace, name, label.map(String::as_str)) {
            return Err(error);
        }
    }
    Ok(())
}

/// Names of the claims of a Pod.
fn mounted(pod: &Pod) -> BTreeSet<&str> {
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    let claims = volumes.filter_map(|volume| volume.persistent_volume_claim.as_ref());
    claims.map(|claim| claim.claim_name.as_str()).collect()
}

fn refusal(namespace: &str, name: &str, label: Option<&str>) -> Option<SandboxError> {
    if label == Some(USE_OF_CLAIMS) {
        return None;
    }
    let reason = match label {
        None => format!("tasks may not use it: its owner has not set the label {USE_LABEL}"),
        Some(other) => {
            format!("tasks may not use it: its label {USE_LABEL} says `{other}`, and not `{USE_OF_CLAIMS}`")
        }
    };
    Some(SandboxError::Refused {
        object: format!("PersistentVolumeClaim {namespace}/{name}"),
        reason,
        remedy: format!(
            "if every task of {namespace} may read it and write to it, run `kubectl -n {namespace} label --overwrite persistentvolumeclaim \
             {name} {USE_LABEL}={USE_OF_CLAIMS}`; it then goes on by itself"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_without_the_label_is_refused_with_the_command_that_sets_it() {
        let words = refusal("team-a", "database", None).unwrap().to_string();
        let command = "kubectl -n team-a label --overwrite persistentvolumeclaim database codegen-operator.dev/use=data";
        assert!(words.contains(command), "{words}");
        let words = refusal("team-a", "database", Some("sandbox"))
            .unwrap()
            .to_string();
        assert!(words.contains("says `sandbox`"), "{words}");
        assert!(refusal("team-a", "datasets", Some("data")).is_none());
    }
}
