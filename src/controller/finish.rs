//! What becomes of a task that has ended: its results are kept in two objects, the rest is removed, and in time the task itself.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable as _};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use k8s_openapi::{ByteString, NamespaceResourceScope};
use kube::api::{DeleteParams, ListParams, ObjectMeta, PostParams};
use kube::{Api, Client, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::cache::{ended_in, later_ends};
use super::context::Context;
use super::own;
use super::parts::{LARGEST_PART, part_name};
use super::progress::recorded;
use super::reconcile::ReconcileError;
use super::run::Run;
use super::store::{LARGEST_DOCUMENT, pack, unpacked};
use crate::api::CodeGenTask;
use crate::api::status::{ArtifactRef, CodeGenTaskStatus};
use crate::engine::EngineError;
use crate::engine::results::{self, Results, SOLUTION, TESTS};
use crate::ledger::{Ledger, MemoryStore, StoreError};
use crate::pipeline::progress::Progress;
use crate::pipeline::stage::Stage;
use crate::pipeline::task::Task;
use crate::sandbox::kubernetes::Owner;
use crate::sandbox::kubernetes::names::{self, Component};

/// Type of the Secrets that hold what is kept of a finished task.
pub const RESULT_TYPE: &str = "codegen-operator.dev/result";
/// Key with every document and call of the run, packed JSON of names and base64.
const RECORD: &str = "record.json.gz";

/// Name of the document with the task as it was resolved, which a change of the object leaves alone.
pub(super) const TASK: &str = "documents/task.json";

/// How long before it began to work an operator looks for tasks after which another one did not clear up: longer than a Lease and a start.
const BEFORE: SignedDuration = SignedDuration::from_mins(5);

/// Annotation with the number of Secrets that the record is in.
const PARTS: &str = "codegen-operator.dev/parts";

/// Further tries to remove what nobody needs any more.
const MOST_TRIES: usize = 6;

/// What is kept of a task that has ended.
pub struct Kept {
    /// Name of the `ConfigMap` with program and suite, and of the Secret with the record.
    pub name: String,
    /// What the status says of the results.
    pub artifacts: Vec<ArtifactRef>,
}

/// Keeps the results of a run: program and suite where everybody may read them, all else in a Secret.
pub async fn keep(
    client: &Client,
    run: &Run,
    progress: &Progress,
    mut documents: BTreeMap<String, Vec<u8>>,
) -> Result<Kept, StoreError> {
    let owner = &run.owner;
    // Plain data with string keys: writing it to memory cannot fail.
    documents.insert(TASK.to_owned(), serde_json::to_vec(&run.task).unwrap_or_default());
    let end = [progress.sequence.to_string(), progress.attempt.to_string()];
    let mut parts = vec![owner.uid.as_str(), &owner.run, "result", &end[0], &end[1]];
    // After a kill it may be another origin that is adopted.
    if let (Some(origin), Some(program)) = (&progress.adopted_from, &progress.documents.solution) {
        parts.extend([origin.as_str(), &program.sha256]);
    }
    let name = names::name(&owner.name, &parts);
    let record = packed(&documents);
    let store = MemoryStore::holding(documents);
    let entries = Ledger::new(&store).entries(progress.sequence).await?;
    let collected = results::collect(&run.task, progress, &store, &entries).await;
    let mut results = collected.map_err(|error| match error {
        EngineError::Store(error) => error,
        error => StoreError::Damaged {
            name: format!("the record of CodeGenTask {}/{}", owner.namespace, owner.name),
            detail: error.to_string(),
        },
    })?;
    let mut labels = names::labels(&owner.name, &owner.uid, Component::Result);
    labels.insert(names::PART_OF.to_owned(), name.clone());
    let metadata = ObjectMeta {
        name: Some(name.clone()),
        namespace: Some(owner.namespace.clone()),
        labels: Some(labels),
        owner_references: Some(vec![owner.reference.clone()]),
        ..ObjectMeta::default()
    };
    let code = [SOLUTION, TESTS].into_iter().filter_map(|path| {
        let text = String::from_utf8(results.files.remove(path)?).ok()?;
        Some((path.to_owned(), text))
    });
    let code = ConfigMap {
        metadata: metadata.clone(),
        data: Some(code.collect()),
        immutable: Some(true),
        ..ConfigMap::default()
    };
    let program = create(client, owner, &code);
    // The first part last: where it is, all are.
    let parts: Vec<&[u8]> = record.chunks(LARGEST_PART).collect();
    let record = async {
        for (number, part) in parts.iter().enumerate().rev() {
            let mut metadata = metadata.clone();
            metadata.name = Some(part_name(&name, number));
            let count = parts.len().to_string();
            metadata.annotations = Some(BTreeMap::from([(PARTS.to_owned(), count)]));
            let secret = Secret {
                metadata,
                type_: Some(RESULT_TYPE.to_owned()),
                data: Some(BTreeMap::from([(RECORD.to_owned(), ByteString(part.to_vec()))])),
                immutable: Some(true),
                ..Secret::default()
            };
            create(client, owner, &secret).await?;
        }
        Ok(())
    };
    tokio::try_join!(program, record)?;
    Ok(Kept {
        name,
        artifacts: results.artifacts,
    })
}

/// The results of a task that has ended, from the record `name`, and the task as it was resolved.
pub async fn results(
    client: &Client,
    namespace: &str,
    name: &str,
    status: &CodeGenTaskStatus,
) -> Result<(Task, Results), StoreError> {
    let documents = unpack(client, namespace, name).await?;
    let damaged = |detail: &str| StoreError::Damaged {
        name: format!("Secret {namespace}/{name}"),
        detail: detail.to_owned(),
    };
    let task = documents
        .get(TASK)
        .and_then(|bytes| serde_json::from_slice::<Task>(bytes).ok());
    let task = task.ok_or_else(|| damaged("it does not say of which task it is the result"))?;
    let progress = recorded(status).and_then(|bytes| serde_json::from_slice::<Progress>(&bytes).ok());
    let progress =
        progress.ok_or_else(|| damaged("the status of its task has no progress that this version knows"))?;
    let store = MemoryStore::holding(documents);
    let entries = Ledger::new(&store).entries(progress.sequence).await?;
    let collected = results::collect(&task, &progress, &store, &entries).await;
    let results = collected.map_err(|error| damaged(&error.to_string()))?;
    Ok((task, results))
}

/// Every document that the result `name` holds.
pub async fn unpack(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<BTreeMap<String, Vec<u8>>, StoreError> {
    let object = format!("Secret {namespace}/{name}");
    let damaged = |detail: &str| StoreError::Damaged {
        name: object.clone(),
        detail: detail.to_owned(),
    };
    let first = part(client, namespace, name).await?;
    let count = first
        .annotations()
        .get(PARTS)
        .and_then(|count| count.parse().ok());
    let mut bytes = content(first).ok_or_else(|| damaged("the record of the run is gone"))?;
    for number in 1..count.unwrap_or(1) {
        let further = part(client, namespace, &part_name(name, number)).await?;
        bytes.extend(content(further).ok_or_else(|| damaged("a part of the record is gone"))?);
    }
    let json = unpacked(&bytes, LARGEST_DOCUMENT).map_err(|error| damaged(&error.to_string()))?;
    let record: BTreeMap<String, ByteString> =
        serde_json::from_slice(&json).map_err(|error| damaged(&error.to_string()))?;
    Ok(record.into_iter().map(|(name, bytes)| (name, bytes.0)).collect())
}

async fn part(client: &Client, namespace: &str, name: &str) -> Result<Secret, StoreError> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let found = secrets.get(name).await.map_err(|error| StoreError::Remote {
        action: format!("read the Secret {namespace}/{name}, which holds the record of the run"),
        source: Box::new(error),
    })?;
    if own::is_own(&found, RESULT_TYPE) {
        Ok(found)
    } else {
        Err(own::replaced(format!("Secret {namespace}/{name}")))
    }
}

fn content(secret: Secret) -> Option<Vec<u8>> {
    Some(secret.data?.remove(RECORD)?.0)
}

/// Removes what the result has made superfluous. What stays for want of an answer goes with the task.
/// `but` is the result that stays where earlier ends of the run left others.
pub async fn clear(client: &Client, run: &Run, progress: &Progress, but: Option<&str>) {
    let task = Ended::of(&run.owner);
    clear_components(client, task, superfluous(progress.stage), None).await;
    if but.is_some() {
        clear_components(client, task, &[Component::Result], but).await;
    }
}

/// What nobody needs of a task that came to this end.
fn superfluous(end: Stage) -> &'static [Component] {
    let all = &[
        Component::Record,
        Component::Sandbox,
        Component::Reader,
        Component::Snapshot,
    ];
    // A failed task may go on when a limit is raised, and then needs its inputs.
    if end == Stage::Succeeded { all } else { &all[..3] }
}

