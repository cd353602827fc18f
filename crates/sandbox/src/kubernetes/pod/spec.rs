//! The objects of one run: its Pod, the Secret with its job, the namespace's harness. Pure.

use std::collections::BTreeMap;
use std::env::consts::ARCH;
use std::sync::LazyLock;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{
    ConfigMap, Container, EnvVar, LocalObjectReference, Pod, PodSpec, ResourceRequirements, Secret,
    Toleration,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::super::manifest::{self, containers, remove_volume, variable};
use super::super::names;
use super::super::settings::PodSettings;
use super::execution::{CONTAINER, Execution, PodProgram, READER_MEMORY_BYTES, READER_SECONDS};
use super::inputs;
use super::job_key::{CHECK_NAME, JOB_KEY, JOB_NAME, JobKey, KEY_NAME, PodKeys};
use super::network::EGRESS;
use super::placement;
use super::volumes::{bytes, harness_name};
use crate::{SandboxError, harness};
use codegen_core::digest::sha256_hex;
use codegen_core::sandbox::{JobLimits, NetworkAccess};

/// Name of the container that checks outputs after it.
pub(super) const CHECKER: &str = "checker";
/// Variable with the key of the message's signature.
pub const NONCE: &str = "CODEGEN_NONCE";
/// Variable with the address that must not answer.
const PROBE: &str = "CODEGEN_PROBE";
/// Variable with the digest of the harness that is mounted: see [`START`].
const HARNESS_SHA256: &str = "CODEGEN_HARNESS_SHA256";
/// Variable with the digest of the job, before it was encrypted.
pub const JOB_SHA256: &str = "CODEGEN_JOB_SHA256";
/// Checks whether the harness is what the operator wrote.
const START: &str = include_str!("start.py");
/// Value of [`PROBE`] where nothing is checked.
const NO_PROBE: &str = "none";
/// The job, as the program of a Pod finds it.
pub const JOB_FILE: &str = "/job/job.json";
/// Type of that Secret.
const JOB_TYPE: &str = "codegen-operator.dev/job";
/// Users of sandboxes: nobody else's, on no distribution.
const FIRST_USER: i64 = 100_000;
const USERS: i64 = 65_536;

/// Manifest of the harness.
static HARNESS: LazyLock<ConfigMap> = LazyLock::new(|| manifest::parse(include_str!("harness.yaml")));

/// Digest of a folder as a Pod computes it: of its files' names and contents.
pub fn folder_sha256<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> String {
    let sorted: BTreeMap<&str, &[u8]> = files.into_iter().collect();
    let mut lines = String::new();
    for (name, content) in sorted {
        lines.push_str(name);
        lines.push('\0');
        lines.push_str(&sha256_hex(content));
        lines.push('\n');
    }
    sha256_hex(lines.as_bytes())
}

/// The harness of this version, shared by a namespace's sandboxes.
pub(super) fn harness_config_map() -> ConfigMap {
    let mut map = HARNESS.clone();
    map.metadata.name = Some(harness_name());
    let files = harness::FILES.iter();
    let files = files.map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    map.data = Some(files.collect());
    map
}

impl Execution<'_> {
    /// The Secret with the job, encrypted with `key`: it holds values of the task's own Secrets.
    pub(super) fn secret(&self, key: &JobKey) -> Secret {
        let mut data = vec![
            (JOB_NAME.to_owned(), key.apply(self.body)),
            (KEY_NAME.to_owned(), key.hex().into_bytes()),
        ];
        let asked = self.check.map(|check| key.for_check().apply(&check.body));
        data.extend(asked.map(|asked| (CHECK_NAME.to_owned(), asked)));
        data.extend(inputs::contents(self.job));
        Secret {
            metadata: self.metadata(self.own_labels()),
            immutable: Some(true),
            type_: Some(JOB_TYPE.to_owned()),
            data: Some(
                data.into_iter()
                    .map(|(name, content)| (name, ByteString(content)))
                    .collect(),
            ),
            string_data: None,
        }
    }

    /// The Pod: its program's manifest, filled; where outputs are checked, the checker starts after the program. Without `keys` one to
    /// compare others with.
    pub(super) fn pod(&self, keys: Option<&PodKeys>) -> Result<Pod, SandboxError> {
        // Before anything is made: a refusal names the setting and leaves no object behind.
        let wanted = &self.task.sandbox.placement;
        if let Some(refusal) = placement::refusal(&self.settings.allowed, wanted) {
            return Err(refusal);
        }
        let mut pod = self.program.manifest().clone();
        pod.metadata = self.metadata(self.labels());
        let spec = pod.spec.get_or_insert_default();
        if self.check.is_none()
            && let Some(program) = spec.init_containers.take()
        {
            spec.containers = program;
            remove_volume(spec, "check");
        }
        for container in containers(spec) {
            self.fill(container, keys);
        }
        self.fill_volumes(spec)?;
        self.fill_settings(spec);
        Ok(pod)
    }

    /// Labels of the Pod: by them policies select it.
    pub(super) fn labels(&self) -> BTreeMap<String, String> {
        let mut labels = self.own_labels();
        labels.insert(EGRESS.to_owned(), self.egress.to_owned());
        labels
    }

    fn own_labels(&self) -> BTreeMap<String, String> {
        self.owner.labels(self.program.component())
    }

    fn metadata(&self, labels: BTreeMap<String, String>) -> ObjectMeta {
        ObjectMeta {
            name: Some(self.name.to_owned()),
            namespace: Some(self.owner.namespace.clone()),
            labels: Some(labels),
            owner_references: Some(vec![OwnerReference {
                controller: Some(true),
                ..self.owner.reference.clone()
            }]),
            ..ObjectMeta::default()
        }
    }

    fn fill(&self, container: &mut Container, keys: Option<&PodKeys>) {
        let (mut image, mut body, mut limits) = (self.image, self.body, self.job.limits.clone());
        let mut key = keys.map(|keys| keys.job.clone());
        if let Some(check) = self.check.filter(|_| container.name == CHECKER) {
            (image, body) = (&check.image, &check.body);
            (limits.cpus, limits.memory_bytes) = (1.0, READER_MEMORY_BYTES);
            key = key.map(|key| key.for_check());
        }
        let nonce = keys.map_or("", |keys| &keys.nonce);
        let key = key.map(|key| key.hex()).unwrap_or_default();
        let mut env = vec![variable(NONCE, nonce), variable(JOB_KEY, &key)];
        if matches!(self.program, PodProgram::Harness) && container.name == CONTAINER {
            env.extend(self.harness_variables());
            container.command = Some(self.harness_command());
        }
        env.push(variable(JOB_SHA256, &sha256_hex(body)));
        container.env = Some(env);
        container.image = Some(image.to_owned());
        let volume_bytes = self.check.map(|_| self.volume_bytes());
        container.resources = Some(resources(&limits, self.settings, volume_bytes));
    }

    fn harness_command(&self) -> Vec<String> {
        let start = format!("{START}\n{}", harness::START_IN_POD);
        let words: &[&str] = if self.task.image.reference.is_some() {
            &["/bin/sh", "-c", harness::OWN_INTERPRETER, &start]
        } else {
            let (base, python) = (harness::INTERPRETER, harness::ENVIRONMENT_PYTHON);
            &[base, "-I", "-S", "-c", &start, python]
        };
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn harness_variables(&self) -> impl Iterator<Item = EnvVar> {
        // Where the network need not be shown as closed, an address that answers must not stop the harness.
        let probe = if self.settings.may_be_open(&self.owner.namespace) {
            Some(NO_PROBE)
        } else {
            self.settings.probe.as_deref()
        };
        let files = harness::FILES.iter();
        let files = folder_sha256(files.map(|(name, text)| (*name, text.as_bytes())));
        let probe = probe.map(|address| variable(PROBE, address));
        probe.into_iter().chain([variable(HARNESS_SHA256, &files)])
    }

    /// Sets what the settings and the task say of the whole Pod.
    fn fill_settings(&self, spec: &mut PodSpec) {
        let (settings, image) = (self.settings, &self.task.image);
        let wanted = &self.task.sandbox.placement;
        spec.active_deadline_seconds = Some(self.deadline_seconds());
        spec.host_users = settings.host_users;
        if self.job.network != NetworkAccess::Denied {
            spec.dns_policy = Some("ClusterFirst".to_owned());
            spec.dns_config = None;
        }
        let security = spec.security_context.get_or_insert_default();
        security.run_as_user = settings.unique_users.then(|| user_of(self.name));
        security.run_as_group = security.run_as_user;
        security.fs_group = self.outputs.and_then(|outputs| outputs.fs_group);
        // `OnRootMismatch` spares a walk over every file of a large claim at each start.
        security.fs_group_change_policy = security.fs_group.map(|_| "OnRootMismatch".to_owned());
        security.app_armor_profile.clone_from(&settings.app_armor_profile);
        // The administrator's runtime class cannot be replaced by a weaker one of the task.
        let runtime_class = settings.runtime_class_name.as_ref();
        spec.runtime_class_name = runtime_class.or(wanted.runtime_class_name.as_ref()).cloned();
        let priority_class = wanted.priority_class_name.as_ref();
        spec.priority_class_name = priority_class.or(settings.priority_class_name.as_ref()).cloned();
        spec.preemption_policy.clone_from(&settings.preemption_policy);
        spec.node_selector = Some(self.node_selector());
        let tolerations = wanted.tolerations.iter().map(toleration);
        let tolerations: Vec<_> = settings.tolerations.iter().cloned().chain(tolerations).collect();
        spec.tolerations = Some(tolerations).filter(|list| !list.is_empty());
        // One secret is enough to pull: that of the task's pull, else of its push.
        let own_secret = image.pull_secret.as_ref().or(image.push_secret.as_ref());
        let own_secret = own_secret.map(|name| LocalObjectReference { name: name.clone() });
        let shared = settings.image_pull_secrets.iter().chain(self.pull_secrets);
        let secrets: Vec<_> = own_secret.into_iter().chain(shared.cloned()).collect();
        spec.image_pull_secrets = Some(secrets).filter(|list| !list.is_empty());
    }

    /// The time of all phases, and what pulling the image and starting may take.
    fn deadline_seconds(&self) -> i64 {
        let check = if self.check.is_some() { READER_SECONDS } else { 0.0 };
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the API bounds a timeout to years"
        )]
        let timeout = (self.job.longest_seconds() + check).ceil() as i64;
        timeout.saturating_add(self.settings.start_allowance_seconds.into())
    }

    /// The image's architecture is the operator's, unless a node is named otherwise; the administrator's word is the last.
    fn node_selector(&self) -> BTreeMap<String, String> {
        let architecture = names::architecture(ARCH);
        let mut selector = BTreeMap::from([("kubernetes.io/arch".to_owned(), architecture.to_owned())]);
        selector.extend(self.task.sandbox.placement.node_selector.clone());
        selector.extend(self.settings.node_selector.clone());
        selector
    }
}

