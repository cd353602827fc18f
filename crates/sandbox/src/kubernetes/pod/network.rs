//! Network access of a sandbox, as `NetworkPolicy` objects. Pure.

use std::collections::BTreeMap;

use ipnet::IpNet;
use k8s_openapi::api::networking::v1::{NetworkPolicy, NetworkPolicyPeer};
use kube::core::{Selector, SelectorExt as _};

use super::super::names::{self, Component};
use super::super::policies;
use super::super::reach::{block, closed, internet, names_rule, parse, rule};
use super::super::settings::NetworkSettings;
use crate::SandboxError;
use codegen_core::digest::sha256_hex;
use codegen_core::sandbox::NetworkAccess;

/// Label of a sandbox: which policy holds for it.
pub(in crate::kubernetes) const EGRESS: &str = "codegen-operator.dev/egress";

/// The policy that holds for sandboxes with this access; `servers` are the addresses of the API server, as far as known.
pub(super) fn policy(
    access: &NetworkAccess,
    settings: &NetworkSettings,
    servers: &[IpNet],
) -> Result<NetworkPolicy, SandboxError> {
    let closed = closed(settings, servers)?;
    let (name, egress) = match access {
        // No rules and `Egress` among the types: nothing goes out, not even a question to a name server.
        NetworkAccess::Denied => ("denied".to_owned(), None),
        NetworkAccess::Internet => (
            "internet".to_owned(),
            Some(vec![rule(internet(&closed), &[]), names_rule(settings)]),
        ),
        NetworkAccess::List(targets) => {
            let opened = parse(
                &settings.allowed_private_cidrs,
                "sandbox.network.allowedPrivateCidrs",
            )?;
            let mut rules = vec![names_rule(settings)];
            for (cidr, ports) in targets {
                rules.push(rule(target(cidr, &closed, &opened)?, ports));
            }
            // Equal lists share a policy; the name has no room for a list.
            let key = serde_json::to_string(targets).unwrap_or_default();
            (format!("list-{}", &sha256_hex(key.as_bytes())[..10]), Some(rules))
        }
    };
    let mut policy = policies::policy(format!("codegen-sandbox-{name}"), (EGRESS, &name), egress);
    let labels = policy.metadata.labels.get_or_insert_default();
    labels.insert(
        names::COMPONENT.to_owned(),
        Component::Sandbox.as_str().to_owned(),
    );
    labels.insert(EGRESS.to_owned(), name);
    Ok(policy)
}

/// The value of [`EGRESS`] that a policy selects.
pub fn label(policy: &NetworkPolicy) -> String {
    let labels = policy.metadata.labels.as_ref();
    labels
        .and_then(|labels| labels.get(EGRESS))
        .cloned()
        .unwrap_or_default()
}

/// Name of the first policy beside `own` that lets a Pod with these labels reach anything.
pub(super) fn opener<'a>(
    policies: &'a [NetworkPolicy],
    own: &str,
    labels: &BTreeMap<String, String>,
) -> Option<&'a str> {
    let opens = |policy: &&NetworkPolicy| {
        let Some(spec) = &policy.spec else { return false };
        let selector = spec.pod_selector.clone().unwrap_or_default();
        // One that cannot be read is not enforced either.
        let selects = Selector::try_from(selector).is_ok_and(|selector| selector.matches(labels));
        selects && spec.egress.as_ref().is_some_and(|rules| !rules.is_empty())
    };
    let name = |policy: &'a NetworkPolicy| policy.metadata.name.as_deref().unwrap_or_default();
    policies.iter().filter(opens).map(name).find(|name| *name != own)
}

/// Returns the peers that a task lists, short of what is closed, and what of that an administrator has opened.
fn target(cidr: &str, closed: &[IpNet], opened: &[IpNet]) -> Result<Vec<NetworkPolicyPeer>, SandboxError> {
    let refused = |reason: &str, remedy: &str| SandboxError::Refused {
        object: format!("sandbox.network.allow {cidr}"),
        reason: reason.to_owned(),
        remedy: remedy.to_owned(),
    };
    let listed: IpNet = cidr
        .parse::<IpNet>()
        .map_err(|_| refused("it is no range of addresses", "write one like 203.0.113.0/24"))?
        .trunc();
    let mut peers = Vec::new();
    // A range that is closed as a whole has nothing left to list.
    if !closed.iter().any(|closed| closed.contains(&listed)) {
        peers.push(block(listed, closed));
    }
    peers.extend(opened.iter().filter_map(|opened| {
        // Of two ranges one contains the other or they are disjoint; the smaller one is what is both listed and opened.
        let both = if opened.contains(&listed) { listed } else { *opened };
        (opened.contains(&listed) || listed.contains(opened)).then(|| block(both, &[]))
    }));
    if peers.is_empty() {
        return Err(refused(
            "sandboxes do not reach this range",
            "list public addresses, or have the administrator open it in sandbox.network.allowedPrivateCidrs",
        ));
    }
    Ok(peers)
}

#[cfg(test)]
mod tests;
