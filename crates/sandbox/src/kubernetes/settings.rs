//! What whoever installs the operator says about builds and sandboxes. Part of the operator's configuration file.

mod isolation;

use std::collections::BTreeMap;
use std::path::PathBuf;

use k8s_openapi::api::core::v1::{AppArmorProfile, LocalObjectReference, ResourceRequirements, Toleration};
use k8s_openapi::api::networking::v1::NetworkPolicyEgressRule;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::json;

pub use self::isolation::{ClosedTarget, IsolationSettings, NodePool};
use codegen_api::common::LocalRef;
use codegen_api::quantity;
use codegen_core::task::ImageSettings;
use codegen_egress::EgressEntry;

/// Builds, sandboxes and registries.
#[derive(Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Settings {
    /// The operator's own image: pushes images. From `OPERATOR_IMAGE` when it is not given.
    pub operator_image: Option<String>,
    /// How registries are reached.
    pub registries: Registries,
    /// Image builds.
    pub build: BuildSettings,
    /// Sandbox Pods.
    pub sandbox: PodSettings,
}

/// How registries are reached, by the operator and by builds.
#[derive(Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Registries {
    /// Registries (`registry.example:5000`) that are spoken to without TLS. No other ever is.
    pub insecure: Vec<String>,
    /// Further certificate authorities, PEM files in the operator's container.
    pub authorities: Vec<PathBuf>,
    /// Repositories that the operator asks, and pushes to, for tasks and runs, with * for any characters
    /// (`registry.example:5000/team/*`). Those of this configuration need no entry. What builders and nodes pull by digest is not
    /// looked at. Empty: all.
    pub allow: Vec<String>,
    /// Origins (`https://auth.example.com`) besides its own that a registry may send the operator and builds to: for tokens, which its
    /// credentials are shown for, and to blobs that lie at private addresses. Those of well-known registries need no entry.
    #[schemars(with = "Vec<String>")]
    pub trusted_origins: Vec<EgressEntry>,
    /// Repository that images are pushed to where neither task nor agent name one.
    pub repository: Option<String>,
    /// By which name nodes know that repository, where it is another one.
    pub pull_repository: Option<String>,
    /// Secret in the namespace of each task that is shown to that repository, where neither task nor agent name one.
    pub push_secret_ref: Option<LocalRef>,
    /// Whether that Secret lies in `build.namespace` instead, where nobody who writes tasks has rights: then the operator and its builds alone
    /// push there.
    pub push_secret_with_builds: bool,
}

impl Registries {
    /// The first field whose value makes no sense, where builds are made in the namespace `builds`, and why.
    #[must_use]
    pub fn unusable(&self, builds: Option<&str>) -> Option<(&'static str, &'static str)> {
        let is_repository =
            // A scheme, a digest or a blank shows that an address or an image was entered; as a pattern it would match nothing, and every
            // task would be refused.
            |text: &String| !text.is_empty() && !text.contains("://") && !text.contains(['@', ' ']);
        if !self.allow.iter().all(is_repository) {
            return Some((
                "registries.allow",
                "write hosts and repositories without https:// and tags, with * for any characters: registry.example.com/team/*",
            ));
        }
        // The switch moves the shared Secret: without a namespace of builds, or without that Secret, nobody could say where it lies.
        let is_named = builds.is_some() && self.push_secret_ref.is_some();
        (self.push_secret_with_builds && !is_named).then_some((
            "registries.pushSecretWithBuilds",
            "it says that the Secret registries.pushSecretRef lies in build.namespace: name both",
        ))
    }

    /// Whether the Secret that `image` is pushed with lies beside builds, and not beside the task.
    #[must_use]
    pub fn pushes_from_builds(&self, image: &ImageSettings) -> bool {
        self.push_secret_with_builds && self.is_shared(image)
    }

    /// Whether `image` goes to the repository of all tasks with the Secret of all tasks.
    fn is_shared(&self, image: &ImageSettings) -> bool {
        let shared = self.push_secret_ref.as_ref().map(|reference| &reference.name);
        // A task with a repository or a Secret of its own is not shown the shared credentials.
        image.repository.is_none() && shared.is_some() && image.push_secret.as_ref() == shared
    }

    /// Patterns of the repositories that may be asked for; none: all.
    #[must_use]
    pub fn allowed(&self) -> Vec<String> {
        let own = self.repository.iter().chain(&self.pull_repository).cloned();
        // No list is no restriction. With one, the operator's own repositories need no entry: else whoever writes the first entry stops all
        // builds.
        if self.allow.is_empty() {
            return Vec::new();
        }
        self.allow.iter().cloned().chain(own).collect()
    }

