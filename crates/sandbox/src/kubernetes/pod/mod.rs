//! Runs a job in a Pod: creates what it needs, sees how far it is, takes its report.
//!
//! A Pod's name follows from what it runs, so that a run is started once, whoever asks and however often.

mod adopted;
pub(super) mod channel;
mod claims;
mod inputs;
mod job_key;
mod network;
pub(super) mod operator;
mod placement;
pub(super) mod reader;
mod ready;
mod execution;
pub(super) mod clear;
pub(super) mod on_disk;
mod spec;
mod vain;
mod volumes;

pub(super) use self::network::{EGRESS, label};
#[cfg(test)]
pub(super) use self::spec::tests::pods;

use std::future::Future;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Event, Pod};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::Api;
use kube::api::{DeleteParams, ListParams, LogParams, PostParams, Preconditions};
use serde::de::DeserializeOwned;

use self::channel::{Announcement, ChannelError, SignedContent};
use self::execution::{CONTAINER, Execution, OutputsCheck, PodProgram};
use self::job_key::PodKeys;
pub use self::job_key::{JOB_KEY, decrypt_job};
pub use self::spec::{JOB_FILE, JOB_SHA256, NONCE, folder_sha256};
use super::observe::{ContainerEnd, Obstacle, PodState, complaint, is_stuck, observe};
use super::refusal::{Creation, create};
use super::settings::Settings;
use super::{KubernetesSandbox, names, room};
use crate::{Progressing, SandboxError};
use codegen_core::digest::sha256_hex;
use codegen_core::sandbox::{Job, NetworkAccess, Report};

/// Largest log that is read, bytes: no report is longer.
const MOST_LOG_BYTES: i64 = 9 << 20;
/// Time for which a log may still be on its way after its container's end, seconds.
const LOG_SECONDS: i64 = 10;
/// Size of the part of a log that an error repeats, bytes.
const WORDS_BYTES: usize = 1024;
/// Time for which a Pod that cannot start is left as it is, seconds. A new one is tried at once, where the old one is tried ever more
/// seldom.
const REFUSED_SECONDS: i64 = 120;

/// Runs a job in a Pod, or sees how far the one that runs it is.
pub(super) async fn run(
    sandbox: &KubernetesSandbox<'_>,
    image: &str,
    job: &Job,
    repeat: u32,
) -> Result<Progressing<Report>, SandboxError> {
    let (name, body) = named(sandbox, image, job, repeat, None)?;
    let pods = Pods::new(sandbox, name);
    let Some(pod) = pods.get().await? else {
        if sandbox.is_under_way {
            return Err(pods.lost("somebody has removed it".to_owned()));
        }
        let started = start_harness(&pods, image, job, &body, None, async { Ok(()) });
        let waits = Box::pin(started).await?.done().err();
        return Ok(waits.unwrap_or(Progressing::Pending));
    };
    // What is compared does not follow from what the policy opens.
    let policy = network::policy(&job.network, &sandbox.settings.sandbox.network, &[])?;
    let wanted = execution_of(&pods, image, job, &body, &network::label(&policy), None).pod(None)?;
    pods.adopt(&wanted, &pod).await?;
    let found = pods.progress_of(image, &pod).await;
    found.map_err(|error| match sandbox.outputs {
        Some(outputs) => operator::about_outputs(error, outputs, &sandbox.owner.namespace),
        None => error,
    })
}

/// Returns the progress of the Pod of this name, whoever made it.
pub(super) async fn pod_progress(
    sandbox: &KubernetesSandbox<'_>,
    image: &str,
    name: &str,
) -> Result<Progressing<Report>, SandboxError> {
    let pods = Pods::new(sandbox, name.to_owned());
    match pods.get().await? {
        None => Err(pods.lost("it is not there".to_owned())),
        Some(pod) => pods.progress_of(image, &pod).await,
    }
}

/// Creates the Pod of a job that is most likely not there, once what it `needs` is there besides: whether it was not.
pub(super) async fn begin(
    sandbox: &KubernetesSandbox<'_>,
    image: &str,
    job: &Job,
    repeat: u32,
    needs: impl Future<Output = Result<(), SandboxError>>,
) -> Result<Progressing<bool>, SandboxError> {
    let (name, body) = named(sandbox, image, job, repeat, None)?;
    let pods = Pods::new(sandbox, name);
    Box::pin(start_harness(&pods, image, job, &body, None, needs)).await
}

