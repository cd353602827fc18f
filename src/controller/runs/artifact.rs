//! Pushes what a run wrote to a registry, where its spec says so.
//!
//! The run has ended by then: a registry that does not take it takes nothing from the run, and is asked again.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::runtime::reflector::ObjectRef;
use kube::{Api, ResourceExt as _};

use super::outputs;
use super::reconcile::RunPass;
use super::status::ended_in;
use crate::api::conditions::{OUTPUTS_PUSHED, run_reason};
use crate::api::run::OutputArtifact;
use crate::api::run_status::RunOutputStatus;
use crate::api::values::ValueType;
use crate::api::{CodeGenRun, CodeGenRunStatus};
use crate::controller::api::whole;
use crate::controller::error::ReconcileError;
use crate::controller::schedule::waits;
use crate::ledger::StoreError;
use crate::pipeline::bounds::{LONGEST_MESSAGE, cut};
use crate::pipeline::causes::with_causes;
use crate::pipeline::digest::sha256_hex;
use crate::pipeline::image_tag;
use crate::pipeline::run::OutputFile;
use crate::pipeline::stage::{Category, Stage};
use crate::pipeline::status::{Hold, Until};
use crate::registry::{Artifact, ArtifactFile};
use crate::sandbox::kubernetes::{Destination, push_artifact};

/// What kind of files they are.
const KIND: &str = "application/vnd.codegen-operator.outputs.v1";
/// Annotation with the run; only who has pushed a tag moves it.
const RUN: &str = "dev.codegen-operator.run";
/// Annotation with the task.
const TASK: &str = "dev.codegen-operator.task";
/// Annotation with what decided the outputs: `status.key`.
const KEY: &str = "dev.codegen-operator.key";
/// Annotations of a file: the output that it is of, and its type.
const OUTPUT: &str = "dev.codegen-operator.output";
const TYPE: &str = "dev.codegen-operator.type";
const FIELD: &str = "spec.outputs.artifact.pushSecretRef";
/// Most characters of a tag of ours.
// The OCI specification allows 128.
const LONGEST_TAG: usize = 100;

/// A registry that does not answer is asked again after this time.
const AGAIN: Duration = Duration::from_secs(20);
/// One that refuses, after this: somebody has to change something.
const AGAIN_FOR_A_PERSON: Duration = Duration::from_mins(2);

