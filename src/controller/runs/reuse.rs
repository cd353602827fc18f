//! The outputs of a run with the same key, taken in the place of another execution.

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, ResourceExt as _};

use super::memory::alike;
use super::outputs;
use super::status::AdoptedRun;
use crate::controller::context::Context;
use codegen_api::run_status::RunOutputStatus;
use codegen_api::{CodeGenRun, CodeGenRunStatus};
use codegen_core::causes::with_causes;
use codegen_core::run::TypedOutput;

/// Earlier runs that are compared before the program is executed.
const MOST_TRIED: usize = 3;

/// The outputs of the newest run with this key whose outputs are all there and unchanged.
pub async fn find(context: &Context, object: &CodeGenRun, key: &str) -> Option<AdoptedRun> {
    let namespace = object.namespace().unwrap_or_default();
    let runs: Api<CodeGenRun> = Api::namespaced(context.client.clone(), &namespace);
    let secrets: Api<Secret> = Api::namespaced(context.client.clone(), &namespace);
    for other in alike(object, key, &context.runs.all()).iter().take(MOST_TRIED) {
        let name = other.name_any();
        let taken = async {
            // In memory an ended run is trimmed: its outputs are not there.
            let Some(other) = runs.get_opt(&name).await? else {
                return Ok(None);
            };
            let status = other.status.unwrap_or_default();
            Ok::<_, kube::Error>(outputs_of(&secrets, &status).await?.map(|outputs| AdoptedRun {
                // Names the run that computed the outputs, not one that copied them.
                from: status.adopted_from.unwrap_or_else(|| name.clone()),
                outputs,
                findings: status.findings,
            }))
        };
        match taken.await {
            Ok(Some(adopted)) => return Some(adopted),
            Ok(None) => tracing::debug!(
                namespace,
                run = name,
                "what this run wrote is gone and cannot be taken"
            ),
            // The program can always run itself.
            Err(error) => {
                tracing::warn!(
                    namespace,
                    run = name,
                    error = with_causes(&error),
                    "what this run wrote cannot be read"
                );
            }
        }
    }
    None
}

async fn outputs_of(
    secrets: &Api<Secret>,
    status: &CodeGenRunStatus,
) -> Result<Option<Vec<TypedOutput>>, kube::Error> {
    let mut taken = Vec::new();
    for output in &status.outputs {
        let Some(files) = outputs::read(secrets, output).await? else {
            return Ok(None);
        };
        let Some(output) = if_unchanged(output, files) else {
            return Ok(None);
        };
        taken.push(output);
    }
    Ok(Some(taken))
}

/// The output, if its files are unchanged.
fn if_unchanged(status: &RunOutputStatus, files: Vec<codegen_core::run::OutputFile>) -> Option<TypedOutput> {
    let is_value = !matches!(
        status.type_,
        codegen_api::values::ValueType::File | codegen_api::values::ValueType::Dir
    );
    // A long value stands in its Secret alone.
    let long_value = || String::from_utf8(files.first()?.bytes.clone()).ok();
    let value = match &status.value {
        Some(value) => Some(value.clone()),
        None if is_value => long_value(),
        None => None,
    };
    let output = TypedOutput {
        name: status.name.clone(),
        type_: status.type_,
        value,
        file_name: status.file_name.clone(),
        files,
        stored: None,
    };
    (output.sha256() == status.sha256).then_some(output)
}

#[cfg(test)]
mod tests {
    use super::*;
    use codegen_api::values::ValueType;
    use codegen_core::digest::sha256_hex;
    use codegen_core::run::OutputFile;

    #[test]
    fn an_output_that_was_changed_is_not_taken() {
        let status = RunOutputStatus {
            name: "species".to_owned(),
            type_: ValueType::Int,
            value: Some("3".to_owned()),
            sha256: sha256_hex(b"3\n"),
            bytes: 2,
            file_name: "species".to_owned(),
            files: Vec::new(),
            claim: None,
        };
        let files = |text: &str| {
            vec![OutputFile {
                path: String::new(),
                bytes: text.as_bytes().to_vec(),
            }]
        };
        assert_eq!(
            if_unchanged(&status, files("3\n")).unwrap().value.as_deref(),
            Some("3")
        );
        assert_eq!(if_unchanged(&status, files("4\n")), None);
    }
}
