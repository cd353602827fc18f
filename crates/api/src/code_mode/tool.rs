//! Tools of an agent: their sources, and what becomes of calls whose outcome is unknown.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::common::{LocalRef, SecretKeyRef, UNIQUE_NAMES};

/// A tool, or all tools of a server: exactly one of `taskRef`, `programImage`, `http` and `mcp`.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, KubeSchema)]
#[x_kube(validation = Rule::new("[has(self.taskRef), has(self.programImage), has(self.http), has(self.mcp)].filter(given, given).size() == 1")
    .message("give exactly one of taskRef, programImage, http and mcp"))]
#[serde(rename_all = "camelCase")]
pub struct ToolSource {
    /// Name by which programs call the tool (`exchange_rate`). The tools of an MCP server have its name and `_` before their own, where it
    /// is given with `mcp.prefix: true`; otherwise this only names the entry.
    #[schemars(length(min = 1, max = 63), pattern(r"^[A-Za-z][A-Za-z0-9_]*$"))]
    pub name: String,
    /// Description for the model, at most 1,024 characters. Default: that of its source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub description: Option<String>,
    /// A `CodeGenTask` of the same namespace that has succeeded (`{name: order-cleaning}`). Each call is a `CodeGenRun` of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_ref: Option<LocalRef>,
    /// A program that a task has published, by its image. Each call is a `CodeGenRun` of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_image: Option<ProgramImage>,
    /// One request to an HTTP server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpTool>,
    /// The tools of an MCP server (Streamable HTTP).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp: Option<McpTool>,
    /// Treatment of a call that was in flight when the operator ended, where the tool is not known to bear a second one: `Fail` ends the
    /// run with `UnknownOutcome`, `Retry` makes the call again. Default `Fail`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_unknown_outcome: Option<UnknownOutcome>,
}

/// Treatment of a call whose outcome nobody knows.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(description = "")]
pub enum UnknownOutcome {
    /// The run ends.
    #[default]
    Fail,
    /// The call is made again.
    Retry,
}

/// A published program.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProgramImage {
    /// The image (`registry.example.com/team/forecast@sha256:...`), best by digest.
    #[schemars(length(min = 1, max = 512), pattern(r"^[A-Za-z0-9][A-Za-z0-9._:/@-]*$"))]
    pub reference: String,
    /// Secret of type `kubernetes.io/dockerconfigjson` to pull it with, with the label `codegen-operator.dev/use: registry`. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_secret_ref: Option<LocalRef>,
}

/// The method of a request.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(description = "")]
pub enum HttpMethod {
    /// Changes nothing.
    #[default]
    Get,
    /// Changes nothing, and says nothing.
    Head,
    /// May do something twice.
    Post,
    /// Made twice, does what it does once.
    Put,
    /// May do something twice.
    Patch,
    /// Made twice, does what it does once.
    Delete,
}

impl HttpMethod {
    /// As HTTP writes it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

/// One request to an HTTP server.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct HttpTool {
    /// Method of the request. What programs call with `GET`, `HEAD`, `PUT` or `DELETE` is made again where nobody knows its outcome.
    /// Default `GET`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<HttpMethod>,
    /// The address, with parameters in braces (`https://rates.example/v1/{base}`). Parameters that are not in it go into the query, or with
    /// `POST`, `PUT` and `PATCH` into a JSON body.
    #[schemars(length(min = 8, max = 2048), pattern(r"^https?://"))]
    pub url: String,
    /// JSON Schema of the arguments, an object (`{type: object, properties: {base: {type: string}}, required: [base]}`). Default: no
    /// parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "free_form")]
    pub parameters: Option<Map<String, Value>>,
    /// JSON Schema of the reply, to which replies are held. Default: whatever comes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "free_form")]
    pub result: Option<Map<String, Value>>,
    /// Headers from Secrets with the label `codegen-operator.dev/use: tool`, whose annotation `codegen-operator.dev/hosts` names the host; at
    /// most 16.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(
        merge_strategy = ListMerge::Map(vec!["name".into()]),
        validation = Rule::new(UNIQUE_NAMES).message("two headers have the same name: give each header once"),
    )]
    pub headers_from: Vec<ToolHeader>,
}

/// A request header from a Secret.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolHeader {
    /// Name of the header (`Authorization`).
    #[schemars(length(min = 1, max = 128), pattern(r"^[A-Za-z0-9-]+$"))]
    pub name: String,
    /// The Secret and the key with its whole value (`{name: rates, key: authorization}`).
    pub secret_key_ref: SecretKeyRef,
}

/// The tools of an MCP server: either `url` or `command`.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, KubeSchema)]
#[x_kube(validation = Rule::new("has(self.url) != has(self.command)")
    .message("give either url (the address of an MCP server) or command (a program of a laptop)"))]
#[x_kube(validation = Rule::new("!has(self.command) || !has(self.headersFrom)")
    .message("a command has no request headers: leave headersFrom out"))]
#[serde(rename_all = "camelCase")]
pub struct McpTool {
    /// Address of the server (`http://docs-mcp.tools:8080/mcp`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 8, max = 2048), pattern(r"^https?://"))]
    pub url: Option<String>,
    /// A server that is a program, spoken to over its standard streams, and its arguments (`[uvx, mcp-server-time]`); at most 64 words. Only
    /// on a laptop: a cluster refuses it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 64), inner(length(max = 1024)))]
    pub command: Vec<String>,
    /// Tools of the server that programs may call, by the server's names; at most 128. Default: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 128), inner(length(min = 1, max = 128)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub tool_names: Vec<String>,
    /// Set to true to have programs call them by the name of this entry, `_`, and their own (`docs_search`). Default `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<bool>,
    /// Headers from Secrets with the label `codegen-operator.dev/use: tool`, whose annotation `codegen-operator.dev/hosts` names the host; at
    /// most 16.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(
        merge_strategy = ListMerge::Map(vec!["name".into()]),
        validation = Rule::new(UNIQUE_NAMES).message("two headers have the same name: give each header once"),
    )]
    pub headers_from: Vec<ToolHeader>,
}

fn free_form(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}
