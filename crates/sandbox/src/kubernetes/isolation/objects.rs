//! The Pods that try. Pure.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Container, LocalObjectReference, Pod, PodSecurityContext, PodSpec, ResourceRequirements, SeccompProfile,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::super::names::{self, Component};
use super::super::pod::{self, EGRESS};
use super::super::settings::NodePool;
use super::ClosedTarget;

/// Longest life of such a Pod, seconds.
// Longer than a round waits for a Pod (90 s): the kubelet ends what an interrupted operator left.
const DEADLINE: i64 = 120;
/// Port on which the sibling listens.
pub(super) const PORT: u16 = 8443;
/// Name of the container.
pub(super) const CONTAINER: &str = "probe";

/// Role of a Pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PodRole {
    /// Listens, as any other Pod of the cluster might.
    Sibling,
    /// Knocks, without a policy.
    Control,
    /// Knocks, under the policy of sandboxes that have no network.
    Sandbox,
    /// Knocks, under the policy of builds.
    Build,
}

impl PodRole {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Sibling => "sibling",
            Self::Control => "control",
            Self::Sandbox => "sandbox",
            Self::Build => "build",
        }
    }

    /// Labels by which policies select it.
    fn labels(self, denied: &str) -> BTreeMap<String, String> {
        match self {
            // Without the labels no policy of ours selects it: that makes it the control.
            Self::Sibling | Self::Control => BTreeMap::new(),
            Self::Sandbox => BTreeMap::from([(EGRESS.to_owned(), denied.to_owned())]),
            Self::Build => {
                BTreeMap::from([(names::COMPONENT.to_owned(), Component::Build.as_str().to_owned())])
            }
        }
    }
}

/// Settings that the Pods of one round share.
pub(super) struct Round<'a> {
    /// Namespace in which they run.
    pub namespace: &'a str,
    /// The operator's own image.
    pub image: &'a str,
    /// With which nodes pull it.
    pub pull_secrets: &'a [LocalObjectReference],
    /// Nodes on which they run.
    pub pool: &'a NodePool,
    /// Ends every name, so that rounds never meet.
    pub suffix: &'a str,
    /// Value of [`EGRESS`] for a sandbox without network.
    pub denied: &'a str,
}

/// Value of the label that all Pods of all rounds share.
pub(super) const PART_OF: &str = "codegen-isolation";

impl Round<'_> {
    /// The Pod of one role; the sibling has no targets.
    pub(super) fn pod(&self, role: PodRole, targets: &[ClosedTarget]) -> Pod {
        let mut labels = BTreeMap::from([
            (names::MANAGED_BY.to_owned(), names::OPERATOR.to_owned()),
            (names::COMPONENT.to_owned(), Component::Canary.as_str().to_owned()),
            (names::PART_OF.to_owned(), PART_OF.to_owned()),
        ]);
        labels.extend(role.labels(self.denied));
        let mut selector =
            BTreeMap::from([("kubernetes.io/arch".to_owned(), pod::architecture().to_owned())]);
        selector.extend(self.pool.node_selector.clone());
        Pod {
            metadata: ObjectMeta {
                name: Some(format!("{PART_OF}-{}-{}", self.suffix, role.as_str())),
                namespace: Some(self.namespace.to_owned()),
                labels: Some(labels),
                ..ObjectMeta::default()
            },
            spec: Some(PodSpec {
                containers: vec![self.container(role, targets)],
                restart_policy: Some("Never".to_owned()),
                active_deadline_seconds: Some(DEADLINE),
                // It listens and knocks, and has nothing to put away.
                termination_grace_period_seconds: Some(0),
                automount_service_account_token: Some(false),
                enable_service_links: Some(false),
                node_selector: Some(selector),
                tolerations: Some(self.pool.tolerations.clone()).filter(|list| !list.is_empty()),
                image_pull_secrets: Some(self.pull_secrets.to_vec()).filter(|list| !list.is_empty()),
                security_context: Some(PodSecurityContext {
                    run_as_non_root: Some(true),
                    seccomp_profile: Some(SeccompProfile {
                        type_: "RuntimeDefault".to_owned(),
                        localhost_profile: None,
                    }),
                    ..PodSecurityContext::default()
                }),
                ..PodSpec::default()
            }),
            status: None,
        }
    }

    fn container(&self, role: PodRole, targets: &[ClosedTarget]) -> Container {
        let mut args = vec!["probe".to_owned()];
        match role {
            PodRole::Sibling => args.extend(["--listen".to_owned(), PORT.to_string()]),
            PodRole::Control => args.push("--hoping-for=answer".to_owned()),
            PodRole::Sandbox | PodRole::Build => args.push("--hoping-for=silence".to_owned()),
        }
        let asked = targets
            .iter()
            .map(|target| format!("{}={}", target.name, target.address));
        args.extend(asked);
        let amount = |quantities: &[(&str, &str)]| {
            let own =
                |(name, quantity): &(&str, &str)| ((*name).to_owned(), Quantity((*quantity).to_owned()));
            Some(quantities.iter().map(own).collect())
        };
        Container {
            name: CONTAINER.to_owned(),
            image: Some(self.image.to_owned()),
            image_pull_policy: Some("IfNotPresent".to_owned()),
            args: Some(args),
            resources: Some(ResourceRequirements {
                requests: amount(&[("cpu", "10m"), ("memory", "32Mi")]),
                limits: amount(&[("cpu", "500m"), ("memory", "64Mi")]),
                ..ResourceRequirements::default()
            }),
            security_context: Some(pod::unprivileged()),
            termination_message_policy: Some("File".to_owned()),
            ..Container::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(role: PodRole) -> BTreeMap<String, String> {
        let pool = NodePool::default();
        let round = Round {
            namespace: "codegen-system",
            image: "registry.example.com/codegen-operator:1",
            pull_secrets: &[],
            pool: &pool,
            suffix: "abcde",
            denied: "denied",
        };
        let target = ClosedTarget {
            name: "API server".to_owned(),
            address: "10.96.0.1:443".to_owned(),
            open_to_builds: false,
        };
        let pod = round.pod(role, &[target]);
        let args = pod.spec.unwrap().containers[0].args.clone().unwrap();
        assert_eq!(args.last().unwrap(), "API server=10.96.0.1:443");
        pod.metadata.labels.unwrap()
    }

    #[test]
    fn each_canary_carries_the_label_that_its_policy_selects_and_the_control_none() {
        assert_eq!(labels(PodRole::Sandbox)[EGRESS], "denied");
        assert_eq!(labels(PodRole::Build)[names::COMPONENT], "build");
        let control = labels(PodRole::Control);
        assert_eq!(control[names::COMPONENT], "canary");
        assert!(!control.contains_key(EGRESS));
    }
}
