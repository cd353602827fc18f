//! Addresses that no Pod of the operator's may reach, whether it runs a program, builds an image or pushes outputs; and the parts of
//! policies. One place for all of them: a package that is being installed is as foreign as a program.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::{
    IPBlock, NetworkPolicyEgressRule, NetworkPolicyPeer, NetworkPolicyPort,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::{Api, Client};

use super::settings::NetworkSettings;
use crate::SandboxError;
use codegen_egress::CLOSED;

/// Every address.
// IPv6 must be opened apart: a block of IPv4 covers none of it.
const ALL: [&str; 2] = ["0.0.0.0/0", "::/0"];

/// Addresses of the API server, as far as they can be learnt; the check from inside the Pod shows when one is missing.
pub async fn api_servers(client: &Client) -> Vec<IpNet> {
    let slices: Api<EndpointSlice> = Api::namespaced(client.clone(), "default");
    // A role that may not read it is no reason to fail here.
    let slice = slices.get_opt("kubernetes").await.ok().flatten();
    let endpoints = slice.into_iter().flat_map(|slice| slice.endpoints);
    let addresses = endpoints.flat_map(|endpoint| endpoint.addresses);
    // Pods reach the Service's address, and the policy is applied before or after it is translated, as the plugin has it.
    let service = std::env::var("KUBERNETES_SERVICE_HOST").ok();
    addresses
        .chain(service)
        .filter_map(|address| address.parse::<IpAddr>().ok().map(IpNet::from))
        .collect()
}

/// The ranges that stay closed: those that are nobody's public address, the cluster's own by its settings, and the API server.
pub(super) fn closed(settings: &NetworkSettings, servers: &[IpNet]) -> Result<Vec<IpNet>, SandboxError> {
    let mut closed: Vec<IpNet> = CLOSED.iter().filter_map(|cidr| cidr.parse().ok()).collect();
    closed.extend(parse(&settings.denied_cidrs, "sandbox.network.deniedCidrs")?);
    closed.extend(servers);
    Ok(IpNet::aggregate(&closed))
}

pub(super) fn parse(cidrs: &[String], setting: &str) -> Result<Vec<IpNet>, SandboxError> {
    let parse = |cidr: &String| {
        cidr.parse::<IpNet>().map_err(|_| SandboxError::Refused {
            object: format!("the operator's setting {setting}"),
            reason: format!("`{cidr}` is no range of addresses"),
            remedy: "write ranges like 10.20.0.0/16".to_owned(),
        })
    };
    cidrs.iter().map(parse).collect()
}

/// Everything that is not closed.
pub(super) fn internet(closed: &[IpNet]) -> Vec<NetworkPolicyPeer> {
    let all = ALL.iter().filter_map(|cidr| cidr.parse().ok());
    all.map(|all| block(all, closed)).collect()
}

pub(super) fn block(cidr: IpNet, closed: &[IpNet]) -> NetworkPolicyPeer {
    // An exception outside its block is not valid.
    let inside = closed.iter().filter(|closed| cidr.contains(*closed));
    let except: Vec<String> = inside.map(ToString::to_string).collect();
    NetworkPolicyPeer {
        ip_block: Some(IPBlock {
            cidr: cidr.to_string(),
            except: Some(except).filter(|except| !except.is_empty()),
        }),
        ..NetworkPolicyPeer::default()
    }
}

pub(super) fn rule(to: Vec<NetworkPolicyPeer>, ports: &[u16]) -> NetworkPolicyEgressRule {
    let ports: Vec<_> = ports.iter().map(|number| port("TCP", *number)).collect();
    NetworkPolicyEgressRule {
        to: Some(to),
        ports: Some(ports).filter(|ports| !ports.is_empty()),
    }
}

fn port(protocol: &str, number: u16) -> NetworkPolicyPort {
    NetworkPolicyPort {
        protocol: Some(protocol.to_owned()),
        port: Some(IntOrString::Int(number.into())),
        end_port: None,
    }
}

/// Names can be resolved at the cluster's DNS.
pub(super) fn names_rule(settings: &NetworkSettings) -> NetworkPolicyEgressRule {
    let selector = |labels: BTreeMap<String, String>| LabelSelector {
        match_labels: Some(labels),
        ..LabelSelector::default()
    };
    let namespace = (
        "kubernetes.io/metadata.name".to_owned(),
        // A label alone would let anybody's Pods be name servers; together with the namespace it names the cluster's.
        settings.dns_namespace.clone(),
    );
    let servers = NetworkPolicyPeer {
        namespace_selector: Some(selector(BTreeMap::from([namespace]))),
        pod_selector: Some(selector(settings.dns_pod_labels.clone())),
        ip_block: None,
    };
    let caches = settings.dns_cidrs.iter().map(|cidr| NetworkPolicyPeer {
        ip_block: Some(IPBlock {
            cidr: cidr.clone(),
            except: None,
        }),
        ..NetworkPolicyPeer::default()
    });
    NetworkPolicyEgressRule {
        to: Some(std::iter::once(servers).chain(caches).collect()),
        ports: Some(vec![port("UDP", 53), port("TCP", 53)]),
    }
}
