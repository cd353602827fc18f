//! From a task, values and frozen files to a run without open questions.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::inputs::{GivenInput, InputFault, ProgramOptions, faults};
use crate::mounts::{arguments, mount_name};
use crate::sandbox::{InputMount, Job, MAX_DISK_BYTES, MAX_OUTPUT_BYTES, Phase, PhaseName, ProgramPhase};
use crate::task::{FrozenFile, ResolveError, SandboxSettings, Task, sandbox_over};
use codegen_api::run::{CodeGenRunSpec, DEFAULT_RUN_RETRIES, OutputClaim, Validation};
use codegen_api::run_status::{InputOrigin, RunInputStatus};
use codegen_api::sandbox::Sandbox;
use codegen_api::values::{Output, ValueType};

/// Longest value that a status repeats, bytes.
const LONGEST_SHOWN: usize = 256;

/// Settings of a run besides its inputs.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunSettings<'a> {
    /// In the place of the task's sandbox, field by field.
    pub sandbox: Option<&'a Sandbox>,
    /// Treatment of data that breaks a rule.
    pub validation: Option<Validation>,
    /// Claim to which outputs go that are too large.
    pub claim: Option<&'a OutputClaim>,
}

impl<'a> From<&'a CodeGenRunSpec> for RunSettings<'a> {
    fn from(spec: &'a CodeGenRunSpec) -> Self {
        Self {
            sandbox: spec.sandbox.as_ref(),
            validation: spec.validation,
            claim: spec.output_claim(),
        }
    }
}

/// A run whose every open question is answered.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ResolvedRun {
    /// Every option of the program, in the task's order.
    pub inputs: Vec<ResolvedInput>,
    /// Outputs that the program writes, in declared order.
    pub outputs: Vec<Output>,
    /// Sandbox in which it runs, with its limits.
    pub sandbox: SandboxSettings,
    /// Treatment of data that breaks a rule; `None` for the defaults.
    #[serde(default)]
    pub validation: Option<Validation>,
    /// Claim to which outputs go that are too large.
    #[serde(default)]
    pub claim: Option<OutputClaim>,
}

/// One option of the program.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ResolvedInput {
    /// Its name.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub type_: ValueType,
    /// Origin of the value. A file of the run and one of the task may have the same name, and lie in two places.
    pub from: InputOrigin,
    /// Value of the option.
    pub value: ResolvedValue,
}

/// Value of an option.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub enum ResolvedValue {
    /// A value, as the command line has it.
    Text(String),
    /// A file or folder.
    File(FrozenFile),
}

