//! The beginning of a question: what is asked of whom, frozen in its folder.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::clients::clients;
use super::error::{AskError, stopped};
use super::pick::Picked;
use super::programs::{Programs, digests, same_programs};
use super::resolve::{Resolved, fingerprint, model_of, resolve};
use crate::local::commands::{of_sources, of_tools};
use crate::local::folder::{QUESTION, RevisionFolder, TaskFolder};
use crate::local::objects::Objects;
use crate::local::options::{EarlierResult, TaskOptions};
use codegen_core::code_mode::{Question, QuestionProgress};
use codegen_egress::EgressGate;
use codegen_engine::code_mode::clients::{Servers, ToolClients};
use codegen_ledger::Store as _;

/// Characters that distinguish the calls of one start from those of another.
const KEY_CHARACTERS: usize = 8;

/// Request of a command: its question, and the place of its results.
#[derive(Clone, Copy)]
pub(crate) struct QuestionRequest<'a> {
    pub picked: &'a Picked<'a>,
    pub objects: &'a Objects,
    pub options: &'a TaskOptions,
    pub output: &'a Path,
}

/// A question that is frozen in its folder, which is locked as long as this lives.
pub(super) struct Begun {
    pub folder: TaskFolder,
    pub run: RevisionFolder,
    pub frozen: Frozen,
    /// Of a question that begins now.
    tools: Option<QuestionTools>,
    pub notices: Vec<String>,
}

impl Begun {
    /// The tools, of which those of a question that goes on are found now.
    pub async fn tools(&mut self, request: &QuestionRequest<'_>) -> Result<QuestionTools, AskError> {
        match self.tools.take() {
            Some(tools) => Ok(tools),
            None => tools_again(&self.frozen, request).await,
        }
    }
}

/// Tools that the calls of a question go through.
pub(super) struct QuestionTools {
    pub clients: ToolClients,
    pub programs: Programs,
}

/// The tools of a question that goes on.
async fn tools_again(frozen: &Frozen, request: &QuestionRequest<'_>) -> Result<QuestionTools, AskError> {
    let QuestionRequest {
        picked,
        objects,
        options,
        ..
    } = *request;
    let question = &frozen.question;
    // The record may be anybody's: what it starts is asked about as what the manifests start is.
    let of_manifests = of_sources(&picked.agent.spec.tools).into_keys().collect();
    let allowed = options
        .commands
        .allow(of_tools(&question.tools), &of_manifests)
        .await?;
    let servers = (Servers::new(), &allowed);
    Ok(QuestionTools {
        clients: clients(
            &question.tools,
            servers,
            EgressGate::of_command_line(&options.allowed_hosts),
            &question.namespace,
            objects,
        )?,
        programs: same_programs(&question.tools, &frozen.programs, picked, objects, &options.trust).await?,
    })
}

/// Finds where an earlier command stopped, else freezes the question.
pub(super) async fn begin(request: &QuestionRequest<'_>) -> Result<Begun, AskError> {
    let QuestionRequest {
        picked,
        objects,
        options,
        output,
    } = *request;
    let command = format!("kubectl-codegen ask, agent {},", picked.agent_name());
    let mut folder = TaskFolder::open(output, &command)?;
    let hash = picked.hash();
    // What begins anew reads nothing of it.
    if !options.starts_over() {
        folder.check_origin(&hash, &options.trust).await?;
    }
    let agent = fingerprint(picked, objects);
    let before = if options.starts_over() {
        None
    } else {
        earlier(&folder, &hash)?
    };
    let has_ended = match &before {
        Some((run, _)) => has_ended(run).await?,
        None => false,
    };
    // An answer grows old: what has ended is asked anew.
    let goes_on = before.filter(|_| !has_ended || options.earlier == EarlierResult::Printed);
    if let Some((run, mut frozen)) = goes_on {
        let mut notices = Vec::new();
        if agent != frozen.agent {
            notices.push(format!(
                "the agent {} has changed since this was asked: it goes on as it was; --fresh asks the new one",
                picked.agent_name()
            ));
        }
        // Where the model is, and by which key, decides nothing of what is recorded.
        frozen.question.model = model_of(picked, objects, &options.model)?;
        return Ok(Begun {
            folder,
            run,
            frozen,
            tools: None,
            notices,
        });
    }
    let wanted = of_sources(&picked.agent.spec.tools);
    let of_manifests = wanted.keys().cloned().collect();
    let allowed = options.commands.allow(wanted, &of_manifests).await?;
    let gate = EgressGate::of_command_line(&options.allowed_hosts);
    let Resolved {
        question,
        servers,
        programs,
    } = resolve(picked, objects, options, (&allowed, &gate)).await?;
    let servers = (servers, &allowed);
    let clients = clients(&question.tools, servers, gate, &question.namespace, objects)?;
    let distinct: String = std::iter::repeat_with(fastrand::alphanumeric)
        .take(KEY_CHARACTERS)
        .collect();
    let frozen = Frozen {
        name: format!("{}-{distinct}", picked.folder_name()),
        agent,
        programs: digests(&programs),
        question,
    };
    // Writes, after everything that may be refused.
    let aside = if options.starts_over() || has_ended {
        folder.set_aside(&hash)?
    } else {
        None
    };
    let run = freeze(&folder, &hash, &frozen)?;
    let notices = aside
        .iter()
        .map(|path| format!("what was asked before is now {}", path.display()));
    Ok(Begun {
        notices: notices.collect(),
        folder,
        run,
        frozen,
        tools: Some(QuestionTools { clients, programs }),
    })
}

/// A question as it was when it was asked.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub(super) struct Frozen {
    /// Name by which its calls are known to the servers of its tools.
    pub name: String,
    /// Fingerprint of the agent, without its model.
    pub agent: Option<String>,
    /// Digests of its programs, by the name of their task.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub programs: BTreeMap<String, String>,
    /// The question.
    pub question: Question,
}

/// Reads what an earlier command froze, with its folder.
fn earlier(folder: &TaskFolder, hash: &str) -> Result<Option<(RevisionFolder, Frozen)>, AskError> {
    let Some(run) = folder.existing(hash)? else {
        return Ok(None);
    };
    let Some(bytes) = run.read(QUESTION)? else {
        return Ok(None);
    };
    let frozen = serde_json::from_slice(&bytes).map_err(|error| stopped(&error))?;
    Ok(Some((run, frozen)))
}

/// Reports whether an earlier command brought the question to its end.
async fn has_ended(run: &RevisionFolder) -> Result<bool, AskError> {
    let stored = run.existing_store::<QuestionProgress>().load().await;
    let progress = stored.map_err(|error| stopped(&error))?;
    Ok(progress.is_some_and(|progress| progress.stage.is_terminal()))
}

/// Freezes a question in a folder of its own.
fn freeze(folder: &TaskFolder, hash: &str, frozen: &Frozen) -> Result<RevisionFolder, AskError> {
    let staging = folder.staging()?;
    let run = folder.revision(hash, &staging)?;
    let bytes = serde_json::to_vec_pretty(frozen).map_err(|error| stopped(&error))?;
    run.write(QUESTION, &bytes)?;
    Ok(run)
}
