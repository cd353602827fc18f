//! The inputs of a run as they were when it started: immutable Secrets, so that what changes later is never used.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::controller::record::own;
use crate::controller::record::pack::{LARGEST_DOCUMENT, pack, unpacked};
use crate::controller::record::parts::{Contents, LARGEST_PART, Parts, SNAPSHOT_TYPE, SourceFile, remote};
use codegen_api::CodeGenTaskSpec;
use codegen_api::agent::CodeGenAgentSpec;
use codegen_api::image::Image;
use codegen_api::model::Model;
use codegen_core::digest::{sha256_hex, sha256_hex_of_parts};
use codegen_core::task::{FrozenFile, FrozenFiles};
use codegen_data::profile::Profiles;
use codegen_ledger::StoreError;
use codegen_sandbox::kubernetes::names::{self, Component};
use codegen_sandbox::kubernetes::{MountedFile, MountedInput, Owner};

/// Key with the description of the rest.
const INDEX: &str = "snapshot.json";

/// Everything that a run goes by besides its spec.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// The agent that the task names, as it was.
    pub agent: Option<CodeGenAgentSpec>,
    /// Every source.
    pub files: FrozenFiles,
    /// Places of the contents of samples and inputs, by name.
    pub inputs: BTreeMap<String, MountedInput>,
    /// Place of the acceptance tests.
    pub acceptance_tests: Option<MountedFile>,
    /// Places of the packed profiles of the samples, in pieces; none where the samples are yet to be described.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<MountedFile>,
}

/// Every source as it was read.
#[derive(Default)]
pub struct ReadSources {
    /// Description of each of them.
    pub files: FrozenFiles,
    /// The contents of samples and inputs, by name.
    pub contents: BTreeMap<String, Contents>,
    /// The profiles of the samples, where they were made when the samples were read.
    pub profiles: Option<Profiles>,
    /// The acceptance tests.
    pub acceptance_tests: Option<Vec<u8>>,
}

/// Hash of everything in a spec that decides the result. Limits, resources and what only says how long to wait do not.
#[must_use]
pub fn decides(spec: &CodeGenTaskSpec) -> String {
    // Field by field and without `..`: a new one does not compile until somebody says whether it decides.
    let CodeGenTaskSpec {
        prompt,
        agent_ref,
        model,
        escalation: _,
        system_prompt,
        schema,
        samples,
        max_sample_rows,
        exposure,
        constraints,
        inputs,
        outputs,
        examples,
        acceptance_tests,
        testing,
        image,
        sandbox,
        packages: _,
        limits: _,
        cache: _,
        reuse: _,
        approvals: _,
        publish: _,
        backend,
        language,
        suspend: _,
        ttl_seconds_after_finished: _,
    } = spec;
    let mut what = json!({
        "prompt": prompt,
        "agentRef": agent_ref,
        "model": model.as_ref().map(model_that_decides),
        "systemPrompt": system_prompt,
        "schema": schema,
        "samples": samples,
        "maxSampleRows": max_sample_rows,
        "exposure": exposure,
        "constraints": constraints,
        "inputs": inputs,
        "outputs": outputs,
        "examples": examples,
        "acceptanceTests": acceptance_tests,
        "testing": testing,
        "image": image.as_ref().map(image_that_decides),
        "env": sandbox.as_ref().map(|sandbox| &sandbox.env),
        "backend": backend,
        "language": language,
    });
    drop_unset(&mut what);
    // The hash must not depend on the order of keys.
    what.sort_all_objects();
    sha256_hex(what.to_string().as_bytes())
}

/// Not where the model is asked, nor who pays.
fn model_that_decides(model: &Model) -> Value {
    json!({"provider": model.provider, "name": model.name, "parameters": model.parameters})
}

/// Not where the image is pushed to.
fn image_that_decides(image: &Image) -> Value {
    json!({
        "reference": image.reference,
        "base": image.base,
        "basePackages": image.base_packages,
        "baseSystemPackages": image.base_system_packages,
        "pythonVersion": image.python_version,
    })
}

