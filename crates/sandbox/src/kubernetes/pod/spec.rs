//! The objects of one run: its Pod, the Secret with its job, the namespace's harness. Pure.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{
    Capabilities, ConfigMap, Container, EnvVar, LocalObjectReference, Pod, PodDNSConfig, PodSecurityContext,
    PodSpec, ResourceRequirements, SeccompProfile, Secret, SecurityContext, Toleration, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::super::names::{self, Component};
use super::super::settings::PodSettings;
use super::execution::{CONTAINER, Execution, OutputsCheck, PodProgram, READER_MEMORY_BYTES, READER_SECONDS};
use super::inputs;
use super::job_key::{CHECK_NAME, JOB_KEY, JOB_NAME, JobKey, KEY_NAME, PodKeys};
use super::network::EGRESS;
use super::placement;
use super::volumes::{bytes, checker_mounts, harness_name};
use crate::{SandboxError, harness};
use codegen_api::sandbox::{TaintEffect, TolerationOperator};
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
/// The subcommand of the operator that reads sources.
const READ_SOURCES: &str = "read-sources";
/// The subcommand of the operator that pushes outputs.
/// The job, as the program of a Pod finds it.
pub const JOB_FILE: &str = "/job/job.json";
/// Type of that Secret.
const JOB_TYPE: &str = "codegen-operator.dev/job";
/// Users of sandboxes: nobody else's, on no distribution.
const FIRST_USER: i64 = 100_000;
const USERS: i64 = 65_536;

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
    let files = harness::FILES.iter();
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(harness_name()),
            labels: Some(BTreeMap::from([
                (names::MANAGED_BY.to_owned(), names::OPERATOR.to_owned()),
                (
                    names::COMPONENT.to_owned(),
                    Component::Harness.as_str().to_owned(),
                ),
            ])),
            ..ObjectMeta::default()
        },
        // Nobody changes it once a Pod has been compared with it.
        immutable: Some(true),
        data: Some(
            files
                .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
                .collect(),
        ),
        binary_data: None,
    }
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

    /// The Pod: Pod Security level *restricted*, one container, nothing of the cluster's in it; where outputs are checked, after that one the
    /// checker. Without `keys` one to compare others with.
    pub(super) fn pod(&self, keys: Option<&PodKeys>) -> Result<Pod, SandboxError> {
        let written = match self.program {
            PodProgram::Harness => self.outputs,
            PodProgram::Reader(_) => None,
        };
        let (input_volumes, input_mounts) = inputs::volumes(
            &self.job.inputs,
            self.job.has_own_inputs(),
            &inputs::places(self.job, self.inputs, self.name),
            written,
        )?;
        let (volumes, mounts) = self.own_volumes();
        let settings = self.settings;
        let wanted = &self.task.sandbox.placement;
        // Before anything is made: a refusal names the setting and leaves no object behind.
        if let Some(refusal) = placement::refusal(&settings.allowed, wanted) {
            return Err(refusal);
        }
        let denied = self.job.network == NetworkAccess::Denied;
        let image = &self.task.image;
        // One secret is enough to pull: that of the task's pull, else of its push.
        let own_secret = image.pull_secret.as_ref().or(image.push_secret.as_ref());
        let own_secret = own_secret.map(|name| LocalObjectReference { name: name.clone() });
        let pull_secrets: Vec<_> = own_secret
            .into_iter()
            .chain(settings.image_pull_secrets.clone())
            .chain(self.pull_secrets.iter().cloned())
            .collect();
        // The administrator's runtime class cannot be replaced by a weaker one of the task.
        let runtime_class = settings
            .runtime_class_name
            .as_ref()
            .or(wanted.runtime_class_name.as_ref());
        let priority_class = wanted
            .priority_class_name
            .as_ref()
            .or(settings.priority_class_name.as_ref());
        let program = self.container(mounts.into_iter().chain(input_mounts).collect(), keys);
        let (init_containers, containers) = match self.check {
            None => (None, vec![program]),
            Some(check) => (Some(vec![program]), vec![self.checker(check, keys)]),
        };
        let spec = PodSpec {
            init_containers,
            containers,
            volumes: Some(volumes.into_iter().chain(input_volumes).collect()),
            restart_policy: Some("Never".to_owned()),
            active_deadline_seconds: Some(self.deadline_seconds()),
            // The harness has nothing to put away.
            termination_grace_period_seconds: Some(1),
            automount_service_account_token: Some(false),
            enable_service_links: Some(false),
            hostname: Some("sandbox".to_owned()),
            host_users: settings.host_users,
            dns_policy: Some(if denied { "None" } else { "ClusterFirst" }.to_owned()),
            dns_config: denied.then(|| PodDNSConfig {
                // Nobody listens there: resolving fails at once instead of after every time-out of a resolver.
                nameservers: Some(vec!["127.0.0.1".to_owned()]),
                ..PodDNSConfig::default()
            }),
            security_context: Some(self.pod_security()),
            runtime_class_name: runtime_class.cloned(),
            priority_class_name: priority_class.cloned(),
            preemption_policy: settings.preemption_policy.clone(),
            node_selector: Some(self.node_selector()),
            tolerations: Some(self.tolerations()).filter(|list| !list.is_empty()),
            image_pull_secrets: Some(pull_secrets).filter(|list| !list.is_empty()),
            ..PodSpec::default()
        };
        Ok(Pod {
            metadata: self.metadata(self.labels()),
            spec: Some(spec),
            status: None,
        })
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

    fn container(&self, mounts: Vec<VolumeMount>, keys: Option<&PodKeys>) -> Container {
        let nonce = keys.map_or("", |keys| &keys.nonce);
        let job_key = keys.map(|keys| keys.job.hex()).unwrap_or_default();
        let mut env = vec![variable(NONCE, nonce), variable(JOB_KEY, &job_key)];
        let words = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect());
        let (command, args, working_dir) = match self.program {
            PodProgram::Harness => {
                // Where the network need not be shown as closed, an address that answers must not stop the harness.
                let probe = if self.settings.may_be_open(&self.owner.namespace) {
                    Some(NO_PROBE)
                } else {
                    self.settings.probe.as_deref()
                };
                env.extend(probe.map(|address| variable(PROBE, address)));
                let files = harness::FILES.iter();
                let files = folder_sha256(files.map(|(name, text)| (*name, text.as_bytes())));
                env.push(variable(HARNESS_SHA256, &files));
                let start = format!("{START}\n{}", harness::START_IN_POD);
                let command = if self.task.image.reference.is_some() {
                    words(&["/bin/sh", "-c", harness::OWN_INTERPRETER, &start])
                } else {
                    let (base, python) = (harness::INTERPRETER, harness::ENVIRONMENT_PYTHON);
                    words(&[base, "-I", "-S", "-c", &start, python])
                };
                (command, None, Some("/sandbox".to_owned()))
            }
            PodProgram::Reader(_) => (None, words(&[READ_SOURCES]), None),
        };
        env.push(variable(JOB_SHA256, &sha256_hex(self.body)));
        Container {
            name: CONTAINER.to_owned(),
            image: Some(self.image.to_owned()),
            image_pull_policy: Some("IfNotPresent".to_owned()),
            command,
            args,
            env: Some(env),
            working_dir,
            resources: Some(resources(
                &self.job.limits,
                self.settings,
                self.check.map(|_| self.volume_bytes()),
            )),
            security_context: Some(unprivileged()),
            volume_mounts: Some(mounts),
            // `FallbackToLogsOnError` would take the end of the log for a message; what counts is signed.
            termination_message_policy: Some("File".to_owned()),
            ..Container::default()
        }
    }

    /// Makes the container that checks the outputs when the program has ended, for which its container comes first.
    fn checker(&self, check: &OutputsCheck, keys: Option<&PodKeys>) -> Container {
        let nonce = keys.map_or("", |keys| &keys.nonce);
        let key = keys.map(|keys| keys.job.for_check().hex()).unwrap_or_default();
        let limits = JobLimits {
            cpus: 1.0,
            memory_bytes: READER_MEMORY_BYTES,
            ..self.job.limits.clone()
        };
        Container {
            name: CHECKER.to_owned(),
            image: Some(check.image.clone()),
            image_pull_policy: Some("IfNotPresent".to_owned()),
            args: Some(vec![READ_SOURCES.to_owned()]),
            env: Some(vec![
                variable(NONCE, nonce),
                variable(JOB_KEY, &key),
                variable(JOB_SHA256, &sha256_hex(&check.body)),
            ]),
            resources: Some(resources(&limits, self.settings, Some(self.volume_bytes()))),
            security_context: Some(unprivileged()),
            volume_mounts: Some(checker_mounts()),
            termination_message_policy: Some("File".to_owned()),
            ..Container::default()
        }
    }

    fn pod_security(&self) -> PodSecurityContext {
        let user = self.settings.unique_users.then(|| user_of(self.name));
        let fs_group = self.outputs.and_then(|outputs| outputs.fs_group);
        PodSecurityContext {
            run_as_non_root: Some(true),
            run_as_user: user,
            run_as_group: user,
            fs_group,
            // `OnRootMismatch` spares a walk over every file of a large claim at each start.
            fs_group_change_policy: fs_group.map(|_| "OnRootMismatch".to_owned()),
            seccomp_profile: Some(SeccompProfile {
                type_: "RuntimeDefault".to_owned(),
                localhost_profile: None,
            }),
            app_armor_profile: self.settings.app_armor_profile.clone(),
            ..PodSecurityContext::default()
        }
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
        let mut selector = BTreeMap::from([("kubernetes.io/arch".to_owned(), architecture().to_owned())]);
        selector.extend(self.task.sandbox.placement.node_selector.clone());
        selector.extend(self.settings.node_selector.clone());
        selector
    }

    fn tolerations(&self) -> Vec<Toleration> {
        let mut tolerations = self.settings.tolerations.clone();
        tolerations.extend(self.task.sandbox.placement.tolerations.iter().map(toleration));
        tolerations
    }
}