/// Name of the Pod of a job, and the job as it finds it.
fn named(
    sandbox: &KubernetesSandbox<'_>,
    image: &str,
    job: &Job,
    repeat: u32,
    check: Option<&OutputsCheck>,
) -> Result<(String, Vec<u8>), SandboxError> {
    let owner = sandbox.owner;
    let body = serde_json::to_vec(job).map_err(|error| cluster("write the job".to_owned())(error))?;
    let (attempt, repeat, hash) = (owner.attempt.to_string(), repeat.to_string(), sha256_hex(&body));
    let mut parts: Vec<&str> = vec![&owner.uid, &owner.run, &attempt, &repeat, &hash, image];
    let asked = check.map(|check| (sha256_hex(&check.body), check.image.as_str()));
    parts.extend(asked.iter().flat_map(|(body, image)| [body.as_str(), *image]));
    Ok((names::name_of_pod(&owner.name, &parts), body))
}

/// Creates the Pod of a job, once what it `needs` is there besides: whether it was not.
async fn start_harness(
    pods: &Pods<'_>,
    image: &str,
    job: &Job,
    body: &[u8],
    check: Option<&OutputsCheck>,
    needs: impl Future<Output = Result<(), SandboxError>>,
) -> Result<Progressing<bool>, SandboxError> {
    let sandbox = pods.sandbox;
    let keys = PodKeys::draw()?;
    let policy = ready::policy(sandbox, &job.network).await?;
    let egress = network::label(&policy);
    let run = execution_of(pods, image, job, body, &egress, check);
    let labels = run.labels();
    let needs = async {
        let policy = ready::ensure_policy(sandbox, policy, &labels);
        let (harness, pull) = (ready::ensure_harness(sandbox), ready::check_pull_secret(sandbox));
        let (harness, pull, policy, needs) = tokio::join!(harness, pull, policy, needs);
        harness.and(pull).and(policy).and(needs)
    };
    Box::pin(pods.start(&run, keys, needs)).await
}

/// The run of a job by the harness.
fn execution_of<'a>(
    pods: &'a Pods<'_>,
    image: &'a str,
    job: &'a Job,
    body: &'a [u8],
    egress: &'a str,
    check: Option<&'a OutputsCheck>,
) -> Execution<'a> {
    let sandbox = pods.sandbox;
    Execution {
        program: &PodProgram::Harness,
        name: &pods.name,
        image,
        job,
        body,
        egress,
        settings: &sandbox.settings.sandbox,
        task: sandbox.task,
        owner: sandbox.owner,
        inputs: sandbox.inputs,
        outputs: sandbox.outputs,
        check,
        pull_secrets: if check.is_some() {
            &sandbox.settings.build.image_pull_secrets
        } else {
            &[]
        },
    }
}

/// The policy of sandboxes without a network.
pub(super) fn denied(settings: &Settings) -> Result<NetworkPolicy, SandboxError> {
    network::policy(&NetworkAccess::Denied, &settings.sandbox.network, &[])
}

/// Report of a Pod.
trait Reported: DeserializeOwned {
    /// Name of the container that reports it.
    const CONTAINER: &'static str = CONTAINER;

    /// Returns the report that can be made where the kernel killed the program for want of memory, and with it the reporter.
    fn out_of_memory() -> Option<Self>;
}

impl Reported for Report {
    /// Even the harness had to go: no phase has anything to say.
    fn out_of_memory() -> Option<Self> {
        Some(Self {
            phases: Vec::new(),
            seconds: 0.0,
        })
    }
}

/// The Pod of one run.
struct Pods<'a> {
    sandbox: &'a KubernetesSandbox<'a>,
    api: Api<Pod>,
    name: String,
    /// As messages name it.
    object: String,
}

impl<'a> Pods<'a> {
    fn new(sandbox: &'a KubernetesSandbox<'a>, name: String) -> Self {
        let namespace = &sandbox.owner.namespace;
        Self {
            sandbox,
            api: Api::namespaced(sandbox.client.clone(), namespace),
            object: format!("Pod {namespace}/{name}"),
            name,
        }
    }

    async fn get(&self) -> Result<Option<Pod>, SandboxError> {
        let found = self.api.get_opt(&self.name).await;
        found.map_err(|error| cluster(format!("read {}", self.object))(error))
    }

    /// Creates what the Pod needs, then the Pod: whether it was not there.
    async fn start(
        &self,
        run: &Execution<'_>,
        keys: PodKeys,
        needs: impl Future<Output = Result<(), SandboxError>>,
    ) -> Result<Progressing<bool>, SandboxError> {
        let wanted = run.pod(None)?;
        claims::check(&self.sandbox.client, &self.sandbox.owner.namespace, &wanted).await?;
        let (needs, secret) = tokio::join!(needs, ready::create_job(self.sandbox, run, &keys.job));
        needs?;
        let job = match secret? {
            Progressing::Done(key) => key,
            Progressing::Queued(why) => return Ok(Progressing::Queued(why)),
            Progressing::Pending | Progressing::Unseen => return Ok(Progressing::Pending),
        };
        // A Secret that an earlier pass has made keeps its key.
        let pod = run.pod(Some(&PodKeys { job, ..keys }))?;
        match create(&self.api, &PostParams::default(), &self.object, &pod).await? {
            Creation::New(_) => Ok(Progressing::Done(true)),
            // Another pass was faster; its Pod is this one.
            Creation::Exists => Ok(Progressing::Done(false)),
            Creation::Queued(why) => Ok(Progressing::Queued(why)),
        }
    }

