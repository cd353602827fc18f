//! Performs one step of a task: asks `codegen-core` what is next, does it through the traits, hands the outcome back.
//!
//! The same engine serves cluster and laptop. The order is always: write the intent, act, write the result, move on; after a
//! crash the recorded state alone decides.

pub mod agent;
pub mod ask;
mod build;
mod call;
pub mod code_mode;
pub mod data;
mod documents;
pub mod event;
mod jobs;
mod material;
mod near_misses;
mod on_disk;
pub mod program_file;
mod publish;
pub mod reader;
mod record;
mod redaction;
pub mod results;
mod revision;
pub mod attempt;
pub mod run_data;
mod samples;

use std::collections::BTreeMap;
use std::time::Instant;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;

use codegen_api::approval::AwaitedApproval;
use codegen_core::causes::with_causes;
use codegen_core::machine::{BlockedTask, Decision, IllegalTransition, LostChild, Outcome, decide};
use codegen_core::progress::{Document, Progress, pause_after};
use codegen_core::prompts::PromptError;
use codegen_core::redact::Redactor;
use codegen_core::stage::Category;
use codegen_core::task::Task;
use codegen_ledger::{Store, StoreError};
use codegen_model::Model;
use codegen_sandbox::{Progressing, Sandbox, SandboxError};

use self::data::DataReader;
use self::event::{Event, Observer};
pub use self::record::{retried, store_retries};

/// Children of one step that may be lost in a row, those that are gone and those that ended without a report each for themselves:
/// a node that goes says nothing of the program. A sandbox that ends without a report again has none to give; a child that is
/// gone again is a matter for a person.
const MAX_LOST_CHILDREN: u32 = 3;
/// Pause where children are lost again and again.
const LOST_PAUSE: SignedDuration = SignedDuration::from_mins(5);

/// Everything that one task's steps need.
pub struct Engine<'a, M, S, B, D> {
    /// The task.
    pub task: &'a Task,
    /// Answers calls.
    pub model: &'a M,
    /// Holds progress, calls and documents.
    pub store: &'a S,
    /// Builds images, runs tests and programs.
    pub sandbox: &'a B,
    /// Reads samples and outputs.
    pub data: &'a D,
    /// Additions of the local machine or the cluster to the task.
    pub surroundings: &'a Surroundings,
    /// Receives what happens.
    pub observer: &'a dyn Observer,
    /// The clock.
    pub clock: fn() -> Timestamp,
    /// True while a model call is in flight and what it came to is not yet recorded. Where an image builds beside the
    /// call, the reply alone counts: the build may take long, and loses nothing when it is stopped.
    pub in_call: &'a watch::Sender<bool>,
}

/// Additions of the local machine or the cluster to the task.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// Place of each frozen sample and input, by name.
    pub sources: BTreeMap<String, String>,
    /// Source of the acceptance tests.
    pub acceptance_tests: Option<String>,
    /// Environment variables from Secrets.
    pub secret_env: BTreeMap<String, String>,
    /// Takes the values of Secrets out of everything that is stored or sent.
    pub redactor: Redactor,
    /// Programs that commands of an agent are refused besides those that have no use there.
    pub denied_commands: Vec<String>,
}

/// Beginning of a step, by the clock on the wall and by one that nobody sets.
#[derive(Clone, Copy)]
struct Began {
    at: Timestamp,
    instant: Instant,
}

/// Outcome of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The task moved on.
    Advanced,
    /// A child runs; its end will be noticed.
    Pending,
    /// Something happens that no watch reports: ask again in a moment.
    Unseen,
    /// A child waits for room that others take: what for.
    Queued(String),
    /// Nothing to do before this moment.
    Waiting(Timestamp),
    /// A person must decide.
    Gate(AwaitedApproval),
    /// The task has ended.
    Finished,
}

/// Outcome of performing a decision.
type Performed = Progressing<Outcome>;

/// A step that could not be performed; the recorded state is as it was.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The machine met an outcome that cannot be.
    #[error(transparent)]
    Illegal(#[from] IllegalTransition),
    /// A prompt could not be written.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// A prompt of code mode could not be written.
    #[error(transparent)]
    QuestionPrompt(#[from] codegen_code_mode::prompt::QuestionPromptError),
    /// The stored state is not of this version or damaged.
    #[error(
        "the stored state {name} cannot be read: {why}; start over (a task here with --fresh, in a cluster another task or question), or use the version that wrote it"
    )]
    State {
        /// Name of the entry.
        name: String,
        /// Fault of the entry.
        why: String,
    },
}

