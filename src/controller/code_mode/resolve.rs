//! References of an agent of a cluster: its tools with their types, its texts, the agent whose model it shares.

use kube::{Api, ResourceExt as _};

use super::hold::{awaited, refused};
use crate::controller::context::Context;
use crate::controller::hold::{Blocked, misconfigured, unreachable};
use crate::controller::runs::image::{ImageFields, program_in};
use crate::controller::runs::origin::{program_of, unfinished};
use crate::controller::sources::credentials::tool_headers;
use crate::controller::sources::read::config_map;
use codegen_api::code_mode::{CodeModeAgent, McpTool, ProgramImage, ToolSource};
use codegen_api::common::ConfigMapKeyRef;
use codegen_api::conditions::{code_mode_reason, run_reason};
use codegen_api::{CodeGenAgent, CodeGenTask};
use codegen_core::code_mode::{Question, SourcedTool, ToolOrigin, program_tool};
use codegen_core::digest::sha256_hex_of_parts;
use codegen_core::status::Hold;
use codegen_engine::code_mode::clients::{Servers, ToolClients, server};
use codegen_engine::code_mode::resolve::{self, Lookup, ResolvedAgent};
use codegen_sources::text_of_key;
use codegen_tools::McpClient;

/// Reads everything that `agent` refers to, and the agent whose model it shares.
pub async fn resolve(
    context: &Context,
    agent: &CodeModeAgent,
) -> Result<(ResolvedAgent, Option<CodeGenAgent>), Blocked> {
    let namespace = agent.namespace().unwrap_or_default();
    let shared = shared(context, &namespace, agent).await?;
    let resolved = resolve::resolve(&Cluster { context, namespace }, agent).await?;
    Ok((resolved, shared))
}

/// Makes the clients, with headers from Secrets as they are now. Nothing is sent.
pub async fn clients(context: &Context, question: &Question) -> Result<ToolClients, Blocked> {
    let mut clients = ToolClients::new(Some(context.tools.clone()), Servers::new());
    for tool in &question.tools {
        let Some(server) = clients.needs(tool) else {
            continue;
        };
        let field = format!("{} of {}", server.field, tool.tool.name);
        let (namespace, at) = (&question.namespace, (field.as_str(), server.url));
        let headers = tool_headers(&context.client, namespace, server.headers, at).await?;
        let added = clients.add(tool, headers);
        added.map_err(|error| misconfigured(error.to_string()))?;
    }
    Ok(clients)
}

/// Looks up what is in a namespace.
struct Cluster<'a> {
    context: &'a Context,
    namespace: String,
}

impl Lookup for Cluster<'_> {
    type Error = Blocked;

    async fn program(&self, source: &ToolSource) -> Result<SourcedTool, Blocked> {
        let (context, namespace) = (self.context, &self.namespace);
        let tool = match (&source.task_ref, &source.program_image) {
            (Some(task), _) => of_a_task(context, namespace, source, &task.name).await,
            (None, Some(image)) => of_an_image(context, namespace, source, image).await,
            (None, None) => Err(refused(
                "it has no source: give taskRef, programImage, http or mcp".to_owned(),
            )),
        };
        tool.map_err(|error| of_tool(source, error))
    }

    async fn server(&self, source: &ToolSource, mcp: &McpTool) -> Result<McpClient, Blocked> {
        let Some(url) = &mcp.url else {
            let why = "mcp.command is a program of a laptop, and the operator starts none: run the server in the cluster and give mcp.url";
            return Err(of_tool(source, refused(why.to_owned())));
        };
        let field = format!("mcp.url of {}", source.name);
        let headers = tool_headers(
            &self.context.client,
            &self.namespace,
            &mcp.headers_from,
            (&field, url),
        )
        .await;
        let headers = headers.map_err(|error| of_tool(source, error))?;
        Ok(server(
            &source.name,
            url,
            headers,
            Some(self.context.tools.clone()),
        )?)
    }

    async fn skill(&self, field: &str, reference: &ConfigMapKeyRef) -> Result<String, Blocked> {
        let keys = config_map(&self.context.client, &self.namespace, field, &reference.name).await?;
        text_of_key(&keys, field, reference).map_err(misconfigured)
    }
}

/// Names the tool that something is wrong with.
fn of_tool(source: &ToolSource, Blocked(hold): Blocked) -> Blocked {
    Blocked(Hold {
        message: format!("tool `{}`: {}", source.name, hold.message),
        ..hold
    })
}

async fn of_a_task(
    context: &Context,
    namespace: &str,
    source: &ToolSource,
    name: &str,
) -> Result<SourcedTool, Blocked> {
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
    Ok(program_tool(source, origin, &program.task, true))
}

async fn of_an_image(
    context: &Context,
    namespace: &str,
    source: &ToolSource,
    image: &ProgramImage,
) -> Result<SourcedTool, Blocked> {
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
    Ok(program_tool(source, origin, &program.task, false))
}

/// Rewrites a fault of an image in the words of an agent.
fn of_program(Blocked(hold): Blocked) -> Blocked {
    let reason = match hold.reason {
        run_reason::NO_PROGRAM => code_mode_reason::TOOLS_REFUSED,
        // It may be pushed.
        run_reason::IMAGE_GONE => code_mode_reason::TOOLS_AWAITED,
        other => other,
    };
    Blocked(Hold { reason, ..hold })
}

/// The agent whose model `agent` shares.
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