    /// Checks that the Pod that was found is the one that would be made: one of ours that somebody has replaced or changed is deleted, and
    /// the next try makes another. What does not carry our labels is not ours to delete.
    async fn adopt(&self, wanted: &Pod, found: &Pod) -> Result<(), SandboxError> {
        let Some(what) = adopted::difference(wanted, found) else {
            return Ok(());
        };
        if what == adopted::LABELS {
            return Err(self.refused("it is there, and the operator did not make it", "delete it"));
        }
        self.delete(found).await?;
        Err(self.lost(format!(
            "somebody has replaced or changed it: {what} differs from what the operator makes"
        )))
    }

    /// Returns the progress of the Pod.
    async fn progress_of<R: Reported>(&self, image: &str, pod: &Pod) -> Result<Progressing<R>, SandboxError> {
        let labels = pod.metadata.labels.as_ref();
        if labels.and_then(|labels| labels.get(names::TASK_UID)) != Some(&self.sandbox.owner.uid) {
            return Err(self.refused("it is there and belongs to no run of this task", "delete it"));
        }
        let now = Timestamp::now();
        match observe(pod, R::CONTAINER) {
            PodState::Starting if is_stuck(pod, now) => self.explain_start(pod).await,
            PodState::Starting | PodState::Running => Ok(Progressing::Pending),
            PodState::Queued(words) => {
                let limits = "sandbox.resources.limits";
                room::queued(&self.sandbox.client, pod, words, &self.object, limits).await
            }
            PodState::Refused { reason, obstacle } => {
                let created = pod
                    .metadata
                    .creation_timestamp
                    .as_ref()
                    .map_or(now, |time| time.0);
                if now.duration_since(created) > SignedDuration::from_secs(REFUSED_SECONDS) {
                    self.delete(pod).await?;
                }
                Err(self.refused(&reason, remedy(obstacle)))
            }
            PodState::ImageMissing(_) => {
                self.delete(pod).await?;
                Err(SandboxError::EnvironmentMissing(image.to_owned()))
            }
            PodState::Leaving(reason) | PodState::Lost(reason) => Err(self.lost(reason)),
            // An image of an earlier version has no link to its interpreter, and is made anew.
            PodState::Ended(ended) if ended.not_started && self.sandbox.task.image.reference.is_none() => {
                self.delete(pod).await?;
                Err(SandboxError::EnvironmentMissing(image.to_owned()))
            }
            PodState::Ended(ended) => self.judge(pod, &ended, now).await,
        }
    }

    /// Reads what an ended container leaves.
    async fn judge<R: Reported>(
        &self,
        pod: &Pod,
        ended: &ContainerEnd,
        now: Timestamp,
    ) -> Result<Progressing<R>, SandboxError> {
        // The shell that starts the harness ends so where it finds no interpreter; the harness never does.
        let has_no_interpreter = ended.exit_code == 127 && ended.message.is_empty();
        if ended.not_started || has_no_interpreter {
            let message = if has_no_interpreter {
                "python3: not found"
            } else {
                &ended.message
            };
            self.delete(pod).await?;
            return Err(self.refused(
                message,
                "the image must have `/bin/sh`, and `python3` on its PATH",
            ));
        }
        match channel::verify(&ended.message, &nonce_of(pod, R::CONTAINER)) {
            Ok(SignedContent::NotIsolated(address)) => {
                // The next pass tries again.
                self.delete(pod).await?;
                Err(SandboxError::NotIsolated { address })
            }
            Ok(SignedContent::Report(announced)) => self.report(&announced, ended, now).await,
            Err(_) if ended.disrupted.is_some() => {
                Err(self.lost(ended.disrupted.clone().unwrap_or_default()))
            }
            Err(error) => {
                if let Some(report) = R::out_of_memory().filter(|_| ended.out_of_memory) {
                    return Ok(Progressing::Done(report));
                }
                let words = self.log(R::CONTAINER, Some(20)).await.unwrap_or_default();
                let words = words.trim();
                let words = &words[words.ceil_char_boundary(words.len().saturating_sub(WORDS_BYTES))..];
                let text = format!("{error}; exit code {}; {words}", ended.exit_code);
                Err(SandboxError::NoReport(text.trim_end_matches("; ").to_owned()))
            }
        }
    }