impl RunPass<'_> {
    /// Pushes what an ended run wrote, unless that is done or nobody asked for it; when to try again where it did not succeed.
    pub async fn push_outputs(&mut self) -> Result<Option<Duration>, ReconcileError> {
        if !is_due(&self.object) {
            return Ok(None);
        }
        // Reads: the outputs of an ended run are not in memory.
        let Some(run) = whole(&self.context.client, &self.object).await?.filter(is_due) else {
            return Ok(None);
        };
        self.object = run;
        let (namespace, name) = (
            self.object.namespace().unwrap_or_default(),
            self.object.name_any(),
        );
        let Some(wanted) = self
            .object
            .spec
            .outputs
            .as_ref()
            .and_then(|outputs| outputs.artifact.clone())
        else {
            return Ok(None);
        };
        let given = wanted.tag.as_deref();
        if let Some(why) = given.and_then(|tag| image_tag::objection(tag, &namespace)) {
            let message = format!("the outputs are not pushed: {why}; change spec.outputs.artifact.tag");
            // Without a pause: only another spec helps, and the watch brings that.
            return self.not_pushed(run_reason::PUSH_REFUSED, &message, None).await;
        }
        // Reads the outputs, then pushes, then writes what came of it.
        match self.output_files(&namespace, &name).await? {
            Ok(files) => self.push(&wanted, (&namespace, &name), files).await,
            Err(gone) => {
                let message = format!(
                    "the output {gone} is not there any more, so nothing is pushed: make another run"
                );
                self.not_pushed(run_reason::OUTPUTS_GONE, &message, None).await
            }
        }
    }

    /// Every file that the run wrote, from its Secrets; the name of an output that is not there any more.
    async fn output_files(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Result<Vec<ArtifactFile>, String>, StoreError> {
        let secrets: Api<Secret> = Api::namespaced(self.context.client.clone(), namespace);
        let mut files = Vec::new();
        for output in self.status().outputs {
            let read = outputs::read(&secrets, &output).await;
            let read = read.map_err(|error| unread(&format!("the outputs of {namespace}/{name}"), error))?;
            let Some(read) = read else {
                return Ok(Err(output.name));
            };
            files.extend(read.into_iter().map(|file| artifact_file(&output, file)));
        }
        Ok(Ok(files))
    }

    async fn push(
        &mut self,
        wanted: &OutputArtifact,
        (namespace, name): (&str, &str),
        files: Vec<ArtifactFile>,
    ) -> Result<Option<Duration>, ReconcileError> {
        let reference = format!("{}:{}", wanted.repository, tag(wanted, namespace, name));
        let artifact = Artifact {
            kind: KIND,
            files,
            annotations: about(&self.status(), namespace),
            owner: (RUN, format!("{namespace}/{name}")),
        };
        let secret = wanted.push_secret_ref.as_ref().map(|secret| secret.name.as_str());
        let destination = Destination {
            namespace,
            reference: &reference,
            secret,
            field: FIELD,
        };
        let registries = (&self.context.settings.registries, &self.context.registries);
        match push_artifact(self.context.client.clone(), registries, destination, artifact).await {
            Ok(digest) => self.pushed(wanted, &reference, &digest).await,
            Err(error) => {
                let (reason, pause) = match error.category() {
                    Category::Configuration => (run_reason::PUSH_REFUSED, AGAIN_FOR_A_PERSON),
                    Category::Infrastructure => (run_reason::REGISTRY_UNREACHABLE, AGAIN),
                };
                let message = format!("the outputs are not pushed yet: {}", with_causes(&error));
                // Before the write of the status, so that a Secret that comes meanwhile is not missed.
                if let Some(secret) = secret {
                    self.wake_at(namespace, secret);
                }
                self.not_pushed(reason, &message, Some(pause)).await
            }
        }
    }

    async fn pushed(
        &mut self,
        wanted: &OutputArtifact,
        reference: &str,
        digest: &str,
    ) -> Result<Option<Duration>, ReconcileError> {
        let mut status = self.status();
        status.artifact = Some(format!("{}@{digest}", wanted.repository));
        let message = format!("the outputs are at {reference}");
        self.say(&mut status, "True", run_reason::PUSHED, &message);
        self.write(status).await?;
        tracing::info!(
            namespace = self.object.namespace().unwrap_or_default(),
            run = self.object.name_any(),
            reference,
            digest,
            "the outputs are pushed"
        );
        Ok(None)
    }

    /// Says why, unless the status does already.
    async fn not_pushed(
        &mut self,
        reason: &'static str,
        message: &str,
        pause: Option<Duration>,
    ) -> Result<Option<Duration>, ReconcileError> {
        let message = cut(message, LONGEST_MESSAGE);
        let mut status = self.status();
        let says_so = status
            .conditions
            .iter()
            .any(|old| old.type_ == OUTPUTS_PUSHED && old.reason == reason && old.message == message);
        if !says_so {
            self.say(&mut status, "False", reason, &message);
            self.write(status).await?;
            let hold = Hold {
                reason,
                message,
                until: Until::Mended,
            };
            self.context.events.run_held(&self.object, &hold);
        }
        Ok(pause)
    }

    /// When the Secret is there or changes, it is tried at once.
    fn wake_at(&self, namespace: &str, secret: &str) {
        let (uid, run) = (
            self.object.uid().unwrap_or_default(),
            ObjectRef::from_obj(&self.object),
        );
        let waits = &self.context.runs.waits;
        waits.wait(&uid, run, waits::of_secret(namespace, secret));
    }

    fn say(&self, status: &mut CodeGenRunStatus, value: &str, reason: &str, message: &str) {
        let before = status.conditions.iter().find(|old| old.type_ == OUTPUTS_PUSHED);
        let since = before
            .filter(|old| old.status == value)
            .map_or(Time(Timestamp::now()), |old| old.last_transition_time.clone());
        let condition = Condition {
            type_: OUTPUTS_PUSHED.to_owned(),
            status: value.to_owned(),
            reason: reason.to_owned(),
            message: message.to_owned(),
            observed_generation: self.object.metadata.generation,
            last_transition_time: since,
        };
        status.conditions.retain(|old| old.type_ != OUTPUTS_PUSHED);
        status.conditions.push(condition);
    }
}

