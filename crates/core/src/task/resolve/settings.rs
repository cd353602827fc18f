//! Model, image, sandbox and limits, with the agent's settings and the defaults applied.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::package_policy::rules::{PackagePolicy, Rules};
use crate::sandbox::NetworkAccess;
use crate::task::{
    EscalationSettings, ImageSettings, LimitSettings, ModelSettings, Placement, SandboxSettings,
};
use codegen_api::common::{Backend, LocalRef};
use codegen_api::image::{DEFAULT_PYTHON_VERSION, default_base};
use codegen_api::limits::{
    DEFAULT_AGENT_MAX_TURNS, DEFAULT_DEADLINE, DEFAULT_MAX_BUILDS, DEFAULT_MAX_CONTEXT_TOKENS,
    DEFAULT_MAX_ITERATIONS, DEFAULT_MAX_MODEL_CALLS, DEFAULT_MAX_SAMPLE_ROWS, DEFAULT_MAX_TOKENS,
    DEFAULT_RECLASSIFY_AFTER,
};
use codegen_api::model::Escalation;
use codegen_api::packages::PackageRules;
use codegen_api::sandbox::{
    DEFAULT_CPU, DEFAULT_MEMORY, DEFAULT_RETRIES, DEFAULT_TIMEOUT, Egress, Network, Sandbox, SecretVariable,
};
use codegen_api::{duration, quantity};

use super::errors::{Problem, ResolveError, ResolveFaults};
use super::layers::{Layers, SettingsLayer};
use super::model::model_settings;

/// `frozen` is the name that was sent so far, for a model that has been asked before.
pub(super) fn model(layers: &Layers, frozen: Option<String>, faults: &mut ResolveFaults) -> ModelSettings {
    let settings = model_settings(&layers.models(), frozen);
    if settings.name.is_empty() {
        faults.add("spec.model.name", Problem::NoModel);
    }
    settings
}

pub(super) fn escalation(layers: &Layers) -> Vec<EscalationSettings> {
    let given = layers.first(|layer| Some(layer.escalation).filter(|list| !list.is_empty()));
    let settings = |one: &Escalation| EscalationSettings {
        after: u32::try_from(one.after).unwrap_or(1),
        model: model_settings(&std::iter::once(&one.model), None),
    };
    given.unwrap_or_default().iter().map(settings).collect()
}

pub(super) fn image(layers: &Layers) -> ImageSettings {
    let python_version = layers
        .first(|layer| layer.image?.python_version.as_deref())
        .unwrap_or(DEFAULT_PYTHON_VERSION);
    let base = layers
        .first(|layer| layer.image?.base.clone())
        .unwrap_or_else(|| default_base(python_version));
    let pip = layers.first(|layer| {
        layer
            .image
            .map(|image| &image.base_packages)
            .filter(|list| !list.is_empty())
    });
    let apt = layers.first(|layer| {
        layer
            .image
            .map(|image| &image.base_system_packages)
            .filter(|list| !list.is_empty())
    });
    let secret = |reference: &LocalRef| reference.name.clone();
    ImageSettings {
        reference: layers.first(|layer| layer.image?.reference.clone()),
        repository: layers.first(|layer| layer.image?.repository.clone()),
        pull_repository: layers.first(|layer| layer.image?.pull_repository.clone()),
        push_secret: layers.first(|layer| layer.image?.push_secret_ref.as_ref().map(secret)),
        pull_secret: layers.first(|layer| layer.image?.pull_secret_ref.as_ref().map(secret)),
        base,
        base_packages: pip.cloned().unwrap_or_default(),
        base_system_packages: apt.cloned().unwrap_or_default(),
        python_version: python_version.to_owned(),
        index_url: layers.first(|layer| layer.image?.index_url.clone()),
        index_ca_bundle: layers.first(|layer| layer.image?.index_ca_bundle.clone()),
    }
}

