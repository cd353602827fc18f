//! The present revision of a task: its frozen inputs, and the task with every question answered.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use kube::{Api, Resource as _, ResourceExt as _};
use tempfile::TempDir;

use crate::controller::claims;
use crate::controller::context::Context;
use crate::controller::error::{ReconcileError, unresolved};
use crate::controller::hold::{Blocked, misconfigured, unreachable};
use crate::controller::record::result::TASK;
use crate::controller::record::revision::Revision;
use crate::controller::record::snapshot::{self, ReadSources, decides};
use crate::controller::record::unpack::unpack;
use crate::controller::sources::credentials;
use crate::controller::sources::read::read_sources;
use crate::controller::tasks::reuse::{self, AdoptedResult};
use codegen_api::agent::CodeGenAgentSpec;
use codegen_api::approval::Gate;
use codegen_api::common::LocalRef;
use codegen_api::retry::RETRY;
use codegen_api::status::SnapshotStatus;
use codegen_api::{CodeGenAgent, CodeGenTask};
use codegen_core::redact::Redactor;
use codegen_core::stage::Stage;
use codegen_core::task::{FrozenFiles, Task, resolve};
use codegen_data::profile::Profiles;
use codegen_data::worker::WorkerClient as Worker;
use codegen_engine::Surroundings;
use codegen_engine::reader::WorkerReader;
use codegen_ledger::StoreError;
use codegen_sandbox::Progressing;
use codegen_sandbox::kubernetes::{MountedInput, Owner};

/// State of a new run.
pub enum Started {
    /// It is there, with what it takes over from another task.
    Revision(Box<Revision>, Option<Box<AdoptedResult>>),
    /// Sources on claims are being read.
    Reading,
    /// Others take the room of what reads it.
    Queued(String),
}

/// Samples as files for as long as they are read, or their recorded profiles.
#[derive(Default)]
pub struct SampleFiles {
    paths: BTreeMap<String, PathBuf>,
    profiles: Option<Profiles>,
    _folder: Option<TempDir>,
}

impl Revision {
    /// The run that the status names, if the spec still asks for it.
    pub async fn present(context: &Context, object: &CodeGenTask) -> Result<Option<Self>, ReconcileError> {
        let Some(status) = &object.status else {
            return Ok(None);
        };
        let (Some(run), Some(place)) = (&status.run, &status.snapshot) else {
            return Ok(None);
        };
        let attempt = status.attempt.unwrap_or_default();
        let owner = owner(object, run.clone(), u32::try_from(attempt).unwrap_or_default());
        if asks_for_another(object) {
            return Ok(None);
        }
        let Some(snapshot) = context
            .tasks
            .snapshot(&context.client, &owner, &place.name)
            .await?
        else {
            return Err(StoreError::Damaged {
                name: format!("Secret {}/{}", owner.namespace, place.name),
                detail: "the snapshot of the run is gone".to_owned(),
            }
            .into());
        };
        let task = resolved(context, object, snapshot.agent.as_ref(), snapshot.files.clone())?;
        Ok(Some(Self {
            task,
            owner,
            snapshot,
            snapshot_status: place.clone(),
            generation: object.metadata.generation,
            retry: object.annotations().get(RETRY).cloned(),
            stage: status.stage.clone(),
        }))
    }

    /// A new run: everything that the task refers to is read and frozen. `may_adopt` says whether it takes over what another task
    /// has made.
    pub async fn start(
        context: &Context,
        object: &CodeGenTask,
        may_adopt: bool,
    ) -> Result<Started, ReconcileError> {
        // Reads; for what lies on claims it creates a Pod that does so.
        let agent = agent(context, object).await?;
        let mut sources = read_sources(&context.client, &context.downloads, object).await?;
        let decides = decides(&object.spec);
        // A spec with a fault starts no Pod.
        let task = resolved(context, object, agent.as_ref(), sources.files.clone())?;
        sources.files.model = Some(task.model.name.clone());
        let reading = owner(object, decides.clone(), 0);
        match claims::read(context, &reading, &task, &mut sources).await? {
            Progressing::Done(()) => {}
            Progressing::Pending | Progressing::Unseen => return Ok(Started::Reading),
            Progressing::Queued(why) => return Ok(Started::Queued(why)),
        }
        // Resolved again, with the digests of what lies on claims: the hash of the run follows from them.
        let task = resolved(context, object, agent.as_ref(), sources.files.clone())?;
        let owner = owner(object, task.decisive_hash(), 0);
        let adopted = if may_adopt {
            Box::pin(reuse::adopt(context, &task, &owner)).await?
        } else {
            None
        };
        let is_at_its_end = |adopted: &AdoptedResult| adopted.progress.stage.is_terminal();
        // Nothing reads the inputs of a task that is at its end with what it takes over.
        let (snapshot, name, sha256) = if adopted.as_ref().is_some_and(is_at_its_end) {
            snapshot::empty_snapshot(&owner, agent, sources)
        } else {
            snapshot::create(&context.client, &owner, agent, sources).await?
        };
        let snapshot = context.tasks.remember_snapshot(&owner, &name, snapshot);
        let run = Box::new(Self {
            task,
            owner,
            snapshot,
            snapshot_status: SnapshotStatus {
                name,
                sha256,
                spec_sha256: decides,
            },
            generation: object.metadata.generation,
            retry: object.annotations().get(RETRY).cloned(),
            stage: None,
        });
        Ok(Started::Revision(run, adopted.map(Box::new)))
    }

