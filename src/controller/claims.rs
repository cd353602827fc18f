//! Sources on claims: this process cannot mount them, a Pod reads them in its place.

use crate::controller::context::Context;
use crate::controller::error::ReconcileError;
use crate::controller::hold::{Blocked, misconfigured, unavailable};
use crate::controller::record::parts::{Contents, Parts, SourceFile};
use crate::controller::record::snapshot::ReadSources;
use codegen_core::causes::with_causes;
use codegen_core::digest::sha256_hex_of_parts;
use codegen_core::stage::Category;
use codegen_core::task::{FrozenFile, Task};
use codegen_ledger::StoreError;
use codegen_sandbox::kubernetes::names::{self, Component};
use codegen_sandbox::kubernetes::{
    ClaimSource, Owner, ReadReport, ReadRequest, ReadSource, SampleSource, SourceReader,
};
use codegen_sandbox::{Progressing, SandboxError};

/// Adds to `sources` what lies on claims, once the Pod that reads it has ended. `task` is the task with
/// the sources that were read so far.
pub async fn read(
    context: &Context,
    owner: &Owner,
    task: &Task,
    sources: &mut ReadSources,
) -> Result<Progressing<()>, ReconcileError> {
    let request = request(task, sources);
    if request.sources.is_empty() {
        return Ok(Progressing::Done(()));
    }
    let contents = mounted(&request, sources);
    let known: Vec<&str> = request
        .samples
        .iter()
        .filter_map(|sample| sample.sha256.as_deref())
        .collect();
    // Its name follows from what it holds: a pass after a kill finds the Secrets of the one before.
    let name = names::name(
        &owner.name,
        &[&owner.uid, "reader-inputs", &sha256_hex_of_parts(&known)],
    );
    let mut parts = Parts::new(&name);
    let inputs = parts.add_all(contents);
    let sandbox = context.sandbox(task, owner, &inputs);
    let reader = SourceReader::new(&sandbox, &request).map_err(|error| blocked(&error))?;
    // A lazy future: `report_of` awaits it only where the Pod is not there yet.
    let write_samples = async {
        if inputs.is_empty() {
            return Ok(());
        }
        parts.create(&context.client, owner, Component::Reader).await
    };
    let report = match Box::pin(report_of(&reader, write_samples)).await?.done() {
        Ok(report) => report,
        Err(progress) => return Ok(progress),
    };
    let ReadReport::Read {
        sources: found,
        profiles,
    } = report
    else {
        return Err(unavailable("the claims were not read as they were asked for").into());
    };
    // The report has the sources in the order in which they were asked for.
    for (source, found) in request.sources.iter().zip(found) {
        complete(sources, &source.name, found);
    }
    sources.profiles = profiles;
    Ok(Progressing::Done(()))
}

/// Returns the report of a reader whose Pod has ended; a reader that refuses or fails is an error. `mount` writes what the Pod mounts
/// besides claims, before it starts.
pub async fn report_of(
    reader: &SourceReader<'_>,
    mount: impl Future<Output = Result<(), StoreError>>,
) -> Result<Progressing<ReadReport>, ReconcileError> {
    let mut found = reader.progress().await;
    if matches!(found, Ok(None)) {
        mount.await?;
        found = Box::pin(reader.start()).await.map(Some);
    }
    let found = found.map_err(|error| blocked(&error))?;
    match found.unwrap_or(Progressing::Pending) {
        // What the reader refuses only a person can change; what has failed may succeed in another Pod.
        Progressing::Done(ReadReport::Refused(why)) => Err(misconfigured(why).into()),
        Progressing::Done(ReadReport::Failed(why)) => Err(unavailable(&why).into()),
        found => Ok(found),
    }
}

/// Lists the sources to read: everything on claims, and all samples to describe where one of them lies there.
fn request(task: &Task, sources: &ReadSources) -> ReadRequest {
    let files = sources.files.samples.iter().chain(&sources.files.input_files);
    let on_claims = files.filter_map(|file| match sources.contents.get(&file.name)? {
        Contents::OnClaim { claim, path } => Some(ClaimSource {
            name: file.name.clone(),
            claim: claim.clone(),
            path: path.clone(),
            is_dir: file.is_dir,
            sha256: Some(file.sha256.clone()).filter(|sha256| !sha256.is_empty()),
            ..ClaimSource::default()
        }),
        Contents::Here(_) => None,
    });
    let request = ReadRequest::of(on_claims.collect());
    let is_on_claim = |file: &FrozenFile| request.sources.iter().any(|source| source.name == file.name);
    if !task.samples.iter().any(is_on_claim) {
        return request;
    }
    let samples = task.samples.iter().map(|sample| SampleSource {
        name: sample.name.clone(),
        file_name: task.mount_name(&sample.name).unwrap_or_default(),
        sha256: (!is_on_claim(sample)).then(|| sample.sha256.clone()),
    });
    ReadRequest {
        samples: samples.collect(),
        max_sample_rows: task.max_sample_rows,
        ..request
    }
}

/// The samples that the reader describes besides those on claims.
fn mounted(request: &ReadRequest, sources: &ReadSources) -> Vec<(String, Contents)> {
    let samples = request.samples.iter();
    samples
        .filter_map(|sample| match sources.contents.get(&sample.name)? {
            Contents::Here(files) => {
                let files = files.iter().map(|file| SourceFile {
                    path: file.path.clone(),
                    bytes: file.bytes.clone(),
                });
                Some((sample.name.clone(), Contents::Here(files.collect())))
            }
            Contents::OnClaim { .. } => None,
        })
        .collect()
}

/// Adds what the reader found of one source.
fn complete(sources: &mut ReadSources, name: &str, found: ReadSource) {
    let files = &mut sources.files;
    let mut all = files.samples.iter_mut().chain(&mut files.input_files);
    if let Some(file) = all.find(|file| file.name == name) {
        file.sha256 = found.sha256;
        file.bytes = found.bytes;
    }
}

/// Returns the hold of whoever waits for a reader that cannot do its work.
pub fn blocked(error: &SandboxError) -> Blocked {
    match error.category() {
        Category::Configuration => misconfigured(error.to_string()),
        Category::Infrastructure => unavailable(&with_causes(error)),
    }
}

#[cfg(test)]
mod tests;