pub(super) fn packages(layers: &Layers, faults: &mut ResolveFaults) -> PackagePolicy {
    let names = |list: fn(&PackageRules) -> &Vec<String>| {
        let given = layers.first(|layer| layer.packages.map(list).filter(|names| !names.is_empty()));
        given.cloned().unwrap_or_default()
    };
    let days = layers.number(
        "packages.minReleaseAgeDays",
        0,
        3_650,
        |layer| layer.packages?.min_release_age_days.map(i64::from),
        faults,
    );
    PackagePolicy {
        own: Rules {
            allow: names(|rules| &rules.allow),
            deny: names(|rules| &rules.deny),
            min_release_age_days: days.unwrap_or_default(),
            verify_on_index: layers
                .first(|layer| layer.packages?.verify_on_index)
                .unwrap_or(true),
        },
        cluster: Rules::default(),
    }
}

pub(super) fn sandbox(layers: &Layers, faults: &mut ResolveFaults) -> SandboxSettings {
    let (path, cpu) = layers.text("sandbox.resources.limits.cpu", DEFAULT_CPU, |layer| {
        layer.sandbox?.resources.as_ref()?.limits.as_ref()?.cpu.as_deref()
    });
    let cpus = faults.value(path, quantity::cpus(cpu));
    let (path, memory) = layers.text("sandbox.resources.limits.memory", DEFAULT_MEMORY, |layer| {
        layer
            .sandbox?
            .resources
            .as_ref()?
            .limits
            .as_ref()?
            .memory
            .as_deref()
    });
    let memory_bytes = faults.value(path, quantity::bytes(memory));
    let disk = layers.find(|layer| {
        let limits = layer.sandbox?.resources.as_ref()?.limits.as_ref()?;
        limits.ephemeral_storage.as_deref()
    });
    let disk_bytes = disk.map(|(layer, text)| {
        let path = layer.path("sandbox.resources.limits.ephemeral-storage");
        faults.value(path, quantity::bytes(text))
    });
    let (path, timeout) = layers.text("sandbox.timeout", DEFAULT_TIMEOUT, |layer| {
        layer.sandbox?.timeout.as_deref()
    });
    let timeout_seconds = faults.value(path, seconds(timeout));
    let retries = layers.number(
        "sandbox.retries",
        0,
        10,
        |layer| layer.sandbox?.retries.map(i64::from),
        faults,
    );
    let network = layers.find(|layer| layer.sandbox?.network.as_ref());
    let network = network.map_or(NetworkAccess::Denied, |(layer, network)| {
        access(layer, network, faults)
    });
    let (env, secrets) = variables(layers, faults);
    SandboxSettings {
        cpus,
        memory_bytes,
        disk_bytes,
        timeout_seconds,
        retries: retries.unwrap_or(DEFAULT_RETRIES),
        network,
        env,
        secrets,
        placement: placement(layers),
    }
}

/// Variables of programs: those with their values, and those whose values are in Secrets.
fn variables(layers: &Layers, faults: &mut ResolveFaults) -> (BTreeMap<String, String>, Vec<SecretVariable>) {
    let env = layers.find(|layer| {
        layer
            .sandbox
            .map(|sandbox| &sandbox.env)
            .filter(|env| !env.is_empty())
    });
    let secrets = layers.find(|layer| {
        layer
            .sandbox
            .map(|sandbox| &sandbox.secrets)
            .filter(|list| !list.is_empty())
    });
    if let Some((layer, env)) = env {
        for name in env.keys().filter(|name| !names_variable(name)) {
            faults.add(layer.path("sandbox.env"), Problem::BadVariable(name.clone()));
        }
        for twice in secrets
            .iter()
            .flat_map(|(_, secrets)| *secrets)
            .filter(|secret| env.contains_key(&secret.name))
        {
            faults.add(
                layer.path("sandbox.secrets"),
                Problem::VariableTwice(twice.name.clone()),
            );
        }
    }
    (
        env.map(|(_, env)| env.clone()).unwrap_or_default(),
        secrets.map(|(_, secrets)| secrets.clone()).unwrap_or_default(),
    )
}

