//! Reads everything that a task refers to, once, when its run starts.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use sha2::{Digest as _, Sha256};

use super::hold::{Blocked, misconfigured, unreachable};
use super::snapshot::{Content, Sources};
use crate::api::CodeGenTask;
use crate::local::objects::{Keys, Objects};
use crate::local::sources::{Given, Source, Wanted, plan};
use crate::pipeline::digest::hex;
use crate::pipeline::task::{FrozenFile, FrozenFiles};

/// Largest file that a snapshot takes, bytes.
const LARGEST_FILE: usize = 900 * 1024;
/// Most bytes of all sources together.
const MOST_BYTES: usize = 8 * 1024 * 1024;

/// Reads every source of `task`.
pub async fn read(client: &Client, task: &CodeGenTask) -> Result<Sources, Blocked> {
    let namespace = task.metadata.namespace.as_deref().unwrap_or("default");
    refuse_what_is_not_read(task)?;
    let mut objects = Objects::default();
    for (field, name) in config_maps(task) {
        let keys = config_map(client, namespace, &field, &name).await?;
        objects.config_maps.insert((namespace.to_owned(), name), keys);
    }
    let plan = plan(task, &objects, &Given::default()).map_err(|error| misconfigured(error.to_string()))?;
    let mut sources = Sources::default();
    let mut files = FrozenFiles::default();
    for wanted in plan.samples {
        files.samples.push(take(wanted, &mut sources)?);
    }
    for wanted in plan.inputs {
        files.input_files.push(take(wanted, &mut sources)?);
    }
    if let Some(wanted) = plan.acceptance_tests {
        let name = wanted.name.clone();
        files.acceptance_tests = Some(take(wanted, &mut sources)?);
        let content = sources.contents.remove(&name).and_then(|mut files| files.pop());
        sources.acceptance_tests = content.map(|content| content.bytes);
    }
    let total: usize = sources
        .contents
        .values()
        .flatten()
        .map(|content| content.bytes.len())
        .sum();
    if total > MOST_BYTES {
        return Err(misconfigured(format!(
            "samples and inputs have {total} bytes together, and at most {MOST_BYTES} are taken: give smaller samples"
        )));
    }
    sources.files = files;
    Ok(sources)
}

/// Each ConfigMap that the task refers to, with the first field that does.
pub(super) fn config_maps(task: &CodeGenTask) -> Vec<(String, String)> {
    let spec = &task.spec;
    let samples = spec.samples.iter().enumerate().filter_map(|(index, sample)| {
        let reference = sample.config_map_key_ref.as_ref()?;
        Some((
            format!("spec.samples[{index}].configMapKeyRef"),
            reference.name.clone(),
        ))
    });
    let inputs = spec.inputs.iter().enumerate().filter_map(|(index, input)| {
        let source = input.source.as_ref()?;
        let by_key = source
            .config_map_key_ref
            .as_ref()
            .map(|reference| &reference.name);
        let name = by_key.or_else(|| source.config_map_ref.as_ref().map(|reference| &reference.name))?;
        Some((format!("spec.inputs[{index}].source"), name.clone()))
    });
    let tests = spec.acceptance_tests.as_ref().and_then(|tests| {
        let reference = tests.config_map_key_ref.as_ref()?;
        Some((
            "spec.acceptanceTests.configMapKeyRef".to_owned(),
            reference.name.clone(),
        ))
    });
    let mut seen = BTreeSet::new();
    samples
        .chain(inputs)
        .chain(tests)
        .filter(|(_, name)| seen.insert(name.clone()))
        .collect()
}

async fn config_map(client: &Client, namespace: &str, field: &str, name: &str) -> Result<Keys, Blocked> {
    let config_maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let found = config_maps.get_opt(name).await;
    let found =
        found.map_err(|error| unreachable(&format!("read the ConfigMap {namespace}/{name}"), &error))?;
    let Some(found) = found else {
        return Err(misconfigured(format!(
            "{field} refers to the ConfigMap {namespace}/{name}, which is not there: create it, or correct the name"
        )));
    };
    let text = found.data.unwrap_or_default().into_iter();
    let binary = found.binary_data.unwrap_or_default().into_iter();
    Ok(Keys(
        text.map(|(key, text)| (key, text.into_bytes()))
            .chain(binary.map(|(key, bytes)| (key, bytes.0)))
            .collect(),
    ))
}

/// Sources that only a machine with files has.
fn refuse_what_is_not_read(task: &CodeGenTask) -> Result<(), Blocked> {
    let spec = &task.spec;
    let claims = spec
        .samples
        .iter()
        .filter(|sample| sample.persistent_volume_claim.is_some());
    let urls = spec.samples.iter().filter(|sample| sample.url.is_some());
    if let Some(sample) = claims.chain(urls).next() {
        return Err(misconfigured(format!(
            "spec.samples ({}): samples on a claim or at a URL are not read by this version in a cluster: give the sample \
             inline or in a ConfigMap",
            sample.name
        )));
    }
    let claimed = |source: &crate::api::values::InputSource| source.persistent_volume_claim.is_some();
    if let Some(input) = spec
        .inputs
        .iter()
        .find(|input| input.source.as_ref().is_some_and(claimed))
    {
        return Err(misconfigured(format!(
            "spec.inputs ({}): inputs on a claim are not read by this version in a cluster: give it in a ConfigMap",
            input.name
        )));
    }
    Ok(())
}

/// Takes the bytes of one source, and says what they are.
fn take(wanted: Wanted, sources: &mut Sources) -> Result<FrozenFile, Blocked> {
    let Wanted {
        name,
        file_name,
        source,
        sha256: expected,
    } = wanted;
    let is_dir = matches!(source, Source::Files(_));
    let contents: Vec<Content> = match source {
        Source::Bytes(bytes) => vec![Content {
            path: String::new(),
            bytes,
        }],
        Source::Files(files) => files
            .into_iter()
            .map(|(path, bytes)| Content { path, bytes })
            .collect(),
        Source::File(_) | Source::Folder(_) | Source::Download(_) => Vec::new(),
    };
    let bytes: usize = contents.iter().map(|content| content.bytes.len()).sum();
    if let Some(large) = contents.iter().find(|content| content.bytes.len() > LARGEST_FILE) {
        return Err(misconfigured(format!(
            "{name} has {} bytes, and at most {LARGEST_FILE} are taken from a ConfigMap: give a smaller sample",
            large.bytes.len()
        )));
    }
    let sha256 = digest(&contents, is_dir);
    if let Some(expected) = expected.filter(|expected| *expected != sha256) {
        return Err(misconfigured(format!(
            "{name}: the content has sha256 {sha256}, the spec says {expected}: correct sha256 if the new content is right"
        )));
    }
    sources.contents.insert(name.clone(), contents);
    Ok(FrozenFile {
        name,
        file_name,
        sha256,
        bytes: bytes as u64,
        is_dir,
    })
}

/// As a local run computes it, so that the same task is the same run everywhere.
fn digest(contents: &[Content], is_dir: bool) -> String {
    let mut digest = Sha256::new();
    for content in contents {
        if is_dir {
            digest.update(content.path.as_bytes());
            digest.update([0]);
            digest.update(hex(&Sha256::digest(&content.bytes)).as_bytes());
            digest.update(b"\n");
        } else {
            digest.update(&content.bytes);
        }
    }
    hex(&digest.finalize())
}
