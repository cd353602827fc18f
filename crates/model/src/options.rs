//! Options of a model client: the task's settings with their secrets resolved.

use std::time::Duration;

use tokio::time::Instant;

use super::{Secret, SharedClient};
use codegen_core::call::ModelIndex;
use codegen_core::task::ModelSettings;
use codegen_egress::EgressGate;

/// Time that one call has, all its tries together, where nothing else is said.
const DEFAULT_CALL_DEADLINE: Duration = Duration::from_mins(2);

/// Everything that a model client needs.
#[derive(Clone, Debug)]
pub struct ModelOptions {
    /// The model with defaults applied.
    pub settings: ModelSettings,
    /// The API key; `None` for servers that need none.
    pub api_key: Option<Secret>,
    /// Source that the key comes from or should come from, for messages (``key `api-key` of the Secret `openai` ``).
    pub key_source: String,
    /// Places where address and name of the model are set, for messages.
    pub named: NamedIn,
    /// `settings.headers` with their values resolved.
    pub headers: Vec<(String, Secret)>,
    /// Time that one call has, all its tries together.
    pub call_deadline: Duration,
    /// Gate for the addresses that are spoken to; any where none is given, for whoever runs this process wrote the address.
    pub gate: Option<EgressGate>,
    /// Moment at which the task's time is over; no call outlives it.
    pub task_deadline: Option<Instant>,
    /// The client of calls over https; one of its own is made where none was made before.
    pub client: SharedClient,
}

/// Places where address and name of a model are set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedIn {
    /// The address: `spec.model.baseURL`, or a flag.
    pub address: &'static str,
    /// The name: `spec.model.name`, or a flag.
    pub model: &'static str,
}

impl Default for NamedIn {
    fn default() -> Self {
        Self::at(ModelIndex::Own)
    }
}

impl NamedIn {
    /// The places of a model in the spec.
    #[must_use]
    pub const fn at(index: ModelIndex) -> Self {
        let (address, model) = match index {
            ModelIndex::Own => ("spec.model.baseURL", "spec.model.name"),
            ModelIndex::Escalation(_) => ("spec.escalation[].model.baseURL", "spec.escalation[].model.name"),
        };
        Self { address, model }
    }
}

impl ModelOptions {
    /// Options without a key, with those headers that stand in plain sight and the default deadline.
    #[must_use]
    pub fn new(settings: ModelSettings) -> Self {
        let key_source = match &settings.api_key_secret_ref {
            Some(key) => format!("key `{}` of the Secret `{}`", key.key, key.name),
            None => format!(
                "no spec.model.apiKeySecretRef is set; locally {} is read",
                settings.provider.key_variable()
            ),
        };
        let headers = settings
            .headers
            .iter()
            .filter_map(|header| Some((header.name.clone(), Secret::new(header.value.as_deref()?))))
            .collect();
        Self {
            settings,
            api_key: None,
            key_source,
            named: NamedIn::default(),
            headers,
            call_deadline: DEFAULT_CALL_DEADLINE,
            task_deadline: None,
            gate: None,
            client: SharedClient::default(),
        }
    }

    /// The key that a request carries in the provider's own header: none when a header of the user's carries credentials.
    pub(super) fn key_to_send(&self) -> Option<&Secret> {
        self.api_key
            .as_ref()
            .filter(|key| !key.expose().is_empty() && !self.headers_authorize())
    }

    fn headers_authorize(&self) -> bool {
        const CREDENTIALS: [&str; 4] = ["authorization", "api-key", "x-api-key", "x-goog-api-key"];
        self.headers
            .iter()
            .any(|(name, _)| CREDENTIALS.iter().any(|known| known.eq_ignore_ascii_case(name)))
    }
}
