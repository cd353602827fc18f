//! `/healthz`, `/readyz` and `/metrics`.

use std::fmt::Write as _;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::extract::State;
use axum::http::{Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use serde_json::{Map, Value};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::controller::telemetry::metrics::Metrics;
use codegen_api::{GROUP, VERSION, crds};

/// Most missing fields that a message names.
const MAX_NAMED: usize = 5;
/// Content type of `/metrics`.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Readiness of the operator: not yet, and for want of what, or yes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// It cannot work: why, and what to do.
    NotReady(String),
    /// It can, or could if it led.
    Ready,
}

/// The namespaces whose tasks are not read yet: the operator can work when there is none left.
#[derive(Debug)]
pub struct Unread<'a> {
    number: AtomicUsize,
    readiness: &'a watch::Sender<Readiness>,
}

impl<'a> Unread<'a> {
    /// So many, all of them unread.
    #[must_use]
    pub fn new(number: usize, readiness: &'a watch::Sender<Readiness>) -> Self {
        readiness.send_replace(Readiness::NotReady("the tasks are not read yet".to_owned()));
        Self {
            number: AtomicUsize::new(number),
            readiness,
        }
    }

    /// One of them is read.
    pub fn read(&self) {
        if self.number.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.readiness.send_replace(Readiness::Ready);
        }
    }
}

/// State from which the server answers.
#[derive(Clone)]
struct ServerState {
    readiness: watch::Receiver<Readiness>,
    metrics: Metrics,
}

/// Answers until `stop` is cancelled; requests under way are answered.
pub async fn serve(
    listener: TcpListener,
    readiness: watch::Receiver<Readiness>,
    metrics: Metrics,
    stop: CancellationToken,
) -> io::Result<()> {
    let router = Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .route("/metrics", get(scrape))
        .with_state(ServerState { readiness, metrics });
    axum::serve(listener, router)
        .with_graceful_shutdown(stop.cancelled_owned())
        .await
}

async fn ready(State(told): State<ServerState>) -> Response {
    match &*told.readiness.borrow() {
        Readiness::Ready => "ok\n".into_response(),
        Readiness::NotReady(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")).into_response(),
    }
}

async fn scrape(State(told): State<ServerState>) -> Response {
    match told.metrics.text() {
        Ok(text) => ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}

/// A field that this version reads or writes and the API server would drop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingField {
    /// Name of the definition (`codegentasks.codegen-operator.dev`).
    pub crd: String,
    /// Path of the field (`status.tokens.total`, `spec.samples[].format`); empty when the whole definition is missing.
    pub field: String,
}

/// Lists the fields of this version's definitions that the API server lacks. Asks for what it serves, which every account may read.
pub async fn missing_fields(client: &Client) -> Result<Vec<MissingField>, kube::Error> {
    let request = Request::get(format!("/openapi/v3/apis/{GROUP}/{VERSION}"))
        .body(Vec::new())
        .map_err(kube::Error::HttpError)?;
    let served = match client.request::<Value>(request).await {
        Ok(served) => served,
        // The group is not served at all, so every definition is missing.
        Err(kube::Error::Api(status)) if status.is_not_found() => Value::Null,
        Err(error) => return Err(error),
    };
    Ok(lacking(&crds(), &served))
}

/// Lists the fields of `ours` that `served`, an `OpenAPI` document, lacks. Fields that it has besides are no matter.
#[must_use]
pub fn lacking(ours: &[CustomResourceDefinition], served: &Value) -> Vec<MissingField> {
    let mut missing = Vec::new();
    for crd in ours {
        let name = format!("{}.{}", crd.spec.names.plural, crd.spec.group);
        let Some(theirs) = served_schema(served, &crd.spec.names.kind) else {
            missing.push(MissingField {
                crd: name,
                field: String::new(),
            });
            continue;
        };
        let schema = crd
            .spec
            .versions
            .iter()
            .find(|version| version.name == VERSION)
            .and_then(|version| version.schema.as_ref())
            .and_then(|schema| serde_json::to_value(schema.open_api_v3_schema.as_ref()?).ok());
        let mut fields = Vec::new();
        if let Some(schema) = schema {
            compare(&schema, theirs, "", &mut fields);
        }
        missing.extend(fields.into_iter().map(|field| MissingField {
            crd: name.clone(),
            field,
        }));
    }
    missing
}

/// The schema of a kind in an `OpenAPI` document.
fn served_schema<'a>(served: &'a Value, kind: &str) -> Option<&'a Value> {
    let schemas = served.pointer("/components/schemas")?.as_object()?;
    schemas.values().find(|schema| {
        let kinds = schema
            .get("x-kubernetes-group-version-kind")
            .and_then(Value::as_array);
        kinds
            .into_iter()
            .flatten()
            .any(|served| served["group"] == GROUP && served["version"] == VERSION && served["kind"] == kind)
    })
}

/// Adds the paths of what `theirs` lacks of `ours`. Below a field that preserves unknown fields nothing is missing.
fn compare(ours: &Value, theirs: &Value, path: &str, missing: &mut Vec<String>) {
    if theirs["x-kubernetes-preserve-unknown-fields"] == true {
        return;
    }
    for (name, field) in properties(ours) {
        let path = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}.{name}")
        };
        match theirs["properties"].get(name) {
            Some(served) => compare(field, served, &path, missing),
            None => missing.push(path),
        }
    }
    for (key, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        if let (Some(ours), Some(theirs)) = (ours.get(key), theirs.get(key)) {
            compare(ours, theirs, &format!("{path}{mark}"), missing);
        }
    }
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Map::iter)
}

/// Describes the missing fields and what to do; `None` when none is missing.
#[must_use]
pub fn explain(missing: &[MissingField]) -> Option<String> {
    if missing.is_empty() {
        return None;
    }
    let mut text = String::from("the API server lacks what this version of the operator needs: ");
    for (index, MissingField { crd, field }) in missing.iter().take(MAX_NAMED).enumerate() {
        let comma = if index > 0 { ", " } else { "" };
        let _ = match field.as_str() {
            "" => write!(text, "{comma}the definition {crd}"),
            field => write!(text, "{comma}the field {field} of {crd}"),
        };
    }
    if missing.len() > MAX_NAMED {
        let _ = write!(text, " and {} more", missing.len() - MAX_NAMED);
    }
    text.push_str(
        "; apply the definitions of this version: codegen-operator crds | kubectl apply --server-side -f -",
    );
    Some(text)
}

#[cfg(test)]
mod tests;
