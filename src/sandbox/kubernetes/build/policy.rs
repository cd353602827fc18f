//! The NetworkPolicy of builds. Objects only.

use std::collections::BTreeMap;

use k8s_openapi::api::networking::v1::{
    IPBlock, NetworkPolicy, NetworkPolicyEgressRule, NetworkPolicyPeer, NetworkPolicyPort, NetworkPolicySpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::sandbox::kubernetes::names::{COMPONENT, Component, MANAGED_BY, OPERATOR};
use crate::sandbox::kubernetes::settings::{AllowedTarget, BuildNetwork};

/// Its name in every namespace that builds.
pub(super) const NAME: &str = "codegen-build";
/// Name of that of pushes.
const PUSH: &str = "codegen-push";

/// Private, shared and link-local ranges: where Pods, Services, nodes and the cloud's metadata lie.
const NEVER: [&str; 5] = [
    "10.0.0.0/8",
    "100.64.0.0/10",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.168.0.0/16",
];
const NEVER_V6: [&str; 2] = ["fc00::/7", "fe80::/10"];

/// The policy of builds, or nothing where an administrator has their own.
pub(in crate::sandbox::kubernetes) fn policy(
    namespace: &str,
    network: &BuildNetwork,
) -> Option<NetworkPolicy> {
    policy_of((NAME, Component::Build), namespace, network)
}

/// The policy of Pods that push outputs, which reach what builds do.
pub(in crate::sandbox::kubernetes) fn policy_of_pushes(
    namespace: &str,
    network: &BuildNetwork,
) -> Option<NetworkPolicy> {
    policy_of((PUSH, Component::Push), namespace, network)
}

fn policy_of(
    (name, component): (&str, Component),
    namespace: &str,
    network: &BuildNetwork,
) -> Option<NetworkPolicy> {
    if !network.enabled {
        return None;
    }
    // By label, so the policy holds for Pods of every build from their first moment.
    let selected = BTreeMap::from([(COMPONENT.to_owned(), component.as_str().to_owned())]);
    Some(NetworkPolicy {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(namespace.to_owned()),
            labels: Some(BTreeMap::from([(MANAGED_BY.to_owned(), OPERATOR.to_owned())])),
            ..ObjectMeta::default()
        },
        spec: Some(NetworkPolicySpec {
            pod_selector: Some(LabelSelector {
                match_labels: Some(selected),
                ..LabelSelector::default()
            }),
            // Both types: a policy that leaves out `Egress` restricts nothing outgoing. There is no rule for ingress, so nobody gets in.
            policy_types: Some(vec!["Ingress".to_owned(), "Egress".to_owned()]),
            egress: Some(network.egress.clone().unwrap_or_else(|| egress(network))),
            ..NetworkPolicySpec::default()
        }),
    })
}

fn egress(network: &BuildNetwork) -> Vec<NetworkPolicyEgressRule> {
    let (v6, v4): (Vec<&str>, Vec<&str>) = network
        .except
        .iter()
        .map(String::as_str)
        // An exception must lie inside its block: ranges of IPv6 go to that of IPv6.
        .partition(|range| range.contains(':'));
    let public = NetworkPolicyEgressRule {
        to: Some(vec![
            block("0.0.0.0/0", &[&NEVER[..], &v4].concat()),
            block("::/0", &[&NEVER_V6[..], &v6].concat()),
        ]),
        ports: None,
    };
    let mut rules = vec![public, dns()];
    // Listed targets come as rules of their own, since rules add up and exceptions hold for their block alone.
    rules.extend(network.allow.iter().map(allowed));
    rules
}

/// Name servers, in the cluster or on the node, wherever they are: by port.
fn dns() -> NetworkPolicyEgressRule {
    let everywhere = NetworkPolicyPeer {
        namespace_selector: Some(LabelSelector::default()),
        pod_selector: Some(LabelSelector {
            match_labels: Some(BTreeMap::from([("k8s-app".to_owned(), "kube-dns".to_owned())])),
            ..LabelSelector::default()
        }),
        ..NetworkPolicyPeer::default()
    };
    NetworkPolicyEgressRule {
        // The second is where a cache on the node listens.
        to: Some(vec![everywhere, block("169.254.20.10/32", &[])]),
        ports: Some(vec![port("UDP", 53), port("TCP", 53)]),
    }
}

fn allowed(target: &AllowedTarget) -> NetworkPolicyEgressRule {
    let ports: Vec<NetworkPolicyPort> = target.ports.iter().map(|number| port("TCP", *number)).collect();
    NetworkPolicyEgressRule {
        to: Some(vec![block(&target.cidr, &[])]),
        ports: Some(ports).filter(|ports| !ports.is_empty()),
    }
}

fn block(cidr: &str, except: &[&str]) -> NetworkPolicyPeer {
    let except: Vec<String> = except.iter().map(ToString::to_string).collect();
    NetworkPolicyPeer {
        ip_block: Some(IPBlock {
            cidr: cidr.to_owned(),
            except: Some(except).filter(|except| !except.is_empty()),
        }),
        ..NetworkPolicyPeer::default()
    }
}

fn port(protocol: &str, number: u16) -> NetworkPolicyPort {
    NetworkPolicyPort {
        protocol: Some(protocol.to_owned()),
        port: Some(IntOrString::Int(i32::from(number))),
        end_port: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(json: serde_json::Value) -> BuildNetwork {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn builds_reach_the_internet_names_and_what_is_listed() {
        let network = network(serde_json::json!({
            "allow": [{"cidr": "10.1.2.3/32", "ports": [5000]}, {"cidr": "10.1.2.4/32"}],
            "except": ["203.0.113.7/32", "2001:db8::/32"],
        }));
        insta::assert_json_snapshot!(policy("lab", &network));
    }

    #[test]
    fn what_pushes_outputs_reaches_what_builds_reach_and_is_selected_by_itself() {
        let network = network(serde_json::json!({"allow": [{"cidr": "10.1.2.3/32", "ports": [5000]}]}));
        let (builds, pushes) = (policy("lab", &network), policy_of_pushes("lab", &network));
        let (builds, pushes) = (builds.unwrap(), pushes.unwrap());
        assert_eq!(pushes.metadata.name.as_deref(), Some("codegen-push"));
        let (builds, pushes) = (builds.spec.unwrap(), pushes.spec.unwrap());
        assert_eq!(
            (builds.egress, builds.policy_types),
            (pushes.egress, pushes.policy_types)
        );
        let selected = pushes.pod_selector.unwrap().match_labels.unwrap();
        assert_eq!(selected[COMPONENT], "push");
    }

    #[test]
    fn an_administrator_may_replace_the_rules_or_drop_the_policy() {
        assert_eq!(
            policy("lab", &network(serde_json::json!({"enabled": false}))),
            None
        );
        let replaced = policy("lab", &network(serde_json::json!({"egress": []}))).unwrap();
        assert_eq!(replaced.spec.unwrap().egress, Some(vec![]));
    }
}
