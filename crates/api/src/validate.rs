//! Validation of a manifest without an API server, as one with strict field validation does it.
//!
//! The definitions of [`super::crd`] are the only source: unknown fields, schema and CEL rules are read from them, so a
//! manifest that passes here is one that `kubectl apply` takes.

mod fields;
mod patterns;
mod schema;

use std::fmt;
use std::sync::LazyLock;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::cel::{ErrorKind, Validator};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::common::UNIQUE_NAMES;
use super::crd::{agent_crd, code_mode_agent_crd, code_mode_run_crd, run_crd, task_crd};
use super::{CodeGenAgent, CodeGenRun, CodeGenTask, CodeModeAgent, CodeModeRun, GROUP, VERSION};

/// The kinds that are read here.
const KINDS: [&str; 5] = [
    "CodeGenTask",
    "CodeGenAgent",
    "CodeGenRun",
    "CodeModeAgent",
    "CodeModeRun",
];

/// A valid document.
#[derive(Clone, Debug, PartialEq)]
pub enum Manifest {
    /// A `CodeGenTask`.
    Task(Box<CodeGenTask>),
    /// A `CodeGenAgent`.
    Agent(Box<CodeGenAgent>),
    /// A `CodeGenRun`.
    Run(Box<CodeGenRun>),
    /// A `CodeModeAgent`.
    CodeModeAgent(Box<CodeModeAgent>),
    /// A `CodeModeRun`.
    CodeModeRun(Box<CodeModeRun>),
}

/// One thing that is wrong with a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecFault {
    /// Path of the field (`spec.samples[0].url`); empty for the document as a whole.
    pub path: String,
    /// Sentence that says what is wrong and what to write instead.
    pub message: String,
}

impl SpecFault {
    fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            message: message.into(),
        }
    }
}

impl fmt::Display for SpecFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

/// Reads an object of one of our kinds, or says everything that an API server would say against it.
///
/// As on an API server, a field that is `null` counts as left out, unless it lies in free-form content.
pub fn manifest(value: &Value) -> Result<Manifest, Vec<SpecFault>> {
    let kind = kind_of(value).map_err(|fault| vec![fault])?;
    let schema: &Value = match kind {
        "CodeGenTask" => &TASK_SCHEMA,
        "CodeGenRun" => &RUN_SCHEMA,
        "CodeModeAgent" => &CODE_MODE_AGENT_SCHEMA,
        "CodeModeRun" => &CODE_MODE_RUN_SCHEMA,
        _ => &AGENT_SCHEMA,
    };
    let mut object = value.clone();
    // Before anything is judged: an API server drops them on arrival, and a rule with `has()` must see the same.
    fields::drop_nulls(schema, &mut object);

    let mut faults = fields::unknown(schema, &object);
    faults.extend(metadata(&object));
    faults.extend(schema::violations(schema, &object));
    // CEL rules come last: they cannot be evaluated over values whose type is wrong.
    let broken = broken_rules(schema, &object, &faults);
    faults.extend(broken);
    if !faults.is_empty() {
        return Err(faults);
    }
    match kind {
        "CodeGenTask" => typed(object).map(|task| Manifest::Task(Box::new(task))),
        "CodeGenRun" => typed(object).map(|run| Manifest::Run(Box::new(run))),
        "CodeModeAgent" => typed(object).map(|agent| Manifest::CodeModeAgent(Box::new(agent))),
        "CodeModeRun" => typed(object).map(|run| Manifest::CodeModeRun(Box::new(run))),
        _ => typed(object).map(|agent| Manifest::Agent(Box::new(agent))),
    }
    .map_err(|fault| vec![fault])
}

/// Lists what an API server says against the fields of a ConfigMap, or of a Secret; not against names, keys and base64.
#[must_use]
pub fn data_object(value: &Value) -> Vec<SpecFault> {
    let schema: &Value = if value["kind"] == "Secret" {
        &SECRET_SCHEMA
    } else {
        &CONFIG_MAP_SCHEMA
    };
    let mut object = value.clone();
    fields::drop_nulls(schema, &mut object);
    let mut faults = fields::unknown(schema, &object);
    faults.extend(schema::violations(schema, &object));
    faults
}

fn kind_of(value: &Value) -> Result<&'static str, SpecFault> {
    let Some(named) = value.get("kind").and_then(Value::as_str) else {
        return Err(SpecFault::new(
            "kind",
            format!("Required value: write {}", any_kind()),
        ));
    };
    let Some(kind) = KINDS.into_iter().find(|kind| *kind == named) else {
        return Err(SpecFault::new("kind", unknown_kind(named)));
    };
    let expected = format!("{GROUP}/{VERSION}");
    match value.get("apiVersion").and_then(Value::as_str) {
        Some(version) if version == expected => Ok(kind),
        Some(other) => Err(SpecFault::new(
            "apiVersion",
            format!("unknown version {other:?} of {kind}: write {expected}"),
        )),
        None => Err(SpecFault::new(
            "apiVersion",
            format!("Required value: write {expected}"),
        )),
    }
}

/// Returns the message for a kind that is none of the operator's.
#[must_use]
pub fn unknown_kind(kind: &str) -> String {
    match fields::nearest(&KINDS, kind) {
        Some(near) => format!("unknown kind {kind:?}: did you mean {near:?}?"),
        None => format!("unknown kind {kind:?}: write {}", any_kind()),
    }
}

