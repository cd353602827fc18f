//! A request to the API server, as what it asks for.

use std::collections::BTreeMap;

use axum::http::Method;
use axum::http::request::Parts;
use serde_json::Value;
use url::form_urlencoded;

/// Resources by kind.
const KINDS: [(&str, &str); 18] = [
    ("CodeGenAgent", "codegenagents"),
    ("CodeGenApproval", "codegenapprovals"),
    ("CodeGenRun", "codegenruns"),
    ("CodeGenTask", "codegentasks"),
    ("CodeModeAgent", "codemodeagents"),
    ("CodeModeRun", "codemoderuns"),
    ("ConfigMap", "configmaps"),
    ("EndpointSlice", "endpointslices"),
    ("Event", "events"),
    ("Job", "jobs"),
    ("NetworkPolicy", "networkpolicies"),
    ("Node", "nodes"),
    ("PersistentVolumeClaim", "persistentvolumeclaims"),
    ("Pod", "pods"),
    ("Secret", "secrets"),
    ("ServiceAccount", "serviceaccounts"),
    ("ValidatingAdmissionPolicy", "validatingadmissionpolicies"),
    (
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
    ),
];

/// Verb of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Create,
    Get,
    List,
    Watch,
    Log,
    Update,
    Patch,
    Delete,
    DeleteAll,
}

/// One request.
pub struct ApiRequest {
    pub verb: Verb,
    pub resource: String,
    pub namespace: String,
    pub name: Option<String>,
    pub is_status: bool,
    pub body: Value,
    query: BTreeMap<String, String>,
}

impl ApiRequest {
    pub fn of(head: &Parts, body: &[u8]) -> Self {
        let mut path = head
            .uri
            .path()
            .split('/')
            .filter(|part| !part.is_empty())
            .peekable();
        let before_the_resource = if path.next() == Some("api") { 1 } else { 2 };
        let mut path = path.skip(before_the_resource).peekable();
        let namespace = path.next_if_eq(&"namespaces").and_then(|_| path.next());
        let resource = path.next().unwrap_or_default().to_owned();
        let (name, sub) = (path.next().map(str::to_owned), path.next());
        let query = head.uri.query().unwrap_or_default();
        let query: BTreeMap<_, _> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let verb = match (&head.method, name.is_some()) {
            (&Method::GET, true) if sub == Some("log") => Verb::Log,
            (&Method::GET, true) => Verb::Get,
            (&Method::GET, false) if query.contains_key("watch") => Verb::Watch,
            (&Method::GET, false) => Verb::List,
            (&Method::POST, false) => Verb::Create,
            (&Method::PUT, true) => Verb::Update,
            (&Method::PATCH, true) => Verb::Patch,
            (&Method::DELETE, true) => Verb::Delete,
            (&Method::DELETE, false) => Verb::DeleteAll,
            (method, _) => panic!("{method} {} is not what this server knows", head.uri),
        };
        Self {
            verb,
            resource,
            namespace: namespace.unwrap_or_default().to_owned(),
            name,
            is_status: sub == Some("status"),
            body: serde_json::from_slice(body).unwrap_or_default(),
            query,
        }
    }

    /// A parameter of the query; empty where it is not there.
    pub fn parameter(&self, name: &str) -> &str {
        self.query.get(name).map_or("", String::as_str)
    }

    /// The kind of the resource.
    pub fn kind(&self) -> &'static str {
        let found = KINDS.iter().find(|(_, resource)| *resource == self.resource);
        found
            .unwrap_or_else(|| panic!("{} is no resource here", self.resource))
            .0
    }
}

/// The resource of a kind.
pub fn plural(kind: &str) -> &'static str {
    let found = KINDS.iter().find(|(found, _)| *found == kind);
    found.unwrap_or_else(|| panic!("{kind} is no kind here")).1
}

/// Reports whether a label selector (`a=b,c!=d,e in (f,g),h,!i`) selects an object with these labels.
pub fn selects(selector: &str, labels: &Value) -> bool {
    requirements(selector).into_iter().all(|requirement| {
        let label = |key: &str| labels[key.trim()].as_str();
        if let Some((key, values)) = requirement.split_once(" in ") {
            let values = values.trim().trim_matches(['(', ')']);
            return label(key).is_some_and(|value| values.split(',').any(|wanted| wanted.trim() == value));
        }
        if let Some((key, value)) = requirement.split_once("!=") {
            return label(key) != Some(value);
        }
        if let Some((key, value)) = requirement.split_once('=') {
            return label(key) == Some(value);
        }
        match requirement.strip_prefix('!') {
            Some(key) => label(key).is_none(),
            None => label(requirement).is_some(),
        }
    })
}

/// The parts between commas that are in no brackets.
fn requirements(selector: &str) -> Vec<&str> {
    let mut depth = 0;
    let parts = selector.split(|character| {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        character == ',' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}
