//! Checks periodically whether the cluster isolates sandboxes and builds, and holds tasks while it does not.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::net::lookup_host;
use tokio::time::timeout;

use super::context::Context;
use super::hold::queued;
use super::record::cache::ended_in;
use codegen_api::CodeGenTask;
use codegen_api::conditions::reason;
use codegen_core::machine::Decision;
use codegen_core::status::{Hold, IsolationShown, Until};
use codegen_core::task::Task;
use codegen_sandbox::kubernetes::isolation::{
    API_SERVER, ClosedTarget, Isolation, IsolationVerdict, PoolFinding, Prover, Standing, recorded,
};
use codegen_sandbox::kubernetes::settings::{NodePool, Settings};

/// Address at which clouds serve credentials to their machines.
// The same link-local address at all large providers.
const METADATA: &str = "169.254.169.254:80";
/// Pause after a check that did not show isolation.
const SOON: Duration = Duration::from_secs(30);
/// Intervals for which the last result stays valid when a check fails.
const LASTS: u32 = 3;
/// Longest time that the name of a registry may take to resolve.
const RESOLVES_WITHIN: Duration = Duration::from_secs(5);
const RESOLVER: &str = "/etc/resolv.conf";

/// Checks every pool of nodes until it is dropped.
pub async fn check_periodically(context: Arc<Context>, namespace: String) {
    let settings = &context.settings;
    // With 0 the loop below would never sleep.
    let interval = Duration::from_secs(settings.sandbox.isolation.interval_seconds.max(1).into());
    // Reads: findings outlive the process in an annotation of the policy, so that a restart need not wait for Pods.
    let mut records = recorded(&context.client, &namespace, settings).await;
    let pools = settings.sandbox.node_pools();
    // The settings may have other pools than those of the process before.
    records.retain(|record| pools.iter().any(|pool| pool.name == record.pool));
    for pool in &pools {
        take_recorded(&context.isolation, pool, &records, interval);
    }
    loop {
        // Resolved anew for each check: the registry may have another address by then.
        let targets = match settings.sandbox.isolation.targets.clone() {
            Some(targets) => targets,
            None => default_targets(settings).await,
        };
        let prover = Prover {
            client: context.client.clone(),
            namespace: &namespace,
            settings,
            targets: &targets,
        };
        let mut pause = interval;
        for pool in &pools {
            let now = Timestamp::now();
            // Only decides: what was shown a moment ago is not shown again.
            let left = interval.saturating_sub(age(&records, pool, now));
            if !left.is_zero() {
                pause = pause.min(left);
                continue;
            }
            // Creates the Pods, reads what they reached, and removes them.
            let verdict = prover.check(pool).await;
            if !matches!(verdict, IsolationVerdict::Enforced { .. }) {
                pause = pause.min(SOON);
            }
            note(&context, pool, verdict, &mut records, interval * LASTS);
        }
        // Writes. An error costs the next start one check, and nothing is less safe.
        if let Err(error) = prover.record(&records).await {
            tracing::warn!(%error, "what was found of the isolation is not kept for the next start");
        }
        tokio::time::sleep(pause).await;
    }
}

/// Takes over a verdict of a moment ago, which need not be shown again because the operator started anew.
fn take_recorded(isolation: &Isolation, pool: &NodePool, records: &[PoolFinding], interval: Duration) {
    if age(records, pool, Timestamp::now()) >= interval {
        return;
    }
    if let Some(record) = records.iter().find(|record| record.pool == pool.name) {
        isolation.found(pool, record.verdict.clone());
    }
}

/// Returns the time since the pool was shown to isolate.
fn age(records: &[PoolFinding], pool: &NodePool, now: Timestamp) -> Duration {
    let shown = records.iter().find(|record| {
        record.pool == pool.name && matches!(record.verdict, IsolationVerdict::Enforced { .. })
    });
    shown.map_or(Duration::MAX, |record| {
        // A clock that was set back makes it old.
        Duration::try_from(now.duration_since(record.at)).unwrap_or(Duration::MAX)
    })
}