/// The kinds as one says them: `A, B or C`.
fn any_kind() -> String {
    let [first @ .., last] = KINDS;
    format!("{} or {last}", first.join(", "))
}

static TASK_SCHEMA: LazyLock<Value> = LazyLock::new(|| schema_of(task_crd()));
static AGENT_SCHEMA: LazyLock<Value> = LazyLock::new(|| schema_of(agent_crd()));
static RUN_SCHEMA: LazyLock<Value> = LazyLock::new(|| schema_of(run_crd()));
static CODE_MODE_AGENT_SCHEMA: LazyLock<Value> = LazyLock::new(|| schema_of(code_mode_agent_crd()));
static CODE_MODE_RUN_SCHEMA: LazyLock<Value> = LazyLock::new(|| schema_of(code_mode_run_crd()));

static CONFIG_MAP_SCHEMA: LazyLock<Value> = LazyLock::new(open_api::<ConfigMap>);
static SECRET_SCHEMA: LazyLock<Value> = LazyLock::new(open_api::<Secret>);

/// The schema of a type of Kubernetes' own.
fn open_api<T: schemars::JsonSchema>() -> Value {
    schemars::generate::SchemaSettings::openapi3()
        .with(|settings| settings.inline_subschemas = true)
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value()
}

/// The schema of a kind, with what the API server adds to it: `apiVersion`, `kind` and the schema of `metadata`.
fn schema_of(mut crd: CustomResourceDefinition) -> Value {
    let metadata = open_api::<ObjectMeta>();
    let schema = crd
        .spec
        .versions
        .pop()
        .and_then(|version| version.schema?.open_api_v3_schema);
    // Plain data with string keys: it becomes a value always.
    let mut schema = serde_json::to_value(schema).unwrap_or_default();
    // A schema in a definition leaves these to the API server, which adds them.
    schema["properties"]["metadata"] = metadata;
    schema["properties"]["apiVersion"] = json!({"type": "string"});
    schema["properties"]["kind"] = json!({"type": "string"});
    schema
}

fn metadata(object: &Value) -> Option<SpecFault> {
    let name = object.pointer("/metadata/name");
    if name.is_none() && object.pointer("/metadata/generateName").is_some() {
        return None;
    }
    match name.map(Value::as_str) {
        None => Some(SpecFault::new(
            "metadata.name",
            "Required value: name the object, in lower-case letters, digits, - and ., like penguin-masses",
        )),
        Some(Some(name)) => name_fault(name).map(|message| SpecFault::new("metadata.name", message)),
        Some(None) => None,
    }
}

/// Returns what is wrong with the name of an object of most kinds, and what to write; `None` for a valid name.
#[must_use]
pub fn name_fault(name: &str) -> Option<String> {
    (!is_subdomain(name)).then(|| {
        format!(
            "Invalid value: {name:?}: write lower-case letters, digits, - and ., beginning and ending with a letter or digit, at most \
             253 characters, like penguin-masses"
        )
    })
}

/// Reports whether a text is an RFC 1123 subdomain, as names of objects are.
fn is_subdomain(name: &str) -> bool {
    let alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.len() <= 253
        && name.split('.').all(|label| {
            let bytes = label.as_bytes();
            bytes.first().is_some_and(|byte| alphanumeric(*byte))
                && bytes.last().is_some_and(|byte| alphanumeric(*byte))
                && bytes.iter().all(|byte| alphanumeric(*byte) || *byte == b'-')
        })
}

/// The CEL rules that do not hold, beside what is `known` to be wrong. A rule over a value whose fault is reported already
/// says nothing new, and one that cannot be evaluated trips over such a value.
fn broken_rules(schema: &Value, object: &Value, known: &[SpecFault]) -> Vec<SpecFault> {
    let Err(errors) = Validator::new().validate(schema, object, None) else {
        return Vec::new();
    };
    errors
        .into_iter()
        .filter(|error| known.is_empty() || error.kind == ErrorKind::ValidationFailure)
        .filter(|error| {
            let says_it = |fault: &SpecFault| {
                fault.path == error.field_path || fields::is_file_of(fault, &error.field_path)
            };
            !known.iter().any(says_it)
        })
        .map(|error| {
            let twice = (error.rule == UNIQUE_NAMES).then(|| named_twice(object, &error.field_path));
            let message = match twice.flatten() {
                Some(which) => format!("{} ({which})", error.message),
                None => error.message,
            };
            SpecFault::new(error.field_path, message)
        })
        .collect()
}

/// Finds a name that the list at `path` has twice, with its places: a rule's message is the same for every list.
fn named_twice(object: &Value, path: &str) -> Option<String> {
    let list = path
        .split('.')
        .try_fold(object, |value, field| value.get(field))?
        .as_array()?;
    let mut names = list.iter().map(|entry| entry["name"].as_str()).enumerate();
    names.find_map(|(second, name)| {
        let name = name?;
        let first = list[..second].iter().position(|entry| entry["name"] == name)?;
        Some(format!("{name:?} at [{first}] and [{second}]"))
    })
}

fn typed<T: DeserializeOwned>(object: Value) -> Result<T, SpecFault> {
    serde_json::from_value(object).map_err(|error| SpecFault::new("", error.to_string()))
}

#[cfg(test)]
mod tests;
