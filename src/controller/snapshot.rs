//! The inputs of a run as they were when it started: immutable Secrets, so that what changes later is never used.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::store::{LARGEST_DOCUMENT, pack, unpacked};
use crate::api::CodeGenTaskSpec;
use crate::api::agent::CodeGenAgentSpec;
use crate::data::profile::Profiles;
use crate::ledger::StoreError;
use crate::pipeline::digest::{sha256_hex, sha256_hex_of_parts};
use crate::pipeline::task::FrozenFiles;
use crate::sandbox::kubernetes::names::{self, Component};
use crate::sandbox::kubernetes::{MountedFile, MountedInput, Owner};

/// Type of the Secrets that hold a snapshot.
pub const SNAPSHOT_TYPE: &str = "codegen-operator.dev/snapshot";
/// Key with the description of the rest.
const INDEX: &str = "snapshot.json";
/// Most bytes in one Secret.
pub(super) const LARGEST_PART: usize = 900 * 1024;

/// Everything that a run goes by besides its spec.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// The agent that the task names, as it was.
    pub agent: Option<CodeGenAgentSpec>,
    /// Every source.
    pub files: FrozenFiles,
    /// Where the contents of samples and inputs lie, by name.
    pub inputs: BTreeMap<String, MountedInput>,
    /// Where the acceptance tests lie.
    pub acceptance_tests: Option<MountedFile>,
    /// Where the packed profiles of the samples lie, in pieces; none where the samples are yet to be described.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<MountedFile>,
    /// Secret of the run, from which follows what code under test must not guess.
    pub seed: String,
}

/// A file that was read from its source.
pub struct Content {
    /// Path below its folder; empty for an input that is a file.
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Where the content of a sample or an input is.
pub enum Contents {
    /// Here: one file, or those of a folder.
    Here(Vec<Content>),
    /// On a claim, where it stays.
    OnClaim {
        /// Name of the `PersistentVolumeClaim`.
        claim: String,
        /// File or folder on it, relative.
        path: String,
    },
}

impl Contents {
    /// The files that are here.
    #[must_use]
    pub fn files(&self) -> &[Content] {
        match self {
            Self::Here(files) => files,
            Self::OnClaim { .. } => &[],
        }
    }

