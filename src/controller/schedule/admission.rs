//! Places for tasks, shared by all looks: asks the gate and wakes whoever it lets in.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::Stream;
use futures::channel::mpsc::{UnboundedSender, unbounded};
use jiff::Timestamp;
use kube::ResourceExt as _;
use kube::runtime::reflector::ObjectRef;

use crate::api::CodeGenTask;
use crate::api::conditions::reason;
use crate::controller::config::ConcurrencyLimits;
use crate::controller::schedule::gate::{Admission, Claim, Gate, Places, Woken};
use crate::controller::telemetry::metrics::Metrics;
use crate::pipeline::stage::Stage;

/// Places for tasks.
#[derive(Debug)]
pub struct Admissions {
    gate: Mutex<Gate>,
    woken: UnboundedSender<ObjectRef<CodeGenTask>>,
    metrics: Metrics,
}

impl Admissions {
    /// The places, and the tasks that must be looked at because they got one.
    pub fn new(
        limits: ConcurrencyLimits,
        metrics: Metrics,
    ) -> (Self, impl Stream<Item = ObjectRef<CodeGenTask>> + Send + 'static) {
        let (woken, stream) = unbounded();
        let gate = Mutex::new(Gate::new(Places::of_tasks(limits)));
        (Self { gate, woken, metrics }, stream)
    }

    /// Gives the tasks that ran before this process the places that they had. Called with every task that there is, before
    /// the first look.
    pub fn resume(&self, tasks: &[Arc<CodeGenTask>]) {
        let mut gate = self.gate();
        for task in tasks.iter().filter(|task| runs(task)) {
            gate.resume(&claim(task));
        }
    }

    /// Asks for a place for a task; what limits it when there is none.
    pub fn admit(&self, task: &CodeGenTask) -> Option<String> {
        let mut gate = self.gate();
        let admission = gate.ask(claim(task));
        self.metrics.set_queued(gate.waiting());
        match admission {
            Admission::Go => None,
            Admission::Queued { limit } => Some(limit),
        }
    }

    /// The task needs its place no more, or waits for none.
    pub fn leave(&self, uid: &str) {
        let mut gate = self.gate();
        let woken = gate.done(uid);
        self.metrics.set_queued(gate.waiting());
        self.wake(woken);
    }

    /// Frees the places of tasks that were deleted without a word. `tasks` are those that there are.
    pub fn keep_only(&self, tasks: &[Arc<CodeGenTask>]) {
        let there: HashSet<&str> = tasks
            .iter()
            .filter_map(|task| task.metadata.uid.as_deref())
            .collect();
        let mut gate = self.gate();
        let woken = gate.keep_only(|uid| there.contains(uid));
        self.metrics.set_queued(gate.waiting());
        self.wake(woken);
    }

    fn wake(&self, woken: Vec<Woken>) {
        for Woken { namespace, name } in woken {
            // Nobody listens any more when the operator ends.
            let _ = self
                .woken
                .unbounded_send(ObjectRef::new(&name).within(&namespace));
        }
    }

    fn gate(&self) -> MutexGuard<'_, Gate> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn claim(task: &CodeGenTask) -> Claim {
    Claim {
        uid: task.uid().unwrap_or_default(),
        namespace: task.namespace().unwrap_or_default(),
        name: task.name_any(),
        created: task
            .creation_timestamp()
            .map_or(Timestamp::UNIX_EPOCH, |time| time.0),
        has_begun: has_begun(task),
    }
}

/// Whether steps of the task's present run are recorded.
fn has_begun(task: &CodeGenTask) -> bool {
    task.status.as_ref().is_some_and(|status| status.run.is_some())
}

/// Whether the task had a place when its status was written: begun, not at its end, and not in anybody's hands.
fn runs(task: &CodeGenTask) -> bool {
    let Some(status) = &task.status else { return false };
    let has_ended = [Stage::Succeeded, Stage::Failed]
        .iter()
        .any(|end| status.stage.as_deref() == Some(end.as_str()));
    has_begun(task)
        && !has_ended
        && task.spec.suspend != Some(true)
        && [reason::PROGRESSING, reason::INFRASTRUCTURE]
            .iter()
            .any(|reason| status.reason.as_deref() == Some(reason))
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt as _, StreamExt as _};
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;
    use crate::api::CodeGenTaskSpec;
    use crate::api::status::CodeGenTaskStatus;

    fn task(name: &str, stage: Option<&str>, reason: &str) -> CodeGenTask {
        let mut task = CodeGenTask::new(name, CodeGenTaskSpec::default());
        task.metadata.namespace = Some("data".to_owned());
        task.metadata.uid = Some(format!("uid-{name}"));
        task.metadata.creation_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        task.status = stage.map(|stage| CodeGenTaskStatus {
            stage: Some(stage.to_owned()),
            reason: Some(reason.to_owned()),
            run: Some("r1".to_owned()),
            ..CodeGenTaskStatus::default()
        });
        task
    }

    fn one_place() -> (Admissions, impl Stream<Item = ObjectRef<CodeGenTask>>) {
        let limits = ConcurrencyLimits {
            max_concurrent_tasks: 1,
            ..ConcurrencyLimits::default()
        };
        Admissions::new(limits, Metrics::new())
    }

    #[test]
    fn whoever_waits_is_woken_when_a_place_is_free() {
        let (places, woken) = one_place();
        let mut woken = Box::pin(woken);
        assert_eq!(places.admit(&task("a", None, "")), None);
        assert!(places.admit(&task("b", None, "")).is_some());
        assert!(places.metrics.text().unwrap().contains("queued_tasks 1\n"));
        assert_eq!(woken.next().now_or_never(), None);
        places.leave("uid-a");
        let next = woken.next().now_or_never().flatten();
        assert_eq!(next, Some(ObjectRef::new("b").within("data")));
        assert_eq!(places.admit(&task("b", None, "")), None);
        assert!(places.metrics.text().unwrap().contains("queued_tasks 0\n"));
    }

    #[test]
    fn only_tasks_that_were_under_way_have_a_place_after_a_restart() {
        let (places, _woken) = one_place();
        let mut suspended = task("s", Some("Planning"), "Progressing");
        suspended.spec.suspend = Some(true);
        let others = [
            task("new", None, ""),
            task("ended", Some("Succeeded"), "TestsPassed"),
            task("waits", Some("Planning"), "Configuration"),
            suspended,
        ];
        places.resume(&others.map(Arc::new));
        assert_eq!(places.gate().running(), 0);
        let ran = Arc::new(task("ran", Some("RunningTests"), "Progressing"));
        places.resume(&[Arc::clone(&ran)]);
        assert!(places.admit(&task("new", None, "")).is_some());
        assert_eq!(places.admit(&ran), None);
    }

    #[test]
    fn a_task_that_was_deleted_without_a_word_blocks_nobody() {
        let (places, woken) = one_place();
        let mut woken = Box::pin(woken);
        places.admit(&task("gone", None, ""));
        let waits = Arc::new(task("waits", None, ""));
        assert!(places.admit(&waits).is_some());
        places.keep_only(&[Arc::clone(&waits)]);
        assert!(woken.next().now_or_never().flatten().is_some());
        assert_eq!(places.admit(&waits), None);
    }
}
