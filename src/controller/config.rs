//! The operator's configuration file.
//!
//! The chart writes its values into it as they are. Nothing secret stands in it: credentials are Secrets that tasks name.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Deserialize;

use super::selector::TaskSelector;
use codegen_api::approval::Gate;
use codegen_core::package_policy::Rules;
use codegen_sandbox::kubernetes::settings::{BuildSettings, PodSettings, Registries, Settings};

mod agent;
mod code_mode;
mod egress;
mod memory;

pub use agent::AgentSettings;
pub use code_mode::{CodeModeSettings, InterpreterMemory};
pub use egress::{EgressSettings, Gates, ModelEgress};
pub use memory::limit_of_container;

/// Everything that whoever installs the operator can say. A field that is left out has its default.
#[derive(Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct OperatorConfig {
    /// Address of `/healthz`, `/readyz` and `/metrics`.
    #[schemars(with = "String")]
    pub listen: SocketAddr,
    /// Namespaces whose tasks are worked on. Empty: all.
    pub watch_namespaces: Vec<String>,
    /// Of the tasks there, those that are worked on. Empty: all.
    #[schemars(with = "String")]
    pub task_selector: TaskSelector,
    /// Limits on work that is done at once.
    pub limits: ConcurrencyLimits,
    /// Election of the one replica that works.
    pub leader_election: LeaderElection,
    /// Retention of finished tasks.
    pub history: History,
    /// Gates at which tasks wait for a person.
    pub approvals: ApprovalSettings,
    /// The operator's own image: pushes images. Default: the environment's `OPERATOR_IMAGE`.
    pub operator_image: Option<String>,
    /// Addresses to which the operator itself may send requests that tasks ask for.
    pub egress: EgressSettings,
    /// Model servers that tasks may name.
    pub model: ModelEgress,
    /// Packages that may be installed, whatever a task says.
    pub packages: Rules,
    /// Bounds on agents, whatever a task says.
    pub agent: AgentSettings,
    /// Bounds on code mode, whatever an agent says.
    pub code_mode: CodeModeSettings,
    /// Access to registries.
    pub registries: Registries,
    /// Image builds.
    pub build: BuildSettings,
    /// Sandbox Pods.
    pub sandbox: PodSettings,
}

impl Default for OperatorConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([0, 0, 0, 0], 8080)),
            watch_namespaces: Vec::new(),
            task_selector: TaskSelector::default(),
            limits: ConcurrencyLimits::default(),
            leader_election: LeaderElection::default(),
            history: History::default(),
            approvals: ApprovalSettings::default(),
            operator_image: None,
            egress: EgressSettings::default(),
            model: ModelEgress::default(),
            packages: Rules::default(),
            agent: AgentSettings::default(),
            code_mode: CodeModeSettings::default(),
            registries: Registries::default(),
            build: BuildSettings::default(),
            sandbox: PodSettings::default(),
        }
    }
}

/// Limits on work that is done at once.
#[derive(Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ConcurrencyLimits {
    /// Tasks under way at once.
    pub max_concurrent_tasks: usize,
    /// Tasks of one namespace under way at once. 0: no limit of its own.
    pub max_tasks_per_namespace: usize,
    /// Runs of finished programs under way at once.
    pub max_concurrent_runs: usize,
    /// Runs of one namespace under way at once. 0: no limit of its own.
    pub max_runs_per_namespace: usize,
    /// Model calls in flight at once to one endpoint (scheme, host and port).
    pub max_calls_per_endpoint: usize,
    /// Processes that read data at once. Each may take 256 MiB of the memory that the operator's Pod has.
    pub max_readers: usize,
}

impl Default for ConcurrencyLimits {
    fn default() -> Self {
        Self {
            max_concurrent_tasks: 100,
            max_tasks_per_namespace: 0,
            max_concurrent_runs: 100,
            max_runs_per_namespace: 0,
            max_calls_per_endpoint: 16,
            max_readers: 3,
        }
    }
}

