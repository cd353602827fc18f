//! Delivery of Events to the cluster: one after the other, beside the work.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::{Event as KubeEvent, EventSeries};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use tokio::sync::mpsc;

use super::notes::Note;
use codegen_core::terminal::spelled_out;
use codegen_sandbox::kubernetes::names;

/// Longest note that the API server takes, bytes.
pub(super) const LONGEST_NOTE: usize = 1_024;

/// An Event in the queue.
#[derive(Debug)]
pub(super) struct QueuedEvent {
    pub(super) about: ObjectReference,
    pub(super) note: Note,
}

/// The object that a note is about.
pub(super) fn reference<K: kube::Resource<DynamicType = ()>>(object: &K) -> ObjectReference {
    ObjectReference {
        // The version of the moment says nothing, and would make one story many.
        resource_version: None,
        ..object.object_ref(&())
    }
}

/// Sends what comes in, until nobody is left who may hand anything in.
pub(super) async fn send_all(client: Client, instance: String, mut queue: mpsc::Receiver<QueuedEvent>) {
    while let Some(queued) = queue.recv().await {
        // An Event is no state: nothing depends on it, and it is not sent again.
        if let Err(error) = send(&client, &instance, &queued).await {
            tracing::warn!(
                namespace = queued.about.namespace,
                task = queued.about.name,
                reason = queued.note.reason,
                %error,
                "an event could not be sent"
            );
        }
    }
}

async fn send(client: &Client, instance: &str, queued: &QueuedEvent) -> Result<(), kube::Error> {
    let namespace = queued.about.namespace.as_deref().unwrap_or("default");
    let events: Api<KubeEvent> = Api::namespaced(client.clone(), namespace);
    let event = kube_event(queued, instance, Timestamp::now());
    match events.create(&PostParams::default(), &event).await {
        // The name follows from what is said, so that the same is not sent twice after a restart either.
        Err(kube::Error::Api(status)) if status.is_already_exists() => {}
        other => return other.map(drop),
    }
    if !queued.note.repeats {
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

pub(super) fn kube_event(queued: &QueuedEvent, instance: &str, now: Timestamp) -> KubeEvent {
    let QueuedEvent { about, note } = queued;
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
        note: Some(cut(&spelled_out(&note.text))),
        ..KubeEvent::default()
    }
}

/// The beginning of a text that is too long for a note.
pub(super) fn cut(text: &str) -> String {
    const DOTS: &str = " ...";
    if text.len() <= LONGEST_NOTE {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(LONGEST_NOTE - DOTS.len());
    format!("{}{DOTS}", &text[..end])
}