    async fn report<R: Reported>(
        &self,
        announced: &Announcement,
        ended: &ContainerEnd,
        now: Timestamp,
    ) -> Result<Progressing<R>, SandboxError> {
        if let Some(report) = announced.here() {
            return report
                .map(Progressing::Done)
                .map_err(|error| SandboxError::NoReport(error.to_string()));
        }
        let log = match self.log(R::CONTAINER, None).await {
            Ok(log) => log,
            Err(kube::Error::Api(status)) if status.is_not_found() => {
                return Err(self.lost(status.message.clone()));
            }
            Err(error) => return Err(cluster(format!("read the log of {}", self.object))(error)),
        };
        match announced.find(&log) {
            Ok(report) => Ok(Progressing::Done(report)),
            Err(error @ ChannelError::Unreadable(_)) => Err(SandboxError::NoReport(error.to_string())),
            Err(error) => {
                let since = ended.finished_at.map(|end| now.duration_since(end));
                if since.is_some_and(|since| since < SignedDuration::from_secs(LOG_SECONDS)) {
                    return Ok(Progressing::Unseen);
                }
                Err(self.lost(error.to_string()))
            }
        }
    }

    async fn log(&self, container: &str, last_lines: Option<i64>) -> Result<String, kube::Error> {
        let wanted = LogParams {
            container: Some(container.to_owned()),
            limit_bytes: Some(MOST_LOG_BYTES),
            tail_lines: last_lines,
            ..LogParams::default()
        };
        self.api.logs(&self.name, &wanted).await
    }

    /// The node's words about a Pod that does not get under way: they are in events alone.
    async fn explain_start<R>(&self, pod: &Pod) -> Result<Progressing<R>, SandboxError> {
        let events: Api<Event> = Api::namespaced(self.sandbox.client.clone(), &self.sandbox.owner.namespace);
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        let about = ListParams::default().fields(&format!("involvedObject.uid={uid}"));
        // Who may not read events waits without a word.
        let events = events
            .list(&about)
            .await
            .map(|list| list.items)
            .unwrap_or_default();
        match complaint(&events) {
            Some(words) => Err(self.refused(
                words,
                "change what these words name; the Pod then starts by itself",
            )),
            None => Ok(Progressing::Pending),
        }
    }

    /// Deletes this very Pod, none that took its name meanwhile.
    async fn delete(&self, pod: &Pod) -> Result<(), SandboxError> {
        let this = DeleteParams {
            preconditions: Some(Preconditions {
                uid: pod.metadata.uid.clone(),
                resource_version: None,
            }),
            grace_period_seconds: Some(0),
            ..DeleteParams::default()
        };
        match self.api.delete(&self.name, &this).await {
            Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => Ok(()),
            deleted => deleted
                .map(drop)
                .map_err(|error| cluster(format!("delete {}", self.object))(error)),
        }
    }

    fn refused(&self, reason: &str, remedy: &str) -> SandboxError {
        SandboxError::Refused {
            object: self.object.clone(),
            reason: reason.to_owned(),
            remedy: remedy.to_owned(),
        }
    }

    fn lost(&self, reason: String) -> SandboxError {
        SandboxError::Lost {
            child: self.object.clone(),
            reason,
        }
    }
}

/// Returns the change by which a sandbox starts.
const fn remedy(obstacle: Obstacle) -> &'static str {
    match obstacle {
        Obstacle::Placement => {
            "change nodeSelector, tolerations or the volumes of the sandbox, or add a node that fits"
        }
        Obstacle::Pull => {
            "look at image.pullSecretRef and image.pullRepository, of a run by programImage at pullSecretRef, and whether nodes reach \
             the registry and trust it"
        }
        Obstacle::ImageName => "correct the name of the image",
        Obstacle::NodePolicy => "have the node accept the image, or name another one",
        Obstacle::Container => "change what the node's words name; the Pod then starts by itself",
    }
}

/// The key that a container was created with: the code in it cannot read the spec of its Pod.
fn nonce_of(pod: &Pod, name: &str) -> Vec<u8> {
    let specs = pod.spec.iter();
    let containers = specs.flat_map(|spec| spec.init_containers.iter().flatten().chain(&spec.containers));
    let variable = containers
        .filter(|container| container.name == name)
        .flat_map(|container| container.env.iter().flatten())
        .find(|variable| variable.name == NONCE);
    let digits = variable.and_then(|variable| variable.value.as_deref());
    digits.and_then(channel::from_hex).unwrap_or_default()
}

/// The API server does not answer as it should.
fn cluster<E: Into<Box<dyn std::error::Error + Send + Sync>>>(
    action: String,
) -> impl FnOnce(E) -> SandboxError {
    move |error| SandboxError::Cluster {
        action,
        source: error.into(),
    }
}