/// Election of the one replica that works.
#[derive(Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct LeaderElection {
    /// Without it every replica works, so there must be one only.
    pub enabled: bool,
    /// Name of the Lease, in the operator's own namespace.
    pub lease_name: String,
    /// Seconds after the last renewal from which on another replica may lead.
    pub duration_seconds: u32,
    /// Seconds before that in which a leader that could not renew leads no more.
    pub grace_seconds: u32,
}

impl Default for LeaderElection {
    fn default() -> Self {
        Self {
            enabled: true,
            lease_name: "codegen-operator".to_owned(),
            duration_seconds: 15,
            grace_seconds: 5,
        }
    }
}

impl LeaderElection {
    /// Returns the time that a lease holds after its last renewal.
    #[must_use]
    pub fn duration(&self) -> Duration {
        Duration::from_secs(self.duration_seconds.into())
    }

    /// Returns the time by which a leader gives up before its lease ends.
    #[must_use]
    pub fn grace(&self) -> Duration {
        Duration::from_secs(self.grace_seconds.into())
    }
}

/// Retention of finished tasks. What a task says itself (`spec.ttlSecondsAfterFinished`) goes first.
#[derive(Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct History {
    /// Seconds after its end at which a task that says nothing of it is deleted. `null`: never.
    pub ttl_seconds_after_finished: Option<u32>,
    /// Succeeded tasks of a namespace that are kept, the latest. `null`: all.
    pub succeeded_limit: Option<u32>,
    /// Failed tasks of a namespace that are kept, the latest. `null`: all.
    pub failed_limit: Option<u32>,
}

/// Gates at which tasks wait for a person, and the policy that vouches for the person's name.
#[derive(Deserialize, JsonSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ApprovalSettings {
    /// Gates of every task, besides its own and its agent's: whoever applies a task cannot leave them out.
    pub required: Vec<Gate>,
    /// Name of the `ValidatingAdmissionPolicy`, and of its binding, that holds the name in a decision to that of the request.
    /// Default: the environment's `APPROVAL_POLICY`; without it names count as not verified.
    pub admission_policy: Option<String>,
}

/// A configuration file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("cannot read the configuration {file}: {source}", file = file.display())]
    Read {
        /// Path of the file.
        file: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// It is not what it should be.
    #[error("{file}, {place}: {why}", file = file.display())]
    Invalid {
        /// Path of the file.
        file: PathBuf,
        /// The line with its text, or the field.
        place: String,
        /// Mistake, and what to write instead.
        why: String,
    },
}

impl OperatorConfig {
    /// Reads a configuration file.
    pub fn read(file: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(file).map_err(|source| ConfigError::Read {
            file: file.to_owned(),
            source,
        })?;
        Self::parse(file, &text)
    }

    /// Reads the text of a configuration file. `file` is for messages.
    pub fn parse(file: &Path, text: &str) -> Result<Self, ConfigError> {
        let invalid = |place: String, why: String| ConfigError::Invalid {
            file: file.to_owned(),
            place,
            why,
        };
        let options = serde_saphyr::options! { with_snippet: false, strict_booleans: true };
        let config: Option<Self> = serde_saphyr::from_str_with_options(text, options)
            .map_err(|error| invalid(place(&error, text), why(&error)))?;
        let config = config.unwrap_or_default();
        match config.fault() {
            Some((field, why)) => Err(invalid(field.to_owned(), why.to_owned())),
            None => Ok(config),
        }
    }