    /// The run of a task that has succeeded, and every document of it, as its result keeps them. Nothing of its inputs is left, and what
    /// is asked for since is how its program is published.
    pub async fn of_result(
        context: &Context,
        object: &CodeGenTask,
    ) -> Result<(Self, BTreeMap<String, Vec<u8>>), ReconcileError> {
        let status = object.status.clone().unwrap_or_default();
        let (run, snapshot_status) = (
            status.run.unwrap_or_default(),
            status.snapshot.unwrap_or_default(),
        );
        let owner = owner(object, run, 0);
        let result = status.result.unwrap_or_default();
        let unpacked = unpack(&context.client, &owner.namespace, &result).await;
        let mut documents = unpacked.map_err(|error| without_result(&owner, &result, error))?;
        let task = documents.remove(TASK);
        let task = task.and_then(|bytes| serde_json::from_slice::<Task>(&bytes).ok());
        let mut task = task.ok_or_else(|| StoreError::Damaged {
            name: format!("Secret {}/{result}", owner.namespace),
            detail: "it does not say of which task it is the result".to_owned(),
        })?;
        let spec = &object.spec;
        task.publish.clone_from(&spec.publish);
        // After the end gates can be added, not removed.
        task.approvals.extend(&spec.approvals);
        bind(&mut task, &context.approvals.required);
        if let Some(image) = &spec.image {
            let named = |secret: &Option<LocalRef>| secret.as_ref().map(|secret| secret.name.clone());
            task.image.push_secret = named(&image.push_secret_ref).or(task.image.push_secret);
            task.image.pull_secret = named(&image.pull_secret_ref).or(task.image.pull_secret);
        }
        let (snapshot, _, _) = snapshot::empty_snapshot(&owner, None, ReadSources::default());
        let run = Self {
            task,
            owner,
            snapshot: Arc::new(snapshot),
            snapshot_status,
            generation: object.metadata.generation,
            retry: object.annotations().get(RETRY).cloned(),
            stage: status.stage,
        };
        Ok((run, documents))
    }

    /// Reports whether something of it lies on a claim.
    #[must_use]
    pub fn has_claims(&self) -> bool {
        let mut inputs = self.snapshot.inputs.values();
        inputs.any(|input| matches!(input, MountedInput::Claim { .. }))
    }

    /// Reads what the cluster adds to the task.
    pub async fn surroundings(&self, context: &Context) -> Result<Surroundings, ReconcileError> {
        let secret_env = credentials::sandbox_variables(&context.client, &self.task).await?;
        let acceptance_tests = match &self.snapshot.acceptance_tests {
            Some(file) => {
                let bytes = snapshot::content(&context.client, &self.owner, file).await?;
                Some(String::from_utf8(bytes).map_err(|_| {
                    misconfigured("spec.acceptanceTests is not UTF-8 text: give Python source".to_owned())
                })?)
            }
            None => None,
        };
        Ok(Surroundings {
            // A sandbox finds inputs by their names.
            sources: self
                .snapshot
                .inputs
                .keys()
                .map(|name| (name.clone(), name.clone()))
                .collect(),
            acceptance_tests,
            redactor: Redactor::new(secret_env.iter()),
            secret_env,
            denied_commands: context.denied_commands.clone(),
        })
    }

    /// The samples as files, where the next step reads them.
    pub async fn files(&self, context: &Context) -> Result<SampleFiles, ReconcileError> {
        let mut paths = BTreeMap::new();
        if self.stage.as_deref() != Some(Stage::ReadingSamples.as_str()) {
            return Ok(SampleFiles::default());
        }
        let profiles = snapshot::profiles(&context.client, &self.owner, &self.snapshot).await?;
        // The Pod that read the claims has described all samples.
        if profiles.is_some() {
            return Ok(SampleFiles {
                profiles,
                ..SampleFiles::default()
            });
        }
        let io = |error: std::io::Error| StoreError::Io {
            action: "write a sample into",
            path: std::env::temp_dir(),
            source: error,
        };
        // The child process that reads the samples takes paths.
        let folder = tempfile::tempdir().map_err(io)?;
        for sample in &self.task.samples {
            if let Some(MountedInput::Secrets(files)) = self.snapshot.inputs.get(&sample.name)
                && let Some(file) = files.first()
            {
                let bytes = snapshot::content(&context.client, &self.owner, file).await?;
                let path = folder.path().join(&sample.name);
                tokio::fs::write(&path, bytes).await.map_err(io)?;
                paths.insert(sample.name.clone(), path);
            }
        }
        Ok(SampleFiles {
            paths,
            profiles: None,
            _folder: Some(folder),
        })
    }
}

