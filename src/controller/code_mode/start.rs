//! The beginning of a question: the agent as it is now, and the conversation so far.

use kube::{Api, ResourceExt as _};

use super::resolve::resolve;
use super::store::CodeModeStore;
use super::{memory, owner};
use crate::controller::context::Context;
use crate::controller::error::ReconcileError;
use crate::controller::hold::{Blocked, misconfigured, unreachable};
use crate::controller::record::records::QUESTION;
use codegen_api::code_mode::{CodeModeAgent, CodeModeRun};
use codegen_api::conditions::{code_mode_reason, run_reason};
use codegen_code_mode::prompt::ChatMessage;
use codegen_core::code_mode::{Answer, Question, conversation, question};
use codegen_core::progress::Document;
use codegen_core::status::{Hold, Until};
use codegen_ledger::{Store as _, StoreError};

/// The agent that is asked; until it is there, what the question waits for.
pub async fn agent_of(context: &Context, run: &CodeModeRun) -> Result<CodeModeAgent, Blocked> {
    let (namespace, name) = (run.namespace().unwrap_or_default(), &run.spec.agent_ref.name);
    let agents: Api<CodeModeAgent> = Api::namespaced(context.client.clone(), &namespace);
    let found = agents.get_opt(name).await;
    let found =
        found.map_err(|error| unreachable(&format!("read the CodeModeAgent {namespace}/{name}"), &error))?;
    found.ok_or_else(|| {
        Blocked(Hold {
            reason: code_mode_reason::AWAITING_AGENT,
            message: format!(
                "spec.agentRef refers to the CodeModeAgent {namespace}/{name}, which is not there: create it, and the run goes on by \
                 itself"
            ),
            until: Until::Corrected,
        })
    })
}

/// The question without open ends, as it is frozen.
pub async fn freeze(
    context: &Context,
    run: &CodeModeRun,
    agent: &CodeModeAgent,
) -> Result<Question, ReconcileError> {
    let history = match &run.spec.continues {
        Some(earlier) => earlier_conversation(context, run, &earlier.name).await?,
        None => Vec::new(),
    };
    let (found, shared) = Box::pin(resolve(context, agent)).await?;
    let parts = (found.skills, found.tools, history);
    let question = question(run, agent, shared.as_ref(), parts);
    question.map_err(|error| misconfigured(error.to_string()).into())
}

/// The conversation of an earlier run, with its answer.
async fn earlier_conversation(
    context: &Context,
    run: &CodeModeRun,
    name: &str,
) -> Result<Vec<ChatMessage>, ReconcileError> {
    let namespace = run.namespace().unwrap_or_default();
    let runs: Api<CodeModeRun> = Api::namespaced(context.client.clone(), &namespace);
    let found = runs.get_opt(name).await;
    let found =
        found.map_err(|error| unreachable(&format!("read the CodeModeRun {namespace}/{name}"), &error))?;
    let Some(earlier) = found else {
        return Err(misconfigured(format!(
            "spec.continues refers to the CodeModeRun {namespace}/{name}, which is not there: create it, and this run goes on by itself"
        ))
        .into());
    };
    match memory::ended_in(&earlier) {
        Some("Succeeded") => {}
        Some(_) => {
            return Err(Blocked(Hold {
                reason: run_reason::INVALID_INPUTS,
                message: format!(
                    "spec.continues refers to the CodeModeRun {namespace}/{name}, which has failed, so that there is no answer to go on \
                     from: make another run"
                ),
                until: Until::Corrected,
            })
            .into());
        }
        None => {
            return Err(Blocked(Hold {
                reason: run_reason::AWAITING_RUN,
                message: format!(
                    "the CodeModeRun {namespace}/{name} has not ended yet; this one goes on by itself when it has"
                ),
                until: Until::Room,
            })
            .into());
        }
    }
    said(context, earlier).await
}

/// Returns the messages of a run that has an answer.
async fn said(context: &Context, earlier: CodeModeRun) -> Result<Vec<ChatMessage>, ReconcileError> {
    let owner = owner(&earlier);
    let store = CodeModeStore::new(context.client.clone(), &owner, std::sync::Arc::default(), earlier);
    let question: Question = document(&store, &owner.name, QUESTION).await?;
    let name = store
        .load()
        .await?
        .and_then(|progress| progress.answer)
        .map(|Document { name, .. }| name)
        .unwrap_or_default();
    let answer: Answer = document(&store, &owner.name, &name).await?;
    Ok(conversation(&question, &answer))
}

async fn document<D: serde::de::DeserializeOwned>(
    store: &CodeModeStore<'_>,
    run: &str,
    name: &str,
) -> Result<D, StoreError> {
    let bytes = store.read(name).await?.unwrap_or_default();
    serde_json::from_slice(&bytes).map_err(|error| damaged(run, &error))
}

fn damaged(run: &str, error: &serde_json::Error) -> StoreError {
    StoreError::Damaged {
        name: format!("the record of CodeModeRun {run}"),
        detail: error.to_string(),
    }
}
