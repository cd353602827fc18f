//! Lookup of everything that an agent refers to: its tools with their types, and its texts. Others say where they are looked up.

use std::future::Future;
use std::time::Duration;

use futures::future::try_join_all;
use tokio::time::Instant;

use super::clients::{Servers, server_key};
use codegen_api::code_mode::{CodeModeAgent, McpTool, ToolSource};
use codegen_api::common::ConfigMapKeyRef;
use codegen_code_mode::signature::{Tool, Toolbox, check_schemas};
use codegen_core::code_mode::{SourcedTool, UnresolvedTool, check_required, http_tool, mcp_tools};
use codegen_tools::{McpClient, ToolError, computed};

/// Longest time that a server may take to list its tools.
const LIST_DEADLINE: Duration = Duration::from_secs(20);

/// Looks up what an agent refers to: in a cluster, or among the manifests of a command.
pub trait Lookup: Sync {
    /// Error of a lookup.
    type Error: From<UnresolvedTool> + From<ToolError>;

    /// The tool that a finished program is.
    fn program(&self, source: &ToolSource) -> impl Future<Output = Result<SourcedTool, Self::Error>> + Send;

    /// A client of an entry's server. Nothing is sent.
    fn server(
        &self,
        source: &ToolSource,
        mcp: &McpTool,
    ) -> impl Future<Output = Result<McpClient, Self::Error>> + Send;

    /// The text of a skill; `field` is where the agent refers to it.
    fn skill(
        &self,
        field: &str,
        reference: &ConfigMapKeyRef,
    ) -> impl Future<Output = Result<String, Self::Error>> + Send;
}

/// Agent with everything that it refers to.
pub struct ResolvedAgent {
    /// Its tools.
    pub tools: Vec<SourcedTool>,
    /// The tools with their signatures.
    pub toolbox: Toolbox,
    /// Texts that the model reads besides.
    pub skills: Vec<String>,
    /// Clients of the servers that were asked.
    pub servers: Servers,
}

/// Looks up everything that `agent` refers to, but for its model.
pub async fn resolve<L: Lookup>(lookup: &L, agent: &CodeModeAgent) -> Result<ResolvedAgent, L::Error> {
    let spec = &agent.spec;
    let found = try_join_all(spec.tools.iter().map(|source| tools_of(lookup, source))).await?;
    let (tools, servers): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    let tools: Vec<SourcedTool> = tools.into_iter().flatten().collect();
    let toolbox = toolbox(&tools).await?;
    check_required(&spec.require_approval, &toolbox)?;
    let mut skills = Vec::with_capacity(spec.skills.len());
    for (index, skill) in spec.skills.iter().enumerate() {
        skills.push(match &skill.config_map_key_ref {
            Some(reference) => {
                let field = format!("spec.skills[{index}].configMapKeyRef");
                lookup.skill(&field, reference).await?
            }
            None => skill.text.clone().unwrap_or_default(),
        });
    }
    Ok(ResolvedAgent {
        tools,
        toolbox,
        skills,
        servers: servers.into_iter().flatten().collect(),
    })
}

/// The tools of one entry, and the server that listed them.
async fn tools_of<L: Lookup>(
    lookup: &L,
    source: &ToolSource,
) -> Result<(Vec<SourcedTool>, Option<(String, McpClient)>), L::Error> {
    if let Some(http) = &source.http {
        return Ok((vec![http_tool(source, http)], None));
    }
    let Some(mcp) = &source.mcp else {
        return Ok((vec![lookup.program(source).await?], None));
    };
    let client = lookup.server(source, mcp).await?;
    let deadline = Instant::now() + LIST_DEADLINE;
    let listed = client.list_tools(&mcp.tool_names, deadline).await?;
    let tools = mcp_tools(source, mcp, listed)?;
    let key = tools.first().and_then(|tool| server_key(&tool.origin));
    Ok((tools, key.map(|key| (key, client))))
}

/// The signatures of tools whose schemas values can be held to.
async fn toolbox(tools: &[SourcedTool]) -> Result<Toolbox, UnresolvedTool> {
    let all: Vec<Tool> = tools.iter().map(|sourced| sourced.tool.clone()).collect();
    let toolbox = computed(Instant::now() + LIST_DEADLINE, move || {
        check_schemas(&all)?;
        Toolbox::new(all)
    });
    match toolbox.await {
        Some(toolbox) => toolbox.map_err(|error| UnresolvedTool {
            message: format!("spec.tools: {error}"),
            is_awaited: false,
        }),
        None => Err(UnresolvedTool {
            message:
                "the schemas of the tools took longer than 20 s to read: name fewer of them in toolNames"
                    .to_owned(),
            is_awaited: true,
        }),
    }
}