impl<M: Model, S: Store<Progress = Progress>, B: Sandbox, D: DataReader> Engine<'_, M, S, B, D> {
    /// The recorded progress, or a new start.
    pub async fn load(&self, run: &str) -> Result<Progress, EngineError> {
        let stored = match self.store.load().await {
            // A power cut may spoil the file; every reply is in the ledger, so nothing is paid for again.
            Err(StoreError::Damaged { .. }) => None,
            other => other?,
        };
        Ok(stored.unwrap_or_else(|| Progress::start(run.to_owned(), (self.clock)())))
    }

    /// Decides the next step.
    #[must_use]
    pub fn decide(&self, progress: &Progress) -> Decision {
        decide(self.task, progress, (self.clock)())
    }

    /// Decides what comes next, performs it, and records what it came to.
    pub async fn step(&self, progress: Progress) -> Result<(Progress, Step), EngineError> {
        let decision = self.decide(&progress);
        self.perform(progress, decision).await
    }

    /// Performs `decision`, which is what comes next after `progress`, and records what it came to.
    pub async fn perform(
        &self,
        progress: Progress,
        decision: Decision,
    ) -> Result<(Progress, Step), EngineError> {
        // Where an image builds beside the call, `call_beside_build` says it instead.
        self.in_call.send_replace(matches!(decision, Decision::Call(_)));
        let performed = Box::pin(self.perform_and_record(progress, decision)).await;
        self.in_call.send_replace(false);
        performed
    }

    async fn perform_and_record(
        &self,
        progress: Progress,
        decision: Decision,
    ) -> Result<(Progress, Step), EngineError> {
        let started = self.begin();
        let outcome = match decision {
            Decision::Finished => return Ok((progress, Step::Finished)),
            Decision::Wait(until) => return Ok((progress, Step::Waiting(until))),
            Decision::AwaitApproval(asked) => return Ok((progress, Step::Gate(asked))),
            Decision::Publish => {
                let outcome = self.publish(&progress).await?;
                (progress, Performed::Done(outcome))
            }
            Decision::Accept => (progress, Performed::Done(Outcome::Accepted)),
            Decision::Stop(stop) => (progress, Performed::Done(Outcome::Stopped(stop))),
            Decision::ReadSamples => {
                let outcome = self.read_samples(&progress).await?;
                (progress, Performed::Done(outcome))
            }
            Decision::Call(kind) => {
                let (progress, outcome) = self.call(progress, kind).await?;
                (progress, Performed::Done(outcome))
            }
            Decision::CallBesideBuild(kind) => self.call_beside_build(progress, kind).await?,
            Decision::Build => {
                let outcome = self.build(&progress).await?;
                (progress, outcome)
            }
            Decision::Test => {
                let outcome = self.run(&progress).await?;
                (progress, outcome)
            }
            Decision::RunCommands => {
                let outcome = self.run_commands(&progress).await?;
                (progress, outcome)
            }
            Decision::GoOn => {
                let outcome = self.go_on(&progress).await?;
                (progress, Performed::Done(outcome))
            }
            Decision::DiagnoseAcceptance => {
                let outcome = self.diagnose_acceptance(&progress).await?;
                (progress, Performed::Done(outcome))
            }
        };
        match outcome {
            (progress, Performed::Pending) => Ok((progress, Step::Pending)),
            (progress, Performed::Unseen) => Ok((progress, Step::Unseen)),
            (progress, Performed::Queued(why)) => Ok((progress, Step::Queued(why))),
            (progress, Performed::Done(outcome)) => {
                // The state moves last: documents and replies are stored by now.
                let progress = Box::pin(self.record(progress, outcome, started)).await?;
                Ok((progress, Step::Advanced))
            }
        }
    }

    /// Writes the progress.
    pub async fn save(&self, progress: &Progress) -> Result<(), EngineError> {
        Ok(self.store.save(progress).await?)
    }

    /// Records an outcome that comes from outside a step: a person resumed the task, or raised a limit.
    pub async fn apply(&self, progress: Progress, outcome: Outcome) -> Result<Progress, EngineError> {
        Box::pin(self.record(progress, outcome, self.begin())).await
    }

    fn begin(&self) -> Began {
        Began {
            at: (self.clock)(),
            instant: Instant::now(),
        }
    }

    fn emit(&self, event: &Event) {
        self.observer.event(event);
    }

    /// A sandbox that could not build or run.
    fn sandbox_failed(&self, progress: &Progress, error: &SandboxError) -> Outcome {
        self.wait(
            progress,
            error.category(),
            &with_causes(error),
            error.lost_child(),
        )
    }

    /// Waits until a person acts (configuration) or a moment has passed (infrastructure).
    fn blocked(&self, progress: &Progress, category: Category, message: &str) -> Outcome {
        self.wait(progress, category, message, None)
    }

    fn wait(
        &self,
        progress: &Progress,
        category: Category,
        message: &str,
        lost_child: Option<LostChild>,
    ) -> Outcome {
        let times = progress.waiting.as_ref().map_or(0, |waiting| waiting.times);
        let lost = match lost_child {
            Some(LostChild::Gone) => progress.lost_children + 1,
            Some(LostChild::Silent) => progress.silent_ends + 1,
            None => 0,
        };
        let is_lost_for_good = lost > MAX_LOST_CHILDREN;
        let pause = if is_lost_for_good {
            LOST_PAUSE
        } else {
            pause_after(times, category)
        };
        let now = (self.clock)();
        let retry_at = now.checked_add(pause).unwrap_or(now);
        let (category, message) = if is_lost_for_good {
            let minutes = LOST_PAUSE.as_mins();
            let message = format!(
                "{message}; it was so {lost} times in a row: see what ends it. It is tried again every {minutes} minutes"
            );
            (Category::Configuration, message)
        } else {
            (category, message.to_owned())
        };
        // What a server or a program said may repeat a Secret.
        Outcome::Blocked(BlockedTask {
            category,
            message: self.surroundings.redactor.redact(&message),
            retry_at,
            lost_child,
            was_idle: false,
        })
    }

    /// Stores a document under a name that is written once; what is there already counts.
    async fn put(&self, name: String, bytes: &[u8]) -> Result<Document, EngineError> {
        documents::put(self.store, name, bytes).await
    }

    /// Reads a document.
    async fn get(&self, document: &Document) -> Result<Vec<u8>, EngineError> {
        documents::get(self.store, document).await
    }
}

fn damaged(name: &str, why: &str) -> EngineError {
    EngineError::State {
        name: name.to_owned(),
        why: why.to_owned(),
    }
}

#[cfg(any(test, feature = "test-support"))]
#[allow(
    missing_docs,
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    clippy::panic,
    clippy::return_self_not_must_use,
    clippy::unwrap_used,
    reason = "fixtures of tests"
)]
pub mod test_support;
#[cfg(test)]
mod tests;