fn variable(name: &str, value: &str) -> EnvVar {
    EnvVar {
        name: name.to_owned(),
        value: Some(value.to_owned()),
        value_from: None,
    }
}

fn toleration(wanted: &codegen_api::sandbox::Toleration) -> Toleration {
    let operator = wanted.operator.map(|operator| match operator {
        TolerationOperator::Equal => "Equal",
        TolerationOperator::Exists => "Exists",
    });
    let effect = wanted.effect.map(|effect| match effect {
        TaintEffect::NoSchedule => "NoSchedule",
        TaintEffect::PreferNoSchedule => "PreferNoSchedule",
        TaintEffect::NoExecute => "NoExecute",
    });
    Toleration {
        key: wanted.key.clone(),
        operator: operator.map(str::to_owned),
        value: wanted.value.clone(),
        effect: effect.map(str::to_owned),
        toleration_seconds: wanted.toleration_seconds,
    }
}

/// No privilege, no capability, and a root file system that cannot be written.
pub(in crate::kubernetes) fn unprivileged() -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        privileged: Some(false),
        read_only_root_filesystem: Some(true),
        capabilities: Some(Capabilities {
            drop: Some(vec!["ALL".to_owned()]),
            add: None,
        }),
        ..SecurityContext::default()
    }
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

/// This program's architecture, as nodes name theirs.
pub fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

#[cfg(test)]
mod tests;
