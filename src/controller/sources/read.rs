//! Reads everything that a task refers to, once, when its run starts.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};

use crate::controller::hold::{Blocked, misconfigured, unreachable};
use crate::controller::record::parts::{Contents, SourceFile};
use crate::controller::record::snapshot::ReadSources;
use crate::controller::sources::downloads::{Downloads, LARGEST_FILE};
use codegen_api::CodeGenTask;
use codegen_api::values::InputSource;
use codegen_core::digest::sha256_hex;
use codegen_core::task::FrozenFile;
use codegen_sources::{Claims, GivenFiles, ObjectData, SourceOrigin, WantedSource, digest, plan};

/// Most bytes of all sources together.
const MOST_BYTES: usize = 8 * 1024 * 1024;

/// Reads every source of `task`, but what lies on claims.
pub async fn read_sources(
    client: &Client,
    downloads: &Downloads,
    task: &CodeGenTask,
) -> Result<ReadSources, Blocked> {
    let namespace = task.metadata.namespace.as_deref().unwrap_or("default");
    // Reads ConfigMaps; then only decides what to take; then downloads.
    let mut maps = BTreeMap::new();
    for (field, name) in config_maps(task) {
        let keys = config_map(client, namespace, &field, &name).await?;
        maps.insert((namespace.to_owned(), name), keys);
    }
    let given = GivenFiles {
        claims: Claims::Mounted,
        ..GivenFiles::default()
    };
    let plan = plan(task, &maps, &given).map_err(|error| misconfigured(error.to_string()))?;
    let uid = task.metadata.uid.as_deref().unwrap_or_default();
    let mut sources = ReadSources::default();
    for wanted in plan.samples {
        let (file, contents) = take(downloads, uid, wanted).await?;
        sources.contents.insert(file.name.clone(), contents);
        sources.files.samples.push(file);
    }
    for wanted in plan.inputs {
        let (file, contents) = take(downloads, uid, wanted).await?;
        sources.contents.insert(file.name.clone(), contents);
        sources.files.input_files.push(file);
    }
    if let Some(wanted) = plan.acceptance_tests {
        let (file, contents) = take(downloads, uid, wanted).await?;
        sources.files.acceptance_tests = Some(file);
        sources.acceptance_tests = contents.into_files().pop().map(|content| content.bytes);
    }
    check_total(&sources)?;
    Ok(sources)
}

/// Checks that all sources together are few enough bytes for a snapshot.
pub fn check_total(sources: &ReadSources) -> Result<(), Blocked> {
    let total: usize = sources
        .contents
        .values()
        .flat_map(Contents::files)
        .map(|content| content.bytes.len())
        .sum();
    if total > MOST_BYTES {
        return Err(misconfigured(format!(
            "samples and inputs have {total} bytes together, and at most {MOST_BYTES} are taken: put large ones on a PersistentVolumeClaim"
        )));
    }
    Ok(())
}

/// Each ConfigMap that the task refers to, with the first field that does.
fn config_maps(task: &CodeGenTask) -> Vec<(String, String)> {
    let spec = &task.spec;
    let samples = spec.samples.iter().enumerate().map(|(index, sample)| {
        let field = format!("spec.samples[{index}].configMapKeyRef");
        (field, sample.source())
    });
    let inputs = spec.inputs.iter().enumerate().map(|(index, input)| {
        let field = format!("spec.inputs[{index}].source");
        (field, input.source.as_ref().and_then(InputSource::content))
    });
    let tests = spec.acceptance_tests.iter().map(|tests| {
        let field = "spec.acceptanceTests.configMapKeyRef".to_owned();
        (field, tests.source())
    });
    let mut seen = BTreeSet::new();
    samples
        .chain(inputs)
        .chain(tests)
        .filter_map(|(field, source)| Some((field, source?.config_map()?.to_owned())))
        .filter(|(_, name)| seen.insert(name.clone()))
        .collect()
}