/// Remembers a finding; one that says nothing does not take the place of one that is not old.
fn note(
    context: &Context,
    pool: &NodePool,
    verdict: IsolationVerdict,
    records: &mut Vec<PoolFinding>,
    lasts: Duration,
) {
    let now = Timestamp::now();
    if let IsolationVerdict::Unknown { why } = &verdict {
        tracing::warn!(
            pool = pool.name,
            why,
            "a look at the isolation of sandboxes came to nothing"
        );
        // A check that came to nothing, as for want of room on a node, says nothing against what was seen before.
        if age(records, pool, now) < lasts {
            return;
        }
    }
    match &verdict {
        IsolationVerdict::Enforced { blocked, unproved } => {
            tracing::debug!(pool = pool.name, ?blocked, ?unproved, "sandboxes are isolated");
        }
        IsolationVerdict::Open { policy, reached } => {
            tracing::error!(
                pool = pool.name,
                policy,
                ?reached,
                "the cluster does not isolate: nothing is run"
            );
        }
        IsolationVerdict::Unknown { .. } => {}
    }
    context
        .metrics
        .set_isolated(&pool.name, matches!(verdict, IsolationVerdict::Enforced { .. }));
    records.retain(|record| record.pool != pool.name);
    records.push(PoolFinding {
        pool: pool.name.clone(),
        at: now,
        verdict: verdict.clone(),
    });
    context.isolation.found(pool, verdict);
    // Whatever the result: each task goes on, or says what a canary reached.
    context.tasks.wake_those(waits_for_a_check);
}

/// Lists the targets that a sandbox has no business with in any cluster.
async fn default_targets(settings: &Settings) -> Vec<ClosedTarget> {
    let target = |name: &str, address: String, open_to_builds| ClosedTarget {
        name: name.to_owned(),
        address,
        open_to_builds,
    };
    let mut targets = vec![
        // The kubelet fills in the Service's variables where the operator itself does not have them.
        target(API_SERVER, api_server(), false),
        target("metadata service", METADATA.to_owned(), false),
    ];
    // Without the file there is one target less; the others are checked all the same.
    let resolver = std::fs::read_to_string(RESOLVER).unwrap_or_default();
    targets.extend(name_server(&resolver).map(|address| target("name server", address, true)));
    if let Some(repository) = &settings.registries.repository
        && let Some(address) = address_of_registry(repository).await
    {
        targets.push(target("registry", address, true));
    }
    targets
}

fn api_server() -> String {
    let host = std::env::var("KUBERNETES_SERVICE_HOST").ok();
    let port = std::env::var("KUBERNETES_SERVICE_PORT").unwrap_or_else(|_| "443".to_owned());
    match host {
        Some(host) if host.contains(':') => format!("[{host}]:{port}"),
        Some(host) => format!("{host}:{port}"),
        None => "$(KUBERNETES_SERVICE_HOST):$(KUBERNETES_SERVICE_PORT)".to_owned(),
    }
}

/// The first name server of a `resolv.conf`.
fn name_server(resolver: &str) -> Option<String> {
    let lines = resolver.lines();
    let address = lines
        .filter_map(|line| line.trim().strip_prefix("nameserver"))
        .map(str::trim)
        .find(|address| !address.is_empty())?;
    Some(if address.contains(':') {
        format!("[{address}]:53")
    } else {
        format!("{address}:53")
    })
}

/// Resolves the registry of a repository to an address: canaries cannot resolve names.
async fn address_of_registry(repository: &str) -> Option<String> {
    let (host, _) = repository.split_once('/')?;
    let host = if host
        .rsplit_once(':')
        .is_some_and(|(_, port)| port.parse::<u16>().is_ok())
    {
        host.to_owned()
    } else {
        format!("{host}:443")
    };
    // A name server that does not answer must not keep the other targets from being checked.
    let mut addresses = timeout(RESOLVES_WITHIN, lookup_host(host)).await.ok()?.ok()?;
    Some(addresses.next()?.to_string())
}

/// Says whether a check may have held the task, as its status says. One that ends before that is written is noticed after the pause.
fn waits_for_a_check(task: &CodeGenTask) -> bool {
    let reason = task.status.as_ref().and_then(|status| status.reason.as_deref());
    ended_in(task).is_none() && [Some(reason::QUEUED), Some(reason::ISOLATION_NOT_ENFORCED)].contains(&reason)
}

