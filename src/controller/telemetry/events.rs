//! The story of a task as Events of the cluster, and as log records.
//!
//! Few Events: image, attempts, what it waits for, the end. Each has a name that follows from what it says, so that a step
//! told twice, also by another process, is one Event. Sending happens beside the work and never holds it up.

use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::{Event as KubeEvent, EventSeries};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, MicroTime};
use kube::api::{ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use tokio::sync::mpsc;

use crate::api::approval::{ApprovalDecision, ApprovalStatus};
use crate::api::conditions::{PUBLISHED, reason};
use crate::api::status::CodeGenTaskStatus;
use crate::api::{CodeGenRun, CodeGenTask};
use crate::controller::telemetry::metrics::Metrics;
use crate::engine::event::{Event, Observer};
use crate::pipeline::progress::Progress;
use crate::pipeline::stage::{Category, Stage};
use crate::pipeline::status::{Hold, Until};
use crate::sandbox::kubernetes::names;

/// Events that may wait to be sent; what comes when they are that many is dropped and counted.
const MOST_WAITING: usize = 1_024;
/// Longest note that the API server takes, bytes.
const LONGEST_NOTE: usize = 1_024;

/// What is told of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Note {
    is_warning: bool,
    reason: &'static str,
    /// What was done or could not be done, one word.
    action: &'static str,
    text: String,
    /// Whether the same again is counted, or was said already.
    repeats: bool,
}

impl Note {
    fn normal(reason: &'static str, action: &'static str, text: String) -> Self {
        Self {
            is_warning: false,
            reason,
            action,
            text,
            repeats: false,
        }
    }

    fn warning(reason: &'static str, action: &'static str, text: String) -> Self {
        Self {
            is_warning: true,
            ..Self::normal(reason, action, text)
        }
    }
}

/// A note on its way.
#[derive(Debug)]
struct Letter {
    about: ObjectReference,
    note: Note,
}

/// Where events are handed in. Clones hand in at the same place.
#[derive(Clone, Debug)]
pub struct Events {
    letters: mpsc::Sender<Letter>,
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
        let (letters, waiting) = mpsc::channel(MOST_WAITING);
        (Self { letters, metrics }, send_all(client, instance, waiting))
    }

    /// Is told what the engine does with `object`.
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

    /// The task is held; told once for each cause.
    pub fn held(&self, object: &CodeGenTask, hold: &Hold) {
        let is_warning = match hold.until {
            Until::Mended => true,
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
        self.hand_in(reference(object), waiting(hold, is_warning));
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
        self.hand_in(reference(object), Note::normal("Adopted", "Reuse", text));
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
        self.hand_in(reference(object), note);
    }

    /// The run is held; told once for each cause.
    pub fn run_held(&self, run: &CodeGenRun, hold: &Hold) {
        tracing::info!(
            namespace = run.namespace().unwrap_or_default(),
            run = run.name_any(),
            reason = hold.reason,
            message = hold.message,
            "the run waits"
        );
        self.hand_in(reference(run), waiting(hold, hold.until == Until::Mended));
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
        self.hand_in(reference(run), note);
    }

    fn hand_in(&self, about: ObjectReference, note: Note) {
        if self.letters.try_send(Letter { about, note }).is_err() {
            self.metrics.event_dropped();
        }
    }
}

/// What a task waits for, as its status says: one that has succeeded for its image alone.
fn waits_for(status: &CodeGenTaskStatus) -> Option<String> {
    let of_image = |condition: &&Condition| condition.type_ == PUBLISHED && condition.status != "True";
    let of_image = status.conditions.iter().find(of_image);
    of_image
        .map(|condition| condition.message.clone())
        .or_else(|| status.message.clone())
}