impl SampleFiles {
    /// Reads them through `client`.
    #[must_use]
    pub fn reader(&self, client: Worker) -> WorkerReader {
        WorkerReader {
            client,
            sources: self.paths.clone(),
            profiles: self.profiles.clone(),
        }
    }
}

/// Reports whether the user changed what decides the result. Only a user asks for another run, never another version of this program.
pub fn asks_for_another(object: &CodeGenTask) -> bool {
    let Some(status) = &object.status else { return true };
    let is_new_spec = status.observed_generation != object.metadata.generation;
    let before = status.snapshot.as_ref().map(|snapshot| &snapshot.spec_sha256);
    is_new_spec && before != Some(&decides(&object.spec))
}

fn resolved(
    context: &Context,
    object: &CodeGenTask,
    agent: Option<&CodeGenAgentSpec>,
    files: FrozenFiles,
) -> Result<Task, Blocked> {
    let agent = agent.map(|spec| CodeGenAgent::new("", spec.clone()));
    let mut task = resolve(object, agent.as_ref(), files).map_err(|faults| unresolved(&faults))?;
    bind(&mut task, &context.approvals.required);
    task.packages.cluster.clone_from(&context.packages);
    context.settings.registries.complete(&mut task.image);
    Ok(task)
}

/// The gates that the operator asks for stay, whatever task and agent say.
fn bind(task: &mut Task, required: &[Gate]) {
    task.approvals.extend(required);
}

/// Nobody comes back for a result that somebody has deleted.
fn without_result(owner: &Owner, result: &str, error: StoreError) -> ReconcileError {
    if !reuse::is_gone(&error) {
        return error.into();
    }
    misconfigured(format!(
        "the Secret {}/{result}, which held the program, is gone, so that there is nothing to publish: take spec.publish away, or apply \
         the task under another name",
        owner.namespace
    ))
    .into()
}

async fn agent(context: &Context, object: &CodeGenTask) -> Result<Option<CodeGenAgentSpec>, Blocked> {
    let Some(reference) = &object.spec.agent_ref else {
        return Ok(None);
    };
    let namespace = object.namespace().unwrap_or_default();
    let name = &reference.name;
    let agents: Api<CodeGenAgent> = Api::namespaced(context.client.clone(), &namespace);
    let found = agents.get_opt(name).await;
    match found.map_err(|error| unreachable(&format!("read the CodeGenAgent {namespace}/{name}"), &error))? {
        Some(agent) => Ok(Some(agent.spec)),
        None => Err(misconfigured(format!(
            "spec.agentRef refers to the CodeGenAgent {namespace}/{name}, which is not there: create it, or correct the name"
        ))),
    }
}

fn owner(object: &CodeGenTask, run: String, attempt: u32) -> Owner {
    Owner {
        namespace: object.namespace().unwrap_or_default(),
        name: object.name_any(),
        uid: object.uid().unwrap_or_default(),
        run,
        wish: format!(
            "{} {}",
            object.metadata.generation.unwrap_or_default(),
            object.annotations().get(RETRY).map_or("", String::as_str)
        ),
        generation: object.metadata.generation.unwrap_or_default(),
        attempt,
        reference: object.controller_owner_ref(&()).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use codegen_core::approval::awaited;
    use codegen_core::progress::Progress;
    use codegen_core::test_support::start;

    /// The gate at which a task waits that has a plan.
    fn waits_at(agent: &Value, required: &[Gate]) -> Option<Gate> {
        let spec = json!({"prompt": "count", "agentRef": {"name": "shared"}});
        let object = CodeGenTask::new("words", serde_json::from_value(spec).unwrap());
        let agent = CodeGenAgent::new("shared", serde_json::from_value(agent.clone()).unwrap());
        let mut task = resolve(&object, Some(&agent), FrozenFiles::default()).unwrap();
        bind(&mut task, required);
        let progress = Progress {
            stage: Stage::GeneratingCode,
            ..start()
        };
        awaited(&task, &progress).map(|asked| asked.gate)
    }

    #[test]
    fn a_gate_goes_with_the_agent_that_asks_for_it_unless_the_operator_asks_for_it_too() {
        let agent = json!({"model": {"name": "m"}, "approvals": ["Plan"]});
        let edited = json!({"model": {"name": "m"}});
        assert_eq!(waits_at(&agent, &[]), Some(Gate::Plan));
        // Whoever may write agents has what they like.
        assert_eq!(waits_at(&edited, &[]), None);
        assert_eq!(waits_at(&edited, &[Gate::Plan]), Some(Gate::Plan));
    }
}
