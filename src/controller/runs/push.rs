//! Outputs on a claim that are pushed to a registry: this process cannot mount the claim, a Pod pushes in its place.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kube::ResourceExt as _;

use super::artifact::{about, destination, reference};
use super::claim_outputs;
use super::follow_up::{
    CHECK_AGAIN, Delay, FollowUp, Followed, OF_PUSHED_RUN, next_inspection, pushes_from_claim,
};
use super::frozen::FrozenRun;
use super::owner;
use super::reconcile::RunPass;
use crate::controller::control::{MOMENT, READING};
use crate::controller::record::cleanup::{CleanupTarget, clear_components, may_be_uncleared};
use codegen_api::CodeGenRunStatus;
use codegen_api::conditions::run_reason;
use codegen_api::run::OutputArtifact;
use codegen_api::run_status::RunOutputStatus;
use codegen_core::causes::with_causes;
use codegen_core::run::artifact::RUN;
use codegen_core::stage::Category;
use codegen_ledger::StoreError;
use codegen_sandbox::kubernetes::{
    Destination, Inspection, KubernetesSandbox, OutputFolder, OutputPusher, OutputToPush, PushAccess,
    PushReport, PushRequest, check_destination,
};
use codegen_sandbox::{Progressing, SandboxError};

/// State of the Pod, as one pass found it.
enum Found {
    /// It goes on, or says what came of it.
    Progress(Progressing<PushReport>),
    /// Something is in its way.
    Delayed(Delay, String),
    /// The registry takes nothing.
    Refused(SandboxError),
}

impl RunPass<'_> {
    /// The folder that the program wrote to, where an output lies there alone.
    pub(super) fn outputs_on_claim(&self) -> Option<OutputFolder> {
        let status = self.status();
        let is_on_claim = |output: &RunOutputStatus| output.claim.is_some();
        let claim = self.object.spec.output_claim()?;
        status
            .outputs
            .iter()
            .any(is_on_claim)
            .then(|| claim_outputs::folder(&self.object, claim, status.executions))
    }

    /// Pushes all outputs from the claim: each lies there, also what the cluster has a copy of.
    pub(super) async fn push_from_claim(
        &mut self,
        wanted: &OutputArtifact,
        folder: &OutputFolder,
    ) -> Followed {
        let inspection = match next_inspection(self.said(), Timestamp::now()) {
            Ok(inspection) => inspection,
            Err(pause) => return Ok(FollowUp::Again(pause)),
        };
        let (namespace, name) = (
            self.object.namespace().unwrap_or_default(),
            self.object.name_any(),
        );
        let reference = reference(wanted, &namespace, &name);
        let destination = destination(wanted, &namespace, &reference);
        let status = self.status();
        let owner = owner(&self.object, status.key.as_deref().unwrap_or_default());
        let snapshot = status.snapshot.clone().unwrap_or_default();
        let context = self.context;
        // Reads: where the program ran, the Pod runs.
        let frozen = match FrozenRun::read(&context.client, &owner, &snapshot).await {
            Ok(frozen) => frozen,
            Err(error @ StoreError::Remote { .. }) => return Err(error.into()),
            Err(error) => {
                let message = format!(
                    "what the run went by is not there any more ({error}), so nothing is pushed; the outputs stay on the claim {} at {}: make \
                     another run",
                    folder.claim, folder.path
                );
                return self.not_pushed(run_reason::OUTPUTS_GONE, &message, None).await;
            }
        };
        let none = BTreeMap::new();
        let sandbox = context.sandbox(&frozen.task, &owner, &none);
        let request = match PushAccess::of(&sandbox) {
            Ok(access) => request(&status, destination, folder, access, &name),
            Err(error) => return self.delayed(Delay::Person, &error.to_string()).await,
        };
        // Creates the Pod, or reads how far it is.
        let (pod, found) = progress(&sandbox, &request, destination, inspection).await;
        match found {
            Found::Delayed(delay, why) => self.delayed(delay, &why).await,
            Found::Refused(error) => self.refused(&error).await,
            Found::Progress(Progressing::Queued(why)) => self.delayed(Delay::Room, &why).await,
            Found::Progress(Progressing::Pending) => {
                let message = format!(
                    "the Pod {pod} pushes the outputs on the claim {} to {reference}",
                    folder.claim
                );
                self.pushing(&message).await
            }
            Found::Progress(Progressing::Unseen) => Ok(FollowUp::Again(MOMENT)),
            Found::Progress(Progressing::Done(report)) => {
                self.reported(wanted, destination, inspection, report).await
            }
        }
    }

    async fn reported(
        &mut self,
        wanted: &OutputArtifact,
        destination: Destination<'_>,
        inspection: Inspection,
        report: PushReport,
    ) -> Followed {
        match report {
            PushReport::Pushed { digest, .. } => self.pushed(wanted, destination.reference, &digest).await,
            PushReport::Gone(output) => {
                let what = format!("the output {output} is not there any more");
                self.missed(inspection, run_reason::OUTPUTS_GONE, &what).await
            }
            PushReport::Changed(what) => self.missed(inspection, run_reason::OUTPUTS_CHANGED, &what).await,
            PushReport::TooMany(why) => {
                let message = format!("{why}; nothing is pushed, the outputs stay on the claim");
                // Without a pause: another Pod would read all of them for the same answer.
                self.not_pushed(run_reason::OUTPUTS_TOO_MANY, &message, None)
                    .await
            }
            PushReport::Unauthorized(why) => {
                let why = format!("{why}; see {}", destination.credentials());
                self.delayed(Delay::PersonByPod, &why).await
            }
            PushReport::Refused(why) => self.delayed(Delay::PersonByPod, &why).await,
            PushReport::Failed(why) => self.delayed(Delay::Registry, &why).await,
        }
    }

    /// Outputs were not found as they were written. Only when a second Pod says so as well, that is what becomes of them.
    async fn missed(&mut self, inspection: Inspection, reason: &'static str, what: &str) -> Followed {
        match inspection {
            Inspection::First => {
                let message = format!("{what}; it is checked again in a minute");
                self.not_pushed(run_reason::CHECKING_AGAIN, &message, Some(CHECK_AGAIN))
                    .await
            }
            Inspection::Second => {
                let message = format!("{what}; nothing is pushed: make another run");
                self.not_pushed(reason, &message, None).await
            }
        }
    }

    /// A Pod is under way. What was in the way of an earlier one stays said, until there is something else to say.
    async fn pushing(&mut self, message: &str) -> Followed {
        if self.said().is_none() {
            let mut status = self.status();
            self.say(&mut status, "False", run_reason::PUSHING, message);
            self.write(status).await?;
            let events = &self.context.events;
            events.run_pushes(&self.object, run_reason::PUSHING, message);
        }
        // A Pod that cannot mount its claim says so in events alone, which are not watched.
        Ok(FollowUp::Again(READING))
    }

    /// Reports whether a push came to its end shortly before this operator began.
    pub(super) fn was_settled_shortly_before_the_start(&self) -> bool {
        let since = self.context.since;
        pushes_from_claim(&self.object)
            && self
                .said()
                .is_some_and(|said| may_be_uncleared(said.last_transition_time.0, since))
    }

    /// Removes what pushed, and what it went by.
    pub(super) async fn clear_push(&self) {
        if !pushes_from_claim(&self.object) {
            return;
        }
        let (namespace, name) = (
            self.object.namespace().unwrap_or_default(),
            self.object.name_any(),
        );
        let run = CleanupTarget {
            namespace: &namespace,
            name: &name,
            uid: self.uid(),
        };
        clear_components(&self.context.client, run, &OF_PUSHED_RUN, None).await;
    }
}