    /// The JSON schema of the file (draft 7, which Helm takes too). Formats within texts are not part of it.
    #[must_use]
    pub fn schema() -> schemars::Schema {
        let settings = SchemaSettings::draft07().with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        });
        settings.into_generator().into_root_schema_for::<Self>()
    }

    /// Settings of sandboxes and builds.
    #[must_use]
    pub fn sandbox_settings(&self) -> Settings {
        Settings {
            operator_image: self.operator_image.clone(),
            registries: self.registries.clone(),
            build: self.build.clone(),
            sandbox: self.sandbox.clone(),
        }
    }

    /// The first field whose value makes no sense.
    fn fault(&self) -> Option<(&'static str, &'static str)> {
        let election = &self.leader_election;
        if self.limits.max_concurrent_tasks == 0 {
            return Some((
                "limits.maxConcurrentTasks",
                "with 0 no task would ever run: write 1 or more",
            ));
        }
        if self.limits.max_calls_per_endpoint == 0 {
            return Some((
                "limits.maxCallsPerEndpoint",
                "with 0 no model would ever be called: write 1 or more",
            ));
        }
        if self.limits.max_readers == 0 {
            return Some((
                "limits.maxReaders",
                "with 0 no sample would ever be read: write 1 or more",
            ));
        }
        if self.build.cache_claim.is_some() {
            return Some((
                "build.cacheClaim",
                "layers on a claim are written by whatever packages are installed there, and other builds would believe them: leave it out",
            ));
        }
        let builds = self.build.namespace.as_deref();
        if let Some(fault) = self
            .packages
            .unusable()
            .or_else(|| self.agent.unusable())
            .or_else(|| self.code_mode.unusable())
            .or_else(|| self.registries.unusable(builds))
        {
            return Some(fault);
        }
        if election.lease_name.is_empty() {
            return Some((
                "leaderElection.leaseName",
                "it is empty: write the name of a Lease",
            ));
        }
        if election.grace_seconds == 0 || election.grace_seconds >= election.duration_seconds {
            return Some((
                "leaderElection.graceSeconds",
                "write at least 1 and less than durationSeconds: two replicas might work at once otherwise",
            ));
        }
        None
    }
}

/// Names the mistake, where the library's words would be about itself.
fn why(error: &serde_saphyr::Error) -> String {
    match error {
        serde_saphyr::Error::DuplicateMappingKey { .. } => "the key stands twice: keep one".to_owned(),
        serde_saphyr::Error::Budget { .. } => {
            "there is more than a configuration needs, or its aliases unfold to more: write out what is meant"
                .to_owned()
        }
        error => error.to_string(),
    }
}