    /// Gives an image that is to be built for the repository of all tasks the Secret for it.
    pub fn complete(&self, image: &mut ImageSettings) {
        // Only for the shared repository: a task must not have the operator's credentials shown to a registry of its own.
        if image.repository.is_none() && image.reference.is_none() && image.push_secret.is_none() {
            image.push_secret = self
                .push_secret_ref
                .as_ref()
                .map(|reference| reference.name.clone());
        }
    }

    /// An image that nodes know, as the operator knows its registry.
    #[must_use]
    pub fn as_operator_knows(&self, image: &str) -> String {
        let ours = self.repository.as_ref().zip(self.pull_repository.as_ref());
        let renamed = ours.and_then(|(repository, pull)| {
            let rest = image.strip_prefix(pull.as_str())?;
            // A whole name must match: `registry/team` is no prefix of `registry/team-b`.
            rest.starts_with(['@', ':', '/'])
                .then(|| format!("{repository}{rest}"))
        });
        renamed.unwrap_or_else(|| image.to_owned())
    }

    /// Who names the Secret that `image` is pushed with.
    #[must_use]
    pub fn push_secret_field(&self, image: &ImageSettings) -> &'static str {
        if self.is_shared(image) {
            "registries.pushSecretRef of the operator"
        } else {
            "image.pushSecretRef"
        }
    }
}

/// Image builds.
#[derive(Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct BuildSettings {
    /// Namespace of all builds, for where those of tasks enforce a level that admits none. None: each task's own.
    pub namespace: Option<String>,
    /// The Kaniko executor.
    pub executor_image: String,
    /// Seconds that a build has.
    pub deadline_seconds: u32,
    /// Resources of the builder. A build that ran out of memory gets twice the limit once.
    #[schemars(schema_with = "resources")]
    pub resources: ResourceRequirements,
    /// Environment variables that switch features of the executor (`FF_KANIKO_...`).
    pub feature_flags: BTreeMap<String, String>,
    /// Environment variables of the executor and of what it runs: proxies, `PIP_...`. They do not become part of the
    /// image.
    pub env: BTreeMap<String, String>,
    /// Certificate authorities of package indexes and proxies, PEM files in the operator's container.
    pub index_authorities: Vec<PathBuf>,
    /// No longer taken: layers on a claim are written by whatever is being installed, and other builds would believe them.
    #[schemars(skip)]
    pub cache_claim: Option<String>,
    /// What builds may reach.
    pub network: BuildNetwork,
    /// Nodes that builds may use.
    pub node_selector: BTreeMap<String, String>,
    /// Taints that builds tolerate.
    pub tolerations: Vec<Toleration>,
    /// `priorityClassName` of every build.
    pub priority_class_name: Option<String>,
    /// Credentials that nodes pull the executor and the operator's image with.
    pub image_pull_secrets: Vec<LocalObjectReference>,
}

impl Default for BuildSettings {
    fn default() -> Self {
        let amounts = |cpu: &str, memory: &str| {
            let amount = |text: &str| Quantity(text.to_owned());
            Some(BTreeMap::from([
                ("cpu".to_owned(), amount(cpu)),
                ("memory".to_owned(), amount(memory)),
                // Unpacked base, environment and the image beside them are all on the node's disk.
                ("ephemeral-storage".to_owned(), amount("10Gi")),
            ]))
        };
        Self {
            namespace: None,
            executor_image: "ghcr.io/osscontainertools/kaniko:v1.28.3".to_owned(),
            deadline_seconds: 900,
            resources: ResourceRequirements {
                requests: amounts("500m", "1Gi"),
                limits: amounts("2", "4Gi"),
                ..ResourceRequirements::default()
            },
            feature_flags: BTreeMap::new(),
            env: BTreeMap::new(),
            index_authorities: Vec::new(),
            cache_claim: None,
            network: BuildNetwork::default(),
            node_selector: BTreeMap::new(),
            tolerations: Vec::new(),
            priority_class_name: None,
            image_pull_secrets: Vec::new(),
        }
    }
}

/// YAML may say `cpu: 2`.
fn resources(_: &mut SchemaGenerator) -> Schema {
    let amounts = json!({"type": "object", "additionalProperties": {"type": ["string", "number"]}});
    json_schema!({
        "type": "object",
        "additionalProperties": false,
        "properties": {"requests": amounts, "limits": amounts}
    })
}

