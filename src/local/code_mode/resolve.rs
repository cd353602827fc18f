//! From an agent of the manifests to a question without open ends: its skills are read, its servers are asked for their tools.

use std::sync::{Mutex, PoisonError};

use serde_json::json;

use super::clients::headers;
use super::error::AskError;
use super::pick::Picked;
use super::programs::{Programs, program};
use crate::local::commands::AllowedCommands;
use crate::local::objects::Objects;
use crate::local::options::{ModelOverrides, TaskOptions};
use crate::local::trust::Trust;
use codegen_api::CodeGenAgent;
use codegen_api::code_mode::{McpTool, Skill, ToolSource};
use codegen_api::common::ConfigMapKeyRef;
use codegen_core::code_mode::{Question, SourcedTool, model, question};
use codegen_core::digest::sha256_hex;
use codegen_core::task::ModelSettings;
use codegen_egress::EgressGate;
use codegen_engine::code_mode::clients::{Servers, command_server, server};
use codegen_engine::code_mode::resolve::{self, Lookup};
use codegen_sources::{find, renamed_text, text_of_key};
use codegen_tools::McpClient;

/// Commands that may be started, and addresses that may be asked.
pub(super) type Reach<'a> = (&'a AllowedCommands, &'a EgressGate);

/// A question without open ends.
pub(super) struct Resolved {
    /// The question.
    pub question: Question,
    /// Clients of the servers that were asked.
    pub servers: Servers,
    /// The programs that are tools.
    pub programs: Programs,
}

/// Reads everything that the agent of a question refers to.
pub(super) async fn resolve(
    picked: &Picked<'_>,
    objects: &Objects,
    options: &TaskOptions,
    reach: Reach<'_>,
) -> Result<Resolved, AskError> {
    let manifests = Manifests {
        picked,
        objects,
        trust: &options.trust,
        reach,
        programs: Mutex::default(),
    };
    let found = resolve::resolve(&manifests, picked.agent).await?;
    let parts = (found.skills, found.tools, Vec::new());
    let mut question = question(&picked.run, picked.agent, shared(picked, objects)?, parts)?;
    question.model = model_of(picked, objects, &options.model)?;
    let programs = manifests.programs.into_inner();
    Ok(Resolved {
        question,
        servers: found.servers,
        programs: programs.unwrap_or_else(PoisonError::into_inner),
    })
}

/// Looks up what is among the manifests.
struct Manifests<'a> {
    picked: &'a Picked<'a>,
    objects: &'a Objects,
    trust: &'a Trust,
    reach: Reach<'a>,
    /// Those that were found.
    programs: Mutex<Programs>,
}

impl Lookup for Manifests<'_> {
    type Error = AskError;

    async fn program(&self, source: &ToolSource) -> Result<SourcedTool, AskError> {
        let Some(task) = &source.task_ref else {
            return Err(AskError::Request(format!(
                "programImage of tool `{}`: a published program runs in a cluster, and this command pulls no images; leave the tool out here",
                source.name
            )));
        };
        let (tool, finished) = program(source, task, self.picked, self.objects, self.trust).await?;
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        programs.insert(task.name.clone(), finished);
        Ok(tool)
    }

    async fn server(&self, source: &ToolSource, mcp: &McpTool) -> Result<McpClient, AskError> {
        let (allowed, gate) = self.reach;
        let Some(url) = &mcp.url else {
            let command = allowed.command(&source.name, &mcp.command)?;
            return Ok(command_server(&source.name, command)?);
        };
        let field = format!("mcp.url of {}", source.name);
        let namespace = self.picked.namespace();
        let values = headers(&mcp.headers_from, (&field, url), namespace, self.objects)?;
        Ok(server(&source.name, url, values, Some(gate.clone()))?)
    }

    async fn skill(&self, field: &str, reference: &ConfigMapKeyRef) -> Result<String, AskError> {
        skill_text(field, reference, self.picked, self.objects)
    }
}

/// The model that is asked: the manifests' one under what the command line says.
pub(super) fn model_of(
    picked: &Picked<'_>,
    objects: &Objects,
    overrides: &ModelOverrides,
) -> Result<ModelSettings, AskError> {
    let mut agent = picked.agent.clone();
    let mut shared = shared(picked, objects)?.cloned();
    if *overrides != ModelOverrides::default() {
        let own = agent.spec.model.get_or_insert_default();
        overrides.apply_to(own, shared.as_mut().and_then(|shared| shared.spec.model.as_mut()));
    }
    Ok(model(&agent, shared.as_ref())?)
}

/// Returns a fingerprint of the agent, without its model: another one may answer otherwise. None where something that it refers to is not
/// there.
pub(super) fn fingerprint(picked: &Picked<'_>, objects: &Objects) -> Option<String> {
    let mut spec = picked.agent.spec.clone();
    spec.model = None;
    spec.agent_ref = None;
    let text = |skill: &Skill| match &skill.config_map_key_ref {
        Some(reference) => skill_text("", reference, picked, objects).ok(),
        None => Some(skill.text.clone().unwrap_or_default()),
    };
    let skills: Option<Vec<String>> = spec.skills.iter().map(text).collect();
    let skills = skills?;
    Some(sha256_hex(json!([spec, skills]).to_string().as_bytes()))
}

fn shared<'a>(picked: &Picked<'_>, objects: &'a Objects) -> Result<Option<&'a CodeGenAgent>, AskError> {
    let Some(wanted) = &picked.agent.spec.agent_ref else {
        return Ok(None);
    };
    let (namespace, name) = (picked.namespace(), &wanted.name);
    match find(&objects.agents, namespace, name) {
        Some(shared) => Ok(Some(shared)),
        None => Err(AskError::Request(format!(
            "spec.agentRef refers to CodeGenAgent {name}, which is not among the manifests{}: add its document with -f, or write spec.model in the CodeModeAgent",
            renamed_text(&objects.agents, namespace, name)
        ))),
    }
}

fn skill_text(
    field: &str,
    reference: &ConfigMapKeyRef,
    picked: &Picked<'_>,
    objects: &Objects,
) -> Result<String, AskError> {
    let (namespace, name) = (picked.namespace(), &reference.name);
    let Some(keys) = find(&objects.config_maps, namespace, name) else {
        let renamed = renamed_text(&objects.config_maps, namespace, name);
        return Err(AskError::Request(format!(
            "{field} refers to the ConfigMap {name}, which is not among the manifests{renamed}: add its document with -f"
        )));
    };
    text_of_key(keys, field, reference).map_err(AskError::Request)
}
