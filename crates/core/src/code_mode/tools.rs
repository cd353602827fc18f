//! From what an agent lists to tools as programs see them.

use serde_json::Value;

use super::question::{SourcedTool, ToolOrigin, UnresolvedTool, parameters_or_none};
use codegen_api::code_mode::{HttpMethod, HttpTool, McpTool, ToolSource, UnknownOutcome};
use codegen_code_mode::finite::finite;
use codegen_code_mode::names::{check_tool_name, parameter_name};
use codegen_code_mode::signature::{Effect, Tool};

/// Returns the destination of a call of a server's tool.
fn origin_of(mcp: &McpTool, tool: String) -> ToolOrigin {
    match &mcp.url {
        Some(url) => ToolOrigin::Mcp {
            url: url.clone(),
            tool,
            headers: mcp.headers_from.clone(),
        },
        None => ToolOrigin::McpCommand {
            command: mcp.command.clone(),
            tool,
        },
    }
}

/// A command as a shell would take it, so that its words can be told from each other.
#[must_use]
pub fn command_line(argv: &[String]) -> String {
    let words = argv.iter().map(String::as_str);
    // A NUL alone cannot be quoted, and no program is started with one.
    shlex::try_join(words).unwrap_or_else(|_| argv.join(" "))
}

/// The tool that one request is.
#[must_use]
pub fn http_tool(source: &ToolSource, http: &HttpTool) -> SourcedTool {
    let method = http.method.unwrap_or_default();
    let description = source.description.clone();
    SourcedTool {
        tool: with_finite_schemas(Tool {
            name: source.name.clone(),
            description: description.unwrap_or_else(|| format!("{} {}", method.as_str(), http.url)),
            parameters: parameters_or_none(http.parameters.as_ref()),
            result: http.result.clone().map(Value::Object),
            effect: effect_of(method),
            is_loosened: false,
        }),
        origin: ToolOrigin::Http {
            method,
            url: http.url.clone(),
            headers: http.headers_from.clone(),
        },
        retries_unknown: retries_unknown(source),
    }
}

/// The tools of an MCP server, of which it has `listed` those that are asked for, by its own names.
pub fn mcp_tools(
    source: &ToolSource,
    mcp: &McpTool,
    listed: Vec<Tool>,
) -> Result<Vec<SourcedTool>, UnresolvedTool> {
    check_listed(source, mcp, &listed)?;
    let is_only = listed.len() == 1;
    let tool = |listed: Tool| {
        let name = name_of(source, mcp, &listed.name)?;
        let own = source.description.clone().filter(|_| is_only);
        Ok(SourcedTool {
            origin: origin_of(mcp, listed.name),
            tool: with_finite_schemas(Tool {
                name,
                description: own.unwrap_or(listed.description),
                ..listed
            }),
            retries_unknown: retries_unknown(source),
        })
    };
    listed.into_iter().map(tool).collect()
}

/// The tool with schemas that have no references. One that is too large stays as it is, and the tool is refused with the others.
fn with_finite_schemas(mut tool: Tool) -> Tool {
    for schema in [Some(&mut tool.parameters), tool.result.as_mut()]
        .into_iter()
        .flatten()
    {
        if let Ok(plain) = finite(schema) {
            *schema = plain.schema;
            tool.is_loosened |= plain.is_loosened;
        }
    }
    tool
}

/// Refuses a server without tools, and one that has not all that are asked for.
fn check_listed(source: &ToolSource, mcp: &McpTool, listed: &[Tool]) -> Result<(), UnresolvedTool> {
    let missing: Vec<&str> = mcp
        .tool_names
        .iter()
        .map(String::as_str)
        .filter(|name| listed.iter().all(|tool| tool.name != *name))
        .collect();
    let name = &source.name;
    let place = match &mcp.url {
        Some(url) => format!("at {url}"),
        None => format!("(`{}`)", command_line(&mcp.command)),
    };
    let message = if !missing.is_empty() {
        let missing = missing.join(", ");
        format!("the MCP server `{name}` {place} has no tool named {missing}: correct toolNames of `{name}`")
    } else if listed.is_empty() {
        format!(
            "the MCP server `{name}` {place} lists no tools: check that this is the right server, or remove `{name}` from the agent"
        )
    } else {
        return Ok(());
    };
    Err(UnresolvedTool {
        message,
        is_awaited: false,
    })
}

/// Returns the name by which programs call a tool of a server: characters that Python does not take become `_`.
fn name_of(source: &ToolSource, mcp: &McpTool, listed: &str) -> Result<String, UnresolvedTool> {
    let own = parameter_name(listed);
    let has_prefix = mcp.prefix == Some(true);
    let name = if has_prefix {
        format!("{}_{own}", source.name)
    } else {
        own
    };
    let way_out = if has_prefix {
        "leave it out by naming the others in toolNames"
    } else {
        "set mcp.prefix: true, or leave it out by naming the others in toolNames"
    };
    match check_tool_name(&name) {
        Ok(()) => Ok(name),
        Err(_) => Err(UnresolvedTool {
            message: format!(
                "programs cannot call the tool `{listed}` of the MCP server `{}`, for the name is Python's own or none: {way_out}",
                source.name
            ),
            is_awaited: false,
        }),
    }
}

