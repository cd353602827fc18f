//! What becomes of a task that has ended: it is cleared up after, counted, and in time deleted.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kube::api::DeleteParams;
use kube::{Api, ResourceExt as _};

use crate::api::CodeGenTask;
use crate::controller::context::Context;
use crate::controller::error::ReconcileError;
use crate::controller::record::cache::{ended_in, later_ends};
use crate::controller::record::cleanup::{Ended, clear_components, may_be_uncleared, superfluous};
use crate::ledger::StoreError;
use crate::pipeline::stage::Stage;

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

/// Looks after a task that has ended: deletes it when its time has come. Gives the time until then, where there is any.
pub async fn look_after(object: &CodeGenTask, context: &Context) -> Result<Option<Duration>, ReconcileError> {
    let uid = object.uid().unwrap_or_default();
    let has_missed = context.tasks.has_missed(object);
    let end = ended_in(object);
    if has_missed && end.is_some() {
        tell_end(object, context).await?;
    }
    context.forget_task(&uid);
    if let Some(end) = end {
        clear_again(object, end, has_missed, context).await;
    }
    let history = &context.history;
    let rest = time_left(object, history.ttl_seconds_after_finished, Timestamp::now());
    let limit = match end {
        Some(Stage::Succeeded) => history.succeeded_limit,
        _ => history.failed_limit,
    };
    let is_surplus = limit.is_some_and(|limit| later_ends(object, &context.tasks.all()) >= limit as usize);
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
