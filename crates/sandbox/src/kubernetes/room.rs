//! Check that any node is large enough for a Pod.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use kube::api::ListParams;
use kube::{Api, Client};

use crate::{Progressing, SandboxError};
use codegen_api::quantity;

/// Returns the wait of a Pod for room, in the `words` of the scheduler; an error where no node could give what it asks for by `limits`.
pub(super) async fn queued<T>(
    client: &Client,
    pod: &Pod,
    words: String,
    object: &str,
    limits: &str,
) -> Result<Progressing<T>, SandboxError> {
    // Other reasons (taints, labels) have nothing to do with size.
    if words.contains("Insufficient ") && is_too_large(client, pod).await {
        return Err(SandboxError::Refused {
            object: object.to_owned(),
            reason: words,
            remedy: format!("no node is as large as that: lower {limits}, or add a larger node"),
        });
    }
    Ok(Progressing::Queued(words))
}

/// Reports whether no node could give what the Pod asks for, however empty it was. Without the right to list nodes there is no answer.
async fn is_too_large(client: &Client, pod: &Pod) -> bool {
    let nodes: Api<Node> = Api::all(client.clone());
    let nodes = nodes.list(&ListParams::default()).await;
    // Without an answer the Pod is left to the scheduler: to say that no node is large enough would be a guess.
    nodes.is_ok_and(|nodes| !fits_somewhere(pod, &nodes.items))
}

/// Reports whether one of the nodes could give what the Pod asks for if nothing else ran there.
fn fits_somewhere(pod: &Pod, nodes: &[Node]) -> bool {
    let containers = pod.spec.iter().flat_map(|spec| {
        // The scheduler counts init containers too.
        spec.containers
            .iter()
            .chain(spec.init_containers.iter().flatten())
    });
    let requests: Vec<_> = containers
        .filter_map(|container| container.resources.as_ref()?.requests.as_ref())
        .collect();
    nodes.iter().any(|node| {
        let allocatable = node
            .status
            .as_ref()
            .and_then(|status| status.allocatable.as_ref());
        // A node that reports no resources excludes nothing.
        allocatable.is_none_or(|allocatable| requests.iter().all(|requests| fits(requests, allocatable)))
    })
}

fn fits(requests: &BTreeMap<String, Quantity>, allocatable: &BTreeMap<String, Quantity>) -> bool {
    requests.iter().all(|(name, wanted)| {
        let (Some(wanted), Some(given)) = (amount(wanted), allocatable.get(name).and_then(amount)) else {
            // What cannot be compared is the scheduler's matter.
            return true;
        };
        wanted <= given
    })
}

/// A quantity as a number; in the range of nodes no two that differ become the same.
fn amount(quantity: &Quantity) -> Option<f64> {
    let text = quantity.0.as_str();
    if let Ok(cpus) = quantity::cpus(text) {
        return Some(cpus);
    }
    quantity::bytes(text).ok().map(|bytes| bytes as f64)
}

#[cfg(test)]
mod tests;
