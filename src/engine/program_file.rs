//! What a published image says of the program in it: for the launcher beside it, and for runs by the image alone.
//!
//! It is made of what a run needs, field by field: no prompt, no row or value of a sample, no name of the task (so that tasks which share a
//! program share its layer), and of Secrets the names of variables alone.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::api::common::Language;
use crate::api::values::{Input, Output};
use crate::data::profile::SampleProfile;
use crate::data::schema::expected::{Expected, expected};
use crate::pipeline::checks::ColumnCheck;
use crate::pipeline::sandbox::NetworkAccess;
use crate::pipeline::task::Task;

/// Version of the file's form.
pub const VERSION: u32 = 1;

/// A program in an image.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ProgramFile {
    /// [`VERSION`] of the writer.
    pub version: u32,
    /// Language of the program.
    pub language: Language,
    /// `3.12`.
    pub python_version: String,
    /// Every option of the program, without the contents of files and without examples.
    pub inputs: Vec<Input>,
    /// What it writes, in declared order.
    pub outputs: Vec<Output>,
    /// What its tests ran with.
    pub limits: Limits,
    /// Whether its tests could reach a network.
    pub has_network: bool,
    /// Names of the environment variables that came from Secrets.
    pub variables: Vec<String>,
    /// The constraints on columns.
    pub checks: Vec<ColumnCheck>,
    /// What a file must be like to be read as the task's sample of that input was.
    pub columns: BTreeMap<String, Vec<Expected>>,
}

/// What a program may use.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// CPUs.
    pub cpus: f64,
    /// Memory, bytes.
    pub memory_bytes: u64,
    /// Wall time, seconds.
    pub timeout_seconds: f64,
}

impl ProgramFile {
    /// What is said of the program of `task`.
    #[must_use]
    pub fn new(task: &Task, checks: Vec<ColumnCheck>, profiles: &[SampleProfile]) -> Self {
        let sandbox = &task.sandbox;
        Self {
            version: VERSION,
            language: task.language,
            python_version: task.image.python_version.clone(),
            inputs: task.inputs.iter().map(without_content).collect(),
            outputs: task.outputs.clone(),
            limits: Limits {
                cpus: sandbox.cpus,
                memory_bytes: sandbox.memory_bytes,
                timeout_seconds: sandbox.timeout_seconds,
            },
            has_network: sandbox.network != NetworkAccess::Denied,
            variables: sandbox.secrets.iter().map(|secret| secret.name.clone()).collect(),
            checks,
            columns: profiles
                .iter()
                .map(|profile| (profile.name.clone(), expected(profile)))
                .filter(|(_, columns)| !columns.is_empty())
                .collect(),
        }
    }
}

fn without_content(input: &Input) -> Input {
    Input {
        name: input.name.clone(),
        type_: input.type_,
        default: input.default.clone(),
        description: input.description.clone(),
        example: None,
        source: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::common::ConfigMapKeyRef;
    use crate::api::sandbox::SecretVariable;
    use crate::api::values::{InputSource, ValueType};
    use crate::pipeline::test_support::task;

    #[test]
    fn nothing_of_prompt_samples_examples_and_secrets_is_said() {
        let mut task = task();
        task.prompt = "SECRET-PROMPT".to_owned();
        task.system_prompt = Some("SECRET-SYSTEM".to_owned());
        task.schema = Some("SECRET-SCHEMA".to_owned());
        task.namespace = "secret-namespace".to_owned();
        task.name = "secret-name".to_owned();
        task.inputs.push(Input {
            name: "rates".to_owned(),
            type_: ValueType::File,
            default: None,
            example: Some("SECRET-EXAMPLE".to_owned()),
            description: Some("rates of today".to_owned()),
            source: Some(InputSource {
                config_map_key_ref: Some(ConfigMapKeyRef {
                    name: "secret-map".to_owned(),
                    key: "secret-key".to_owned(),
                }),
                ..InputSource::default()
            }),
        });
        task.sandbox.secrets.push(SecretVariable {
            name: "API_TOKEN".to_owned(),
            ..serde_json::from_value(serde_json::json!({"name": "x", "secretKeyRef": {"name": "secret-secret", "key": "secret-key"}})).unwrap()
        });
        let file = ProgramFile::new(&task, Vec::new(), &[]);
        let text = serde_json::to_string(&file).unwrap();
        assert!(!text.to_lowercase().contains("secret"), "{text}");
        assert_eq!(file.variables, ["API_TOKEN"]);
        assert!(text.contains("rates of today"));
        assert_eq!(serde_json::from_str::<ProgramFile>(&text).unwrap(), file);
    }
}
