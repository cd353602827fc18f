//! An API server in memory: versions that grow, conflicts, status subresources, label selectors, watches. Every call is on record, and any
//! of them can be made to fail. What other controllers of a cluster do (garbage collection, nodes) nobody does here.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use futures::StreamExt as _;
use futures::channel::mpsc::{UnboundedSender, unbounded};
use jiff::Timestamp;
use kube::{Client, Resource};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::controller::tests::calls;
use crate::controller::tests::request::{ApiRequest, Verb, plural, selects};

/// Namespace of everything in these scenarios.
pub const NAMESPACE: &str = "data";

/// Resource, namespace and name.
type Place = (String, String, String);

/// Fault that a call meets instead of what was asked for.
pub enum Fault {
    /// It is refused with this code and reason, and nothing is written.
    Refused(u16, &'static str),
    /// It is done, and the reply is lost.
    ReplyLost,
}

/// The server; clones are the same one.
#[derive(Clone, Default)]
pub struct ApiServer(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    objects: BTreeMap<Place, Value>,
    version: u64,
    uids: u64,
    calls: Vec<String>,
    /// Each meets the first call whose line begins so.
    faults: Vec<(String, Fault)>,
    logs: BTreeMap<String, String>,
    changes: Vec<Change>,
    watches: Vec<(String, UnboundedSender<String>)>,
}

/// The events that watches receive.
struct Change {
    version: u64,
    resource: String,
    line: String,
}

/// Reason for which something is not done.
struct Refusal(u16, &'static str, String);

type Answer = Result<Value, Refusal>;

impl ApiServer {
    /// Speaks to this server.
    pub fn client(&self) -> Client {
        let server = self.clone();
        let router = Router::new().fallback(async move |request: Request| server.answer(request).await);
        Client::new(router, NAMESPACE)
    }

    /// An object that somebody applies.
    pub fn create(&self, object: Value) -> Value {
        let resource = plural(object["kind"].as_str().unwrap());
        let created = self.state().create(resource, NAMESPACE, object);
        created.unwrap_or_else(|Refusal(.., message)| panic!("{message}"))
    }

    /// Somebody changes an object.
    pub fn edit(&self, resource: &str, name: &str, change: impl FnOnce(&mut Value)) {
        let mut state = self.state();
        let place = place(resource, NAMESPACE, name);
        let before = state.objects[&place].clone();
        let mut after = before.clone();
        change(&mut after);
        state.store(place, &before, after);
    }

    /// An object is gone.
    pub fn remove(&self, resource: &str, name: &str) {
        let removed = self.state().delete(&place(resource, NAMESPACE, name));
        assert!(removed.is_ok(), "there is no {resource} {name}");
    }

    /// Every object of a resource, by name.
    pub fn all(&self, resource: &str) -> Vec<Value> {
        let state = self.state();
        let found = state.objects.iter().filter(|((found, ..), _)| found == resource);
        found.map(|(_, object)| object.clone()).collect()
    }

    /// The objects of a resource that are for this (`snapshot`, `record`).
    pub fn of_component(&self, resource: &str, component: &str) -> Vec<Value> {
        let mut all = self.all(resource);
        all.retain(|object| object["metadata"]["labels"]["codegen-operator.dev/component"] == component);
        all
    }

    /// The object of this name, where it is there.
    pub fn get<K: Resource<DynamicType = ()> + DeserializeOwned>(&self, name: &str) -> Option<K> {
        let place = place(&K::plural(&()), NAMESPACE, name);
        let found = self.state().objects.get(&place).cloned();
        found.map(|object| serde_json::from_value(object).unwrap())
    }

    /// Adds lines that a container wrote; containers of a Pod find their lines among those of the others.
    pub fn log(&self, pod: &str, log: &str) {
        self.state().logs.entry(pod.to_owned()).or_default().push_str(log);
    }

    /// The first call from now on whose line begins like `call` meets this.
    pub fn fail(&self, call: &str, fault: Fault) {
        self.state().faults.push((call.to_owned(), fault));
    }

    /// The calls since the last time; those about Events aside, which are sent beside the work.
    pub fn calls(&self) -> Vec<String> {
        let state = &mut self.state();
        assert!(state.faults.is_empty(), "not met: {}", state.faults[0].0);
        std::mem::take(&mut state.calls)
    }

    /// The calls since the last time are `expected`, one a line in this order; lines that begin with ~ and follow each
    /// other are in any order.
    #[track_caller]
    pub fn assert_calls(&self, expected: &str) {
        if let Err(words) = calls::compare(expected, &self.calls()) {
            panic!("{words}");
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    async fn answer(&self, request: Request) -> Response {
        let (head, body) = request.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();
        let request = ApiRequest::of(&head, &body);
        if request.verb == Verb::Watch {
            return self.watch(&request);
        }
        let mut state = self.state();
        let mut line = state.line(&request);
        let met = state.faults.iter().position(|(call, _)| line.starts_with(call));
        let fault = met.map(|index| state.faults.remove(index).1);
        let answer = match fault {
            Some(Fault::Refused(code, reason)) => {
                Err(Refusal(code, reason, "as the test wants it".to_owned()))
            }
            Some(Fault::ReplyLost) => state.act(&request).and_then(|_| {
                Err(Refusal(
                    504,
                    "Timeout",
                    "the reply is lost, as the test wants it".to_owned(),
                ))
            }),
            None => state.act(&request),
        };
        if let Err(Refusal(code, reason, _)) = &answer
            && *code != 404
        {
            line = format!("{line} -> {code} {reason}");
        }
        if request.resource != "events" {
            state.calls.push(line);
        }
        match answer {
            Ok(Value::String(log)) => log.into_response(),
            Ok(object) => axum::Json(object).into_response(),
            Err(Refusal(code, reason, message)) => {
                let status = json!({
                    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                    "code": code, "reason": reason, "message": message,
                });
                (StatusCode::from_u16(code).unwrap(), axum::Json(status)).into_response()
            }
        }
    }

    /// Streams the changes from the version on that is named; it does not end.
    fn watch(&self, request: &ApiRequest) -> Response {
        let mut state = self.state();
        let (sender, lines) = unbounded();
        let since: u64 = request.parameter("resourceVersion").parse().unwrap_or_default();
        let missed = state.changes.iter();
        for change in missed.filter(|change| change.version > since && change.resource == request.resource) {
            sender.unbounded_send(change.line.clone()).unwrap();
        }
        state.watches.push((request.resource.clone(), sender));
        Body::from_stream(lines.map(Ok::<_, Infallible>)).into_response()
    }
}

impl State {
    /// The call as it is on record.
    fn line(&self, request: &ApiRequest) -> String {
        let stored = request.name.as_deref();
        let stored = stored.and_then(|name| {
            self.objects
                .get(&place(&request.resource, &request.namespace, name))
        });
        calls::line(request, stored)
    }

    fn act(&mut self, request: &ApiRequest) -> Answer {
        let name = request.name.clone().unwrap_or_default();
        let place = place(&request.resource, &request.namespace, &name);
        match request.verb {
            Verb::Create => self.create(&request.resource, &request.namespace, request.body.clone()),
            Verb::List => {
                let items = self.selected(request).map(|(_, object)| object.clone());
                let items: Vec<Value> = items.collect();
                let version = self.version.to_string();
                Ok(
                    json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": version}, "items": items}),
                )
            }
            Verb::DeleteAll => {
                let places: Vec<Place> = self.selected(request).map(|(place, _)| place.clone()).collect();
                for place in places {
                    self.delete(&place)?;
                }
                Ok(json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}))
            }
            Verb::Log => Ok(self.logs.get(&name).cloned().unwrap_or_default().into()),
            Verb::Get => self.found(&place),
            Verb::Update => {
                let before = self.found(&place)?;
                in_time(&before, &request.body["metadata"])?;
                let mut after = if request.is_status {
                    before.clone()
                } else {
                    request.body.clone()
                };
                let status = if request.is_status { &request.body } else { &before };
                after["status"] = status["status"].clone();
                Ok(self.store(place, &before, after))
            }
            Verb::Patch => {
                let before = self.found(&place)?;
                let mut after = before.clone();
                merge(&mut after, &request.body);
                Ok(self.store(place, &before, after))
            }
            Verb::Delete => {
                in_time(&self.found(&place)?, &request.body["preconditions"])?;
                self.delete(&place)
            }
            Verb::Watch => unreachable!("it is answered before"),
        }
    }

    fn found(&self, place: &Place) -> Answer {
        let (resource, _, name) = place;
        let found = self.objects.get(place).cloned();
        found.ok_or_else(|| Refusal(404, "NotFound", format!("there is no {resource} {name}")))
    }

    fn selected<'a>(&'a self, request: &'a ApiRequest) -> impl Iterator<Item = (&'a Place, &'a Value)> {
        let selector = request.parameter("labelSelector");
        let here = self.objects.iter().filter(|((resource, namespace, _), _)| {
            *resource == request.resource && (request.namespace.is_empty() || *namespace == request.namespace)
        });
        here.filter(move |(_, object)| selects(selector, &object["metadata"]["labels"]))
    }

    fn create(&mut self, resource: &str, namespace: &str, mut object: Value) -> Answer {
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        let place = place(resource, namespace, &name);
        if self.objects.contains_key(&place) {
            let message = format!("{resource} {name} is there already");
            return Err(Refusal(409, "AlreadyExists", message));
        }
        self.uids += 1;
        let metadata = &mut object["metadata"];
        metadata["uid"] = format!("uid-{}", self.uids).into();
        metadata["namespace"] = namespace.into();
        metadata["creationTimestamp"] = now();
        metadata["generation"] = 1.into();
        object.as_object_mut().unwrap().remove("status");
        Ok(self.store(place, &Value::Null, object))
    }

    /// A write that changes nothing leaves the version as it is.
    fn store(&mut self, place: Place, before: &Value, mut after: Value) -> Value {
        if after["status"].is_null() {
            after.as_object_mut().unwrap().remove("status");
        }
        if after == *before {
            return after;
        }
        self.version += 1;
        after["metadata"]["resourceVersion"] = self.version.to_string().into();
        if !before.is_null() && before["spec"] != after["spec"] {
            after["metadata"]["generation"] = (before["metadata"]["generation"].as_i64().unwrap() + 1).into();
        }
        let how = if before.is_null() { "ADDED" } else { "MODIFIED" };
        self.notify(&place.0, how, &after);
        self.objects.insert(place, after.clone());
        after
    }

    fn delete(&mut self, place: &Place) -> Answer {
        let object = self.found(place)?;
        self.objects.remove(place);
        if place.0 == "pods" {
            self.logs.remove(&place.2);
        }
        self.version += 1;
        self.notify(&place.0, "DELETED", &object);
        Ok(object)
    }

    fn notify(&mut self, resource: &str, how: &str, object: &Value) {
        let change = Change {
            version: self.version,
            resource: resource.to_owned(),
            line: format!("{}\n", json!({"type": how, "object": object})),
        };
        self.watches.retain(|(watched, sender)| {
            watched != resource || sender.unbounded_send(change.line.clone()).is_ok()
        });
        self.changes.push(change);
    }
}

fn place(resource: &str, namespace: &str, name: &str) -> Place {
    (resource.to_owned(), namespace.to_owned(), name.to_owned())
}

fn now() -> Value {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into()
}

/// Checks that the object is still what whoever asks has seen.
fn in_time(object: &Value, seen: &Value) -> Result<(), Refusal> {
    for field in ["uid", "resourceVersion"] {
        let seen = &seen[field];
        if !seen.is_null() && *seen != object["metadata"][field] {
            let message = format!("{field} is {} and not {seen}", object["metadata"][field]);
            return Err(Refusal(409, "Conflict", message));
        }
    }
    Ok(())
}

/// A JSON merge patch.
fn merge(target: &mut Value, patch: &Value) {
    let Some(fields) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    for (name, change) in fields {
        if change.is_null() {
            target.as_object_mut().unwrap().remove(name);
        } else {
            merge(&mut target[name], change);
        }
    }
}
