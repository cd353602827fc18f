//! The CustomResourceDefinitions, as they are installed and as local validation reads them.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::CustomResourceExt;

use super::{CodeGenAgent, CodeGenApproval, CodeGenRun, CodeGenTask, CodeModeAgent, CodeModeRun};

/// Every definition of this project.
#[must_use]
pub fn crds() -> Vec<CustomResourceDefinition> {
    vec![
        task_crd(),
        agent_crd(),
        run_crd(),
        for_the_server(CodeGenApproval::crd()),
        code_mode_agent_crd(),
        code_mode_run_crd(),
    ]
}

/// The definition of `CodeGenTask`.
pub(super) fn task_crd() -> CustomResourceDefinition {
    for_the_server(CodeGenTask::crd())
}

/// The definition of `CodeGenAgent`.
pub(super) fn agent_crd() -> CustomResourceDefinition {
    for_the_server(CodeGenAgent::crd())
}

/// The definition of `CodeGenRun`.
pub(super) fn run_crd() -> CustomResourceDefinition {
    for_the_server(CodeGenRun::crd())
}

/// The definition of `CodeModeAgent`.
pub(super) fn code_mode_agent_crd() -> CustomResourceDefinition {
    for_the_server(CodeModeAgent::crd())
}

/// The definition of `CodeModeRun`.
pub(super) fn code_mode_run_crd() -> CustomResourceDefinition {
    for_the_server(CodeModeRun::crd())
}

/// [`crds`] as one YAML stream, a document each.
pub fn crds_yaml() -> Result<String, String> {
    crds()
        .iter()
        .map(|crd| Ok(format!("---\n{}", crd_yaml(crd)?)))
        .collect()
}

/// One definition as YAML, without a document marker.
pub fn crd_yaml(crd: &CustomResourceDefinition) -> Result<String, String> {
    serde_saphyr::to_string(crd)
        .map_err(|error| format!("failed to write {} as YAML: {error}", crd.spec.names.kind))
}

fn for_the_server(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut crd.spec.versions {
        if let Some(schema) = version
            .schema
            .as_mut()
            .and_then(|schema| schema.open_api_v3_schema.as_mut())
        {
            tidy(schema);
        }
    }
    crd
}

/// Takes `nullable` off every field: the API server then drops an explicit `null` on arrival, so that for `has()` in a
/// rule, as for the Rust types, it is the same as a field left out. Joins the source's lines of each description, as
/// `kubectl explain` wraps them itself.
fn tidy(schema: &mut JSONSchemaProps) {
    schema.nullable = None;
    if let Some(description) = &mut schema.description {
        *description = description
            .split("\n\n")
            .map(|part| part.replace('\n', " "))
            .collect::<Vec<_>>()
            .join("\n\n");
    }
    schema
        .properties
        .iter_mut()
        .flatten()
        .for_each(|(_, property)| tidy(property));
    match &mut schema.items {
        Some(JSONSchemaPropsOrArray::Schema(items)) => tidy(items),
        Some(JSONSchemaPropsOrArray::Schemas(items)) => items.iter_mut().for_each(tidy),
        None => {}
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
        tidy(values);
    }
}

#[cfg(test)]
mod tests;
