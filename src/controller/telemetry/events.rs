//! The story of a task as Events of the cluster, and as log records.
//!
//! Few Events: image, attempts, what it waits for, the end. Each has a name that follows from what it says, so that a step
//! sent twice, also by another process, is one Event. Sending happens beside the work and never holds it up.

mod code_mode;
mod log;
mod notes;
mod send;

use std::sync::{Mutex, PoisonError};

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{Client, ResourceExt as _};
use tokio::sync::mpsc;

use self::log::{LogRecord, record};
use self::notes::{Note, agent_work, end, note, waiting};
use self::send::{QueuedEvent, reference, send_all};
use crate::controller::telemetry::metrics::Metrics;
use codegen_api::conditions::{PUBLISHED, reason};
use codegen_api::status::CodeGenTaskStatus;
use codegen_api::{CodeGenRun, CodeGenTask};
use codegen_core::progress::Progress;
use codegen_core::status::{Hold, Until};
use codegen_engine::event::{Event, Observer};

/// Events that may wait to be sent; what comes when they are that many is dropped and counted.
const MOST_WAITING: usize = 1_024;

/// The queue of Events to send. Clones share it.
#[derive(Clone, Debug)]
pub struct Events {
    queue: mpsc::Sender<QueuedEvent>,
    metrics: Metrics,
}

impl Events {
    /// The place, and the work of sending, which ends when nobody can hand anything in any more. `instance` is the name of
    /// the operator's Pod.
    pub fn new(
        client: Client,
        instance: String,
        metrics: Metrics,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (queue, waiting) = mpsc::channel(MOST_WAITING);
        (Self { queue, metrics }, send_all(client, instance, waiting))
    }

    /// A watcher that sends what the engine does with `object`.
    #[must_use]
    pub fn observer(&self, object: &CodeGenTask) -> TaskObserver {
        let status = object.status.as_ref();
        TaskObserver {
            events: self.clone(),
            about: reference(object),
            namespace: object.namespace().unwrap_or_default(),
            task: object.name_any(),
            waits_for: status.and_then(waits_for),
            place: Mutex::new(Place {
                stage: status.and_then(|status| status.stage.clone()).unwrap_or_default(),
                attempt: status
                    .and_then(|status| status.attempt)
                    .unwrap_or_default()
                    .into(),
            }),
        }
    }

    /// The task is held; one Event for each cause.
    pub fn held(&self, object: &CodeGenTask, hold: &Hold) {
        let is_warning = match hold.until {
            Until::Corrected => true,
            Until::Room => hold.reason != reason::QUEUED,
            Until::Resumed => false,
        };
        tracing::info!(
            namespace = object.namespace().unwrap_or_default(),
            task = object.name_any(),
            reason = hold.reason,
            message = hold.message,
            "the task waits"
        );
        self.enqueue(reference(object), waiting(hold, is_warning));
    }

    /// The task takes over the result of another one.
    pub fn adopted(&self, object: &CodeGenTask, progress: &Progress) {
        let origin = progress.adopted_from.as_deref().unwrap_or_default();
        let what = if progress.stage.is_terminal() {
            "no test is run again"
        } else {
            "its tests are run again"
        };
        tracing::info!(
            namespace = object.namespace().unwrap_or_default(),
            task = object.name_any(),
            origin,
            "the program of a task that asked the same is adopted"
        );
        let text = format!("{origin} asked the same and succeeded: its program is adopted, {what}");
        self.enqueue(reference(object), Note::normal("Adopted", "Reuse", text));
    }

    /// The task has ended, as its status says.
    pub fn ended(&self, object: &CodeGenTask) {
        let Some(status) = &object.status else { return };
        let text = status.message.clone().unwrap_or_default();
        let reason = status.reason.as_deref().unwrap_or_default();
        let note = end(status.stage.as_deref(), format!("{reason}: {text}"));
        tracing::info!(
            namespace = object.namespace().unwrap_or_default(),
            task = object.name_any(),
            stage = status.stage,
            attempt = status.attempt,
            reason,
            message = text,
            "the task has ended"
        );
        self.enqueue(reference(object), note);
        if let Some(agent) = &status.agent {
            let text = agent_work(agent, status);
            tracing::info!(
                namespace = object.namespace().unwrap_or_default(),
                task = object.name_any(),
                work = text,
                "the agent has ended"
            );
            self.enqueue(reference(object), Note::normal("AgentEnded", "End", text));
        }
    }

    /// The run is held; one Event for each cause.
    pub fn run_held(&self, run: &CodeGenRun, hold: &Hold) {
        tracing::info!(
            namespace = run.namespace().unwrap_or_default(),
            run = run.name_any(),
            reason = hold.reason,
            message = hold.message,
            "the run waits"
        );
        self.enqueue(reference(run), waiting(hold, hold.until == Until::Corrected));
    }

    /// The run has ended, as its status says.
    pub fn run_ended(&self, run: &CodeGenRun) {
        let Some(status) = &run.status else { return };
        let text = status.message.clone().unwrap_or_default();
        let reason = status.reason.as_deref().unwrap_or_default();
        let note = end(status.stage.as_deref(), format!("{reason}: {text}"));
        // What the program said and wrote is no matter of a log.
        tracing::info!(
            namespace = run.namespace().unwrap_or_default(),
            run = run.name_any(),
            stage = status.stage,
            reason,
            "the run has ended"
        );
        self.enqueue(reference(run), note);
    }

    fn enqueue(&self, about: ObjectReference, note: Note) {
        // Never blocks: an API server that is slow with Events must not hold up a pass.
        if self.queue.try_send(QueuedEvent { about, note }).is_err() {
            self.metrics.event_dropped();
        }
    }
}

/// Returns what a task waits for, as its status says: one that has succeeded for its image alone.
fn waits_for(status: &CodeGenTaskStatus) -> Option<String> {
    let of_image = |condition: &&Condition| condition.type_ == PUBLISHED && condition.status != "True";
    let of_image = status.conditions.iter().find(of_image);
    of_image
        .map(|condition| condition.message.clone())
        .or_else(|| status.message.clone())
}

/// Sends the Events of one task while the engine works on it.
#[derive(Debug)]
pub struct TaskObserver {
    events: Events,
    about: ObjectReference,
    namespace: String,
    task: String,
    /// Cause in the status before: the same cause again is no news.
    waits_for: Option<String>,
    place: Mutex<Place>,
}

#[derive(Debug)]
struct Place {
    stage: String,
    attempt: i64,
}

impl Observer for TaskObserver {
    fn event(&self, event: &Event) {
        self.events.metrics.observe(event);
        self.log(event);
        if let Event::Waiting { message, .. } = event
            && self.waits_for.as_ref() == Some(message)
        {
            return;
        }
        if let Some(note) = note(event) {
            self.events.enqueue(self.about.clone(), note);
        }
    }
}

impl TaskObserver {
    fn log(&self, event: &Event) {
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        if let Event::StageEntered { stage, attempt } = event {
            *place = Place {
                stage: stage.to_string(),
                attempt: i64::from(*attempt),
            };
        }
        let LogRecord { what, detail } = record(event);
        if matches!(event, Event::BuildStarted { .. }) {
            // Said at every pass over the build.
            return;
        }
        tracing::info!(
            namespace = self.namespace,
            task = self.task,
            stage = place.stage,
            attempt = place.attempt,
            detail,
            "{what}"
        );
    }
}

#[cfg(test)]
mod tests;
