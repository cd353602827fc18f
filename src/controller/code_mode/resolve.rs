//! What an agent refers to, read: its tools with their types, its texts, the agent whose model it shares.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::future::try_join_all;
use kube::{Api, ResourceExt as _};
use tokio::time::Instant;

use super::hold::{awaited, refused};
use crate::api::code_mode::{CodeModeAgent, McpTool, ProgramImage, Skill, ToolSource};
use crate::api::conditions::{code_mode_reason, run_reason};
use crate::api::{CodeGenAgent, CodeGenTask};
use crate::code_mode::signature::{Tool, Toolbox, check_schemas};
use crate::controller::context::Context;
use crate::controller::hold::{Blocked, misconfigured, unavailable, unreachable};
use crate::controller::runs::image::{ImageFields, program_in};
use crate::controller::runs::origin::{program_of, unfinished};
use crate::controller::schedule::waits::PolledObject;
use crate::controller::sources::credentials::tool_headers;
use crate::controller::sources::read::config_map;
use crate::engine::code_mode::clients::{listed, server};
use crate::pipeline::code_mode::{
    McpAddress, SourcedTool, ToolOrigin, check_required, http_tool, mcp_tools, program_tool,
};
use crate::pipeline::digest::sha256_hex_of_parts;
use crate::pipeline::status::Hold;
use crate::sources::keys_text;
use crate::tools::{ToolError, computed};

/// How long a server may take to list its tools.
const LIST_DEADLINE: Duration = Duration::from_secs(20);

/// What an agent comes to.
pub struct ResolvedAgent {
    /// Its tools.
    pub tools: Vec<SourcedTool>,
    /// The tools with their signatures.
    pub toolbox: Toolbox,
    /// What the model reads besides.
    pub skills: Vec<String>,
    /// The agent whose model it shares.
    pub shared: Option<CodeGenAgent>,
}

/// Reads everything that `agent` refers to.
pub async fn resolve(context: &Context, agent: &CodeModeAgent) -> Result<ResolvedAgent, Blocked> {
    let namespace = agent.namespace().unwrap_or_default();
    let sources = agent.spec.tools.iter();
    let tools = try_join_all(sources.map(|source| tools_of(context, &namespace, source))).await?;
    let tools: Vec<SourcedTool> = tools.into_iter().flatten().collect();
    let all: Vec<Tool> = tools.iter().map(|sourced| sourced.tool.clone()).collect();
    let deadline = Instant::now() + LIST_DEADLINE;
    let toolbox = computed(deadline, move || {
        check_schemas(&all)?;
        Toolbox::new(all)
    });
    let toolbox = toolbox.await.ok_or_else(|| {
        unavailable("the schemas of the tools took longer than 20 s to read: name fewer of them in toolNames")
    })?;
    let toolbox = toolbox.map_err(|error| refused(format!("spec.tools: {error}")))?;
    check_required(&agent.spec.require_approval, &toolbox).map_err(|error| refused(error.message))?;
    let mut skills = Vec::new();
    for (index, skill) in agent.spec.skills.iter().enumerate() {
        skills.push(skill_text(context, &namespace, index, skill).await?);
    }
    Ok(ResolvedAgent {
        tools,
        toolbox,
        skills,
        shared: shared(context, &namespace, agent).await?,
    })
}

/// What of that a person may have to change.
#[must_use]
pub fn refers_to(agent: &CodeModeAgent) -> BTreeSet<PolledObject> {
    let namespace = agent.namespace().unwrap_or_default();
    let spec = &agent.spec;
    let maps = spec
        .skills
        .iter()
        .filter_map(|skill| skill.config_map_key_ref.as_ref());
    let headers = spec.tools.iter().flat_map(|tool| {
        let http = tool.http.iter().flat_map(|http| &http.headers_from);
        let mcp = tool.mcp.iter().flat_map(|mcp| &mcp.headers_from);
        http.chain(mcp).map(|header| header.secret_key_ref.name.as_str())
    });
    let images = spec.tools.iter().filter_map(|tool| tool.program_image.as_ref());
    let pulls = images.filter_map(|image| Some(image.pull_secret_ref.as_ref()?.name.as_str()));
    let agents = spec
        .agent_ref
        .iter()
        .map(|agent| PolledObject::agent(&namespace, &agent.name));
    maps.map(|map| PolledObject::config_map(&namespace, &map.name))
        .chain(
            headers
                .chain(pulls)
                .map(|name| PolledObject::secret(&namespace, name)),
        )
        .chain(agents)
        .collect()
}

async fn tools_of(
    context: &Context,
    namespace: &str,
    source: &ToolSource,
) -> Result<Vec<SourcedTool>, Blocked> {
    let of_tool = |Blocked(hold): Blocked| {
        Blocked(Hold {
            message: format!("tool `{}`: {}", source.name, hold.message),
            ..hold
        })
    };
    let tools = if let Some(http) = &source.http {
        Ok(vec![http_tool(source, http)])
    } else if let Some(mcp) = &source.mcp {
        of_a_server(context, namespace, source, mcp).await
    } else if let Some(task) = &source.task_ref {
        of_a_task(context, namespace, source, &task.name).await
    } else if let Some(image) = &source.program_image {
        of_an_image(context, namespace, source, image).await
    } else {
        Err(refused(
            "it has no source: give taskRef, programImage, http or mcp".to_owned(),
        ))
    };
    tools.map_err(of_tool)
}

