//! The file of a kustomization: its fields, and which of them take the tool.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::super::files::load_file;
use super::KustomizeError;
use super::generate::{self, Generator, GeneratorOptions};

/// The fields that are read here. Everything else lands in `other`.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Kustomization {
    resources: Vec<String>,
    bases: Vec<String>,
    components: Vec<String>,
    config_map_generator: Vec<Generator>,
    secret_generator: Vec<Generator>,
    pub generator_options: GeneratorOptions,
    #[serde(flatten)]
    other: Map<String, Value>,
}

/// Fields that change nothing that a local run reads: order, and where names stand that something else changes.
const WITHOUT_EFFECT: [&str; 7] = [
    "apiVersion",
    "kind",
    "metadata",
    "sortOptions",
    "buildMetadata",
    "openapi",
    "configurations",
];

/// The kustomization's file in `folder`.
pub(super) fn find(folder: &Path) -> Result<PathBuf, KustomizeError> {
    ["kustomization.yaml", "kustomization.yml", "Kustomization"]
        .iter()
        .map(|name| folder.join(name))
        .find(|path| path.is_file())
        .ok_or_else(|| KustomizeError::NoKustomization {
            folder: folder.to_owned(),
        })
}

/// Reads it as kustomize does: no key may stand twice.
pub(super) fn read(file: &Path) -> Result<Kustomization, KustomizeError> {
    let mut documents = load_file(file)?;
    let invalid = |message: String| KustomizeError::Invalid {
        file: file.to_owned(),
        message,
    };
    match (documents.pop(), documents.is_empty()) {
        (Some(document), true) => match document.notices.first() {
            Some(notice) => Err(invalid(notice.clone())),
            None => serde_json::from_value(document.value).map_err(|error| invalid(error.to_string())),
        },
        (None, _) => Ok(Kustomization::default()),
        (Some(_), false) => Err(invalid("holds more than one document: keep one".to_owned())),
    }
}

impl Kustomization {
    /// Files and folders of its resources.
    pub(super) fn paths(&self) -> impl Iterator<Item = &String> {
        self.resources.iter().chain(&self.bases).chain(&self.components)
    }

    /// Kinds of objects with what makes them.
    pub(super) fn generators(&self) -> [(&'static str, &[Generator]); 2] {
        [
            ("ConfigMap", &self.config_map_generator),
            ("Secret", &self.secret_generator),
        ]
    }

    /// The first field that takes the tool.
    pub(super) fn beyond(&self) -> Option<String> {
        if !self.components.is_empty() {
            return Some("components".to_owned());
        }
        let has_effect = |field: &str, value: &Value| !WITHOUT_EFFECT.contains(&field) && !value.is_null();
        let mut other = self.other.iter();
        if let Some((field, _)) = other.find(|(field, value)| has_effect(field, value)) {
            return Some(field.clone());
        }
        self.generators().into_iter().find_map(|(kind, generators)| {
            let beyond = |generator: &Generator| generator.beyond(&self.generator_options);
            let field = generators.iter().find_map(beyond)?;
            Some(format!("{}.{field}", generate::field_of(kind)))
        })
    }
}
