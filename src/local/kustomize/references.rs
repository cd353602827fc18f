//! The fields that hold names of other objects, as a file of `configurations` lists them, and the names that they get in the end.
//!
//! kustomize knows such fields of Kubernetes' own kinds alone, of which those of workloads are known here; for those of this operator
//! `name-references.yaml` lists them.

use std::fmt;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::super::files::load_file;
use super::super::manifest::ManifestDocument;
use super::resource::Resource;
use super::{KustomizeError, hash};

/// A kind of object, and where its names stand.
#[derive(Deserialize, Clone, Debug)]
#[serde(rename_all = "camelCase")]
pub(super) struct NameReference {
    #[serde(flatten)]
    target: Selector,
    #[serde(default)]
    field_specs: Vec<FieldSpec>,
}

/// A field of a kind of object.
#[derive(Deserialize, Clone, Debug)]
struct FieldSpec {
    #[serde(flatten)]
    of: Selector,
    /// Fields with slashes between them; in a list, of each item.
    path: String,
}

/// Selector of objects: a part that is left out matches any.
#[derive(Deserialize, Clone, Debug, Default)]
#[serde(default)]
struct Selector {
    group: String,
    version: String,
    kind: String,
}

impl Selector {
    fn matches(&self, document: &ManifestDocument) -> bool {
        let api_version = document.api_version();
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let is = |wanted: &str, found: &str| wanted.is_empty() || wanted == found;
        is(&self.group, group) && is(&self.version, version) && is(&self.kind, document.kind())
    }
}

/// A reference that may mean several objects.
#[derive(Debug, PartialEq, Eq)]
pub struct Unclear {
    /// Place of the reference, and of its field.
    place: String,
    /// The name that it says.
    name: String,
    /// Objects that it may mean.
    candidates: Vec<String>,
}

impl fmt::Display for Unclear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            place,
            name,
            candidates,
        } = self;
        write!(
            f,
            "{place} refers to {name}, which may be {}: give them different names",
            candidates.join(" or ")
        )
    }
}

/// The references that a file of `configurations` lists; `None` where it holds more than that, which takes the real tool.
pub(super) fn read(kustomization: &Path, path: &Path) -> Result<Option<Vec<NameReference>>, KustomizeError> {
    let mut references = Vec::new();
    for document in load_file(path)? {
        let Value::Object(mut fields) = document.value else {
            continue;
        };
        let found = fields.remove("nameReference");
        if !fields.is_empty() {
            return Ok(None);
        }
        let found: Option<Vec<NameReference>> =
            serde_json::from_value(found.unwrap_or_default()).map_err(|error| KustomizeError::Invalid {
                file: kustomization.to_owned(),
                message: format!("{}: {error}", path.display()),
            })?;
        references.extend(found.into_iter().flatten());
    }
    Ok(Some(references))
}

/// Lists where the Pods of workloads name `ConfigMaps` and Secrets, as kustomize has it without being told.
fn of_workloads() -> Vec<NameReference> {
    const KINDS: [&str; 4] = ["DaemonSet", "Deployment", "Job", "StatefulSet"];
    const OF_MAPS: [&str; 4] = [
        "volumes/configMap/name",
        "volumes/projected/sources/configMap/name",
        "containers/env/valueFrom/configMapKeyRef/name",
        "containers/envFrom/configMapRef/name",
    ];
    const OF_SECRETS: [&str; 4] = [
        "volumes/secret/secretName",
        "volumes/projected/sources/secret/name",
        "containers/env/valueFrom/secretKeyRef/name",
        "containers/envFrom/secretRef/name",
    ];
    let selector = |kind: &str| Selector {
        kind: kind.to_owned(),
        ..Selector::default()
    };
    let reference = |(target, fields): (&str, [&str; 4])| NameReference {
        target: selector(target),
        field_specs: KINDS
            .iter()
            .flat_map(|kind| fields.map(|field| (kind, field)))
            .map(|(kind, field)| FieldSpec {
                of: selector(kind),
                path: format!("spec/template/spec/{field}"),
            })
            .collect(),
    };
    [("ConfigMap", OF_MAPS), ("Secret", OF_SECRETS)]
        .map(reference)
        .into()
}