/// Something that prevents a run from starting, until it is changed.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
pub enum RunFault {
    /// An input.
    #[error(transparent)]
    Input(#[from] InputFault),
    /// A setting.
    #[error(transparent)]
    Setting(#[from] ResolveError),
}

/// Joins what the run gives with the task's samples and defaults, or says everything that is wrong.
///
/// `values` and `files` are by name of the input; an `example` of the task is no default.
pub fn resolve(
    task: &Task,
    values: &BTreeMap<String, String>,
    files: &[FrozenFile],
    settings: RunSettings<'_>,
) -> Result<ResolvedRun, Vec<RunFault>> {
    let texts = values
        .iter()
        .map(|(name, text)| (name.as_str(), GivenInput::Text(text.as_str())));
    let contents = files.iter().map(|file| {
        let given = if file.is_dir {
            GivenInput::Folder
        } else {
            GivenInput::File
        };
        (file.name.as_str(), given)
    });
    let given: Vec<_> = texts.chain(contents).collect();
    let mut found: Vec<RunFault> = faults(&ProgramOptions::from(task), &given)
        .into_iter()
        .map(RunFault::Input)
        .collect();
    let sandbox = match sandbox_over(&task.sandbox, settings.sandbox, DEFAULT_RUN_RETRIES) {
        Ok(sandbox) => sandbox,
        Err(wrong) => {
            found.extend(wrong.into_iter().map(RunFault::Setting));
            task.sandbox.clone()
        }
    };
    if !found.is_empty() {
        return Err(found);
    }
    let inputs = task.inputs.iter().filter_map(|input| {
        let given_text = values.get(&input.name).cloned().map(ResolvedValue::Text);
        let given_file = named(files, &input.name).map(ResolvedValue::File);
        let (from, value) = match given_text.or(given_file) {
            Some(value) => (InputOrigin::Given, value),
            None => (InputOrigin::Default, default(task, &input.name)?),
        };
        Some(ResolvedInput {
            name: input.name.clone(),
            type_: input.type_,
            from,
            value,
        })
    });
    Ok(ResolvedRun {
        inputs: inputs.collect(),
        outputs: task.outputs.clone(),
        sandbox,
        validation: settings.validation,
        claim: settings.claim.cloned(),
    })
}

fn default(task: &Task, name: &str) -> Option<ResolvedValue> {
    let input = task.inputs.iter().find(|input| input.name == name)?;
    match input.type_ {
        ValueType::File | ValueType::Dir => {
            let file = task.frozen_inputs().find(|file| file.name == name);
            file.cloned().map(ResolvedValue::File)
        }
        _ => input.default.clone().map(ResolvedValue::Text),
    }
}

fn named(files: &[FrozenFile], name: &str) -> Option<FrozenFile> {
    files.iter().find(|file| file.name == name).cloned()
}

impl ResolvedInput {
    /// The file or folder that it is, where it is one.
    #[must_use]
    pub const fn file(&self) -> Option<&FrozenFile> {
        match &self.value {
            ResolvedValue::File(file) => Some(file),
            ResolvedValue::Text(_) => None,
        }
    }

    /// Returns the input as the status shows it. A value that is long is left out.
    #[must_use]
    pub fn status(&self) -> RunInputStatus {
        let file = self.file();
        let text = match &self.value {
            ResolvedValue::Text(text) => Some(text),
            ResolvedValue::File(_) => None,
        };
        RunInputStatus {
            name: self.name.clone(),
            type_: self.type_,
            from: self.from,
            value: text.filter(|text| text.len() <= LONGEST_SHOWN).cloned(),
            sha256: file.map(|file| file.sha256.clone()),
            bytes: file.map(|file| i64::try_from(file.bytes).unwrap_or(i64::MAX)),
            unchecked: false,
        }
    }
}

impl ResolvedRun {
    /// Returns the arguments with which the program is called.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        let value = |input: &ResolvedInput| match &input.value {
            ResolvedValue::Text(text) => text.clone(),
            ResolvedValue::File(file) => format!("/var/inputs/{}", mount_name(file)),
        };
        let inputs = self.inputs.iter();
        inputs
            .flat_map(|input| arguments(&input.name, &value(input)))
            .collect()
    }

    /// The files and folders that the program reads.
    pub fn files(&self) -> impl Iterator<Item = (&ResolvedInput, &FrozenFile)> {
        self.inputs
            .iter()
            .filter_map(|input| Some((input, input.file()?)))
    }

    /// Lists what the sandbox mounts; `source` says where a file lies.
    pub fn mounts(&self, source: impl Fn(&ResolvedInput, &FrozenFile) -> String) -> Vec<InputMount> {
        let files = self.files();
        files
            .map(|(input, file)| InputMount {
                name: input.name.clone(),
                file_name: mount_name(file),
                source: source(input, file),
                content: Vec::new(),
            })
            .collect()
    }

    /// The one job of the run: the program, and nothing beside it. `secret_env` are the variables from Secrets.
    #[must_use]
    pub fn job(
        &self,
        program: &str,
        secret_env: &BTreeMap<String, String>,
        source: impl Fn(&ResolvedInput, &FrozenFile) -> String,
    ) -> Job {
        let mut env = self.sandbox.env.clone();
        env.extend(secret_env.clone());
        Job {
            phases: vec![Phase::Program(ProgramPhase {
                name: PhaseName::Run,
                solution: program.to_owned(),
                args: self.arguments(),
                files: Vec::new(),
                outputs: self.outputs.iter().map(|output| output.name.clone()).collect(),
                max_output_bytes: MAX_OUTPUT_BYTES,
                disk_bytes: self.claim.is_some().then_some(MAX_DISK_BYTES),
                // The termination message is in the Pod's status, for everybody who may see Pods.
                in_message: secret_env.is_empty(),
            })],
            inputs: self.mounts(source),
            env,
            limits: self.sandbox.job_limits(),
            network: self.sandbox.network.clone(),
        }
    }
}
