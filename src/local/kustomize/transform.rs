//! Names, namespaces and labels of everything that a kustomization holds, and the references between them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::manifest::Document;
use super::Kustomization;

/// One entry of `labels`. Selectors and templates have no counterpart in what a local run uses.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Labels {
    pairs: BTreeMap<String, String>,
}

/// Applies the transformations of `kustomization` to its documents.
pub(super) fn apply(kustomization: &Kustomization, documents: &mut [Document]) {
    let Kustomization {
        name_prefix,
        name_suffix,
        namespace,
        ..
    } = kustomization;
    // As in kustomize: only references to objects of this kustomization are renamed.
    let named: BTreeSet<(String, String)> = documents
        .iter()
        .filter_map(|document| Some((document.kind().to_owned(), document.name()?.to_owned())))
        .collect();
    let rename = |name: &str| format!("{name_prefix}{name}{name_suffix}");
    for document in documents {
        if let Some(name) = document.name().map(&rename) {
            document.value["metadata"]["name"] = json!(name);
        }
        if !namespace.is_empty() {
            document.value["metadata"]["namespace"] = json!(namespace);
        }
        if document.api_version().starts_with(crate::api::GROUP) {
            rename_references(&mut document.value["spec"], &|kind, name| {
                named
                    .contains(&(kind.to_owned(), name.to_owned()))
                    .then(|| rename(name))
            });
        }
        let labels = kustomization
            .labels
            .iter()
            .flat_map(|labels| &labels.pairs)
            .chain(&kustomization.common_labels)
            .map(|pair| ("labels", pair));
        let annotations = kustomization
            .common_annotations
            .iter()
            .map(|pair| ("annotations", pair));
        for (field, (key, value)) in labels.chain(annotations) {
            document.value["metadata"][field][key] = json!(value);
        }
    }
}

/// Kind of the object that a field of our kinds refers to.
fn referred_kind(field: &str) -> Option<&'static str> {
    match field {
        "configMapKeyRef" | "configMapRef" => Some("ConfigMap"),
        "apiKeySecretRef" | "secretKeyRef" | "valueFrom" | "pushSecretRef" | "pullSecretRef" => {
            Some("Secret")
        }
        "agentRef" => Some("CodeGenAgent"),
        _ => None,
    }
}

fn rename_references(value: &mut Value, renamed: &impl Fn(&str, &str) -> Option<String>) {
    match value {
        Value::Object(fields) => {
            for (field, inner) in fields {
                let new = referred_kind(field).and_then(|kind| {
                    inner
                        .get("name")
                        .and_then(Value::as_str)
                        .and_then(|name| renamed(kind, name))
                });
                match new {
                    Some(name) => inner["name"] = json!(name),
                    // `parameters` goes to the model as it is.
                    None if field == "parameters" => {}
                    None => rename_references(inner, renamed),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename_references(item, renamed)),
        _ => {}
    }
}