/// Whether there is something to push.
fn is_due(run: &CodeGenRun) -> bool {
    let outputs = run.spec.outputs.as_ref();
    outputs.is_some_and(|outputs| outputs.artifact.is_some())
        && ended_in(run) == Some(Stage::Succeeded)
        && run.status.as_ref().is_none_or(|status| status.artifact.is_none())
}

fn unread(what: &str, error: kube::Error) -> StoreError {
    StoreError::Remote {
        action: format!("read {what}"),
        source: Box::new(error),
    }
}

fn about(status: &CodeGenRunStatus, namespace: &str) -> BTreeMap<String, String> {
    let task = status
        .task
        .as_ref()
        .map(|task| format!("{namespace}/{}", task.name));
    [(TASK, task), (KEY, status.key.clone())]
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect()
}

fn artifact_file(output: &RunOutputStatus, file: OutputFile) -> ArtifactFile {
    let title = if file.path.is_empty() {
        output.file_name.clone()
    } else {
        format!("{}/{}", output.file_name, file.path)
    };
    let type_ = serde_json::to_value(output.type_).ok();
    let type_ = type_.and_then(|name| name.as_str().map(str::to_owned));
    let annotations = [(OUTPUT, Some(output.name.clone())), (TYPE, type_)];
    ArtifactFile {
        media_type: media_type(output.type_, &title),
        title,
        bytes: file.bytes,
        annotations: annotations
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect(),
    }
}

fn media_type(type_: ValueType, title: &str) -> &'static str {
    if !matches!(type_, ValueType::File | ValueType::Dir) {
        return "text/plain";
    }
    let ending = title.rsplit_once('.').map_or("", |(_, ending)| ending);
    match ending.to_ascii_lowercase().as_str() {
        "csv" => "text/csv",
        "tsv" => "text/tab-separated-values",
        "json" => "application/json",
        "jsonl" | "ndjson" => "application/x-ndjson",
        "parquet" => "application/vnd.apache.parquet",
        "xlsx" => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "txt" | "md" => "text/plain",
        "html" => "text/html",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "pdf" => "application/pdf",
        _ => "application/octet-stream",
    }
}

/// A namespace has no dot, so two runs never have the same; nor have a run and a published program.
fn tag(wanted: &OutputArtifact, namespace: &str, run: &str) -> String {
    if let Some(tag) = &wanted.tag {
        return tag.clone();
    }
    let whole = format!("{}.outputs", image_tag::default_of(namespace, run));
    if whole.len() <= LONGEST_TAG {
        return whole;
    }
    let digest = sha256_hex(whole.as_bytes());
    format!("{}-{}", &whole[..LONGEST_TAG - 17], &digest[..16])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_the_names_and_types_that_whoever_fetches_them_expects() {
        let output = |type_, file_name: &str| RunOutputStatus {
            name: "summary".to_owned(),
            type_,
            value: None,
            sha256: String::new(),
            bytes: 1,
            file_name: file_name.to_owned(),
            files: Vec::new(),
            claim: None,
        };
        let file = |path: &str| OutputFile {
            path: path.to_owned(),
            bytes: b"1".to_vec(),
        };
        let named = |output: &RunOutputStatus, path: &str| {
            let made = artifact_file(output, file(path));
            (made.title, made.media_type, made.annotations[TYPE].clone())
        };
        let expected =
            |title: &str, media_type, type_: &str| (title.to_owned(), media_type, type_.to_owned());
        assert_eq!(
            named(&output(ValueType::File, "summary.csv"), ""),
            expected("summary.csv", "text/csv", "File")
        );
        assert_eq!(
            named(&output(ValueType::Dir, "pages"), "a/1.HTML"),
            expected("pages/a/1.HTML", "text/html", "Dir")
        );
        assert_eq!(
            named(&output(ValueType::Int, "species"), ""),
            expected("species", "text/plain", "Int")
        );
    }

    #[test]
    fn a_tag_is_the_runs_own_and_never_too_long() {
        let wanted = OutputArtifact::default();
        assert_eq!(tag(&wanted, "lab", "penguins"), "lab.penguins.outputs");
        let long = "x".repeat(200);
        let (one, other) = (
            tag(&wanted, "lab", &long),
            tag(&wanted, "lab", &format!("{long}y")),
        );
        assert_eq!(one.len(), LONGEST_TAG);
        assert_ne!(one, other);
    }
}