/// Removes what is left where nobody came to [`clear`] after the end of a task: the operator before this one was killed in between, or the
/// reply to the write that said it was lost (`has_missed`).
async fn clear_again(object: &CodeGenTask, end: Stage, has_missed: bool, context: &Context) {
    let ended = object
        .status
        .as_ref()
        .and_then(|status| status.completed_at.as_ref());
    if !has_missed && !ended.is_some_and(|ended| may_be_uncleared(ended.0, context.since)) {
        return;
    }
    // It is never closed; without a place there are more requests at once, and nothing else is different.
    let _place = context.clearing.acquire().await;
    let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
    let task = Ended {
        namespace: &namespace,
        name: &name,
        uid: object.metadata.uid.as_deref().unwrap_or_default(),
    };
    clear_components(&context.client, task, superfluous(end), None).await;
}

/// Whether a task ended shortly before the operator began to work.
pub(super) fn may_be_uncleared(ended: Timestamp, since: Timestamp) -> bool {
    let before = since.duration_since(ended);
    before >= SignedDuration::ZERO && before < BEFORE
}

/// Removes everything of the runs before this one.
pub async fn clear_all(client: &Client, run: &Run) {
    let all = [
        Component::Record,
        Component::Sandbox,
        Component::Reader,
        Component::Result,
    ];
    let task = Ended::of(&run.owner);
    clear_components(client, task, &all, None).await;
    let present = Some(run.snapshot_status.name.as_str());
    clear_components(client, task, &[Component::Snapshot], present).await;
}

