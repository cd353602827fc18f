//! Language model of a task or an agent, and the way to reach it.

use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::common::{SecretKeyRef, UNIQUE_NAMES};

/// Protocol of the endpoint.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(description = "")]
pub enum Provider {
    /// Chat completions as OpenAI, Azure, Gemini, vLLM, Ollama and most gateways serve them.
    #[default]
    OpenAI,
    /// Anthropic Messages.
    Anthropic,
}

/// Short names of Anthropic's models, each with the name that is sent for it.
pub const ANTHROPIC_ALIASES: [(&str, &str); 3] = [
    ("sonnet", "claude-sonnet-5"),
    ("opus", "claude-opus-5"),
    ("haiku", "claude-haiku-4-5"),
];

impl Provider {
    /// The name that a short one stands for today; `None` where `name` is none.
    #[must_use]
    pub fn alias(self, name: &str) -> Option<&'static str> {
        let aliases: &[(&str, &str)] = match self {
            Self::OpenAI => &[],
            Self::Anthropic => &ANTHROPIC_ALIASES,
        };
        let (_, sent) = aliases.iter().find(|(alias, _)| *alias == name)?;
        Some(sent)
    }

    /// As it stands in a manifest (`OpenAI`).
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OpenAI => "OpenAI",
            Self::Anthropic => "Anthropic",
        }
    }

    /// Base address of a model that names none.
    #[must_use]
    pub const fn default_base_url(self) -> &'static str {
        match self {
            Self::OpenAI => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com/v1",
        }
    }

    /// The host to which a key may go that names no hosts.
    #[must_use]
    pub const fn own_host(self) -> &'static str {
        match self {
            Self::OpenAI => "api.openai.com",
            Self::Anthropic => "api.anthropic.com",
        }
    }

    /// The environment variable that its own tools read the key from.
    #[must_use]
    pub const fn key_variable(self) -> &'static str {
        match self {
            Self::OpenAI => "OPENAI_API_KEY",
            Self::Anthropic => "ANTHROPIC_API_KEY",
        }
    }
}

/// A language model and how to reach it.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Model {
    /// Protocol of the endpoint: `OpenAI` (chat completions: OpenAI, Azure, Gemini, vLLM, Ollama and most gateways) or
    /// `Anthropic` (Messages). Default `OpenAI`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<Provider>,
    /// Name of the model as its provider spells it (`gpt-5`, `claude-sonnet-5`), or with `Anthropic` one of `sonnet`, `opus` and
    /// `haiku`, which stand for the names that docs/models.md lists. Has no default: the task or the agent that `agentRef` names must
    /// give it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub name: Option<String>,
    /// Base address of the API, without the path of the call (`http://vllm.models.svc:8000/v1`). Default:
    /// `https://api.openai.com/v1` for `OpenAI`, `https://api.anthropic.com/v1` for `Anthropic`.
    #[serde(default, rename = "baseURL", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048), pattern(r"^https?://"))]
    pub base_url: Option<String>,
    /// Secret with the API key (`{name: openai, key: api-key}`). In a cluster it needs the label `codegen-operator.dev/use: model`,
    /// and goes only to hosts that its annotation `codegen-operator.dev/hosts` names; without it, to the provider's own.
    /// Default: none, for servers that need no key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_secret_ref: Option<SecretKeyRef>,
    /// Fields sent with every request as they are (`temperature: 0`, `reasoning_effort: low`). Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "free_form")]
    pub parameters: Option<Map<String, Value>>,
    /// Headers added to every request, for gateways; at most 32. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    #[x_kube(
        merge_strategy = ListMerge::Map(vec!["name".into()]),
        validation = Rule::new(UNIQUE_NAMES).message("two headers have the same name: give each header once"),
    )]
    pub headers: Vec<Header>,
    /// Query parameters added to every request (`api-version: "2026-01-01"`); at most 32. Default: none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "query_parameters")]
    pub query: BTreeMap<String, String>,
}

/// A rule for `escalation`: there are at most three.
pub(super) const INCREASING: &str =
    "(size(self) < 2 || self[0].after < self[1].after) && (size(self) < 3 || self[1].after < self[2].after)";

/// A stronger model, and the number of refuted programs that it takes over after.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Escalation {
    /// Attempts whose runs have refuted the program before this model is asked. Between 1 and 100.
    #[schemars(range(min = 1, max = 100))]
    pub after: i32,
    /// The model, whole: nothing of `spec.model` holds for it. Its name is compulsory.
    #[x_kube(validation = Rule::new("has(self.name)").message("a model to escalate to has no default: write its name"))]
    pub model: Model,
}

/// One request header: exactly one of `value` and `valueFrom`.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, KubeSchema)]
#[x_kube(validation = Rule::new("has(self.value) != has(self.valueFrom)")
    .message("give exactly one of value (in plain sight) and valueFrom (a key of a Secret)"))]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// Name of the header (`X-Gateway-Team`).
    #[schemars(length(min = 1, max = 128), pattern(r"^[A-Za-z0-9-]+$"))]
    pub name: String,
    /// Its value, in plain sight of everyone who may read the object; at most 4,096 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4096))]
    pub value: Option<String>,
    /// Its value, from a Secret (`{name: gateway, key: token}`).
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
