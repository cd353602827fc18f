//! A build that does not come to its end: what that means for the task, and whether it is made again.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::jiff::Timestamp;

use super::failure::FailedBuild;
use super::objects::DockerConfig;
use super::state::BuildFailureCause;
use super::{Build, job, objects};
use crate::kubernetes::names::TASK_UID;
use crate::{BuiltEnvironment, Progressing, SandboxError};
use codegen_core::digest::sha256_hex_of_parts;

/// After so many seconds a build that failed for want of a setting is made again: what it lacked may be there by now. Before
/// that, only when its task or a Secret has changed.
const TRY_AGAIN_SECONDS: i64 = 300;

impl Build<'_> {
    pub(super) async fn failed(
        &self,
        job: &Job,
        pod: Option<&Pod>,
        failure: BuildFailureCause,
    ) -> Result<Progressing<BuiltEnvironment>, SandboxError> {
        let has_ended = failure.has_ended();
        // Copies of credentials do not outlive what needed them, also where nobody reads of the failure.
        if has_ended {
            self.drop_copies().await;
        }
        // Another Job may have built it meanwhile, or the push was killed after it was done.
        if has_ended && let Some(image) = self.found().await? {
            return Ok(self.take(image, false, None));
        }
        let log = match (&failure, pod) {
            // Only the builder's own failure stands in its log; read for others, the log would be an unneeded request.
            (BuildFailureCause::Builder, Some(pod)) => self.objects.builder_log(pod).await?,
            _ => String::new(),
        };
        let failed = FailedBuild {
            child: self.child(),
            base: &self.sandbox.task.image.base,
            reference: &self.reference(),
            repeat: self.repeat,
            is_locked: self.spec.lock.is_some(),
            push_credentials: &self.target.credentials(),
        };
        let error = failed.error(failure, &log);
        let may_be_mended =
            is_old(job) || self.is_made_for_another_wish(job) || self.is_made_with_other_settings(job)?;
        if has_ended && matches!(error, SandboxError::Refused { .. }) && may_be_mended {
            self.objects.delete_job(&self.name).await?;
            return Ok(Progressing::Pending);
        }
        Err(error)
    }

    /// Reports whether this task made the Job, and has changed since, or a Secret that it names.
    fn is_made_for_another_wish(&self, job: &Job) -> bool {
        let metadata = &job.metadata;
        let made_by = metadata.labels.as_ref().and_then(|labels| labels.get(TASK_UID));
        let made_for = metadata
            .annotations
            .as_ref()
            .and_then(|all| all.get(job::MADE_FOR));
        // A Job of somebody else is not deleted because this task has changed.
        made_by == Some(&self.sandbox.owner.uid) && made_for != Some(&self.wish())
    }

    /// Reports whether somebody has changed how builds are made since, for any task, or the Job was made by one that trusts others: its
    /// name says what the image holds, and not whom it is fetched from.
    fn is_made_with_other_settings(&self, job: &Job) -> Result<bool, SandboxError> {
        let annotations = job.metadata.annotations.as_ref();
        let made_with = annotations.and_then(|all| all.get(job::MADE_WITH));
        Ok(made_with != Some(&self.settings()?))
    }

    /// The operator's settings for builds, the authorities that they name, and those of the task.
    pub(super) fn settings(&self) -> Result<String, SandboxError> {
        let (build, registries) = (&self.sandbox.settings.build, &self.sandbox.settings.registries);
        // Whatever field is added to the settings is part of it, without being named here.
        let parts = [
            format!("{build:?}"),
            format!("{registries:?}"),
            objects::concatenated(&build.index_authorities)?,
            objects::concatenated(&registries.authorities)?,
            self.spec.index_ca_bundle.clone().unwrap_or_default(),
        ];
        Ok(sha256_hex_of_parts(&parts.each_ref().map(String::as_str))[..16].to_owned())
    }

    /// Returns the parts of the Job's purpose that its name does not say.
    pub(super) fn wish(&self) -> String {
        let parts = [
            self.sandbox.owner.wish.as_str(),
            self.target.secret.as_deref().unwrap_or_default(),
            version(self.target.config.as_ref()),
            self.base.secret.as_deref().unwrap_or_default(),
            version(self.base.config.as_ref()),
        ];
        sha256_hex_of_parts(&parts)[..16].to_owned()
    }
}

fn version(config: Option<&DockerConfig>) -> &str {
    config.map_or("", |config| config.version.as_str())
}

/// Reports whether a Job failed so long ago that what it lacked may be there by now.
fn is_old(job: &Job) -> bool {
    let conditions = job.status.as_ref().and_then(|status| status.conditions.as_ref());
    let failed = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition.type_ == "Failed");
    let since = failed.and_then(|condition| condition.last_transition_time.as_ref());
    since.is_some_and(|since| Timestamp::now().duration_since(since.0).as_secs() >= TRY_AGAIN_SECONDS)
}
