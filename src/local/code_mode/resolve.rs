//! From an agent of the manifests to a question without open ends: its skills are read, its servers are asked for their tools.

use std::time::Duration;

use futures::future::try_join_all;
use serde_json::json;
use tokio::time::Instant;

use super::error::AskError;
use super::headers::headers;
use super::pick::Picked;
use super::programs::{Programs, program};
use crate::api::CodeGenAgent;
use crate::api::code_mode::{McpTool, Skill, ToolSource};
use crate::code_mode::signature::{Tool, check_schemas};
use crate::egress::EgressGate;
use crate::engine::code_mode::clients::{Servers, command_key, command_server, listed, server, server_key};
use crate::local::commands::Allowed;
use crate::local::objects::Objects;
use crate::local::options::{ModelOverrides, TaskOptions};
use crate::local::run::Finished;
use crate::local::trust::Trust;
use crate::pipeline::code_mode::{
    McpAddress, Question, SourcedTool, check_required, http_tool, mcp_tools, model, question,
};
use crate::pipeline::digest::sha256_hex;
use crate::pipeline::task::ModelSettings;
use crate::sources::{find, keys_text, renamed_text};
use crate::tools::McpClient;

/// How long a server may take to list its tools.
const LIST_DEADLINE: Duration = Duration::from_secs(20);

/// Commands that may be started, and addresses that may be asked.
pub(super) type Reach<'a> = (&'a Allowed, &'a EgressGate);

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
    let skills = skills(picked, objects)?;
    let sources = picked.agent.spec.tools.iter();
    let found =
        try_join_all(sources.map(|source| tools_of(source, picked, objects, (reach, &options.trust))))
            .await?;
    let mut tools = Vec::new();
    let mut servers = Servers::new();
    let mut programs = Programs::new();
    for found in found {
        tools.extend(found.tools);
        servers.extend(found.server);
        programs.extend(found.program);
    }
    let shared = shared(picked, objects)?;
    let mut question = question(&picked.run, picked.agent, shared, (skills, tools, Vec::new()))?;
    question.model = model_of(picked, objects, &options.model)?;
    let all: Vec<Tool> = question
        .tools
        .iter()
        .map(|sourced| sourced.tool.clone())
        .collect();
    check_schemas(&all).map_err(|error| AskError::Tools(error.to_string()))?;
    let toolbox = question.toolbox();
    let toolbox = toolbox.map_err(|error| AskError::Tools(error.to_string()))?;
    check_required(&picked.agent.spec.require_approval, &toolbox)?;
    Ok(Resolved {
        question,
        servers,
        programs,
    })
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

/// What an agent is, but for its model: another one may answer otherwise. None where something that it refers to is not there.
pub(super) fn fingerprint(picked: &Picked<'_>, objects: &Objects) -> Option<String> {
    let mut spec = picked.agent.spec.clone();
    spec.model = None;
    spec.agent_ref = None;
    let skills = skills(picked, objects).ok()?;
    Some(sha256_hex(json!([spec, skills]).to_string().as_bytes()))
}

fn shared<'a>(picked: &Picked<'_>, objects: &'a Objects) -> Result<Option<&'a CodeGenAgent>, AskError> {
    let Some(wanted) = &picked.agent.spec.agent_ref else {
        return Ok(None);
    };
    let (namespace, name) = (picked.namespace(), &wanted.name);
    match find(&objects.agents, namespace, name) {
        Some(shared) => Ok(Some(shared)),
        None => Err(AskError::NoSharedAgent {
            name: name.clone(),
            renamed: renamed_text(&objects.agents, namespace, name),
        }),
    }
}

fn skills(picked: &Picked<'_>, objects: &Objects) -> Result<Vec<String>, AskError> {
    let skills = picked.agent.spec.skills.iter().enumerate();
    skills
        .map(|(index, skill)| skill_text(index, skill, picked.namespace(), objects))
        .collect()
}

fn skill_text(index: usize, skill: &Skill, namespace: &str, objects: &Objects) -> Result<String, AskError> {
    let Some(reference) = &skill.config_map_key_ref else {
        return Ok(skill.text.clone().unwrap_or_default());
    };
    let missing = |what: String, remedy: String| AskError::NoSkill {
        field: format!("spec.skills[{index}].configMapKeyRef"),
        what,
        remedy,
    };
    let (name, key) = (&reference.name, &reference.key);
    let Some(keys) = find(&objects.config_maps, namespace, name) else {
        let renamed = renamed_text(&objects.config_maps, namespace, name);
        return Err(missing(
            format!("ConfigMap {name}, which is not among the manifests{renamed}"),
            "add its document with -f".to_owned(),
        ));
    };
    let Some(bytes) = keys.0.get(key) else {
        let present: Vec<String> = keys.0.keys().cloned().collect();
        return Err(missing(
            format!("key {key} of ConfigMap {name}, which has {}", keys_text(&present)),
            "correct the key".to_owned(),
        ));
    };
    String::from_utf8(bytes.clone()).map_err(|_| {
        missing(
            format!("key {key} of ConfigMap {name}, which is not UTF-8 text"),
            "save it as text".to_owned(),
        )
    })
}

/// The tools of one entry of an agent.
#[derive(Default)]
struct Found {
    tools: Vec<SourcedTool>,
    server: Option<(String, McpClient)>,
    program: Option<(String, Finished)>,
}

async fn tools_of(
    source: &ToolSource,
    picked: &Picked<'_>,
    objects: &Objects,
    (reach, trust): (Reach<'_>, &Trust),
) -> Result<Found, AskError> {
    if let Some(http) = &source.http {
        return Ok(Found {
            tools: vec![http_tool(source, http)],
            ..Found::default()
        });
    }
    if let Some(mcp) = &source.mcp {
        return of_a_server(source, mcp, picked.namespace(), objects, reach).await;
    }
    if let Some(task) = &source.task_ref {
        let (tool, finished) = program(source, task, picked, objects, trust).await?;
        return Ok(Found {
            tools: vec![tool],
            program: Some((task.name.clone(), finished)),
            ..Found::default()
        });
    }
    Err(AskError::ProgramImage {
        tool: source.name.clone(),
    })
}

async fn of_a_server(
    source: &ToolSource,
    mcp: &McpTool,
    namespace: &str,
    objects: &Objects,
    (allowed, gate): Reach<'_>,
) -> Result<Found, AskError> {
    let field = format!("mcp.url of {}", source.name);
    let address = McpAddress::of(mcp);
    let (client, key) = match &address {
        McpAddress::Url { url, headers: wanted } => {
            let values = headers(wanted, (&field, url), namespace, objects)?;
            let client = server(&source.name, url, values, Some(gate.clone()))?;
            (client, server_key(url, wanted))
        }
        McpAddress::Command(argv) => {
            let command = allowed.command(&source.name, argv)?;
            (command_server(&source.name, command)?, command_key(argv))
        }
    };
    let deadline = Instant::now() + LIST_DEADLINE;
    let tools = client.list_tools(&mcp.tool_names, deadline).await?;
    let tools = tools.into_iter().map(listed).collect();
    Ok(Found {
        server: Some((key, client)),
        tools: mcp_tools(source, mcp, &address, tools)?,
        program: None,
    })
}
