//! Pushes what a run wrote to a registry, where its spec says so.
//!
//! The run has ended by then: a registry that does not take it takes nothing from the run, and is asked again.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{Api, ResourceExt as _};

use super::follow_up::{Delay, FollowUp, Followed, is_due, said, value_beside};
use super::outputs;
use super::reconcile::RunPass;
use crate::controller::api::whole;
use crate::controller::schedule::corrections::{POLL_INTERVAL, have_changed};
use codegen_api::CodeGenRunStatus;
use codegen_api::conditions::{OUTPUTS_PUSHED, run_reason};
use codegen_api::run::OutputArtifact;
use codegen_api::run_status::RunOutputStatus;
use codegen_core::bounds::message_shown;
use codegen_core::causes::with_causes;
use codegen_core::digest::sha256_hex;
use codegen_core::image_tag;
use codegen_core::run::OutputFile;
use codegen_core::run::artifact::{KEY, KIND, RUN, TASK, annotations, media_type, title};
use codegen_core::stage::Category;
use codegen_core::status::{Hold, Until};
use codegen_ledger::StoreError;
use codegen_registry::{Artifact, ArtifactFile, FileContent};
use codegen_sandbox::SandboxError;
use codegen_sandbox::kubernetes::{Destination, push_artifact};

/// The field that names the credentials.
const FIELD: &str = "spec.outputs.artifact.pushSecretRef";
/// The field that names repository and tag.
const PLACE: &str = "spec.outputs.artifact";
/// Most characters of a tag of ours.
// The OCI specification allows 128.
const LONGEST_TAG: usize = 100;

/// A registry that does not answer is asked again after this time at first.
const AGAIN: Duration = Duration::from_secs(20);
/// The longest pause between two such tries.
const AGAIN_AT_LAST: Duration = Duration::from_mins(10);
/// One that refuses, after this: somebody has to change something.
const AGAIN_FOR_A_PERSON: Duration = Duration::from_mins(2);

