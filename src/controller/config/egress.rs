//! Addresses to which the operator itself may send requests.

use ipnet::IpNet;
use reqwest::Url;
use schemars::JsonSchema;
use serde::Deserialize;

use super::OperatorConfig;
use codegen_egress::{EgressEntry, EgressGate, OpenedEntries};
use codegen_package_index::PYPI;

/// The providers' own endpoints.
const PROVIDERS: [&str; 2] = ["https://api.openai.com", "https://api.anthropic.com"];

/// Origins of samples at URLs besides public hosts.
#[derive(Deserialize, JsonSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct EgressSettings {
    /// Origins that may be reached although they are private or without TLS (`http://files.data:8080`,
    /// `https://*.example.com`).
    #[schemars(with = "Vec<String>")]
    pub allow: Vec<EgressEntry>,
}

/// Model servers that tasks may name besides public hosts.
#[derive(Deserialize, JsonSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ModelEgress {
    /// Their origins (`http://ollama.models:11434`).
    #[schemars(with = "Vec<String>")]
    pub allowed_endpoints: Vec<EgressEntry>,
}

/// Addresses that are requested for tasks.
#[derive(Clone, Debug)]
pub struct Gates {
    /// Samples at URLs.
    pub samples: EgressGate,
    /// Model endpoints.
    pub models: EgressGate,
    /// Tools of code mode.
    pub tools: EgressGate,
    /// Package indexes.
    pub indexes: EgressGate,
    /// Public ranges of the cluster's own, which none of them opens.
    pub closed: Vec<IpNet>,
}

impl OperatorConfig {
    /// The gates of requests that tasks ask for: of samples, models, tools and package indexes. `servers` are addresses of the API server.
    #[must_use]
    pub fn gates(&self, servers: Vec<IpNet>) -> Gates {
        let own = self
            .sandbox
            .network
            .denied_cidrs
            .iter()
            .chain(&self.build.network.except);
        let own = own.filter_map(|range| range.parse().ok());
        let closed: Vec<IpNet> = servers.into_iter().chain(own).collect();
        let samples = OpenedEntries {
            entries: &self.egress.allow,
            setting: "egress.allow",
        };
        // Behind a proxy, which hides every address, the list is all there is.
        let providers = PROVIDERS.map(|origin| EgressEntry::try_from(origin.to_owned()).ok());
        let models: Vec<EgressEntry> = providers
            .into_iter()
            .flatten()
            .chain(self.model.allowed_endpoints.clone())
            .collect();
        let models = OpenedEntries {
            entries: &models,
            setting: "model.allowedEndpoints",
        };
        // Builds take packages from there, whatever tasks name.
        let own = self.build.env.get("PIP_INDEX_URL").map(String::as_str);
        let own = own.into_iter().chain([PYPI]);
        let own = own.filter_map(|url| {
            EgressEntry::try_from(Url::parse(url).ok()?.origin().ascii_serialization()).ok()
        });
        let indexes: Vec<EgressEntry> = own.chain(self.egress.allow.clone()).collect();
        let indexes = OpenedEntries {
            entries: &indexes,
            setting: "egress.allow",
        };
        let tools = OpenedEntries {
            entries: &self.code_mode.allowed_endpoints,
            setting: "codeMode.allowedEndpoints",
        };
        Gates {
            samples: EgressGate::new(samples, closed.clone()),
            models: EgressGate::new(models, closed.clone()),
            tools: EgressGate::new(tools, closed.clone()),
            indexes: EgressGate::new(indexes, closed.clone()),
            closed,
        }
    }
}