/// Tells the story of one task while the engine works on it.
#[derive(Debug)]
pub struct TaskObserver {
    events: Events,
    about: ObjectReference,
    namespace: String,
    task: String,
    /// What the status said before: the same cause again is no news.
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
            self.events.hand_in(self.about.clone(), note);
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
        let Record { what, detail } = record(event);
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

/// A log record: what happened, and the particulars. No row of data and no text of a model.
struct Record {
    what: &'static str,
    detail: String,
}

fn record_of(decision: &ApprovalStatus) -> (&'static str, String) {
    let what = match decision.decision {
        ApprovalDecision::Approve => "a person has approved",
        ApprovalDecision::Reject => "a person has rejected",
    };
    (what, format!("gate {}: {}", decision.gate, decision.decided_by))
}

fn record(event: &Event) -> Record {
    let (what, detail) = match event {
        Event::Resumed { replies, .. } => ("the task goes on", format!("{replies} recorded replies")),
        Event::StageEntered { .. } => ("a stage was entered", String::new()),
        Event::CallStarted { kind, sequence } => ("a model call starts", format!("call {sequence}: {kind}")),
        Event::CallFinished {
            kind,
            sequence,
            usage,
            seconds,
            from_ledger,
        } => (
            if *from_ledger {
                "a recorded reply is used"
            } else {
                "a model call was answered"
            },
            format!(
                "call {sequence}: {kind}, {} + {} tokens, {seconds:.1} s",
                usage.input, usage.output
            ),
        ),
        Event::RequestChanged { kind, sequence } => (
            "a request has changed since its reply was recorded; the reply is used",
            format!("call {sequence}: {kind}"),
        ),
        Event::ReplyRejected { kind, .. } => {
            ("a reply cannot be used and is asked for again", kind.to_string())
        }
        Event::BuildStarted { packages } => ("the image builds", packages.join(", ")),
        Event::BuildFinished { seconds, cached, .. } => (
            if *cached {
                "the image was there"
            } else {
                "the image was built"
            },
            format!("{seconds:.1} s"),
        ),
        Event::PackageDoubtful { message } => ("a package is doubtful", message.clone()),
        Event::ImageReplaced { message } => ("another image had the place of this one", message.clone()),
        Event::BuildFailed { message } => ("the image cannot be built", message.clone()),
        Event::TestsFinished { failing, .. } => ("the tests ran", format!("{} failures", failing.len())),
        Event::Diagnosed { failures, .. } => (
            "the failures have a diagnosis",
            format!("{} failures", failures.len()),
        ),
        Event::FixApplied { kind, names } => ("a fix was applied", format!("{kind}: {}", names.join(", "))),
        Event::IterationFinished {
            passed,
            error_types,
            packages_added,
            ..
        } => (
            if *passed {
                "the attempt passed"
            } else {
                "the attempt failed"
            },
            particulars(error_types, packages_added),
        ),
        Event::ApprovalAwaited(asked) => (
            "the task waits until a person has approved",
            format!("gate {}", asked.gate),
        ),
        Event::Published {
            image,
            uploaded_bytes: bytes,
            ..
        } => (
            "the program was published",
            format!("{image}, {bytes} bytes uploaded"),
        ),
        Event::Decided(decision) => record_of(decision),
        Event::Waiting {
            category: Category::Configuration,
            message,
            ..
        } => ("the task waits until something is mended", message.clone()),
        Event::Waiting { message, .. } => ("the task waits and tries again", message.clone()),
    };
    Record { what, detail }
}

/// Error types and added packages of an attempt.
fn particulars(error_types: &[String], packages_added: &[String]) -> String {
    let mut parts = Vec::new();
    if !error_types.is_empty() {
        parts.push(format!("error types: {}", error_types.join(", ")));
    }
    if !packages_added.is_empty() {
        parts.push(format!("packages added: {}", packages_added.join(", ")));
    }
    parts.join("; ")
}

/// What the cluster is told of an event; `None` where the status or the log says enough.
fn note(event: &Event) -> Option<Note> {
    Some(match event {
        Event::BuildFinished {
            python,
            packages,
            cached: true,
            ..
        } => Note::normal(
            "ImageFound",
            "Build",
            format!("The image was there: Python {python}, {packages} packages"),
        ),
        Event::BuildFinished {
            python,
            packages,
            seconds,
            ..
        } => Note::normal(
            "ImageBuilt",
            "Build",
            format!("Built the image in {seconds:.0} s: Python {python}, {packages} packages"),
        ),
        Event::PackageDoubtful { message } => Note::warning("PackageDoubtful", "Build", message.clone()),
        Event::ImageReplaced { message } => Note::warning("ImageReplaced", "Build", message.clone()),
        Event::BuildFailed { message } => Note::warning("ImageFailed", "Build", message.clone()),
        Event::IterationFinished {
            attempt,
            passed,
            error_types,
            packages_added,
        } => attempt_ended(*attempt, *passed, &particulars(error_types, packages_added)),
        Event::ApprovalAwaited(asked) => Note::normal(
            reason::AWAITING_APPROVAL,
            "Wait",
            format!("Gate {} asks for an approval of {}", asked.gate, asked.hash),
        ),
        Event::Decided(decision) => decided(decision),
        Event::Published { image, tag, .. } => Note::normal(
            "Published",
            "Publish",
            format!("The program is the image {image} ({tag})"),
        ),
        Event::Waiting {
            category, message, ..
        } => Note {
            repeats: true,
            ..Note::warning(
                match category {
                    Category::Configuration => reason::CONFIGURATION,
                    Category::Infrastructure => reason::INFRASTRUCTURE,
                },
                "Wait",
                message.clone(),
            )
        },
        Event::Resumed { .. }
        | Event::StageEntered { .. }
        | Event::CallStarted { .. }
        | Event::CallFinished { .. }
        | Event::RequestChanged { .. }
        | Event::ReplyRejected { .. }
        | Event::BuildStarted { .. }
        | Event::TestsFinished { .. }
        | Event::Diagnosed { .. }
        | Event::FixApplied { .. } => return None,
    })
}

fn attempt_ended(attempt: u32, passed: bool, particulars: &str) -> Note {
    let (reason, verb) = if passed {
        ("AttemptPassed", "passed")
    } else {
        ("AttemptFailed", "failed")
    };
    let text = format!("Attempt {attempt} {verb}; {particulars}");
    Note {
        is_warning: !passed,
        ..Note::normal(reason, "Test", text.trim_end_matches("; ").to_owned())
    }
}

fn end(stage: Option<&str>, text: String) -> Note {
    if stage == Some(Stage::Succeeded.as_str()) {
        Note::normal("Succeeded", "End", text)
    } else {
        Note::warning("Failed", "End", text)
    }
}

fn waiting(hold: &Hold, is_warning: bool) -> Note {
    Note {
        is_warning,
        repeats: true,
        ..Note::normal(hold.reason, "Wait", hold.message.clone())
    }
}

fn decided(decision: &ApprovalStatus) -> Note {
    let ApprovalStatus {
        gate,
        decided_by,
        hash,
        verified,
        ..
    } = decision;
    let sure = if *verified { "" } else { " (name not verified)" };
    match decision.decision {
        ApprovalDecision::Approve => Note::normal(
            "Approved",
            "Decide",
            format!("Gate {gate}: approved by {decided_by}{sure}: {hash}"),
        ),
        ApprovalDecision::Reject => Note::warning(
            reason::REJECTED,
            "Decide",
            format!("Gate {gate}: rejected by {decided_by}{sure}: {hash}"),
        ),
    }
}

fn reference<K: kube::Resource<DynamicType = ()>>(object: &K) -> ObjectReference {
    ObjectReference {
        // The version of the moment says nothing, and would make one story many.
        resource_version: None,
        ..object.object_ref(&())
    }
}

async fn send_all(client: Client, instance: String, mut letters: mpsc::Receiver<Letter>) {
    while let Some(letter) = letters.recv().await {
        if let Err(error) = send(&client, &instance, &letter).await {
            tracing::warn!(
                namespace = letter.about.namespace,
                task = letter.about.name,
                reason = letter.note.reason,
                %error,
                "an event could not be sent"
            );
        }
    }
}

async fn send(client: &Client, instance: &str, letter: &Letter) -> Result<(), kube::Error> {
    let namespace = letter.about.namespace.as_deref().unwrap_or("default");
    let events: Api<KubeEvent> = Api::namespaced(client.clone(), namespace);
    let event = written(letter, instance, Timestamp::now());
    match events.create(&PostParams::default(), &event).await {
        Err(kube::Error::Api(status)) if status.is_already_exists() => {}
        other => return other.map(drop),
    }
    if !letter.note.repeats {
        return Ok(());
    }
    let name = event.name_any();
    let count = events.get(&name).await?.series.map_or(1, |series| series.count);
    let series = EventSeries {
        count: count.saturating_add(1),
        last_observed_time: MicroTime(Timestamp::now()),
    };
    let patch = Patch::Merge(serde_json::json!({ "series": series }));
    events.patch(&name, &PatchParams::default(), &patch).await?;
    Ok(())
}

fn written(letter: &Letter, instance: &str, now: Timestamp) -> KubeEvent {
    let Letter { about, note } = letter;
    let task = about.name.as_deref().unwrap_or_default();
    let uid = about.uid.as_deref().unwrap_or_default();
    KubeEvent {
        metadata: ObjectMeta {
            name: Some(names::name(task, &[uid, note.reason, &note.text])),
            namespace: about.namespace.clone(),
            ..ObjectMeta::default()
        },
        event_time: Some(MicroTime(now)),
        reporting_controller: Some(names::OPERATOR.to_owned()),
        reporting_instance: Some(instance.to_owned()),
        regarding: Some(about.clone()),
        type_: Some(if note.is_warning { "Warning" } else { "Normal" }.to_owned()),
        reason: Some(note.reason.to_owned()),
        action: Some(note.action.to_owned()),
        note: Some(cut(&note.text)),
        ..KubeEvent::default()
    }
}

/// The beginning of a text that is too long for a note.
fn cut(text: &str) -> String {
    const DOTS: &str = " ...";
    if text.len() <= LONGEST_NOTE {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(LONGEST_NOTE - DOTS.len());
    format!("{}{DOTS}", &text[..end])
}

#[cfg(test)]
mod tests;
