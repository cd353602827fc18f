//! `ConfigMap`s and `Secret`s out of files, literals and environment files.

use std::collections::BTreeMap;
use std::path::Path;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::super::files::read_file;
use super::super::manifest::{DocumentOrigin, ManifestDocument};
use super::{KustomizeError, inside};

/// One entry of `configMapGenerator` or `secretGenerator`.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Generator {
    name: String,
    namespace: String,
    files: Vec<String>,
    literals: Vec<String>,
    envs: Vec<String>,
    env: String,
    r#type: String,
    options: GeneratorOptions,
    #[serde(flatten)]
    other: Map<String, Value>,
}

/// Options that generators give their objects besides content: `generatorOptions`, or the `options` of one.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct GeneratorOptions {
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    immutable: bool,
    disable_name_suffix_hash: bool,
}

impl Generator {
    /// The first field that takes the tool. `shared` are the options of all generators beside it.
    pub(super) fn beyond(&self, shared: &GeneratorOptions) -> Option<String> {
        let is_plain = |field: &str, value: &Value| field == "behavior" && value == "create";
        let mut other = self.other.iter();
        if let Some((field, _)) = other.find(|(field, value)| !is_plain(field, value)) {
            return Some(field.clone());
        }
        let is_hashed = !self.options.disable_name_suffix_hash && !shared.disable_name_suffix_hash;
        is_hashed.then(|| "name without generatorOptions.disableNameSuffixHash".to_owned())
    }
}

/// The object that a generator makes. `shared` are the options of all generators beside it.
pub(super) fn object(
    kind: &str,
    generator: &Generator,
    shared: &GeneratorOptions,
    index: usize,
    file: &Path,
    folder: &Path,
) -> Result<ManifestDocument, KustomizeError> {
    let data = data(kind, generator, index, file, folder)?;
    let origin = DocumentOrigin {
        file: file.display().to_string(),
        place: format!("{}[{index}]", field_of(kind)),
    };
    Ok(ManifestDocument {
        origin,
        value: render(kind, generator, shared, data),
        notices: Vec::new(),
    })
}

/// The field of a kustomization that holds the generators of a kind.
pub(super) fn field_of(kind: &str) -> &'static str {
    if kind == "Secret" {
        "secretGenerator"
    } else {
        "configMapGenerator"
    }
}

fn data(
    kind: &str,
    generator: &Generator,
    index: usize,
    file: &Path,
    folder: &Path,
) -> Result<BTreeMap<String, Vec<u8>>, KustomizeError> {
    let field = field_of(kind);
    let invalid = |message: String| KustomizeError::Invalid {
        file: file.to_owned(),
        message,
    };
    let mut data: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut add = |key: &str, bytes: Vec<u8>| match data.insert(key.to_owned(), bytes) {
        None => Ok(()),
        Some(_) => Err(invalid(format!("{field}[{index}] gives the key {key} twice"))),
    };
    for entry in &generator.files {
        let (key, path) = entry.split_once('=').unwrap_or_else(|| (base_name(entry), entry));
        add(key, read(file, folder, path)?)?;
    }
    for entry in &generator.literals {
        let (key, value) = entry
            .split_once('=')
            .ok_or_else(|| invalid(format!("{field}[{index}]: a literal is written key=value")))?;
        add(key, unquote(value).as_bytes().to_vec())?;
    }
    let old_env = (!generator.env.is_empty()).then_some(&generator.env);
    for path in generator.envs.iter().chain(old_env) {
        let text = String::from_utf8(read(file, folder, path)?)
            .map_err(|_| invalid(format!("{field}[{index}]: {path} is not UTF-8 text")))?;
        for line in text
            .lines()
            .map(str::trim_start)
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
        {
            let (key, value) = line
                .split_once('=')
                .ok_or_else(|| invalid(format!("{field}[{index}]: a line of {path} is not key=value")))?;
            add(key, value.as_bytes().to_vec())?;
        }
    }
    Ok(data)
}

fn render(
    kind: &str,
    generator: &Generator,
    shared: &GeneratorOptions,
    data: BTreeMap<String, Vec<u8>>,
) -> Value {
    let mut object = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": generator.name}});
    if !generator.namespace.is_empty() {
        object["metadata"]["namespace"] = json!(generator.namespace);
    }
    // Its own options count more than those of all.
    for options in [shared, &generator.options] {
        for (field, pairs) in [("labels", &options.labels), ("annotations", &options.annotations)] {
            for (key, value) in pairs {
                object["metadata"][field][key] = json!(value);
            }
        }
        if options.immutable {
            object["immutable"] = json!(true);
        }
    }
    if kind == "Secret" {
        let stated = Some(generator.r#type.as_str()).filter(|stated| !stated.is_empty());
        object["type"] = json!(stated.unwrap_or("Opaque"));
    }
    for (key, bytes) in data {
        match (kind, String::from_utf8(bytes)) {
            ("ConfigMap", Ok(text)) => object["data"][key] = json!(text),
            ("ConfigMap", Err(error)) => object["binaryData"][key] = json!(STANDARD.encode(error.as_bytes())),
            (_, Ok(text)) => object["data"][key] = json!(STANDARD.encode(text)),
            (_, Err(error)) => object["data"][key] = json!(STANDARD.encode(error.as_bytes())),
        }
    }
    object
}

fn read(file: &Path, folder: &Path, path: &str) -> Result<Vec<u8>, KustomizeError> {
    Ok(read_file(&inside(file, folder, path)?)?)
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn unquote(value: &str) -> &str {
    let quoted = |quote: char| {
        value
            .strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote))
    };
    quoted('"').or_else(|| quoted('\'')).unwrap_or(value)
}
