//! Description of the program in a published image: for the launcher beside it, and for runs by the image alone.
//!
//! It is made of what a run needs, field by field: no prompt, no row or value of a sample, no name of the task (so that tasks which share a
//! program share its layer), and of Secrets the names of variables alone.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use codegen_api::common::Language;
use codegen_api::validate::{Manifest, manifest as manifest_of};
use codegen_api::values::{Input, Output};
use codegen_api::{GROUP, VERSION as API_VERSION};
use codegen_core::checks::ColumnCheck;
use codegen_core::sandbox::NetworkAccess;
use codegen_core::task::{FrozenFiles, Task, resolve};
use codegen_data::profile::SampleProfile;

use super::run_data::{ColumnsByInput, columns};

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
    /// Outputs that it writes, in declared order.
    pub outputs: Vec<Output>,
    /// Limits with which its tests ran.
    pub limits: ProgramLimits,
    /// True where its tests could reach a network.
    pub has_network: bool,
    /// Plain environment variables.
    pub env: BTreeMap<String, String>,
    /// Names of the environment variables that came from Secrets.
    pub variables: Vec<String>,
    /// The constraints on columns.
    pub checks: Vec<ColumnCheck>,
    /// Requirements on a file for it to be read as the task's sample of that input was.
    pub columns: ColumnsByInput,
}

/// Resources that a program may use.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ProgramLimits {
    /// CPUs.
    pub cpus: f64,
    /// Memory, bytes.
    pub memory_bytes: u64,
    /// Wall time, seconds.
    pub timeout_seconds: f64,
}

impl ProgramFile {
    /// Describes the program of `task`.
    #[must_use]
    pub fn new(task: &Task, checks: Vec<ColumnCheck>, profiles: &[SampleProfile]) -> Self {
        let sandbox = &task.sandbox;
        Self {
            version: VERSION,
            language: task.language,
            python_version: task.image.python_version.clone(),
            inputs: task.inputs.iter().map(without_content).collect(),
            outputs: task.outputs.clone(),
            limits: ProgramLimits {
                cpus: sandbox.cpus,
                memory_bytes: sandbox.memory_bytes,
                timeout_seconds: sandbox.timeout_seconds,
            },
            has_network: sandbox.network != NetworkAccess::Denied,
            env: sandbox.env.clone(),
            variables: sandbox.secrets.iter().map(|secret| secret.name.clone()).collect(),
            checks,
            columns: columns(profiles),
        }
    }
}

impl ProgramFile {
    /// Reads what an image says. Whoever pushed it is not trusted: it is judged as a manifest of the user's own would be. The task that
    /// comes of it has no access to a network and no Secrets, whatever the program was tested with: a run gives those itself.
    pub fn read(json: &[u8], namespace: &str, name: &str) -> Result<(Self, Task), String> {
        let version = serde_json::from_slice::<Value>(json).unwrap_or_default()["version"].clone();
        // Before the rest, which a newer version may have changed.
        if version
            .as_u64()
            .is_some_and(|version| version > u64::from(VERSION))
        {
            return Err(format!(
                "what it says of its program is of version {version}, and this operator knows {VERSION}"
            ));
        }
        let file: Self = serde_json::from_slice(json)
            .map_err(|error| format!("what it says of its program cannot be read: {error}"))?;
        let faults =
            |faults: Vec<String>| format!("what it says of its program is wrong: {}", faults.join("; "));
        let manifest = file.manifest(namespace, name);
        let Manifest::Task(object) = manifest_of(&manifest)
            .map_err(|found| faults(found.iter().map(ToString::to_string).collect()))?
        else {
            return Err(faults(Vec::new()));
        };
        let task = resolve(&object, None, FrozenFiles::default())
            .map_err(|found| faults(found.iter().map(ToString::to_string).collect()))?;
        Ok((file, task))
    }

