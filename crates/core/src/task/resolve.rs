//! From the spec, the agent's settings and the frozen sources to a [`Task`] without open questions.
//!
//! Every default is applied here and nowhere else; the values are the constants beside the fields in `api`.

mod errors;
mod files;
mod layers;
mod model;
mod settings;

use serde::{Deserialize, Serialize};

use codegen_api::common::{Backend, TestingMode};
use codegen_api::values::Input;
use codegen_api::{CodeGenAgent, CodeGenTask, CodeGenTaskSpec};

use super::{FrozenFile, Task};
use errors::ResolveFaults;
pub use errors::{Problem, ResolveError};
use layers::Layers;
pub use model::model_settings;
pub use settings::sandbox_over;

/// The sources of a task as they were read.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct FrozenFiles {
    /// Every sample, in any order.
    pub samples: Vec<FrozenFile>,
    /// Contents of `File` and `Dir` inputs that are no samples, in any order.
    pub input_files: Vec<FrozenFile>,
    /// The acceptance tests.
    pub acceptance_tests: Option<FrozenFile>,
    /// Name of the model when they were read: a later version of this program may know another by the same short name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// Applies the agent's settings and every default to a task, and joins it with its frozen sources.
///
/// A field that the task gives holds, then the agent's, then the default; inside `model`, `image`, `sandbox` and
/// `limits` this goes field by field, while a list, a map or `network` is taken as a whole. Samples become `File`
/// inputs, merged with an input of the same name. All that is wrong is reported, not the first alone.
pub fn resolve(
    task: &CodeGenTask,
    agent: Option<&CodeGenAgent>,
    frozen: FrozenFiles,
) -> Result<Task, Vec<ResolveError>> {
    let mut faults = ResolveFaults::default();
    let spec = &task.spec;
    if let (Some(wanted), None) = (&spec.agent_ref, agent) {
        faults.add("spec.agentRef", Problem::NoAgent(wanted.name.clone()));
    }
    let layers = Layers::new(spec, agent);
    let resolved = Task {
        namespace: task
            .metadata
            .namespace
            .clone()
            .unwrap_or_else(|| "default".to_owned()),
        name: task.metadata.name.clone().unwrap_or_default(),
        prompt: spec.prompt.clone(),
        schema: spec.schema.clone(),
        system_prompt: layers.first(|layer| layer.system_prompt).cloned(),
        constraints: spec.constraints.clone(),
        inputs: files::inputs(spec, &mut faults),
        outputs: spec.outputs.clone(),
        testing: layers.first(|layer| layer.testing?.mode).unwrap_or_default(),
        cases: layers.first(|layer| layer.testing?.cases).unwrap_or_default(),
        examples: spec.examples.clone(),
        backend: layers.first(|layer| layer.backend).unwrap_or_default(),
        language: spec.language.unwrap_or_default(),
        max_sample_rows: settings::max_sample_rows(&layers, &mut faults),
        exposure: layers.first(|layer| layer.exposure).unwrap_or_default(),
        model: settings::model(&layers, frozen.model, &mut faults),
        escalation: settings::escalation(&layers),
        image: settings::image(&layers),
        packages: settings::packages(&layers, &mut faults),
        sandbox: settings::sandbox(&layers, &mut faults),
        limits: settings::limits(&layers, &mut faults),
        reruns_tests: spec
            .reuse
            .as_ref()
            .and_then(|reuse| reuse.rerun_tests)
            .unwrap_or(true),
        // Gates add up: the task cannot drop those of its agent.
        approvals: layers.all(|layer| layer.approvals).copied().collect(),
        publish: spec.publish.clone(),
        cache: layers.first(|layer| layer.cache).unwrap_or_default(),
        samples: files::samples(spec, frozen.samples, &mut faults),
        input_files: files::input_files(spec, frozen.input_files, &mut faults),
        acceptance_tests: files::acceptance_tests(spec, frozen.acceptance_tests, &mut faults),
    };
    if resolved.backend == Backend::Agent && resolved.testing == TestingMode::Skip {
        faults.add("spec.testing.mode", Problem::AgentWithoutTests);
    }
    // Once everything is joined: these compare samples, inputs and examples with each other.
    files::paths_differ(&resolved, &mut faults);
    faults.examples(&resolved);
    if faults.0.is_empty() {
        Ok(resolved)
    } else {
        Err(faults.0)
    }
}

/// Every option of the program that `spec` asks for: its samples, then its other inputs.
#[must_use]
pub fn options(spec: &CodeGenTaskSpec) -> Vec<Input> {
    files::inputs(spec, &mut ResolveFaults::default())
}

#[cfg(test)]
mod tests;
