//! The Pods that try. Pure.

use std::collections::BTreeMap;
use std::env::consts::ARCH;
use std::sync::LazyLock;

use k8s_openapi::api::core::v1::{LocalObjectReference, Pod};

use super::super::manifest::{self, containers};
use super::super::names::{self, Component};
use super::super::pod::EGRESS;
use super::super::settings::NodePool;
use super::ClosedTarget;

/// Manifest of such a Pod.
static CANARY: LazyLock<Pod> = LazyLock::new(|| manifest::parse(include_str!("canary.yaml")));
/// Port on which the sibling listens.
pub(super) const PORT: u16 = 8443;

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
        let mut pod = CANARY.clone();
        pod.metadata.name = Some(format!("{PART_OF}-{}-{}", self.suffix, role.as_str()));
        pod.metadata.namespace = Some(self.namespace.to_owned());
        let labels = pod.metadata.labels.get_or_insert_default();
        labels.extend(role.labels(self.denied));
        let spec = pod.spec.get_or_insert_default();
        for container in containers(spec) {
            container.image = Some(self.image.to_owned());
            let args = container.args.get_or_insert_default();
            match role {
                PodRole::Sibling => args.extend(["--listen".to_owned(), PORT.to_string()]),
                PodRole::Control => args.push("--hoping-for=answer".to_owned()),
                PodRole::Sandbox | PodRole::Build => args.push("--hoping-for=silence".to_owned()),
            }
            let asked = targets.iter();
            args.extend(asked.map(|target| format!("{}={}", target.name, target.address)));
        }
        let architecture = (
            "kubernetes.io/arch".to_owned(),
            names::architecture(ARCH).to_owned(),
        );
        let selector = spec.node_selector.get_or_insert_default();
        selector.extend([architecture]);
        selector.extend(self.pool.node_selector.clone());
        spec.tolerations = Some(self.pool.tolerations.clone()).filter(|list| !list.is_empty());
        spec.image_pull_secrets = Some(self.pull_secrets.to_vec()).filter(|list| !list.is_empty());
        pod
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::kubernetes) fn canary() -> Pod {
        made(PodRole::Sandbox)
    }

    fn made(role: PodRole) -> Pod {
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
        round.pod(role, &[target])
    }

    fn labels(role: PodRole) -> BTreeMap<String, String> {
        let pod = made(role);
        let args = pod.spec.unwrap().containers[0].args.clone().unwrap();
        assert_eq!(args.last().unwrap(), "API server=10.96.0.1:443");
        let labels = pod.metadata.labels.unwrap();
        // By it all of them are removed.
        assert_eq!(labels[names::PART_OF], PART_OF);
        labels
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
