//! Which language model answers, and how it is reached.

use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::common::SecretKeyRef;

/// Protocol of the endpoint.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
pub enum Provider {
    /// Chat completions as OpenAI, Azure, Gemini, vLLM, Ollama and most gateways serve them.
    #[default]
    OpenAI,
    /// Anthropic Messages.
    Anthropic,
}

/// A language model and how to reach it.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Model {
    /// `OpenAI` (default; any OpenAI-compatible server) or `Anthropic`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<Provider>,
    /// Name of the model as its provider spells it (`gpt-5`, `claude-sonnet-5`). Has no default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub name: Option<String>,
    /// Base address of the API. Default: `https://api.openai.com/v1` or `https://api.anthropic.com/v1`.
    #[serde(default, rename = "baseURL", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048), pattern(r"^https?://"))]
    pub base_url: Option<String>,
    /// Secret with the API key; leave out for servers that need none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_secret_ref: Option<SecretKeyRef>,
    /// Sent with every request as they are (`temperature: 0`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "free_form")]
    pub parameters: Option<Map<String, Value>>,
    /// Further request headers, for gateways.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub headers: Vec<Header>,
    /// Query parameters added to every request (`api-version: 2026-01-01`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "query_parameters")]
    pub query: BTreeMap<String, String>,
}

/// One request header: exactly one of `value` and `valueFrom`.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// Header name.
    #[schemars(length(min = 1, max = 128), pattern(r"^[A-Za-z0-9-]+$"))]
    pub name: String,
    /// Its value, in plain sight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4096))]
    pub value: Option<String>,
    /// Its value, from a Secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_from: Option<SecretKeyRef>,
}

fn free_form(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

fn query_parameters(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "object", "maxProperties": 32,
        "additionalProperties": {"type": "string", "maxLength": 1024}
    })
}