fn retries_unknown(source: &ToolSource) -> bool {
    source.on_unknown_outcome == Some(UnknownOutcome::Retry)
}

/// Returns the effect of a request of this method on the world, as HTTP defines it.
const fn effect_of(method: HttpMethod) -> Effect {
    match method {
        HttpMethod::Get | HttpMethod::Head => Effect::ReadOnly,
        HttpMethod::Put | HttpMethod::Delete => Effect::Idempotent,
        HttpMethod::Post | HttpMethod::Patch => Effect::Once,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use codegen_code_mode::signature::Toolbox;

    fn source(mcp: &Value) -> (ToolSource, McpTool) {
        let mcp: McpTool = serde_json::from_value(mcp.clone()).unwrap();
        let source = ToolSource {
            name: "docs".to_owned(),
            mcp: Some(mcp.clone()),
            ..ToolSource::default()
        };
        (source, mcp)
    }

    fn listed(names: &[&str]) -> Vec<Tool> {
        let tool = |name: &&str| Tool {
            name: (*name).to_owned(),
            description: "does it".to_owned(),
            parameters: json!({"type": "object"}),
            result: None,
            effect: Effect::ReadOnly,
            is_loosened: false,
        };
        names.iter().map(tool).collect()
    }

    fn named(source: &ToolSource, mcp: &McpTool, names: &[&str]) -> Result<Vec<SourcedTool>, UnresolvedTool> {
        mcp_tools(source, mcp, listed(names))
    }

    #[rstest]
    #[case(HttpMethod::Get, Effect::ReadOnly)]
    #[case(HttpMethod::Head, Effect::ReadOnly)]
    #[case(HttpMethod::Put, Effect::Idempotent)]
    #[case(HttpMethod::Delete, Effect::Idempotent)]
    #[case(HttpMethod::Post, Effect::Once)]
    #[case(HttpMethod::Patch, Effect::Once)]
    fn what_a_request_does_follows_from_its_method(#[case] method: HttpMethod, #[case] effect: Effect) {
        assert_eq!(effect_of(method), effect);
    }

    #[test]
    fn tools_of_a_server_get_names_that_python_takes() {
        let (agent_tool, mcp) = source(&json!({"url": "http://docs/mcp"}));
        let tools = named(&agent_tool, &mcp, &["get-page", "search"]).unwrap();
        let names: Vec<&str> = tools.iter().map(|tool| tool.tool.name.as_str()).collect();
        assert_eq!(names, ["get_page", "search"]);
        let (agent_tool, mcp) = source(&json!({"url": "http://docs/mcp", "prefix": true}));
        let tools = named(&agent_tool, &mcp, &["open"]).unwrap();
        assert_eq!(tools[0].tool.name, "docs_open");
    }

    #[test]
    fn a_tool_of_a_server_with_other_references_stays_and_the_parts_with_them_take_anything() {
        let (agent_tool, mcp) = source(&json!({"url": "http://docs/mcp"}));
        let mut given = listed(&["plain", "odd"]);
        given[1].parameters = json!({
            "type": "object", "required": ["name"],
            "properties": {"name": {"type": "string"}, "tree": {"$dynamicRef": "#node"}},
            "$defs": {"node": {"$dynamicAnchor": "node", "type": "array"}}
        });
        given[1].result = Some(json!({"$ref": "https://example.com/result.json"}));
        let tools: Vec<Tool> = mcp_tools(&agent_tool, &mcp, given)
            .unwrap()
            .into_iter()
            .map(|sourced| sourced.tool)
            .collect();
        assert_eq!(
            tools.iter().map(|tool| tool.is_loosened).collect::<Vec<_>>(),
            [false, true]
        );
        let toolbox = Toolbox::new(tools).unwrap();
        assert_eq!(
            toolbox.find("odd").unwrap().line(),
            "odd(name: str, tree: Any = None) -> Any"
        );
    }

    #[rstest]
    #[case::none(json!({"url": "http://docs/mcp"}), &[], "lists no tools: check that this is the right server")]
    #[case::not_all(json!({"url": "http://docs/mcp", "toolNames": ["search", "fetch"]}), &["search"], "has no tool named fetch: correct toolNames")]
    #[case::a_builtin(json!({"url": "http://docs/mcp"}), &["open"], "set mcp.prefix: true")]
    fn a_server_whose_tools_cannot_be_used_is_refused_with_the_way_out(
        #[case] mcp: Value,
        #[case] names: &[&str],
        #[case] expected: &str,
    ) {
        let (agent_tool, mcp) = source(&mcp);
        let error = named(&agent_tool, &mcp, names).unwrap_err();
        assert!(error.message.contains(expected), "{}", error.message);
    }
}