    /// The files that are here.
    #[must_use]
    pub fn into_files(self) -> Vec<Content> {
        match self {
            Self::Here(files) => files,
            Self::OnClaim { .. } => Vec::new(),
        }
    }
}

/// Every source as it was read.
#[derive(Default)]
pub struct Sources {
    /// What they are.
    pub files: FrozenFiles,
    /// The contents of samples and inputs, by name.
    pub contents: BTreeMap<String, Contents>,
    /// What the samples look like, where that was found out when they were read.
    pub profiles: Option<Profiles>,
    /// The acceptance tests.
    pub acceptance_tests: Option<Vec<u8>>,
}

/// Hash of everything in a spec that decides the result. Limits, resources and what only says how long to wait do not.
#[must_use]
pub fn decides(spec: &CodeGenTaskSpec) -> String {
    let CodeGenTaskSpec {
        prompt,
        agent_ref,
        model,
        system_prompt,
        schema,
        samples,
        max_sample_rows,
        exposure,
        constraints,
        inputs,
        outputs,
        acceptance_tests,
        testing,
        image,
        sandbox,
        limits: _,
        cache: _,
        backend,
        language,
        suspend: _,
        ttl_seconds_after_finished: _,
    } = spec;
    let model = model
        .as_ref()
        .map(|model| json!({"provider": model.provider, "name": model.name, "parameters": model.parameters}));
    let image = image.as_ref().map(|image| {
        json!({
            "reference": image.reference,
            "base": image.base,
            "basePackages": image.base_packages,
            "baseSystemPackages": image.base_system_packages,
            "pythonVersion": image.python_version,
        })
    });
    let mut what = json!({
        "prompt": prompt,
        "agentRef": agent_ref,
        "model": model,
        "systemPrompt": system_prompt,
        "schema": schema,
        "samples": samples,
        "maxSampleRows": max_sample_rows,
        "exposure": exposure,
        "constraints": constraints,
        "inputs": inputs,
        "outputs": outputs,
        "acceptanceTests": acceptance_tests,
        "testing": testing,
        "image": image,
        "env": sandbox.as_ref().map(|sandbox| &sandbox.env),
        "backend": backend,
        "language": language,
    });
    drop_unset(&mut what);
    what.sort_all_objects();
    sha256_hex(what.to_string().as_bytes())
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

/// Writes the snapshot of a run, or takes the one that is there. Gives it with the name of its first Secret and its digest.
pub async fn create(
    client: &Client,
    owner: &Owner,
    agent: Option<CodeGenAgentSpec>,
    sources: Sources,
) -> Result<(Snapshot, String, String), StoreError> {
    let sha256 = digest(&sources);
    let name = names::name(&owner.name, &[&owner.uid, &owner.run, "snapshot", &sha256]);
    let mut parts = Parts::new(&name);
    let acceptance_tests = sources
        .acceptance_tests
        .map(|bytes| parts.add(String::new(), bytes));
    // Plain data with string keys: writing it to memory cannot fail.
    let profiles = sources
        .profiles
        .map(|profiles| pack(&serde_json::to_vec(&profiles).unwrap_or_default()));
    let profiles = profiles.unwrap_or_default();
    let profiles = profiles.chunks(LARGEST_PART).map(<[u8]>::to_vec);
    let profiles = profiles.map(|piece| parts.add(String::new(), piece)).collect();
    let inputs = parts.add_all(sources.contents);
    let snapshot = Snapshot {
        profiles,
        agent,
        files: sources.files,
        inputs,
        acceptance_tests,
        seed: std::iter::repeat_with(fastrand::alphanumeric).take(32).collect(),
    };
    let index = serde_json::to_vec(&snapshot).unwrap_or_default();
    if let Some(first) = parts.secrets.first_mut() {
        first.insert(INDEX.to_owned(), ByteString(index));
    }
    parts.create(client, owner, Component::Snapshot).await?;
    Ok((
        read(client, owner, &name).await?.unwrap_or(snapshot),
        name,
        sha256,
    ))
}

/// Reads the snapshot whose first Secret is `name`.
pub async fn read(client: &Client, owner: &Owner, name: &str) -> Result<Option<Snapshot>, StoreError> {
    let Some(data) = data(client, owner, name).await? else {
        return Ok(None);
    };
    let index = data
        .get(INDEX)
        .map(|bytes| bytes.0.as_slice())
        .unwrap_or_default();
    serde_json::from_slice(index)
        .map(Some)
        .map_err(|error| StoreError::Damaged {
            name: format!("Secret {}/{name}", owner.namespace),
            detail: error.to_string(),
        })
}

/// What the samples of a snapshot look like, where it says so.
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
    let found = data(client, owner, &file.secret).await?;
    found
        .and_then(|mut data| data.remove(&file.key))
        .map(|bytes| bytes.0)
        .ok_or_else(|| StoreError::Damaged {
            name: format!("Secret {}/{}", owner.namespace, file.secret),
            detail: format!("it has no key {}", file.key),
        })
}

async fn data(
    client: &Client,
    owner: &Owner,
    name: &str,
) -> Result<Option<BTreeMap<String, ByteString>>, StoreError> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), &owner.namespace);
    let found = secrets.get_opt(name).await;
    let found = found.map_err(|error| remote("read", owner, name, error))?;
    Ok(found.map(|secret| secret.data.unwrap_or_default()))
}

fn remote(action: &str, owner: &Owner, name: &str, error: kube::Error) -> StoreError {
    StoreError::Remote {
        action: format!("{action} the Secret {}/{name}", owner.namespace),
        source: Box::new(error),
    }
}