impl RunPass<'_> {
    /// Pushes what an ended run wrote, unless that is done or nobody asked for it.
    pub async fn push_outputs(&mut self) -> Followed {
        if !is_due(&self.object) {
            return Ok(FollowUp::Nothing);
        }
        let runs = &self.context.runs;
        // The write that says why comes back by the watch: what led to this pass is perhaps nothing new.
        if let Some((left, tried)) = runs.pause_of_push(&self.object)
            && !self.is_secret_corrected(tried).await
        {
            return Ok(FollowUp::Again(left.min(POLL_INTERVAL)));
        }
        // Reads: the outputs of an ended run are not in memory.
        let Some(run) = whole(&self.context.client, &self.object).await?.filter(is_due) else {
            return Ok(FollowUp::Nothing);
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
            return Ok(FollowUp::Nothing);
        };
        let given = wanted.tag.as_deref();
        if let Some(why) = given.and_then(|tag| image_tag::objection(tag, &namespace)) {
            let message = format!("the outputs are not pushed: {why}; change spec.outputs.artifact.tag");
            // Without a pause: only another spec helps, and the watch brings that.
            return self.not_pushed(run_reason::PUSH_REFUSED, &message, None).await;
        }
        if let Some(folder) = self.outputs_on_claim() {
            return Box::pin(self.push_from_claim(&wanted, &folder)).await;
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
    ) -> Followed {
        let reference = reference(wanted, namespace, name);
        let artifact = Artifact {
            kind: KIND,
            files,
            annotations: about(&self.status(), namespace),
            owner: (RUN, format!("{namespace}/{name}")),
        };
        let destination = destination(wanted, namespace, &reference);
        let registries = (&self.context.settings.registries, &self.context.registries);
        match push_artifact(self.context.client.clone(), registries, destination, artifact).await {
            Ok(digest) => self.pushed(wanted, &reference, &digest).await,
            Err(error) => self.refused(&error).await,
        }
    }

    /// A registry that was asked from here did not take the outputs: it is left alone for the pause, whatever else happens to the run.
    pub(super) async fn refused(&mut self, error: &SandboxError) -> Followed {
        let delay = match error.category() {
            Category::Configuration => Delay::Person,
            Category::Infrastructure => Delay::Registry,
        };
        let followed = self.delayed(delay, &with_causes(error)).await?;
        if let FollowUp::Again(pause) = followed {
            self.context.runs.push_after(&self.object, pause);
        }
        Ok(followed)
    }

    /// Says what is in the way, and when it is tried again.
    pub(super) async fn delayed(&mut self, delay: Delay, why: &str) -> Followed {
        let message = format!("the outputs are not pushed yet: {why}");
        let pause = match delay {
            Delay::Person => AGAIN_FOR_A_PERSON,
            Delay::PersonByPod | Delay::Room | Delay::Registry | Delay::Pod => {
                let since = self.said().map(|said| said.last_transition_time.0);
                backoff(since, Timestamp::now())
            }
        };
        self.not_pushed(delay.reason(), &message, Some(pause)).await
    }

    /// Returns the condition of the push in the status.
    pub(super) fn said(&self) -> Option<&Condition> {
        said(&self.object)
    }

    pub(super) async fn pushed(
        &mut self,
        wanted: &OutputArtifact,
        reference: &str,
        digest: &str,
    ) -> Followed {
        let mut status = self.status();
        status.artifact = Some(format!("{}@{digest}", wanted.repository));
        let message = format!("the outputs are at {reference}");
        self.say(&mut status, "True", run_reason::PUSHED, &message);
        self.write(status).await?;
        let events = &self.context.events;
        events.run_pushes(&self.object, run_reason::PUSHED, &format!("{message}, {digest}"));
        Ok(FollowUp::Settled)
    }

    /// Says why, unless the status does already.
    pub(super) async fn not_pushed(
        &mut self,
        reason: &'static str,
        message: &str,
        pause: Option<Duration>,
    ) -> Followed {
        let message = message_shown(message);
        let mut status = self.status();
        let says_so = status
            .conditions
            .iter()
            .any(|old| old.type_ == OUTPUTS_PUSHED && old.reason == reason && old.message == message);
        if !says_so {
            self.say(&mut status, value_beside(reason), reason, &message);
            self.write(status).await?;
            let hold = Hold {
                reason,
                message,
                until: Until::Corrected,
            };
            self.context.events.run_held(&self.object, &hold);
        }
        Ok(pause.map_or(FollowUp::Settled, FollowUp::Again))
    }

    /// Says whether the Secret of the push was made or changed since then.
    async fn is_secret_corrected(&self, since: Timestamp) -> bool {
        let outputs = self.object.spec.outputs.as_ref();
        let secret = outputs.and_then(|outputs| outputs.artifact.as_ref()?.push_secret_ref.as_ref());
        let secrets = secret.map(|secret| secret.name.as_str()).into_iter().collect();
        let namespace = self.object.namespace().unwrap_or_default();
        have_changed(&self.context.client, &namespace, &secrets, since).await
    }

    pub(super) fn say(&self, status: &mut CodeGenRunStatus, value: &str, reason: &str, message: &str) {
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

/// The pause before the next try: as long as it was tried already, within bounds.
fn backoff(since: Option<Timestamp>, now: Timestamp) -> Duration {
    let tried = since.map_or(SignedDuration::ZERO, |since| now.duration_since(since));
    let tried = Duration::try_from(tried).unwrap_or_default();
    tried.clamp(AGAIN, AGAIN_AT_LAST)
}

pub(super) fn reference(wanted: &OutputArtifact, namespace: &str, name: &str) -> String {
    format!("{}:{}", wanted.repository, tag(wanted, namespace, name))
}

pub(super) fn destination<'a>(
    wanted: &'a OutputArtifact,
    namespace: &'a str,
    reference: &'a str,
) -> Destination<'a> {
    Destination {
        namespace,
        reference,
        secret: wanted.push_secret_ref.as_ref().map(|secret| secret.name.as_str()),
        field: FIELD,
        place: PLACE,
    }
}

fn unread(what: &str, error: kube::Error) -> StoreError {
    StoreError::Remote {
        action: format!("read {what}"),
        source: Box::new(error),
    }
}

pub(super) fn about(status: &CodeGenRunStatus, namespace: &str) -> BTreeMap<String, String> {
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
    let title = title(&output.file_name, &file.path);
    ArtifactFile {
        media_type: media_type(output.type_, &title),
        title,
        content: FileContent::Bytes(file.bytes),
        annotations: annotations(&output.name, output.type_),
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
    fn a_registry_that_does_not_answer_is_asked_ever_more_seldom() {
        let at = |second| Timestamp::from_second(second).unwrap();
        assert_eq!(backoff(None, at(100)), AGAIN);
        assert_eq!(backoff(Some(at(100)), at(100)), AGAIN);
        assert_eq!(backoff(Some(at(100)), at(190)), Duration::from_secs(90));
        assert_eq!(backoff(Some(at(100)), at(100_000)), AGAIN_AT_LAST);
        assert_eq!(backoff(Some(at(200)), at(100)), AGAIN);
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