/// The settings of a run's sandbox: its own where it gives a field, else those of the task. `retries` counts the repeats
/// where the run says nothing: the task's are for its tests.
pub fn sandbox_over(
    task: &SandboxSettings,
    run: Option<&Sandbox>,
    retries: u32,
) -> Result<SandboxSettings, Vec<ResolveError>> {
    let mut merged = SandboxSettings {
        // The retries of the task are for its tests, and say nothing about its runs.
        retries,
        ..task.clone()
    };
    let Some(run) = run else {
        return Ok(merged);
    };
    let mut faults = ResolveFaults::default();
    let own = sandbox(&Layers::of_sandbox(run), &mut faults);
    overlay(&mut merged, run, own);
    // Also where one of the two is the task's.
    for twice in merged
        .secrets
        .iter()
        .filter(|secret| merged.env.contains_key(&secret.name))
    {
        let problem = Problem::VariableTwice(twice.name.clone());
        if faults.0.iter().all(|fault| fault.problem != problem) {
            faults.add("spec.sandbox.secrets", problem);
        }
    }
    if faults.0.is_empty() {
        Ok(merged)
    } else {
        Err(faults.0)
    }
}

/// Puts the settings that a run gives in the place of the task's.
fn overlay(merged: &mut SandboxSettings, run: &Sandbox, own: SandboxSettings) {
    let limits = run
        .resources
        .as_ref()
        .and_then(|resources| resources.limits.as_ref());
    // Field by field: a run that gives memory alone has the CPUs of the task.
    if limits.is_some_and(|limits| limits.cpu.is_some()) {
        merged.cpus = own.cpus;
    }
    if limits.is_some_and(|limits| limits.memory.is_some()) {
        merged.memory_bytes = own.memory_bytes;
    }
    merged.disk_bytes = own.disk_bytes.or(merged.disk_bytes);
    if run.timeout.is_some() {
        merged.timeout_seconds = own.timeout_seconds;
    }
    if run.retries.is_some() {
        merged.retries = own.retries;
    }
    if run.network.is_some() {
        merged.network = own.network;
    }
    if !run.env.is_empty() {
        merged.env = own.env;
    }
    if !run.secrets.is_empty() {
        merged.secrets = own.secrets;
    }
    let (placement, own) = (&mut merged.placement, own.placement);
    placement.runtime_class_name = own.runtime_class_name.or(placement.runtime_class_name.take());
    placement.priority_class_name = own.priority_class_name.or(placement.priority_class_name.take());
    if !own.node_selector.is_empty() {
        placement.node_selector = own.node_selector;
    }
    if !own.tolerations.is_empty() {
        placement.tolerations = own.tolerations;
    }
}

fn placement(layers: &Layers) -> Placement {
    let node_selector = layers.first(|layer| {
        let labels = &layer.sandbox?.node_selector;
        (!labels.is_empty()).then(|| labels.clone())
    });
    let tolerations = layers.first(|layer| {
        let list = &layer.sandbox?.tolerations;
        (!list.is_empty()).then(|| list.clone())
    });
    Placement {
        runtime_class_name: layers.first(|layer| layer.sandbox?.runtime_class_name.clone()),
        node_selector: node_selector.unwrap_or_default(),
        tolerations: tolerations.unwrap_or_default(),
        priority_class_name: layers.first(|layer| layer.sandbox?.priority_class_name.clone()),
    }
}

