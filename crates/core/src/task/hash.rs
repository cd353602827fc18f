//! The hash that is equal for tasks that would give the same program.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use codegen_api::case::{Case, CaseMode};
use codegen_api::common::{Backend, CacheMode, Exposure, Language, TestingMode};
use codegen_api::model::Provider;
use codegen_api::values::{Input, Output};

use super::{FrozenFile, ModelSettings, Task};
use crate::digest::sha256_hex_of_parts;

/// Raised when fields are added or read otherwise, so that older hashes no longer match.
const VERSION: u32 = 3;

/// The fields that decide the result.
///
/// Decisive: what the model sees and which model it is; the data, the options and outputs of the program; the tests
/// it must pass; how much of the samples the model may see; what is in its image (base, Python, packages that are always there); the plain environment variables
/// that tests and program read.
///
/// Operational, so that changing them goes on with the present run: name and namespace; how the model is reached (base
/// address, key, headers, query), where images and packages come from (repository, index), limits and resources,
/// timeouts, retries, network, variables from Secrets (they rotate), what is cached, what is published.
#[derive(Serialize)]
struct Decisive<'a> {
    version: u32,
    prompt: &'a str,
    schema: Option<&'a str>,
    system_prompt: Option<&'a str>,
    constraints: &'a [String],
    samples: Vec<Content<'a>>,
    max_sample_rows: usize,
    exposure: Exposure,
    inputs: Vec<Input>,
    outputs: &'a [Output],
    input_files: Vec<Content<'a>>,
    acceptance_tests: Option<&'a str>,
    testing: TestingMode,
    cases: CaseMode,
    examples: &'a [Case],
    #[serde(skip_serializing_if = "is_pipeline")]
    backend: Backend,
    language: Language,
    provider: Provider,
    model: &'a str,
    parameters: Value,
    base: &'a str,
    base_packages: Vec<&'a str>,
    base_system_packages: Vec<&'a str>,
    python_version: &'a str,
    env: &'a BTreeMap<String, String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it this way")]
fn is_pipeline(backend: &Backend) -> bool {
    *backend == Backend::Pipeline
}

/// A file as the program meets it: where it came from does not matter.
#[derive(Serialize)]
struct Content<'a> {
    name: &'a str,
    file_name: &'a str,
    sha256: &'a str,
    is_dir: bool,
}

impl<'a> From<&'a FrozenFile> for Content<'a> {
    fn from(file: &'a FrozenFile) -> Self {
        Self {
            name: &file.name,
            file_name: &file.file_name,
            sha256: &file.sha256,
            is_dir: file.is_dir,
        }
    }
}

impl Task {
    /// SHA-256, in hex, over the fields that decide the result: tasks with equal hashes may share one run. Limits,
    /// resources, credentials and addresses do not count, so that a run goes on after one of them was changed.
    #[must_use]
    pub fn decisive_hash(&self) -> String {
        let mut value = self.decisive();
        // One order of keys, whichever the map of a manifest had.
        value.sort_all_objects();
        Sha256::digest(value.to_string())
            .iter()
            .fold(String::with_capacity(64), |hex, byte| format!("{hex}{byte:02x}"))
    }

    /// Fields that decide the result and are others than those of `former`, in words (`acceptance tests`).
    #[must_use]
    pub fn changes_since(&self, former: &Self) -> Vec<String> {
        let (now, before) = (self.decisive(), former.decisive());
        let fields = now.as_object().into_iter().flatten();
        let changed = fields.filter(|(name, value)| before.get(name.as_str()) != Some(value));
        changed.map(|(name, _)| name.replace('_', " ")).collect()
    }

    fn decisive(&self) -> Value {
        let decisive = Decisive {
            version: VERSION,
            prompt: &self.prompt,
            schema: self.schema.as_deref(),
            system_prompt: self.system_prompt.as_deref(),
            constraints: &self.constraints,
            samples: self.samples.iter().map(Content::from).collect(),
            max_sample_rows: self.max_sample_rows,
            exposure: self.exposure,
            inputs: self.inputs.iter().map(without_source).collect(),
            outputs: &self.outputs,
            input_files: self.input_files.iter().map(Content::from).collect(),
            acceptance_tests: self.acceptance_tests.as_ref().map(|file| file.sha256.as_str()),
            testing: self.testing,
            cases: self.cases,
            examples: &self.examples,
            backend: self.backend,
            language: self.language,
            provider: self.model.provider,
            model: &self.model.name,
            parameters: Value::Object(self.model.parameters.clone()),
            base: &self.image.base,
            base_packages: sorted(&self.image.base_packages),
            base_system_packages: sorted(&self.image.base_system_packages),
            python_version: &self.image.python_version,
            env: &self.sandbox.env,
        };
        serde_json::json!(decisive)
    }
}

impl Task {
    /// SHA-256, in hex, of what decides the result of this version of the operator, the server of the model, the image that is given
    /// and what tests may reach included: a task with the same key may take over the result. `None` where it may not.
    #[must_use]
    pub fn reuse_key(&self) -> Option<String> {
        // What is not cached is not taken over either.
        if self.cache == CacheMode::Disable {
            return None;
        }
        let variables: Vec<&str> = self
            .sandbox
            // Names of variables and not their values: these rotate, and are not known here.
            .secrets
            .iter()
            .map(|secret| secret.name.as_str())
            .collect();
        let other = |(_, model): (_, &ModelSettings)| {
            serde_json::json!([
                model.provider,
                model.name,
                endpoint(&model.base_url),
                model.parameters
            ])
        };
        let others: Vec<Value> = self.models().skip(1).map(other).collect();
        let mut reach = serde_json::json!({
            // Two servers may have different models of one name.
            "endpoint": endpoint(&self.model.base_url),
            "reference": self.image.reference,
            "network": self.sandbox.network,
            "variables": variables,
        });
        if !others.is_empty() {
            reach["others"] = others.into();
        }
        // Another version may generate and test otherwise.
        let version = env!("CARGO_PKG_VERSION");
        Some(sha256_hex_of_parts(&[
            version,
            &self.decisive_hash(),
            &reach.to_string(),
        ]))
    }

    /// [`Self::reuse_key`] of what the program is written for, without what proves it: examples, and the text of acceptance tests.
    #[must_use]
    pub fn program_key(&self) -> Option<String> {
        let mut unproved = self.clone();
        unproved.examples.clear();
        if let Some(tests) = &mut unproved.acceptance_tests {
            tests.sha256.clear();
        }
        unproved.reuse_key()
    }
}

/// An address without a user and a password, which rotate and say nothing of the model.
fn endpoint(base_url: &str) -> String {
    let Some((scheme, rest)) = base_url.split_once("://") else {
        return base_url.to_owned();
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{}://{}{path}", scheme.to_lowercase(), host.to_lowercase())
}

fn sorted(names: &[String]) -> Vec<&str> {
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.sort_unstable();
    names
}

fn without_source(input: &Input) -> Input {
    Input {
        source: None,
        ..input.clone()
    }
}
