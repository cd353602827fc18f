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
    generators: Vec<String>,
    transformers: Vec<String>,
    validators: Vec<String>,
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

/// Fields whose texts name nothing that is read.
const WITHOUT_PATHS: [&str; 3] = ["commonAnnotations", "commonLabels", "labels"];

/// The kustomization's file in `folder`.
pub(super) fn find(folder: &Path) -> Option<PathBuf> {
    let names = ["kustomization.yaml", "kustomization.yml", "Kustomization"];
    let mut files = names.iter().map(|name| folder.join(name));
    files.find(|path| path.is_file())
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
    /// Files and folders of its resources, and of what makes, changes or judges them.
    pub(super) fn paths(&self) -> impl Iterator<Item = &String> {
        let is_path = |text: &&String| !text.contains('\n') && !text.starts_with('{');
        let resources = self.resources.iter().chain(&self.bases).chain(&self.components);
        resources.chain(self.plugins().filter(is_path))
    }

    /// Configurations of what makes, changes or judges resources: paths, or the YAML itself.
    fn plugins(&self) -> impl Iterator<Item = &String> {
        let plugins = [&self.generators, &self.transformers, &self.validators];
        plugins.into_iter().flatten()
    }

    /// The first address that the tool would fetch: of patches, schemas, configurations and the like.
    pub(super) fn address(&self) -> Option<&str> {
        let mut fields = self
            .other
            .iter()
            .filter(|(field, _)| !WITHOUT_PATHS.contains(&field.as_str()));
        fields.find_map(|(_, value)| address(value))
    }

    /// Kinds of objects with what makes them.
    pub(super) fn object_generators(&self) -> [(&'static str, &[Generator]); 2] {
        [
            ("ConfigMap", &self.config_map_generator),
            ("Secret", &self.secret_generator),
        ]
    }

    /// The first field that takes the tool.
    pub(super) fn beyond(&self) -> Option<String> {
        let lists = [
            ("components", &self.components),
            ("generators", &self.generators),
            ("transformers", &self.transformers),
            ("validators", &self.validators),
        ];
        if let Some((field, _)) = lists.into_iter().find(|(_, list)| !list.is_empty()) {
            return Some(field.to_owned());
        }
        let has_effect = |field: &str, value: &Value| !WITHOUT_EFFECT.contains(&field) && !value.is_null();
        let mut other = self.other.iter();
        if let Some((field, _)) = other.find(|(field, value)| has_effect(field, value)) {
            return Some(field.clone());
        }
        self.object_generators()
            .into_iter()
            .find_map(|(kind, generators)| {
                let beyond = |generator: &Generator| generator.beyond(&self.generator_options);
                let field = generators.iter().find_map(beyond)?;
                Some(format!("{}.{field}", generate::field_of(kind)))
            })
    }
}

/// The first text in a value that is an address.
fn address(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => {
            let is_scheme = |scheme: &&str| {
                let start = text.trim_start().get(..scheme.len());
                start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
            };
            let is_address = ["http://", "https://"].iter().any(is_scheme);
            is_address.then_some(text.as_str())
        }
        Value::Array(items) => items.iter().find_map(address),
        Value::Object(fields) => fields.values().find_map(address),
        _ => None,
    }
}