/// What builds may reach: public addresses, DNS and what is listed; never private and link-local ranges, which are where
/// Pods, Services and the cloud's metadata lie.
#[derive(Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct BuildNetwork {
    /// Whether a NetworkPolicy is made at all.
    pub enabled: bool,
    /// Registries and package indexes at private addresses (`10.1.2.3/32`).
    pub allow: Vec<AllowedTarget>,
    /// Public ranges that builds may not reach either: the API server's, where it has a public address; Pods and Services,
    /// where they have.
    pub except: Vec<String>,
    /// Replaces all of the above.
    pub egress: Option<Vec<NetworkPolicyEgressRule>>,
}

impl Default for BuildNetwork {
    fn default() -> Self {
        Self {
            enabled: true,
            allow: Vec::new(),
            except: Vec::new(),
            egress: None,
        }
    }
}

/// A range of addresses, and the TCP ports there.
#[derive(Deserialize, JsonSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AllowedTarget {
    /// The range.
    pub cidr: String,
    /// TCP ports; none: all.
    #[serde(default)]
    pub ports: Vec<u16>,
}

/// Sandbox Pods.
#[derive(Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct PodSettings {
    /// `runtimeClassName` of every sandbox; a task cannot name another one.
    pub runtime_class_name: Option<String>,
    /// Nodes that sandboxes may use.
    pub node_selector: BTreeMap<String, String>,
    /// Taints that sandboxes tolerate.
    pub tolerations: Vec<Toleration>,
    /// `priorityClassName` of sandboxes whose task names none.
    pub priority_class_name: Option<String>,
    /// Credentials that nodes pull with, besides the task's own.
    pub image_pull_secrets: Vec<LocalObjectReference>,
    /// `preemptionPolicy` of every sandbox; it must be that of the priority class.
    pub preemption_policy: Option<String>,
    /// `hostUsers` of every sandbox; `false` gives each its own user namespace, where nodes can.
    pub host_users: Option<bool>,
    /// `appArmorProfile` of every sandbox, where nodes have such profiles.
    pub app_armor_profile: Option<AppArmorProfile>,
    /// Whether every sandbox gets a user id of its own. `false` leaves it to the platform (`OpenShift`); its limit of
    /// processes then counts all sandboxes of a namespace on the same node.
    pub unique_users: bool,
    /// CPU time that is kept free for a sandbox, thousandths of a CPU; never more than its limit.
    pub cpu_request_millis: u32,
    /// Disk of a sandbox besides large outputs: its log and nothing else, what it writes lies in memory.
    pub ephemeral_storage: String,
    /// Seconds that pulling the image and starting may take.
    pub start_allowance_seconds: u32,
    /// Address (`host:port`) that must not answer from inside a sandbox. Default: the API server's Service.
    pub probe: Option<String>,
    /// What tasks may ask for of their own in `sandbox`, besides what stands here for all.
    pub allowed: AllowedPlacement,
    /// What sandboxes may reach.
    pub network: NetworkSettings,
    /// Whether the cluster keeps them from the rest.
    pub isolation: IsolationSettings,
}

/// What tasks may ask for of where their sandboxes run; `*` is everything, and nothing is listed by default.
#[derive(Deserialize, JsonSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct AllowedPlacement {
    /// Priority classes (`batch-low`).
    pub priority_classes: Vec<String>,
    /// Labels of nodes, with their value or with any (`pool=batch`, `disk`).
    pub node_labels: Vec<String>,
    /// Keys of taints (`gpu`).
    pub taints: Vec<String>,
}

impl PodSettings {
    /// Disk of a sandbox, bytes. What is no amount in the forms that manifests need the API server refuses in any other Pod.
    #[must_use]
    pub fn ephemeral_storage_bytes(&self) -> u64 {
        quantity::bytes(&self.ephemeral_storage).unwrap_or_default()
    }
}

impl Default for PodSettings {
    fn default() -> Self {
        Self {
            runtime_class_name: None,
            node_selector: BTreeMap::new(),
            tolerations: Vec::new(),
            priority_class_name: None,
            image_pull_secrets: Vec::new(),
            preemption_policy: None,
            host_users: None,
            app_armor_profile: None,
            unique_users: true,
            // Sandboxes request little CPU: most of the time their node has some to spare, and their limit still holds.
            cpu_request_millis: 100,
            ephemeral_storage: "256Mi".to_owned(),
            // Pulling a large image counts against the Pod's deadline and not against the job's time.
            start_allowance_seconds: 600,
            probe: None,
            allowed: AllowedPlacement::default(),
            network: NetworkSettings::default(),
            isolation: IsolationSettings::default(),
        }
    }
}