fn access(layer: &SettingsLayer, network: &Network, faults: &mut ResolveFaults) -> NetworkAccess {
    match network.egress.unwrap_or_default() {
        Egress::Denied => NetworkAccess::Denied,
        Egress::Internet => NetworkAccess::Internet,
        Egress::List => {
            let mut targets = Vec::new();
            for (index, target) in network.allow.iter().enumerate() {
                let path = layer.path(&format!("sandbox.network.allow[{index}].ports"));
                let port = |port: &i32| {
                    let given = i64::from(*port);
                    u16::try_from(given).map_err(|_| Problem::OutOfRange {
                        given,
                        least: 1,
                        most: 65535,
                    })
                };
                let ports = target
                    .ports
                    .iter()
                    .map(port)
                    .collect::<Result<Vec<u16>, Problem>>();
                targets.push((target.cidr.clone(), faults.value(path, ports)));
            }
            NetworkAccess::List(targets)
        }
    }
}

pub(super) fn limits(layers: &Layers, faults: &mut ResolveFaults) -> LimitSettings {
    const CALLS: i64 = 10_000;
    let (path, deadline) = layers.text("limits.deadline", DEFAULT_DEADLINE, |layer| {
        layer.limits?.deadline.as_deref()
    });
    let deadline_seconds = faults.value(path, seconds(deadline));
    let iterations = layers.number(
        "limits.maxIterations",
        1,
        100,
        |layer| layer.limits?.max_iterations.map(i64::from),
        faults,
    );
    let turns = layers.number(
        "limits.agentMaxTurns",
        1,
        1_000,
        |layer| layer.limits?.agent_max_turns.map(i64::from),
        faults,
    );
    let tokens = layers.number(
        "limits.maxTokens",
        1,
        i64::MAX,
        |layer| layer.limits?.max_tokens,
        faults,
    );
    let calls = layers.number(
        "limits.maxModelCalls",
        1,
        CALLS,
        |layer| layer.limits?.max_model_calls.map(i64::from),
        faults,
    );
    let builds = layers.number(
        "limits.maxBuilds",
        1,
        1_000,
        |layer| layer.limits?.max_builds.map(i64::from),
        faults,
    );
    let context = layers.number(
        "limits.maxContextTokens",
        200,
        1_000_000,
        |layer| layer.limits?.max_context_tokens.map(i64::from),
        faults,
    );
    let reclassify = layers.number(
        "limits.reclassifyAfter",
        1,
        10,
        |layer| layer.limits?.reclassify_after.map(i64::from),
        faults,
    );
    let agent_max_turns = turns.unwrap_or(DEFAULT_AGENT_MAX_TURNS);
    let is_agent = layers.first(|layer| layer.backend) == Some(Backend::Agent);
    LimitSettings {
        // Of an agent the turns are limited, and no attempt takes none.
        max_iterations: if is_agent {
            agent_max_turns
        } else {
            iterations.unwrap_or(DEFAULT_MAX_ITERATIONS)
        },
        agent_max_turns,
        max_tokens: tokens.unwrap_or(DEFAULT_MAX_TOKENS),
        max_model_calls: calls.unwrap_or(DEFAULT_MAX_MODEL_CALLS),
        max_builds: builds.unwrap_or(DEFAULT_MAX_BUILDS),
        deadline_seconds,
        max_context_tokens: context.unwrap_or(DEFAULT_MAX_CONTEXT_TOKENS),
        reclassify_after: reclassify.unwrap_or(DEFAULT_RECLASSIFY_AFTER),
    }
}

pub(super) fn max_sample_rows(layers: &Layers, faults: &mut ResolveFaults) -> usize {
    let rows = layers.number(
        "maxSampleRows",
        0,
        10_000,
        |layer| layer.max_sample_rows.map(i64::from),
        faults,
    );
    rows.unwrap_or(DEFAULT_MAX_SAMPLE_ROWS)
}

fn seconds(text: &str) -> Result<f64, Problem> {
    match duration::parse(text)? {
        Duration::ZERO => Err(Problem::NoTime),
        duration => Ok(duration.as_secs_f64()),
    }
}

/// Reports whether a shell could set a variable of this name.
fn names_variable(name: &str) -> bool {
    !name.starts_with(|first: char| first.is_ascii_digit())
        && !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