    fn manifest(&self, namespace: &str, name: &str) -> Value {
        let ProgramLimits {
            cpus,
            memory_bytes,
            timeout_seconds,
        } = &self.limits;
        json!({
            "apiVersion": format!("{GROUP}/{API_VERSION}"),
            "kind": "CodeGenTask",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {
                // A manifest must have a prompt and a model; a program that is there needs neither.
                "prompt": "published",
                "model": {"name": "none"},
                "language": self.language,
                "inputs": self.inputs,
                "outputs": self.outputs,
                "image": {"pythonVersion": self.python_version},
                "sandbox": {
                    "timeout": format!("{}s", timeout_seconds.ceil()),
                    "env": self.env,
                    "resources": {"limits": {
                        "cpu": format!("{}m", (cpus * 1000.0).ceil()),
                        "memory": memory_bytes.to_string(),
                    }},
                },
            },
        })
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
    use codegen_api::common::ConfigMapKeyRef;
    use codegen_api::sandbox::SecretVariable;
    use codegen_api::values::{InputSource, ValueType};
    use codegen_core::test_support::task;

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
        // Were the task said as it is, or its inputs alone, whoever pulls the image would read all of it.
        let whole = serde_json::to_string(&task).unwrap();
        for word in ["PROMPT", "SYSTEM", "SCHEMA", "EXAMPLE"] {
            assert!(whole.contains(&format!("SECRET-{word}")), "{whole}");
        }
        let file = ProgramFile::new(&task, Vec::new(), &[]);
        let with_content = ProgramFile {
            inputs: task.inputs.clone(),
            ..file.clone()
        };
        let text = serde_json::to_string(&with_content).unwrap();
        assert!(
            text.contains("SECRET-EXAMPLE") && text.contains("secret-map"),
            "{text}"
        );

        let text = serde_json::to_string(&file).unwrap();
        assert!(!text.to_lowercase().contains("secret"), "{text}");
        assert_eq!(file.variables, ["API_TOKEN"]);
        assert!(text.contains("rates of today"));
        assert_eq!(serde_json::from_str::<ProgramFile>(&text).unwrap(), file);
    }

    #[test]
    fn the_program_file_is_read_as_a_task_without_network_and_secrets() {
        let mut task = task();
        task.sandbox.env.insert("MODE".to_owned(), "fast".to_owned());
        task.sandbox.network = NetworkAccess::Internet;
        let json = serde_json::to_vec(&ProgramFile::new(&task, Vec::new(), &[])).unwrap();
        let (file, read) = ProgramFile::read(&json, "lab", "penguins").unwrap();
        assert!(file.has_network);
        assert_eq!((&read.inputs, &read.outputs), (&file.inputs, &file.outputs));
        assert_eq!(read.sandbox.network, NetworkAccess::Denied);
        assert_eq!(read.sandbox.env, task.sandbox.env);
        assert_eq!(read.sandbox.memory_bytes, task.sandbox.memory_bytes);
        assert!((read.sandbox.cpus - task.sandbox.cpus).abs() < 0.001);
        assert!((read.sandbox.timeout_seconds - task.sandbox.timeout_seconds).abs() < 1.0);
        assert!(read.sandbox.secrets.is_empty());
    }

    #[test]
    fn the_words_of_an_image_would_open_the_network_where_a_manifests_do() {
        let mut said = serde_json::to_value(ProgramFile::new(&task(), Vec::new(), &[])).unwrap();
        let sandbox = json!({
            "network": {"egress": "Internet"},
            "secrets": [{"name": "TOKEN", "secretKeyRef": {"name": "theirs", "key": "token"}}],
        });
        said["hasNetwork"] = json!(true);
        said["sandbox"].clone_from(&sandbox);
        let (file, read) = ProgramFile::read(said.to_string().as_bytes(), "lab", "penguins").unwrap();
        assert_eq!(read.sandbox.network, NetworkAccess::Denied);
        assert!(read.sandbox.secrets.is_empty());

        // The same document, were it passed to what reads manifests.
        let mut manifest = file.manifest("lab", "penguins");
        for (name, value) in sandbox.as_object().unwrap() {
            manifest["spec"]["sandbox"][name] = value.clone();
        }
        let Ok(Manifest::Task(object)) = manifest_of(&manifest) else {
            panic!("{manifest:#}");
        };
        let taken = resolve(&object, None, FrozenFiles::default()).unwrap();
        assert_eq!(taken.sandbox.network, NetworkAccess::Internet);
        assert_eq!(taken.sandbox.secrets[0].name, "TOKEN");
    }

    #[test]
    fn an_image_that_lies_is_refused_with_what_is_wrong() {
        let written = ProgramFile::new(&task(), Vec::new(), &[]);
        let mut file = serde_json::to_value(&written).unwrap();
        let read = |file: &Value| ProgramFile::read(file.to_string().as_bytes(), "lab", "p").unwrap_err();
        file["outputs"] = json!([{"name": "../escape", "type": "File"}]);
        // Who only parses it is led out of the folder of outputs.
        let parsed: ProgramFile = serde_json::from_value(file.clone()).unwrap();
        assert_eq!(parsed.outputs[0].name, "../escape");
        let said = read(&file);
        assert!(
            said.starts_with("what it says of its program is wrong: spec.outputs[0].name"),
            "{said}"
        );
        file["version"] = json!(9);
        assert_eq!(
            read(&file),
            "what it says of its program is of version 9, and this operator knows 1"
        );
        assert!(read(&json!({})).starts_with("what it says of its program cannot be read"));
    }
}
