//! The file of a kustomization: its fields, and which of them take the real tool.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::super::files::load_file;
use super::KustomizeError;
use super::generate::{Generator, GeneratorOptions};

/// One entry of `labels`. Selectors and templates have no counterpart in what a local run uses.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Labels {
    pub pairs: BTreeMap<String, String>,
}

/// The fields that are rendered here. Everything else lands in `other`.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Kustomization {
    pub resources: Vec<String>,
    pub configurations: Vec<String>,
    pub config_map_generator: Vec<Generator>,
    pub secret_generator: Vec<Generator>,
    pub generator_options: GeneratorOptions,
    pub name_prefix: String,
    pub name_suffix: String,
    pub namespace: String,
    pub common_labels: BTreeMap<String, String>,
    pub common_annotations: BTreeMap<String, String>,
    pub labels: Vec<Labels>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

/// Fields that change nothing that a local run reads: order, and how patches are merged.
const WITHOUT_EFFECT: [&str; 6] = [
    "apiVersion",
    "kind",
    "metadata",
    "sortOptions",
    "buildMetadata",
    "openapi",
];

/// Fields that kustomize has besides.
const OF_THE_TOOL: [&str; 17] = [
    "bases",
    "components",
    "crds",
    "generators",
    "helmChartInflationGenerator",
    "helmCharts",
    "helmGlobals",
    "images",
    "inventory",
    "patches",
    "patchesJson6902",
    "patchesStrategicMerge",
    "replacements",
    "replicas",
    "transformers",
    "validators",
    "vars",
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

/// Reads it as kustomize does: strictly.
pub(super) fn read(file: &Path) -> Result<Kustomization, KustomizeError> {
    let mut documents = load_file(file)?;
    let invalid = |message: String| KustomizeError::Invalid {
        file: file.to_owned(),
        message,
    };
    let kustomization: Kustomization = match (documents.pop(), documents.is_empty()) {
        (Some(document), true) => {
            if let Some(notice) = document.notices.first() {
                return Err(invalid(notice.clone()));
            }
            serde_json::from_value(document.value).map_err(|error| invalid(error.to_string()))?
        }
        (None, _) => Kustomization::default(),
        (Some(_), false) => return Err(invalid("holds more than one document: keep one".to_owned())),
    };
    let is_known = |field: &str| WITHOUT_EFFECT.contains(&field) || OF_THE_TOOL.contains(&field);
    match kustomization.other.keys().find(|field| !is_known(field)) {
        Some(field) => Err(invalid(format!(
            "kustomize has no field {field}: correct its name, as resources or configMapGenerator"
        ))),
        None => Ok(kustomization),
    }
}

impl Kustomization {
    /// The first field that needs the real tool.
    pub(super) fn beyond(&self) -> Option<String> {
        let is_used = |value: &Value| !matches!(value, Value::Null);
        let of_the_tool = self
            .other
            .iter()
            .find(|(field, value)| OF_THE_TOOL.contains(&field.as_str()) && is_used(value));
        if let Some((field, _)) = of_the_tool {
            return Some(field.clone());
        }
        let is_remote = |path: &&String| path.contains("://") || path.starts_with("github.com/");
        if let Some(path) = self.resources.iter().chain(&self.configurations).find(is_remote) {
            return Some(format!("the remote resource {path}"));
        }
        for (field, generators) in [
            ("configMapGenerator", &self.config_map_generator),
            ("secretGenerator", &self.secret_generator),
        ] {
            if let Some(beyond) = generators.iter().find_map(Generator::beyond) {
                return Some(format!("{field}.{beyond}"));
            }
        }
        None
    }
}