async fn of_a_task(
    context: &Context,
    namespace: &str,
    source: &ToolSource,
    name: &str,
) -> Result<Vec<SourcedTool>, Blocked> {
    let tasks: Api<CodeGenTask> = Api::namespaced(context.client.clone(), namespace);
    let found = tasks.get_opt(name).await;
    let found =
        found.map_err(|error| unreachable(&format!("read the CodeGenTask {namespace}/{name}"), &error))?;
    let Some(task) = found else {
        return Err(awaited(format!(
            "taskRef refers to the CodeGenTask {namespace}/{name}, which is not there: create it, or correct the name"
        )));
    };
    if let Some(hold) = unfinished(&task) {
        return Err(awaited(hold.message));
    }
    let program = program_of(context, &task).await?;
    let origin = ToolOrigin::Task {
        name: name.to_owned(),
        program: sha256_hex_of_parts(&[&program.sha256, &program.image, &program.task.decisive_hash()]),
    };
    Ok(vec![program_tool(source, origin, &program.task, true)])
}

async fn of_an_image(
    context: &Context,
    namespace: &str,
    source: &ToolSource,
    image: &ProgramImage,
) -> Result<Vec<SourcedTool>, Blocked> {
    let program = program_in(
        context,
        namespace,
        (&image.reference, ImageFields::OF_TOOL),
        image.pull_secret_ref.as_ref(),
    )
    .await
    .map_err(of_program)?;
    let origin = ToolOrigin::Program {
        // By digest: what the tag means later is another program.
        image: program.image.clone(),
        pull_secret: image.pull_secret_ref.clone(),
    };
    Ok(vec![program_tool(source, origin, &program.task, false)])
}

/// What is wrong with an image, in the words of an agent.
fn of_program(Blocked(hold): Blocked) -> Blocked {
    let reason = match hold.reason {
        run_reason::NO_PROGRAM => code_mode_reason::TOOLS_REFUSED,
        // It may be pushed.
        run_reason::IMAGE_GONE => code_mode_reason::TOOLS_AWAITED,
        other => other,
    };
    Blocked(Hold { reason, ..hold })
}

async fn of_a_server(
    context: &Context,
    namespace: &str,
    source: &ToolSource,
    mcp: &McpTool,
) -> Result<Vec<SourcedTool>, Blocked> {
    let address = McpAddress::of(mcp);
    let field = format!("mcp.url of {}", source.name);
    let McpAddress::Url { url, headers } = &address else {
        return Err(refused(
            "mcp.command is a program of a laptop, and the operator starts none: run the server in the cluster and give mcp.url"
                .to_owned(),
        ));
    };
    let headers = tool_headers(&context.client, namespace, headers, (&field, url)).await?;
    let client = server(&source.name, url, headers, Some(context.tools.clone()));
    let client = client.map_err(|error| of_error(&error))?;
    let deadline = Instant::now() + LIST_DEADLINE;
    let tools = client.list_tools(&mcp.tool_names, deadline).await;
    let tools = tools.map_err(|error| of_error(&error))?;
    let tools = tools.into_iter().map(listed).collect();
    mcp_tools(source, mcp, &address, tools).map_err(|error| {
        if error.is_awaited {
            awaited(error.message)
        } else {
            refused(error.message)
        }
    })
}

/// A server that is not there yet may come by itself.
fn of_error(error: &ToolError) -> Blocked {
    if error.is_transient() {
        unavailable(&error.to_string())
    } else {
        refused(error.to_string())
    }
}

async fn skill_text(
    context: &Context,
    namespace: &str,
    index: usize,
    skill: &Skill,
) -> Result<String, Blocked> {
    let Some(reference) = &skill.config_map_key_ref else {
        return Ok(skill.text.clone().unwrap_or_default());
    };
    let field = format!("spec.skills[{index}].configMapKeyRef");
    let (name, key) = (&reference.name, &reference.key);
    let keys = config_map(&context.client, namespace, &field, name).await?;
    let Some(bytes) = keys.0.get(key) else {
        let present: Vec<String> = keys.0.keys().cloned().collect();
        let present = keys_text(&present);
        return Err(misconfigured(format!(
            "{field} refers to the key {key} of the ConfigMap {name}, which has {present}: correct the key"
        )));
    };
    let text = String::from_utf8(bytes.clone());
    text.map_err(|_| {
        misconfigured(format!(
            "{field}: key {key} of the ConfigMap {name} is not UTF-8 text"
        ))
    })
}

async fn shared(
    context: &Context,
    namespace: &str,
    agent: &CodeModeAgent,
) -> Result<Option<CodeGenAgent>, Blocked> {
    let Some(wanted) = &agent.spec.agent_ref else {
        return Ok(None);
    };
    let name = &wanted.name;
    let agents: Api<CodeGenAgent> = Api::namespaced(context.client.clone(), namespace);
    let found = agents.get_opt(name).await;
    let found =
        found.map_err(|error| unreachable(&format!("read the CodeGenAgent {namespace}/{name}"), &error))?;
    match found {
        Some(found) => Ok(Some(found)),
        None => Err(misconfigured(format!(
            "spec.agentRef refers to the CodeGenAgent {namespace}/{name}, which is not there: create it, or write spec.model here"
        ))),
    }
}