/// Removes what read the sources of a run that has its snapshot.
pub async fn clear_readers(client: &Client, run: &Run) {
    clear_components(client, Ended::of(&run.owner), &[Component::Reader], None).await;
}

/// Removes what a run of a program needed while it was under way.
pub async fn clear_run(client: &Client, namespace: &str, name: &str, uid: &str) {
    let run = Ended { namespace, name, uid };
    let all = [Component::Sandbox, Component::Reader, Component::Snapshot];
    clear_components(client, run, &all, None).await;
}

/// A task or run of which something is removed.
#[derive(Clone, Copy)]
struct Ended<'a> {
    namespace: &'a str,
    name: &'a str,
    uid: &'a str,
}

impl<'a> Ended<'a> {
    fn of(owner: &'a Owner) -> Self {
        Self {
            namespace: &owner.namespace,
            name: &owner.name,
            uid: &owner.uid,
        }
    }
}

async fn clear_components(client: &Client, task: Ended<'_>, components: &[Component], but: Option<&str>) {
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
    let secrets = Api::<Secret>::namespaced(client.clone(), namespace);
    let mut failures = vec![removed(&secrets, &how, &which).await];
    if components.contains(&Component::Reader) {
        let pods = Api::<Pod>::namespaced(client.clone(), namespace);
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
    let may_pass = |error: &kube::Error| !matches!(error, kube::Error::Api(status) if status.code < 500 && status.code != 429);
    remove.retry(tries).when(may_pass).await.err()
}

async fn create<K>(client: &Client, owner: &Owner, object: &K) -> Result<(), StoreError>
where
    K: kube::Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Serialize
        + DeserializeOwned
        + Clone
        + std::fmt::Debug,
{
    let api: Api<K> = Api::namespaced(client.clone(), &owner.namespace);
    let named = format!("{} {}/{}", K::kind(&()), owner.namespace, object.name_any());
    let failed = |what: &str, error| StoreError::Remote {
        action: format!("{what} the {named}"),
        source: Box::new(error),
    };
    match api.create(&PostParams::default(), object).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_already_exists() => {
            let found = api.get_metadata_opt(&object.name_any()).await;
            let found = found.map_err(|error| failed("read", error))?;
            let labels = |metadata: &ObjectMeta| metadata.labels.clone();
            match found {
                Some(found) if labels(&found.metadata) != labels(object.meta()) => Err(own::replaced(named)),
                _ => Ok(()),
            }
        }
        Err(error) => Err(failed("create", error)),
    }
}

fn packed(documents: &BTreeMap<String, Vec<u8>>) -> Vec<u8> {
    let record: BTreeMap<&String, ByteString> = documents
        .iter()
        .map(|(name, bytes)| (name, ByteString(bytes.clone())))
        .collect();
    // Plain data with string keys: writing it to memory cannot fail.
    pack(&serde_json::to_vec(&record).unwrap_or_default())
}

