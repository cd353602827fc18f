//! A program whose outputs go to a volume of its Pod, and the operator's checker that reads them there once it has ended.
//!
//! The harness is the Pod's init container: when it ends, the node has ended every process of the program, and starts the checker. That is
//! of the operator's image, mounts the volume read-only and nothing of the program's besides.

use serde::Deserialize;

use super::execution::OutputsCheck;
use super::operator::explained;
use super::spec::CHECKER;
use super::volumes::OUTPUTS_CHECKED;
use super::{Pods, Reported, execution_of, named, network, start_harness};
use crate::kubernetes::{
    ClaimOutputs, KubernetesSandbox, OutputFolder, ReadReport, ReadRequest, operator_image,
};
use crate::{Progressing, SandboxError};
use codegen_core::run::program_end;
use codegen_core::sandbox::{Job, Report};
use codegen_core::stored_outputs::{OutputsAsked, RunOnDisk};

/// Report of the checker.
#[derive(Deserialize)]
#[serde(transparent)]
struct Checked(ReadReport);

impl Reported for Checked {
    const CONTAINER: &'static str = CHECKER;

    fn out_of_memory() -> Option<Self> {
        // A checker that ran out of memory has read nothing that could be reported.
        None
    }
}

/// Runs a job in a Pod that checks its outputs, or sees how far the one is that does.
pub async fn run(
    sandbox: &KubernetesSandbox<'_>,
    image: &str,
    job: &Job,
    asked: &OutputsAsked,
    repeat: u32,
) -> Result<Progressing<RunOnDisk>, SandboxError> {
    let check = OutputsCheck {
        image: operator_image(sandbox.settings)?.to_owned(),
        body: request(asked),
    };
    let (name, body) = named(sandbox, image, job, repeat, Some(&check))?;
    let pods = Pods::new(sandbox, name);
    let Some(pod) = pods.get().await? else {
        let started = start_harness(&pods, image, job, &body, Some(&check), async { Ok(()) });
        let waits = Box::pin(started).await?.done().err();
        return Ok(waits.unwrap_or(Progressing::Pending));
    };
    // What is compared does not follow from what the policy opens.
    let policy = network::policy(&job.network, &sandbox.settings.sandbox.network, &[])?;
    let egress = network::label(&policy);
    let wanted = execution_of(&pods, image, job, &body, &egress, Some(&check));
    pods.adopt(&wanted.pod(None)?, &pod).await?;
    let report = match pods.progress_of::<Report>(image, &pod).await?.done() {
        Ok(report) => report,
        Err(waits) => return Ok(waits),
    };
    if program_end(&report).is_err() {
        // What a program that failed has left says nothing.
        return Ok(Progressing::Done(RunOnDisk {
            report,
            found: Vec::new(),
        }));
    }
    let checked = pods.progress_of::<Checked>(&check.image, &pod).await;
    match checked.map_err(explained)?.done() {
        Ok(Checked(ReadReport::Outputs(found))) if found.len() == asked.outputs.len() => {
            Ok(Progressing::Done(RunOnDisk { report, found }))
        }
        Ok(Checked(ReadReport::Failed(why) | ReadReport::Refused(why))) => {
            Err(pods.lost(format!("its outputs could not be read: {why}")))
        }
        Ok(Checked(ReadReport::Outputs(_) | ReadReport::Read { .. })) => {
            Err(pods.lost("its outputs were not read as they were asked for".to_owned()))
        }
        Err(waits) => Ok(waits),
    }
}

/// Returns the request to the checker, as it finds it.
fn request(asked: &OutputsAsked) -> Vec<u8> {
    let no_claim = OutputFolder {
        claim: String::new(),
        path: String::new(),
        fs_group: None,
    };
    let request = ReadRequest::of_outputs(ClaimOutputs {
        written_to: no_claim,
        folder: OUTPUTS_CHECKED.to_owned(),
        asked: asked.clone(),
    });
    // Plain data with string keys: writing it to memory cannot fail.
    serde_json::to_vec(&request).unwrap_or_default()
}
