//! Outputs of a run, in Secrets of the run.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};

use crate::controller::record::own;
use crate::controller::record::parts::Parts;
use codegen_api::run_status::{RunOutputStatus, StoredFile};
use codegen_core::run::{OutputFile, TypedOutput};
use codegen_ledger::StoreError;
use codegen_sandbox::kubernetes::Owner;
use codegen_sandbox::kubernetes::names::{self, Component};

/// Type of the Secrets that hold what a run wrote.
const OUTPUTS_TYPE: &str = "codegen-operator.dev/outputs";
/// Longest value that a status repeats, bytes.
const LONGEST_VALUE: usize = 1024;
/// Most bytes that the API server takes in one Secret.
const LARGEST_SECRET: usize = 1024 * 1024;
/// Most files of all outputs of a run: each has a line in its status.
pub const MOST_FILES: usize = 128;

/// Stores what a run wrote in Secrets, and gives its entries for the status. `execution` separates what different executions left.
pub async fn store(
    client: &Client,
    owner: &Owner,
    execution: i32,
    outputs: Vec<TypedOutput>,
) -> Result<Vec<RunOutputStatus>, StoreError> {
    let name = names::name(
        &owner.name,
        &[&owner.uid, &owner.run, "outputs", &execution.to_string()],
    );
    let mut parts = Parts::of_type(&name, OUTPUTS_TYPE);
    let statuses = outputs
        .into_iter()
        .map(|output| stored(&mut parts, output))
        .collect();
    if !parts.is_empty() {
        parts.create(client, owner, Component::Outputs).await?;
    }
    Ok(statuses)
}

fn stored(parts: &mut Parts<'_>, output: TypedOutput) -> RunOutputStatus {
    let (sha256, bytes) = (output.sha256(), output.bytes());
    let claim = output.claim().cloned();
    let files = output.files.into_iter().map(|file| {
        let place = parts.add(file.path, file.bytes);
        StoredFile {
            path: place.path,
            secret: place.secret,
            key: place.key,
        }
    });
    RunOutputStatus {
        files: files.collect(),
        name: output.name,
        type_: output.type_,
        value: output.value.filter(|value| value.len() <= LONGEST_VALUE),
        sha256,
        bytes: i64::try_from(bytes).unwrap_or(i64::MAX),
        file_name: output.file_name,
        claim,
    }
}

/// The files of an output; `None` where one of them is gone, or is not what was written.
pub async fn read(
    secrets: &Api<Secret>,
    output: &RunOutputStatus,
) -> Result<Option<Vec<OutputFile>>, kube::Error> {
    let mut read: BTreeMap<&str, Secret> = BTreeMap::new();
    let mut files = Vec::new();
    for file in &output.files {
        // One request for each Secret, not for each file.
        if !read.contains_key(file.secret.as_str()) {
            let found = secrets.get_opt(&file.secret).await?;
            let Some(secret) = found.filter(is_own_output) else {
                return Ok(None);
            };
            read.insert(&file.secret, secret);
        }
        let data = read
            .get(file.secret.as_str())
            .and_then(|secret| secret.data.as_ref());
        let Some(bytes) = data.and_then(|data| data.get(&file.key)) else {
            return Ok(None);
        };
        files.push(OutputFile {
            path: file.path.clone(),
            bytes: bytes.0.clone(),
        });
    }
    Ok(Some(files))
}

/// Reports whether the operator writes such a Secret.
fn is_own_output(secret: &Secret) -> bool {
    let size = secret.data.iter().flatten().map(|(_, bytes)| bytes.0.len());
    own::is_own(secret, OUTPUTS_TYPE) && size.sum::<usize>() <= LARGEST_SECRET
}

#[cfg(test)]
mod tests {
    use super::*;
    use codegen_api::values::ValueType;

    fn output(name: &str, value: Option<String>, bytes: usize) -> TypedOutput {
        TypedOutput {
            name: name.to_owned(),
            type_: ValueType::String,
            value,
            file_name: name.to_owned(),
            files: vec![OutputFile {
                path: String::new(),
                bytes: vec![b'x'; bytes],
            }],
            stored: None,
        }
    }

    #[test]
    fn a_long_value_is_in_the_secret_alone() {
        let mut parts = Parts::of_type("outputs", OUTPUTS_TYPE);
        let short = stored(&mut parts, output("short", Some("x".repeat(1024)), 1024));
        let long = stored(&mut parts, output("long", Some("x".repeat(1025)), 1025));
        assert_eq!(short.value.map(|value| value.len()), Some(1024));
        assert_eq!((long.value, long.bytes), (None, 1025));
        assert_eq!(long.files[0].secret, "outputs");
        assert_eq!(long.files[0].key, "file.2");
    }

    #[test]
    fn a_secret_larger_than_the_operator_writes_is_no_output() {
        let secret = |bytes: usize| {
            let labels = serde_json::json!({names::MANAGED_BY: names::OPERATOR, names::COMPONENT: "outputs"});
            let mut secret: Secret = serde_json::from_value(serde_json::json!({
                "metadata": {"labels": labels}, "type": OUTPUTS_TYPE, "immutable": true,
            }))
            .unwrap();
            let bytes = k8s_openapi::ByteString(vec![b'x'; bytes]);
            secret.data = Some(BTreeMap::from([("file.1".to_owned(), bytes)]));
            secret
        };
        assert!(is_own_output(&secret(LARGEST_SECRET)));
        assert!(!is_own_output(&secret(LARGEST_SECRET + 1)));
    }

    #[test]
    fn outputs_that_do_not_fit_one_secret_go_to_the_next() {
        let mut parts = Parts::of_type("outputs", OUTPUTS_TYPE);
        let first = stored(&mut parts, output("first", None, 600 * 1024));
        let second = stored(&mut parts, output("second", None, 1024 * 1024));
        assert_eq!(first.files[0].secret, "outputs");
        assert_eq!(second.files[0].secret, "outputs-1");
    }
}