/// A toleration of the task; its fields are those of a Pod.
fn toleration(wanted: &codegen_api::sandbox::Toleration) -> Toleration {
    // Plain data with string keys: writing it to memory cannot fail.
    let fields = serde_json::to_value(wanted).unwrap_or_default();
    serde_json::from_value(fields).unwrap_or_default()
}

/// A user of its own: a limit of processes counts those of a user, on the whole node.
fn user_of(name: &str) -> i64 {
    // By the name: the same Pod has the same user when it is compared with what would be made.
    let digits = &sha256_hex(name.as_bytes())[..8];
    FIRST_USER + i64::from_str_radix(digits, 16).unwrap_or_default() % USERS
}

/// Memory is kept free for a sandbox, CPU time is shared. `volume_bytes` is what the volumes on its node's disk may take besides.
fn resources(limits: &JobLimits, settings: &PodSettings, volume_bytes: Option<u64>) -> ResourceRequirements {
    let memory = bytes(limits.memory_bytes);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the API bounds CPUs"
    )]
    let limit_millis = (limits.cpus * 1000.0).round() as u64;
    let request_millis = u64::from(settings.cpu_request_millis).min(limit_millis);
    let disk = match volume_bytes {
        None => Quantity(settings.ephemeral_storage.clone()),
        Some(volume) => bytes(volume.saturating_add(settings.ephemeral_storage_bytes())),
    };
    let list = |cpu: u64| {
        BTreeMap::from([
            ("cpu".to_owned(), Quantity(format!("{cpu}m"))),
            ("memory".to_owned(), memory.clone()),
            ("ephemeral-storage".to_owned(), disk.clone()),
        ])
    };
    ResourceRequirements {
        requests: Some(list(request_millis)),
        limits: Some(list(limit_millis)),
        claims: None,
    }
}

#[cfg(test)]
pub(super) mod tests;