fn digest(sources: &Sources) -> String {
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

fn secret(
    owner: &Owner,
    component: Component,
    first: &str,
    number: usize,
    data: BTreeMap<String, ByteString>,
) -> Secret {
    let mut labels = names::labels(&owner.name, &owner.uid, component);
    labels.insert(names::PART_OF.to_owned(), first.to_owned());
    Secret {
        metadata: ObjectMeta {
            name: Some(part_name(first, number)),
            namespace: Some(owner.namespace.clone()),
            labels: Some(labels),
            owner_references: Some(vec![owner.reference.clone()]),
            ..ObjectMeta::default()
        },
        type_: Some(SNAPSHOT_TYPE.to_owned()),
        immutable: Some(true),
        data: Some(data),
        ..Secret::default()
    }
}

/// Contents packed into as few Secrets as they need, in order.
pub struct Parts<'a> {
    name: &'a str,
    secrets: Vec<BTreeMap<String, ByteString>>,
    room: usize,
    files: usize,
}

impl<'a> Parts<'a> {
    /// Nothing yet; the first Secret is `name`.
    #[must_use]
    pub fn new(name: &'a str) -> Self {
        Self {
            name,
            secrets: vec![BTreeMap::new()],
            room: LARGEST_PART,
            files: 0,
        }
    }

    /// Takes samples and inputs; says where each lies then.
    pub fn add_all(
        &mut self,
        contents: impl IntoIterator<Item = (String, Contents)>,
    ) -> BTreeMap<String, MountedInput> {
        let mut place = |contents| match contents {
            Contents::Here(files) => {
                let files = files.into_iter();
                MountedInput::Secrets(files.map(|file| self.add(file.path, file.bytes)).collect())
            }
            Contents::OnClaim { claim, path } => MountedInput::Claim { claim, path },
        };
        let contents = contents.into_iter();
        contents.map(|(name, contents)| (name, place(contents))).collect()
    }

    /// Writes the Secrets, or takes those that are there. The first one last: where it is, all are.
    pub async fn create(
        self,
        client: &Client,
        owner: &Owner,
        component: Component,
    ) -> Result<(), StoreError> {
        let secrets: Api<Secret> = Api::namespaced(client.clone(), &owner.namespace);
        for (number, data) in self.secrets.into_iter().enumerate().rev() {
            let secret = secret(owner, component, self.name, number, data);
            match secrets.create(&PostParams::default(), &secret).await {
                Ok(_) => {}
                Err(kube::Error::Api(status)) if status.is_already_exists() => {}
                Err(error) => return Err(remote("create", owner, &part_name(self.name, number), error)),
            }
        }
        Ok(())
    }

    fn add(&mut self, path: String, bytes: Vec<u8>) -> MountedFile {
        if bytes.len() > self.room {
            self.secrets.push(BTreeMap::new());
            self.room = LARGEST_PART;
        }
        self.room = self.room.saturating_sub(bytes.len());
        self.files += 1;
        let key = format!("file.{}", self.files);
        if let Some(last) = self.secrets.last_mut() {
            last.insert(key.clone(), ByteString(bytes));
        }
        MountedFile {
            path,
            secret: part_name(self.name, self.secrets.len() - 1),
            key,
        }
    }
}

/// Names of all parts but the first end in their number.
pub(super) fn part_name(name: &str, number: usize) -> String {
    if number == 0 {
        name.to_owned()
    } else {
        format!("{name}-{number}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_that_do_not_fit_one_secret_go_to_the_next() {
        let mut parts = Parts::new("a");
        let first = parts.add(String::new(), vec![0; 500 * 1024]);
        let second = parts.add("x/y".to_owned(), vec![0; 500 * 1024]);
        assert_eq!((first.secret.as_str(), first.key.as_str()), ("a", "file.1"));
        assert_eq!((second.secret.as_str(), second.key.as_str()), ("a-1", "file.2"));
        assert_eq!(second.path, "x/y");
    }

    #[test]
    fn a_raised_limit_decides_nothing_and_another_prompt_does() {
        let spec: CodeGenTaskSpec = serde_json::from_value(serde_json::json!({"prompt": "add"})).unwrap();
        let limited = CodeGenTaskSpec {
            limits: Some(crate::api::limits::Limits {
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