/// Locates an error: the line and what stands in it.
fn place(error: &serde_saphyr::Error, text: &str) -> String {
    let Some(number) = error.location().map(|location| location.line()) else {
        return "as a whole".to_owned();
    };
    let line = usize::try_from(number)
        .ok()
        .and_then(|number| text.lines().nth(number.checked_sub(1)?))
        .unwrap_or_default();
    format!("line {number} (`{}`)", line.trim())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn parse(text: &str) -> Result<OperatorConfig, String> {
        OperatorConfig::parse(Path::new("config.yaml"), text).map_err(|error| error.to_string())
    }

    #[rstest]
    #[case("")]
    #[case("{}")]
    #[case("# nothing\n")]
    #[case("limits: {}\nleaderElection: {}\nhistory: {ttlSecondsAfterFinished: null}\nsandbox: {}\n")]
    fn what_is_left_out_has_its_default(#[case] text: &str) {
        let config = parse(text).unwrap();
        assert_eq!(config, OperatorConfig::default());
        assert_eq!(config.listen.port(), 8080);
        assert_eq!(config.limits.max_concurrent_tasks, 100);
        assert_eq!(config.leader_election.duration(), Duration::from_secs(15));
    }

    #[test]
    fn every_part_can_be_said() {
        let config = parse(
            "listen: 127.0.0.1:9000\n\
             watchNamespaces: [data, science]\n\
             taskSelector: 'team in (a,b),!legacy'\n\
             limits: {maxConcurrentTasks: 5, maxTasksPerNamespace: 2, maxCallsPerEndpoint: 3}\n\
             leaderElection: {enabled: false, leaseName: other, durationSeconds: 30, graceSeconds: 10}\n\
             history: {ttlSecondsAfterFinished: 3600, succeededLimit: 10, failedLimit: 5}\n\
             egress: {allow: ['http://files.data:8080', 'https://*.example.com']}\n\
             packages: {allow: ['scikit-*', 'apt:*'], deny: [torch], minReleaseAgeDays: 7}\n\
             registries: {insecure: [registry.example:5000]}\n\
             build: {deadlineSeconds: 60}\n\
             sandbox: {runtimeClassName: gvisor}\n",
        )
        .unwrap();
        assert_eq!(config.watch_namespaces, ["data", "science"]);
        assert_eq!(config.task_selector.as_str(), "team in (a,b),!legacy");
        assert_eq!(config.limits.max_tasks_per_namespace, 2);
        assert_eq!(config.history.ttl_seconds_after_finished, Some(3600));
        assert_eq!(config.egress.allow.len(), 2);
        assert_eq!(config.packages.allow, ["scikit-*", "apt:*"]);
        assert_eq!(
            (
                config.packages.min_release_age_days,
                config.packages.verify_on_index
            ),
            (7, true)
        );
        let settings = config.sandbox_settings();
        assert_eq!(settings.registries.insecure, ["registry.example:5000"]);
        assert_eq!(settings.build.deadline_seconds, 60);
        assert_eq!(settings.sandbox.runtime_class_name.as_deref(), Some("gvisor"));
    }

    #[rstest]
    #[case("limits:\n  maxConcurentTasks: 5\n", "line 2", "maxConcurentTasks")]
    #[case(
        "\nlimits:\n  maxConcurrentTasks: many\n",
        "line 3",
        "maxConcurrentTasks: many"
    )]
    #[case("listen: somewhere\n", "line 1", "listen: somewhere")]
    #[case("leaderElection:\n  enabled: yes please\n", "line 2", "enabled: yes please")]
    #[case("a: [\n", "line", "config.yaml")]
    #[case("limits: {}\nlimits: {}\n", "line 2", "the key stands twice: keep one")]
    #[case("egress:\n  allow: [files.data]\n", "line 2", "`files.data` is no origin")]
    #[case(
        "codeMode:\n  interpreterMemory: much\n",
        "line 2",
        "is not an amount of memory"
    )]
    #[case(
        "taskSelector: team is data\n",
        "line 1",
        "`team is data` is no requirement of a label selector"
    )]
    fn an_error_names_file_line_and_field(#[case] text: &str, #[case] line: &str, #[case] field: &str) {
        let message = parse(text).unwrap_err();
        assert!(message.starts_with("config.yaml, "), "{message}");
        assert!(message.contains(line) && message.contains(field), "{message}");
    }

    #[rstest]
    #[case("limits: {maxConcurrentTasks: 0}", "limits.maxConcurrentTasks")]
    #[case("limits: {maxCallsPerEndpoint: 0}", "limits.maxCallsPerEndpoint")]
    #[case("build: {cacheClaim: layers}", "build.cacheClaim")]
    #[case("packages: {deny: ['pandas>=2']}", "packages.deny")]
    #[case("packages: {allow: ['']}", "packages.allow")]
    #[case("agent: {deniedCommands: [jq, /usr/bin/awk]}", "agent.deniedCommands")]
    #[case("agent: {deniedCommands: ['']}", "agent.deniedCommands")]
    #[case("agent: {deniedCommands: [pytest]}", "agent.deniedCommands")]
    #[case("codeMode: {maxInterpreters: 0}", "codeMode.maxInterpreters")]
    #[case("codeMode: {interpreterMemory: 4Mi}", "codeMode.interpreterMemory")]
    #[case("registries: {allow: ['https://registry.example/*']}", "registries.allow")]
    #[case(
        "registries: {pushSecretRef: {name: a}, pushSecretWithBuilds: true}",
        "registries.pushSecretWithBuilds"
    )]
    #[case(
        "{registries: {pushSecretWithBuilds: true}, build: {namespace: b}}",
        "registries.pushSecretWithBuilds"
    )]
    #[case(
        "packages: {minReleaseAgeDays: 7, verifyOnIndex: false}",
        "packages.minReleaseAgeDays"
    )]
    #[case("leaderElection: {graceSeconds: 15}", "leaderElection.graceSeconds")]
    #[case("leaderElection: {graceSeconds: 0}", "leaderElection.graceSeconds")]
    #[case("leaderElection: {leaseName: ''}", "leaderElection.leaseName")]
    fn a_value_that_makes_no_sense_is_refused(#[case] text: &str, #[case] field: &str) {
        let message = parse(text).unwrap_err();
        assert!(
            message.starts_with(&format!("config.yaml, {field}: ")),
            "{message}"
        );
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = OperatorConfig::read(Path::new("absent/config.yaml")).unwrap_err();
        assert!(error.to_string().contains("absent/config.yaml"), "{error}");
    }
}