impl PodSettings {
    /// The pools of nodes that sandboxes run on.
    #[must_use]
    pub fn node_pools(&self) -> Vec<NodePool> {
        if !self.isolation.node_pools.is_empty() {
            return self.isolation.node_pools.clone();
        }
        vec![NodePool {
            name: "default".to_owned(),
            node_selector: self.node_selector.clone(),
            tolerations: self.tolerations.clone(),
        }]
    }

    /// Whether code runs in this namespace although it was not shown that it is isolated.
    #[must_use]
    pub fn may_be_open(&self, namespace: &str) -> bool {
        self.isolation
            .unverified_namespaces
            .iter()
            .any(|name| name == namespace)
    }
}

/// What sandboxes with a network may reach.
#[derive(Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NetworkSettings {
    /// Public ranges that belong to the cluster (Pods, Services, API server, registry) and stay closed, like every private
    /// range.
    pub denied_cidrs: Vec<String>,
    /// Private ranges that tasks may list.
    pub allowed_private_cidrs: Vec<String>,
    /// Namespace of the cluster's DNS.
    pub dns_namespace: String,
    /// Labels of the DNS Pods.
    pub dns_pod_labels: BTreeMap<String, String>,
    /// Further addresses that names are looked up at. Default: where a cache on the node listens.
    pub dns_cidrs: Vec<String>,
}

impl Default for NetworkSettings {
    fn default() -> Self {
        Self {
            denied_cidrs: Vec::new(),
            allowed_private_cidrs: Vec::new(),
            dns_namespace: "kube-system".to_owned(),
            dns_pod_labels: BTreeMap::from([("k8s-app".to_owned(), "kube-dns".to_owned())]),
            // The address that NodeLocal DNSCache listens on by default.
            dns_cidrs: vec!["169.254.20.10/32".to_owned()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use codegen_core::test_support::task;

    fn registries() -> Registries {
        serde_json::from_str(
            r#"{"repository": "registry.example/codegen", "pushSecretRef": {"name": "shared"}}"#,
        )
        .unwrap()
    }

    #[test]
    fn a_list_of_repositories_holds_the_operators_own_and_no_list_lets_all_in() {
        assert!(registries().allowed().is_empty());
        let listed = Registries {
            allow: vec!["docker.io/library/*".to_owned()],
            ..registries()
        };
        assert_eq!(
            listed.allowed(),
            ["docker.io/library/*", "registry.example/codegen"]
        );
    }

    #[test]
    fn an_image_for_the_repository_of_all_tasks_is_pushed_with_the_secret_of_all_tasks() {
        let mut image = task().image;
        (image.repository, image.push_secret) = (None, None);
        registries().complete(&mut image);
        assert_eq!(image.push_secret.as_deref(), Some("shared"));
        assert!(registries().push_secret_field(&image).contains("of the operator"));
    }

    #[test]
    fn an_image_for_a_repository_of_its_own_never_meets_the_secret_of_all_tasks() {
        let mut image = task().image;
        (image.repository, image.push_secret) = (Some("registry.example/own".to_owned()), None);
        registries().complete(&mut image);
        assert_eq!(image.push_secret, None);
    }

    #[test]
    fn the_secret_beside_builds_pushes_to_the_repository_of_all_tasks_alone() {
        let registries = Registries {
            push_secret_with_builds: true,
            ..registries()
        };
        let image = |repository: Option<&str>, secret: &str| ImageSettings {
            repository: repository.map(str::to_owned),
            push_secret: Some(secret.to_owned()),
            ..task().image
        };
        assert!(registries.pushes_from_builds(&image(None, "shared")));
        assert!(!registries.pushes_from_builds(&image(None, "own")));
        assert!(!registries.pushes_from_builds(&image(Some("registry.example/own"), "shared")));
    }

    #[test]
    fn a_task_that_names_a_secret_keeps_it() {
        let mut image = task().image;
        (image.repository, image.push_secret) = (None, Some("own".to_owned()));
        registries().complete(&mut image);
        assert_eq!(image.push_secret.as_deref(), Some("own"));
        assert_eq!(registries().push_secret_field(&image), "image.pushSecretRef");
    }
}