pub async fn config_map(
    client: &Client,
    namespace: &str,
    field: &str,
    name: &str,
) -> Result<ObjectData, Blocked> {
    let config_maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let found = config_maps.get_opt(name).await;
    let found =
        found.map_err(|error| unreachable(&format!("read the ConfigMap {namespace}/{name}"), &error))?;
    let Some(found) = found else {
        return Err(misconfigured(format!(
            "{field} refers to the ConfigMap {namespace}/{name}, which is not there: create it, or correct the name"
        )));
    };
    Ok(keys(found))
}

/// The data of a ConfigMap by key.
fn keys(map: ConfigMap) -> ObjectData {
    let text = map.data.unwrap_or_default().into_iter();
    let binary = map.binary_data.unwrap_or_default().into_iter();
    ObjectData(
        text.map(|(key, text)| (key, text.into_bytes()))
            .chain(binary.map(|(key, bytes)| (key, bytes.0)))
            .collect(),
    )
}

/// Takes the bytes of one source, and says what they are. What lies on a claim is read by a Pod: it is described short of
/// digest and size.
pub async fn take(
    downloads: &Downloads,
    uid: &str,
    wanted: WantedSource,
) -> Result<(FrozenFile, Contents), Blocked> {
    let WantedSource {
        name,
        file_name,
        source,
        sha256: expected,
    } = wanted;
    let is_dir = matches!(
        source,
        SourceOrigin::Files(_) | SourceOrigin::Claim { is_dir: true, .. }
    );
    let file = |path, bytes| SourceFile { path, bytes };
    let contents: Vec<SourceFile> = match source {
        SourceOrigin::Bytes(bytes) => vec![file(String::new(), bytes)],
        SourceOrigin::Files(files) => files.into_iter().map(|(path, bytes)| file(path, bytes)).collect(),
        SourceOrigin::Download(url) => {
            let sha256 = expected.as_deref().unwrap_or_default();
            vec![file(
                String::new(),
                downloads.get(uid, &name, &url, sha256).await?,
            )]
        }
        SourceOrigin::Claim { claim, path, .. } => {
            let file = FrozenFile {
                name,
                file_name,
                sha256: expected.unwrap_or_default(),
                bytes: 0,
                is_dir,
            };
            return Ok((file, Contents::OnClaim { claim, path }));
        }
        SourceOrigin::File(_) | SourceOrigin::Folder(_) => {
            return Err(misconfigured(format!(
                "{name}: there are no local files in a cluster"
            )));
        }
    };
    let bytes: usize = contents.iter().map(|content| content.bytes.len()).sum();
    let sha256 = checked_digest(&name, &contents, is_dir, expected)?;
    let file = FrozenFile {
        name,
        file_name,
        sha256,
        bytes: bytes as u64,
        is_dir,
    };
    Ok((file, Contents::Here(contents)))
}

/// The digest of contents that are no larger than they may be, and those that are expected.
fn checked_digest(
    name: &str,
    contents: &[SourceFile],
    is_dir: bool,
    expected: Option<String>,
) -> Result<String, Blocked> {
    if let Some(large) = contents.iter().find(|content| content.bytes.len() > LARGEST_FILE) {
        return Err(misconfigured(format!(
            "{name} has {} bytes, and at most {LARGEST_FILE} are taken from a ConfigMap: put it on a PersistentVolumeClaim, \
                 or give a smaller sample",
            large.bytes.len()
        )));
    }
    let sha256 = digest_of(contents, is_dir);
    match expected.filter(|expected| *expected != sha256) {
        None => Ok(sha256),
        Some(expected) => Err(misconfigured(format!(
            "{name}: the content has sha256 {sha256}, the spec says {expected}: correct sha256 if the new content is right"
        ))),
    }
}

/// As a local run computes it, so that the same task is the same run everywhere.
pub fn digest_of(contents: &[SourceFile], is_dir: bool) -> String {
    match contents {
        [content] if !is_dir => sha256_hex(&content.bytes),
        contents => digest::of_folder(
            contents
                .iter()
                .map(|content| (content.path.clone(), sha256_hex(&content.bytes)))
                .collect(),
        ),
    }
}
