//! Removes what nobody needs any more of a task or a run.

use std::fmt::Write as _;
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable as _};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use kube::api::{DeleteParams, ListParams};
use kube::{Api, Client};
use serde::de::DeserializeOwned;

use crate::controller::record::revision::Revision;
use codegen_core::progress::Progress;
use codegen_core::stage::Stage;
use codegen_sandbox::kubernetes::Owner;
use codegen_sandbox::kubernetes::names::{self, Component};

/// Tasks that ended so long before this operator began are cleaned up too, if another one did not: longer than a Lease and a start.
const BEFORE: SignedDuration = SignedDuration::from_mins(5);
/// Further tries to remove what nobody needs any more.
const MOST_TRIES: usize = 6;

/// Removes what the result has made superfluous. What stays for want of an answer goes with the task.
/// `but` is the result that stays where earlier ends of the run left others.
pub async fn clear(client: &Client, run: &Revision, progress: &Progress, but: Option<&str>) {
    let task = CleanupTarget::of(&run.owner);
    let superfluous = superfluous(progress.stage, run.task.has_sources());
    clear_components(client, task, superfluous, None).await;
    if but.is_some() {
        clear_components(client, task, &[Component::Result], but).await;
    }
}

/// Lists the components that nobody needs of a task that came to this end. `has_sources`: whether it has samples, inputs with a source, or
/// acceptance tests.
pub fn superfluous(end: Stage, has_sources: bool) -> &'static [Component] {
    let all = &[
        Component::Record,
        Component::Sandbox,
        Component::Reader,
        Component::Snapshot,
    ];
    // A failed task may go on when a limit is raised, and then needs its snapshot. The inputs of a program that passed are the defaults of
    // its runs, and a replay needs them and the acceptance tests.
    if end == Stage::Succeeded && !has_sources {
        all
    } else {
        &all[..3]
    }
}

/// Reports whether a task ended shortly before the operator began to work.
pub fn may_be_uncleared(ended: Timestamp, since: Timestamp) -> bool {
    let before = since.duration_since(ended);
    before >= SignedDuration::ZERO && before < BEFORE
}

/// Removes everything of the runs before this one.
pub async fn clear_all(client: &Client, run: &Revision) {
    let all = [
        Component::Record,
        Component::Sandbox,
        Component::Reader,
        Component::Result,
    ];
    let task = CleanupTarget::of(&run.owner);
    clear_components(client, task, &all, None).await;
    let present = Some(run.snapshot_status.name.as_str());
    clear_components(client, task, &[Component::Snapshot], present).await;
}

/// Removes what read the sources of a run that has its snapshot.
pub async fn clear_readers(client: &Client, run: &Revision) {
    clear_components(client, CleanupTarget::of(&run.owner), &[Component::Reader], None).await;
}

/// A task or run of which something is removed.
#[derive(Clone, Copy)]
pub struct CleanupTarget<'a> {
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its uid.
    pub uid: &'a str,
}

impl<'a> CleanupTarget<'a> {
    /// That of an owner.
    #[must_use]
    pub fn of(owner: &'a Owner) -> Self {
        Self {
            namespace: &owner.namespace,
            name: &owner.name,
            uid: &owner.uid,
        }
    }
}

/// Removes objects of these components; `but` is the part that stays.
pub async fn clear_components(
    client: &Client,
    task: CleanupTarget<'_>,
    components: &[Component],
    but: Option<&str>,
) {
    let names: Vec<&str> = components.iter().map(|component| component.as_str()).collect();
    let mut selector = format!(
        "{}={},{} in ({})",
        names::TASK_UID,
        task.uid,
        names::COMPONENT,
        names.join(",")
    );
    if let Some(first) = but {
        let _ = write!(selector, ",{}!={first}", names::PART_OF);
    }
    let which = ListParams::default().labels(&selector);
    let how = DeleteParams::background();
    let namespace = task.namespace;
    // One request for each kind of object, however many there are.
    let secrets = Api::<Secret>::namespaced(client.clone(), namespace);
    let mut failures = vec![removed(&secrets, &how, &which).await];
    if components.contains(&Component::Reader) {
        let pods = Api::<Pod>::namespaced(client.clone(), namespace);
        // A reader only reads, so that it needs no time to end.
        failures.push(removed(&pods, &how.clone().grace_period(0), &which).await);
    }
    if components.contains(&Component::Result) {
        let config_maps = Api::<ConfigMap>::namespaced(client.clone(), namespace);
        failures.push(removed(&config_maps, &how, &which).await);
    }
    for error in failures.into_iter().flatten() {
        tracing::warn!(
            namespace,
            task = task.name,
            error = error.to_string(),
            "some objects of the task could not be removed; they go when it is deleted"
        );
    }
}

/// Removes objects, with some tries: nobody comes back for what stays. Why that did not work.
async fn removed<K>(api: &Api<K>, how: &DeleteParams, which: &ListParams) -> Option<kube::Error>
where
    K: Clone + DeserializeOwned + std::fmt::Debug,
{
    let remove = async || api.delete_collection(how, which).await.map(drop);
    let tries = ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(100))
        .with_max_times(MOST_TRIES);
    // A 4xx is refused again at every try; server errors and rate limits may pass.
    let may_pass = |error: &kube::Error| !matches!(error, kube::Error::Api(status) if status.code < 500 && status.code != 429);
    remove.retry(tries).when(may_pass).await.err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_after_tasks_that_ended_shortly_before_the_start_is_cleared_up_again() {
        let at = |second| Timestamp::from_second(second).unwrap();
        assert!(may_be_uncleared(at(1_000), at(1_010)));
        assert!(may_be_uncleared(at(1_000), at(1_000)));
        assert!(!may_be_uncleared(at(1_000), at(1_300)));
        assert!(!may_be_uncleared(at(1_001), at(1_000)));
    }

    #[test]
    fn what_a_failed_task_needs_to_go_on_and_what_runs_take_as_defaults_stays() {
        assert!(superfluous(Stage::Succeeded, false).contains(&Component::Snapshot));
        assert!(!superfluous(Stage::Succeeded, true).contains(&Component::Snapshot));
        assert!(!superfluous(Stage::Failed, false).contains(&Component::Snapshot));
        assert!(superfluous(Stage::Failed, false).contains(&Component::Record));
    }
}
