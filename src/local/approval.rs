//! Gates on this machine: what the command line approves of in advance, and whoever sits at the terminal.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use tokio::sync::oneshot;

use super::error::{TaskError, stopped};
use crate::api::approval::{ApprovalDecision, ApprovalStatus, AwaitedApproval, Gate};
use crate::engine::EngineError;
use crate::ledger::{FolderStore, Store as _};
use crate::pipeline::progress::Progress;

/// What a person says at a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Go on.
    Approve,
    /// End here.
    Reject,
    /// Stop, to be asked again.
    Later,
}

/// Shows what is to be approved, with the whole of what lines cut short, and waits for the answer. May block.
pub type Ask = fn(&AwaitedApproval, &str) -> Answer;

/// Who decides at gates.
#[derive(Clone, Debug, Default)]
pub struct Approvals {
    /// Gates that are approved of whatever they show.
    pub given: Vec<Gate>,
    /// Asks a person; nobody is there without it.
    pub ask: Option<Ask>,
}

impl Approvals {
    /// The decision about what is asked; an error where nobody decides.
    pub async fn decide(
        &self,
        asked: &AwaitedApproval,
        progress: &Progress,
        store: &FolderStore,
    ) -> Result<ApprovalStatus, TaskError> {
        let waits = || TaskError::Approval(asked.gate);
        let answer = match self.ask {
            // Nobody is asked: the command line has approved of this gate.
            _ if self.given.contains(&asked.gate) => Answer::Approve,
            None => return Err(waits()),
            Some(ask) => {
                let (asked, whole) = (asked.clone(), whole(asked.gate, progress, store).await?);
                let (answered, answer) = oneshot::channel();
                // A thread of its own: a runtime waits for its blocking ones, and this one may wait for a key for ever.
                std::thread::spawn(move || answered.send(ask(&asked, &whole)));
                answer.await.map_err(|_| waits())?
            }
        };
        let decision = match answer {
            Answer::Approve => ApprovalDecision::Approve,
            Answer::Reject => ApprovalDecision::Reject,
            Answer::Later => return Err(waits()),
        };
        Ok(ApprovalStatus {
            gate: asked.gate,
            decision,
            decided_by: user(),
            // No API server vouches for the name.
            verified: false,
            decided_at: Time(Timestamp::now()),
            hash: asked.hash.clone(),
            reason: None,
        })
    }
}

async fn whole(gate: Gate, progress: &Progress, store: &FolderStore) -> Result<String, TaskError> {
    match (gate, &progress.plan, &progress.documents.solution) {
        (Gate::Plan, Some(plan), _) => Ok(format!("{}\n\n{}", plan.description, plan.approach)),
        (Gate::Result, _, Some(document)) => {
            let read = store.read(&document.name).await;
            let bytes = read.map_err(|error| stopped(EngineError::from(error)))?;
            Ok(String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned())
        }
        _ => Ok(String::new()),
    }
}

fn user() -> String {
    ["USER", "LOGNAME"]
        .into_iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|name| !name.is_empty())
        .unwrap_or_else(|| "whoever ran the command".to_owned())
}
