//! The NetworkPolicy of builds. Objects only.

use ipnet::IpNet;
use k8s_openapi::api::networking::v1::{NetworkPolicy, NetworkPolicyEgressRule};

use crate::SandboxError;
use crate::kubernetes::names::{COMPONENT, Component};
use crate::kubernetes::policies;
use crate::kubernetes::reach::{block, closed, internet, names_rule, parse, rule};
use crate::kubernetes::settings::Settings;

/// Its name in every namespace that builds.
pub(super) const NAME: &str = "codegen-build";

/// The policy of builds, or nothing where an administrator has their own; `servers` are the addresses of the API server, as far as known.
pub fn policy(
    namespace: &str,
    settings: &Settings,
    servers: &[IpNet],
) -> Result<Option<NetworkPolicy>, SandboxError> {
    let network = &settings.build.network;
    if !network.enabled {
        return Ok(None);
    }
    let egress = match &network.egress {
        Some(own) => own.clone(),
        None => egress(settings, servers)?,
    };
    // By label, so the policy holds for Pods of every build from their first moment.
    let selected = (COMPONENT, Component::Build.as_str());
    let mut policy = policies::policy(NAME.to_owned(), selected, Some(egress));
    policy.metadata.namespace = Some(namespace.to_owned());
    Ok(Some(policy))
}

fn egress(settings: &Settings, servers: &[IpNet]) -> Result<Vec<NetworkPolicyEgressRule>, SandboxError> {
    let (builds, sandboxes) = (&settings.build.network, &settings.sandbox.network);
    let mut out = parse(&builds.except, "build.network.except")?;
    out.extend(servers);
    let closed = closed(sandboxes, &out)?;
    let mut rules = vec![rule(internet(&closed), &[]), names_rule(sandboxes)];
    // Listed targets come as rules of their own, since rules add up and exceptions hold for their block alone.
    for target in &builds.allow {
        let cidr = parse(std::slice::from_ref(&target.cidr), "build.network.allow")?;
        rules.push(rule(
            cidr.into_iter().map(|cidr| block(cidr, &[])).collect(),
            &target.ports,
        ));
    }
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use codegen_egress::CLOSED;

    fn settings(json: Value) -> Settings {
        serde_json::from_value(json).unwrap()
    }

    fn network(json: &Value) -> Settings {
        settings(json!({"build": {"network": json}}))
    }

    #[test]
    fn builds_reach_the_internet_names_and_what_is_listed() {
        let network = network(&json!({
            "allow": [{"cidr": "10.1.2.3/32", "ports": [5000]}, {"cidr": "10.1.2.4/32"}],
            "except": ["203.0.113.7/32", "2001:db8::/32"],
        }));
        insta::assert_json_snapshot!(policy("lab", &network, &[]).unwrap());
    }

    #[test]
    fn a_build_reaches_nothing_that_a_sandbox_may_not() {
        let settings = settings(json!({"sandbox": {"network": {"deniedCidrs": ["198.51.100.0/24"]}}}));
        let servers = ["203.0.113.9/32".parse().unwrap()];
        let policy = policy("lab", &settings, &servers).unwrap().unwrap();
        let egress = policy.spec.unwrap().egress.unwrap();
        let blocks = egress[0].to.iter().flatten();
        let except: Vec<IpNet> = blocks
            .filter_map(|peer| peer.ip_block.clone())
            .flat_map(|block| block.except.unwrap_or_default())
            .map(|range| range.parse().unwrap())
            .collect();
        // Azure's wire server, the API server and what the cluster calls its own are among them.
        for closed in CLOSED
            .into_iter()
            .chain(["168.63.129.16/32", "203.0.113.9/32", "198.51.100.0/24"])
        {
            let closed: IpNet = closed.parse().unwrap();
            assert!(except.iter().any(|range| range.contains(&closed)), "{closed}");
        }
    }

    #[test]
    fn builds_ask_the_clusters_name_servers_and_no_pod_that_only_has_their_label() {
        let settings = settings(json!({"sandbox": {"network": {"dnsNamespace": "dns"}}}));
        let policy = policy("lab", &settings, &[]).unwrap().unwrap();
        let names = serde_json::to_value(&policy.spec.unwrap().egress.unwrap()[1]).unwrap();
        assert_eq!(
            names["to"][0],
            json!({
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "dns"}},
                "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}}
            })
        );
    }

    #[test]
    fn an_administrator_may_replace_the_rules_or_drop_the_policy() {
        assert_eq!(
            policy("lab", &network(&json!({"enabled": false})), &[]).unwrap(),
            None
        );
        let replaced = policy("lab", &network(&json!({"egress": []})), &[])
            .unwrap()
            .unwrap();
        assert_eq!(replaced.spec.unwrap().egress, Some(vec![]));
    }

    #[test]
    fn a_range_that_is_none_names_its_setting() {
        let error = policy("lab", &network(&json!({"except": ["203.0.113.7/33"]})), &[]).unwrap_err();
        assert!(error.to_string().contains("build.network.except"), "{error}");
    }
}
