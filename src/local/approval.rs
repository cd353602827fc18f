//! Gates on this machine: what the command line approves of in advance, and whoever sits at the terminal.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::error::{TaskError, stopped};
use super::terminal::on_a_thread;
use codegen_api::approval::{AnyGate, ApprovalDecision, ApprovalStatus, AwaitedApproval, Gate};
use codegen_core::progress::Progress;
use codegen_engine::EngineError;
use codegen_ledger::{FolderStore, Store as _};

/// Answer of a person at a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateAnswer {
    /// Go on.
    Approve,
    /// End here; of a call, do not make it.
    Reject,
    /// Stop, to be asked again.
    Later,
}

/// Shows the whole of what lines of the gate cut short, and waits for the answer. May block.
pub type Ask = fn(AnyGate, &str) -> GateAnswer;

/// Decisions at gates, by a person or by the command line.
#[derive(Clone, Debug, Default)]
pub struct Approvals {
    /// Gates that are approved of whatever they show.
    pub given: Vec<Gate>,
    /// Decisions about calls of questions, by the calls' hashes.
    pub calls: BTreeMap<String, ApprovalDecision>,
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
            _ if self.given.contains(&asked.gate) => GateAnswer::Approve,
            None => GateAnswer::Later,
            Some(ask) => answer(ask, asked.gate.into(), whole(asked.gate, progress, store).await?).await,
        };
        let decision = match answer {
            GateAnswer::Approve => ApprovalDecision::Approve,
            GateAnswer::Reject => ApprovalDecision::Reject,
            GateAnswer::Later => return Err(waits()),
        };
        Ok(decided(asked, decision))
    }

    /// The decision about a call of a question, of which `whole` is what lines cut short; none where nobody decides.
    pub async fn decide_call<G: Copy + Into<AnyGate>>(
        &self,
        asked: &AwaitedApproval<G>,
        whole: String,
    ) -> Option<ApprovalStatus<G>> {
        if let Some(decision) = self.calls.get(&asked.hash) {
            return Some(decided(asked, *decision));
        }
        match answer(self.ask?, asked.gate.into(), whole).await {
            GateAnswer::Approve => Some(decided(asked, ApprovalDecision::Approve)),
            GateAnswer::Reject => Some(decided(asked, ApprovalDecision::Reject)),
            GateAnswer::Later => None,
        }
    }
}

/// Asks somebody at the terminal for a decision at a gate.
async fn answer(ask: Ask, gate: AnyGate, whole: String) -> GateAnswer {
    on_a_thread(move || ask(gate, &whole))
        .await
        .unwrap_or(GateAnswer::Later)
}

fn decided<G: Copy>(asked: &AwaitedApproval<G>, decision: ApprovalDecision) -> ApprovalStatus<G> {
    ApprovalStatus {
        gate: asked.gate,
        decision,
        decided_by: user(),
        // No API server vouches for the name.
        verified: false,
        decided_at: Time(Timestamp::now()),
        hash: asked.hash.clone(),
        reason: None,
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
