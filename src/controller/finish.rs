//! What becomes of a task that has ended: its results are kept in two objects, the rest is removed, and in time the task itself.

use std::time::Duration;

use jiff::Timestamp;
use kube::runtime::controller::Action;
use kube::{Api, ResourceExt as _};

use super::context::Context;
use super::reconcile::ReconcileError;
use crate::api::CodeGenTask;
use crate::ledger::StoreError;

/// Looks after a task that has ended: deletes it when its time has come.
pub async fn look_after(object: &CodeGenTask, context: &Context) -> Result<Action, ReconcileError> {
    context.forget(&object.uid().unwrap_or_default());
    let Some(rest) = time_left(object, Timestamp::now()) else {
        return Ok(Action::await_change());
    };
    if rest > Duration::ZERO {
        return Ok(Action::requeue(rest));
    }
    let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
    let tasks: Api<CodeGenTask> = Api::namespaced(context.client.clone(), &namespace);
    match tasks.delete(&name, &kube::api::DeleteParams::background()).await {
        Ok(_) => Ok(Action::await_change()),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(Action::await_change()),
        Err(error) => Err(StoreError::Remote {
            action: format!("delete CodeGenTask {namespace}/{name}, whose time to live is over"),
            source: Box::new(error),
        }
        .into()),
    }
}

/// How long the task stays; `None` where it stays for ever.
fn time_left(object: &CodeGenTask, now: Timestamp) -> Option<Duration> {
    let ttl = object.spec.ttl_seconds_after_finished?;
    let ended = object.status.as_ref()?.completed_at.as_ref()?.0;
    let end = ended
        .checked_add(jiff::SignedDuration::from_secs(i64::from(ttl)))
        .ok()?;
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
        assert_eq!(time_left(&ended(None, 10), now), None);
        assert_eq!(time_left(&ended(Some(60), 10), now), Some(Duration::ZERO));
        assert_eq!(
            time_left(&ended(Some(100), 10), now),
            Some(Duration::from_secs(10))
        );
    }
}