/// Returns the hold of a run whose program has the sandbox of `task`. It is requeued after a pause.
pub fn hold_of_run(context: &Context, task: &Task) -> Option<Hold> {
    // Every step of a run executes code: it is held like the tests of a task.
    what_holds(context, task, &Decision::Test)
}

/// The hold of a task whose next step is this one.
pub fn what_holds(context: &Context, task: &Task, decision: &Decision) -> Option<Hold> {
    match standing(context, task) {
        Standing::Verified(_) | Standing::Unverified(_) => None,
        // Holds every step: what is spent on calls would be spent for a program that may not run.
        Standing::Refuted(message) => Some(Hold {
            reason: reason::ISOLATION_NOT_ENFORCED,
            message,
            until: Until::Corrected,
        }),
        // Meanwhile everything that runs no code can be done.
        Standing::Awaited(message) => runs_code(decision).then(|| queued(message)),
    }
}

/// Returns the state of the isolation for the task's condition.
pub fn shown(context: &Context, task: &Task) -> IsolationShown {
    match standing(context, task) {
        Standing::Verified(message) => IsolationShown::Verified(message),
        Standing::Unverified(message) | Standing::Refuted(message) => IsolationShown::Refuted(message),
        Standing::Awaited(message) => IsolationShown::Awaited(message),
    }
}

fn standing(context: &Context, task: &Task) -> Standing {
    let settings = &context.settings.sandbox;
    if settings.may_be_open(&task.namespace) {
        return Standing::Unverified(format!(
            "the operator's settings let code run in the namespace {} without isolation",
            task.namespace
        ));
    }
    let mut selector: BTreeMap<String, String> = task.sandbox.placement.node_selector.clone();
    selector.extend(settings.node_selector.clone());
    context.isolation.standing(&selector)
}

const fn runs_code(decision: &Decision) -> bool {
    match decision {
        Decision::CallBesideBuild(_) | Decision::Build | Decision::Test | Decision::RunCommands => true,
        Decision::ReadSamples
        | Decision::Call(_)
        | Decision::GoOn
        | Decision::DiagnoseAcceptance
        | Decision::AwaitApproval(_)
        | Decision::Publish
        | Decision::Accept
        | Decision::Stop(_)
        | Decision::Wait(_)
        | Decision::Finished => false,
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    #[test]
    fn the_first_name_server_is_a_target() {
        let text = "search a.svc\nnameserver 10.96.0.10\nnameserver 8.8.8.8\n";
        assert_eq!(name_server(text).as_deref(), Some("10.96.0.10:53"));
        assert_eq!(
            name_server("nameserver fd00::a\n").as_deref(),
            Some("[fd00::a]:53")
        );
        assert_eq!(name_server("options ndots:5\n"), None);
    }

    #[tokio::test]
    async fn a_registry_is_a_target_by_its_address() {
        let address = async |repository| address_of_registry(repository).await;
        assert_eq!(
            address("127.0.0.1:5000/environments").await.as_deref(),
            Some("127.0.0.1:5000")
        );
        assert_eq!(address("127.0.0.1/x").await.as_deref(), Some("127.0.0.1:443"));
        assert_eq!(address("127.0.0.1").await, None);
    }

    #[test]
    fn what_was_shown_before_the_clock_was_set_back_is_old() {
        let pool = NodePool {
            name: "default".to_owned(),
            ..NodePool::default()
        };
        let now: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
        let record = |at: Timestamp| PoolFinding {
            pool: "default".to_owned(),
            at,
            verdict: IsolationVerdict::Enforced {
                blocked: vec![API_SERVER.to_owned()],
                unproved: Vec::new(),
            },
        };
        let minute = SignedDuration::from_mins(1);
        assert_eq!(age(&[record(now - minute)], &pool, now), Duration::from_mins(1));
        assert_eq!(age(&[record(now + minute)], &pool, now), Duration::MAX);
        assert_eq!(age(&[], &pool, now), Duration::MAX);
    }
}