/// Gives generated objects their last names, and writes every name where a reference means it.
pub(super) fn finish(
    mut resources: Vec<Resource>,
    references: &[NameReference],
) -> Result<Vec<ManifestDocument>, Unclear> {
    for resource in resources.iter_mut().filter(|resource| resource.is_hashed) {
        let name = resource.document.name().unwrap_or_default();
        let name = format!("{name}-{}", hash::suffix(&resource.document.value));
        resource.rename(name);
    }
    let references = [references, &of_workloads()].concat();
    for index in 0..resources.len() {
        for (target, spec) in fields_of(&resources[index].document, &references) {
            let mut value = std::mem::take(&mut resources[index].document.value);
            let path: Vec<&str> = spec.path.split('/').collect();
            let referrer = &resources[index];
            let namespace = namespace_of(&value);
            let named = |name: &str| {
                let found = mean(&resources, referrer, &namespace, target, name);
                found.map_err(|candidates| Unclear {
                    place: format!("{} {}", referrer.document.origin, path.join(".")),
                    name: name.to_owned(),
                    candidates,
                })
            };
            let changed = rename(&mut value, &path, &named);
            resources[index].document.value = value;
            changed?;
        }
    }
    Ok(resources.into_iter().map(|resource| resource.document).collect())
}

/// The fields of a document that hold names, each with what it names.
fn fields_of<'a>(
    document: &ManifestDocument,
    references: &'a [NameReference],
) -> Vec<(&'a Selector, &'a FieldSpec)> {
    let all = references.iter().flat_map(|reference| {
        reference
            .field_specs
            .iter()
            .map(move |spec| (&reference.target, spec))
    });
    all.filter(|(_, spec)| spec.of.matches(document)).collect()
}

fn namespace_of(value: &Value) -> String {
    let namespace = value["metadata"]["namespace"].as_str();
    namespace
        .filter(|name| !name.is_empty())
        .unwrap_or("default")
        .to_owned()
}

/// The name of the object that a reference means; `None` where it is not in the kustomization, and all names where it may be several.
fn mean(
    resources: &[Resource],
    referrer: &Resource,
    namespace: &str,
    target: &Selector,
    name: &str,
) -> Result<Option<String>, Vec<String>> {
    let has_had_it = |resource: &&Resource| {
        target.matches(&resource.document)
            && resource.document.namespace() == namespace
            && resource.names.iter().any(|had| had == name)
    };
    let mut found: Vec<&Resource> = resources.iter().filter(has_had_it).collect();
    // Of two variants of one base, what a variant holds means its own.
    if found.len() > 1 {
        let of_the_variant: Vec<&Resource> = found
            .iter()
            .copied()
            .filter(|resource| resource.added == referrer.added)
            .collect();
        found = if of_the_variant.is_empty() {
            found
        } else {
            of_the_variant
        };
    }
    let mut names: Vec<String> = found
        .iter()
        .filter_map(|resource| resource.document.name().map(str::to_owned))
        .collect();
    names.dedup();
    if names.len() > 1 {
        return Err(names);
    }
    Ok(names.pop())
}

/// Changes the texts at `path`, in every item of the lists on the way.
fn rename(
    value: &mut Value,
    path: &[&str],
    named: &impl Fn(&str) -> Result<Option<String>, Unclear>,
) -> Result<(), Unclear> {
    match (value, path) {
        (Value::Array(items), path) => items.iter_mut().try_for_each(|item| rename(item, path, named)),
        (Value::String(text), []) => {
            if let Some(name) = named(text)? {
                *text = name;
            }
            Ok(())
        }
        (Value::Object(fields), [first, rest @ ..]) => {
            let field = first.strip_suffix("[]").unwrap_or(first);
            match fields.get_mut(field) {
                Some(inner) => rename(inner, rest, named),
                None => Ok(()),
            }
        }
        _ => Ok(()),
    }
}