/// Name of the Pod, and how far it is. Where there is none, the registry is asked first: one that does not answer costs no Pod.
async fn progress(
    sandbox: &KubernetesSandbox<'_>,
    request: &PushRequest,
    destination: Destination<'_>,
    inspection: Inspection,
) -> (String, Found) {
    let pusher = match OutputPusher::new(sandbox, request, destination.secret, inspection) {
        Ok(pusher) => pusher,
        Err(error) => return (String::new(), of_pod(&error)),
    };
    let pod = pusher.name().to_owned();
    let found = match pusher.progress().await {
        Ok(Some(found)) => Ok(found),
        Ok(None) => {
            let registries = (&sandbox.settings.registries, sandbox.registries);
            let owner = (RUN, request.owner.as_str());
            let client = sandbox.client.clone();
            if let Err(error) = check_destination(client, registries, destination, owner).await {
                return (pod, Found::Refused(error));
            }
            Box::pin(pusher.start()).await
        }
        Err(error) => Err(error),
    };
    let found = found.map_or_else(|error| of_pod(&error), Found::Progress);
    (pod, found)
}

/// Turns a Pod's trouble into a delay of the push.
fn of_pod(error: &SandboxError) -> Found {
    let delay = match error.category() {
        Category::Configuration => Delay::Person,
        Category::Infrastructure => Delay::Pod,
    };
    Found::Delayed(delay, with_causes(error))
}

fn request(
    status: &CodeGenRunStatus,
    destination: Destination<'_>,
    folder: &OutputFolder,
    access: PushAccess,
    name: &str,
) -> PushRequest {
    let namespace = destination.namespace;
    let outputs = status.outputs.iter().map(|output| OutputToPush {
        name: output.name.clone(),
        type_: output.type_,
        file_name: output.file_name.clone(),
        sha256: output.sha256.clone(),
        bytes: u64::try_from(output.bytes).unwrap_or_default(),
    });
    PushRequest {
        reference: destination.reference.to_owned(),
        written_to: folder.clone(),
        folder: PushRequest::folder(),
        outputs: outputs.collect(),
        annotations: about(status, namespace),
        owner: format!("{namespace}/{name}"),
        has_credentials: destination.secret.is_some(),
        access,
    }
}