/// Leaves out what is not set, so that a field that a later version adds changes no hash of those who do not use it.
fn drop_unset(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(drop_unset);
            fields.retain(|_, value| !is_unset(value));
        }
        Value::Array(items) => items.iter_mut().for_each(drop_unset),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_unset(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Writes the snapshot of a run, or takes the one that an earlier try has left. Gives it with the name of its first Secret and its digest.
pub async fn create(
    client: &Client,
    owner: &Owner,
    agent: Option<CodeGenAgentSpec>,
    sources: ReadSources,
) -> Result<(Snapshot, String, String), StoreError> {
    let (name, sha256) = named(owner, agent.as_ref(), &sources);
    let mut parts = Parts::new(&name);
    let acceptance_tests = sources
        .acceptance_tests
        .map(|bytes| parts.add(String::new(), bytes));
    // Plain data with string keys: writing it to memory cannot fail.
    let profiles = sources
        .profiles
        .map(|profiles| pack(&serde_json::to_vec(&profiles).unwrap_or_default()));
    let profiles = profiles.unwrap_or_default();
    // A file of a snapshot lies in one Secret, and profiles may be larger than that.
    let profiles = profiles.chunks(LARGEST_PART).map(<[u8]>::to_vec);
    let profiles = profiles.map(|piece| parts.add(String::new(), piece)).collect();
    let inputs = parts.add_all(sources.contents);
    let snapshot = Snapshot {
        profiles,
        agent,
        files: sources.files,
        inputs,
        acceptance_tests,
    };
    let index = serde_json::to_vec(&snapshot).unwrap_or_default();
    parts.describe(INDEX, index);
    // The only write: from here on a kill leaves a snapshot that the next pass finds by its name.
    parts.create(client, owner, Component::Snapshot).await?;
    Ok((snapshot, name, sha256))
}

/// A snapshot for a run that has nothing left to read, with the name and the digest that it would have.
#[must_use]
pub fn empty_snapshot(
    owner: &Owner,
    agent: Option<CodeGenAgentSpec>,
    sources: ReadSources,
) -> (Snapshot, String, String) {
    let (name, sha256) = named(owner, agent.as_ref(), &sources);
    let snapshot = Snapshot {
        agent,
        files: sources.files,
        inputs: BTreeMap::new(),
        acceptance_tests: None,
        profiles: Vec::new(),
    };
    (snapshot, name, sha256)
}

fn named(owner: &Owner, agent: Option<&CodeGenAgentSpec>, sources: &ReadSources) -> (String, String) {
    let sha256 = digest(sources);
    // Between two tries an agent may change in what is no part of the run, as in its limits.
    let agent = agent.map(|agent| sha256_hex(&serde_json::to_vec(agent).unwrap_or_default()));
    let mut parts = vec![owner.uid.as_str(), &owner.run, "snapshot", &sha256];
    parts.extend(agent.as_deref());
    (names::name(&owner.name, &parts), sha256)
}

/// Reads the snapshot whose first Secret is `name`.
pub async fn read(client: &Client, namespace: &str, name: &str) -> Result<Option<Snapshot>, StoreError> {
    let Some(data) = data(client, namespace, name).await? else {
        return Ok(None);
    };
    index(&data, namespace, name).map(Some)
}

fn index(data: &BTreeMap<String, ByteString>, namespace: &str, name: &str) -> Result<Snapshot, StoreError> {
    let index = data
        .get(INDEX)
        .map(|bytes| bytes.0.as_slice())
        .unwrap_or_default();
    serde_json::from_slice(index).map_err(|error| StoreError::Damaged {
        name: format!("Secret {namespace}/{name}"),
        detail: error.to_string(),
    })
}

/// The samples and inputs of the task whose snapshot is `name`, as far as they are `wanted` and lie in it, each with its description. What
/// lies on a claim is not among them, and nothing is where the snapshot is gone. Each Secret is read once.
pub async fn contents(
    client: &Client,
    namespace: &str,
    name: &str,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<(FrozenFile, Contents)>, StoreError> {
    let Some(first) = data(client, namespace, name).await? else {
        return Ok(Vec::new());
    };
    let snapshot = index(&first, namespace, name)?;
    let mut secrets = BTreeMap::from([(name.to_owned(), first)]);
    let mut found = Vec::new();
    let files = snapshot
        .files
        .samples
        .into_iter()
        .chain(snapshot.files.input_files);
    for file in files.filter(|file| wanted(&file.name)) {
        let Some(MountedInput::Secrets(places)) = snapshot.inputs.get(&file.name) else {
            continue;
        };
        let mut contents = Vec::new();
        for place in places {
            if !secrets.contains_key(&place.secret) {
                let part = data(client, namespace, &place.secret).await?.unwrap_or_default();
                secrets.insert(place.secret.clone(), part);
            }
            let bytes = secrets.get(&place.secret).and_then(|part| part.get(&place.key));
            let bytes = bytes.ok_or_else(|| no_key(namespace, place))?;
            contents.push(SourceFile {
                path: place.path.clone(),
                bytes: bytes.0.clone(),
            });
        }
        found.push((file, Contents::Here(contents)));
    }
    Ok(found)
}

fn no_key(namespace: &str, file: &MountedFile) -> StoreError {
    StoreError::Damaged {
        name: format!("Secret {namespace}/{}", file.secret),
        detail: format!("it has no key {}", file.key),
    }
}

/// The acceptance tests of the task whose snapshot is `name`; `None` where it has none, or the snapshot is gone.
pub async fn acceptance_tests(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<Option<Vec<u8>>, StoreError> {
    let snapshot = read(client, namespace, name).await?;
    match snapshot.and_then(|snapshot| snapshot.acceptance_tests) {
        Some(file) => content_in(client, namespace, &file).await.map(Some),
        None => Ok(None),
    }
}

/// The profiles of a snapshot's samples, where it has them.
pub async fn profiles(
    client: &Client,
    owner: &Owner,
    snapshot: &Snapshot,
) -> Result<Option<Profiles>, StoreError> {
    let Some(first) = snapshot.profiles.first() else {
        return Ok(None);
    };
    let mut packed = Vec::new();
    for piece in &snapshot.profiles {
        packed.extend(content(client, owner, piece).await?);
    }
    let profiles = unpacked(&packed, LARGEST_DOCUMENT).map_err(|error| error.to_string());
    let profiles = profiles.and_then(|json| serde_json::from_slice(&json).map_err(|error| error.to_string()));
    profiles.map(Some).map_err(|detail| StoreError::Damaged {
        name: format!("Secret {}/{}", owner.namespace, first.secret),
        detail,
    })
}

/// Reads one file of a snapshot.
pub async fn content(client: &Client, owner: &Owner, file: &MountedFile) -> Result<Vec<u8>, StoreError> {
    content_in(client, &owner.namespace, file).await
}

async fn content_in(client: &Client, namespace: &str, file: &MountedFile) -> Result<Vec<u8>, StoreError> {
    let found = data(client, namespace, &file.secret).await?;
    found
        .and_then(|mut data| data.remove(&file.key))
        .map(|bytes| bytes.0)
        .ok_or_else(|| no_key(namespace, file))
}

async fn data(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<Option<BTreeMap<String, ByteString>>, StoreError> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let found = secrets.get_opt(name).await;
    let found = found.map_err(|error| remote("read", namespace, name, error))?;
    match found {
        // Whoever may create Secrets could give a task other inputs under this name.
        Some(secret) if !own::is_own(&secret, SNAPSHOT_TYPE) => {
            Err(own::replaced(format!("Secret {namespace}/{name}")))
        }
        found => Ok(found.map(|secret| secret.data.unwrap_or_default())),
    }
}

fn digest(sources: &ReadSources) -> String {
    let files = &sources.files;
    let all = files
        .samples
        .iter()
        .chain(&files.input_files)
        .chain(&files.acceptance_tests);
    let parts: Vec<&str> = all
        .flat_map(|file| [file.name.as_str(), &file.file_name, &file.sha256])
        .collect();
    sha256_hex_of_parts(&parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raised_limit_decides_nothing_and_another_prompt_does() {
        let spec: CodeGenTaskSpec = serde_json::from_value(serde_json::json!({"prompt": "add"})).unwrap();
        let limited = CodeGenTaskSpec {
            limits: Some(codegen_api::limits::Limits {
                max_tokens: Some(5),
                ..Default::default()
            }),
            suspend: Some(true),
            ..spec.clone()
        };
        let other = CodeGenTaskSpec {
            prompt: "subtract".to_owned(),
            ..spec.clone()
        };
        assert_eq!(decides(&spec), decides(&limited));
        assert_ne!(decides(&spec), decides(&other));
    }
}