/// Looks after a task that has ended: deletes it when its time has come. Gives the time until then, where there is any.
pub async fn look_after(object: &CodeGenTask, context: &Context) -> Result<Option<Duration>, ReconcileError> {
    let uid = object.uid().unwrap_or_default();
    let has_missed = context.has_missed(&uid, object);
    let end = ended_in(object);
    if has_missed && end.is_some() {
        tell_end(object, context).await?;
    }
    context.forget(&uid);
    if let Some(end) = end {
        clear_again(object, end, has_missed, context).await;
    }
    let history = &context.history;
    let rest = time_left(object, history.ttl_seconds_after_finished, Timestamp::now());
    let limit = match end {
        Some(Stage::Succeeded) => history.succeeded_limit,
        _ => history.failed_limit,
    };
    let is_surplus = limit.is_some_and(|limit| later_ends(object, &context.known_tasks()) >= limit as usize);
    match rest {
        _ if is_surplus => {}
        None => return Ok(None),
        Some(rest) if rest > Duration::ZERO => return Ok(Some(rest)),
        Some(_) => {}
    }
    let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
    let tasks: Api<CodeGenTask> = Api::namespaced(context.client.clone(), &namespace);
    match tasks.delete(&name, &DeleteParams::background()).await {
        Ok(_) => Ok(None),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(None),
        Err(error) => Err(StoreError::Remote {
            action: format!("delete CodeGenTask {namespace}/{name}, which is kept no longer"),
            source: Box::new(error),
        }
        .into()),
    }
}

/// Tells of an end whose write had no answer, so that nobody has told of it. The same Event again is one Event.
async fn tell_end(object: &CodeGenTask, context: &Context) -> Result<(), StoreError> {
    let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
    let tasks: Api<CodeGenTask> = Api::namespaced(context.client.clone(), &namespace);
    let found = tasks.get_opt(&name).await.map_err(|error| StoreError::Remote {
        action: format!("read CodeGenTask {namespace}/{name}"),
        source: Box::new(error),
    })?;
    // In memory is not all of it.
    if let Some(whole) = found.filter(|found| found.uid() == object.uid()) {
        context.events.ended(&whole);
    }
    Ok(())
}

/// How long the task stays; `None` where it stays for ever.
fn time_left(object: &CodeGenTask, default: Option<u32>, now: Timestamp) -> Option<Duration> {
    let own = object.spec.ttl_seconds_after_finished.map(i64::from);
    let ttl = own.or(default.map(i64::from))?;
    let ended = object.status.as_ref()?.completed_at.as_ref()?.0;
    let end = ended.checked_add(SignedDuration::from_secs(ttl)).ok()?;
    Some(Duration::try_from(end.duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;
    use crate::api::CodeGenTaskSpec;
    use crate::api::status::CodeGenTaskStatus;

    fn ended(ttl: Option<i32>, at: i64) -> CodeGenTask {
        let mut task = CodeGenTask::new(
            "t",
            CodeGenTaskSpec {
                ttl_seconds_after_finished: ttl,
                ..Default::default()
            },
        );
        task.status = Some(CodeGenTaskStatus {
            completed_at: Timestamp::from_second(at).ok().map(Time),
            ..Default::default()
        });
        task
    }

    #[test]
    fn only_after_tasks_that_ended_shortly_before_the_start_is_cleared_up_again() {
        let at = |second| Timestamp::from_second(second).unwrap();
        assert!(may_be_uncleared(at(1_000), at(1_010)));
        assert!(may_be_uncleared(at(1_000), at(1_000)));
        assert!(!may_be_uncleared(at(1_000), at(1_300)));
        assert!(!may_be_uncleared(at(1_001), at(1_000)));
    }

    #[test]
    fn what_a_failed_task_needs_to_go_on_stays() {
        assert!(superfluous(Stage::Succeeded).contains(&Component::Snapshot));
        assert!(!superfluous(Stage::Failed).contains(&Component::Snapshot));
        assert!(superfluous(Stage::Failed).contains(&Component::Record));
    }

    #[test]
    fn a_task_with_a_time_to_live_is_deleted_when_it_is_over() {
        let now = Timestamp::from_second(100).unwrap();
        assert_eq!(time_left(&ended(None, 10), None, now), None);
        assert_eq!(time_left(&ended(Some(60), 10), None, now), Some(Duration::ZERO));
        assert_eq!(
            time_left(&ended(Some(100), 10), Some(5), now),
            Some(Duration::from_secs(10))
        );
    }
}
