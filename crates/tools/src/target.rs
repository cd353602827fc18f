//! Target of a tool's requests: its address, its client, the headers of its requests.

use std::sync::OnceLock;

use reqwest::header::HeaderMap;
use reqwest::{Client, Method, Url};

use super::ToolError;
use codegen_core::causes::with_causes;
use codegen_core::redact::Redactor;
use codegen_egress::{EgressGate, Refused, client_to, within_the_origin};
use codegen_model::{ObserveConnections, Secret};

const MOST_REDIRECTS: usize = 3;
/// Bytes of a server's answer that a message may hold.
const LONGEST_EXCERPT: usize = 500;
/// Headers that belong to the connection or to the protocol.
const RESERVED: [&str; 8] = [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "te",
    "trailer",
    "upgrade",
    "proxy-authorization",
];

/// One address with the headers that every request to it carries.
#[derive(Debug)]
pub(super) struct Target {
    /// Name of the tool or server, for messages.
    pub name: String,
    /// The address as it is set, a template's placeholders included.
    pub url: Url,
    pub headers: HeaderMap,
    pub redactor: Redactor,
    method: Method,
    gate: Option<EgressGate>,
    /// Built at the first request: reading the system's certificates takes 30 ms.
    client: OnceLock<Client>,
}

impl Target {
    /// A target that is called by `method`; refused where the gate does not open it.
    pub fn new(
        name: &str,
        method: Method,
        url: Url,
        headers: &[(String, Secret)],
        gate: Option<EgressGate>,
    ) -> Result<Self, ToolError> {
        if let Some(gate) = &gate {
            gate.check_url(&url).map_err(|refused| ToolError::Refused {
                tool: name.to_owned(),
                refused,
            })?;
        }
        Ok(Self {
            headers: header_map(name, headers)?,
            redactor: redactor(headers, &url),
            name: name.to_owned(),
            method,
            url,
            gate,
            client: OnceLock::new(),
        })
    }

    /// The client, or why there can be none.
    pub fn client(&self) -> Result<&Client, String> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let mut builder = client_to(self.gate.as_ref(), &self.url)
            .connector_layer(ObserveConnections)
            .redirect(within_the_origin(&self.method, MOST_REDIRECTS));
        if !self.method.is_idempotent() {
            // A connection that the server has closed meanwhile looks like one that ended after the request was sent.
            builder = builder.pool_max_idle_per_host(0);
        }
        let client = builder.build().map_err(|error| {
            format!(
                "has no HTTPS client: {}; check the system's CA certificates and the proxy variables",
                with_causes(&error)
            )
        })?;
        Ok(self.client.get_or_init(|| client))
    }

    /// The beginning of a server's text on one line, without secrets.
    pub fn excerpt(&self, text: &str) -> String {
        match self.redactor.excerpt(text, LONGEST_EXCERPT) {
            empty if empty.is_empty() => "an empty answer".to_owned(),
            excerpt => excerpt,
        }
    }

    /// An error of the client with its causes, without address and secrets.
    pub fn causes(&self, error: reqwest::Error) -> String {
        match Refused::within(&error) {
            Some(refused) => refused.to_string(),
            None => self.excerpt(&with_causes(&error.without_url())),
        }
    }
}

/// The address `text`, which may hold no credentials: those belong into a Secret.
pub(super) fn parse_url(name: &str, text: &str) -> Result<Url, ToolError> {
    let invalid = |why: &str| ToolError::Url {
        tool: name.to_owned(),
        why: why.to_owned(),
    };
    let url = Url::parse(text)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
        .ok_or_else(|| invalid("write an http or https address such as https://rates.example/v1/{base}"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(invalid(
            "it holds a user name or a password: send them as a header that is read from a Secret",
        ));
    }
    Ok(url)
}

fn header_map(name: &str, headers: &[(String, Secret)]) -> Result<HeaderMap, ToolError> {
    let mut map = HeaderMap::new();
    for (header, value) in headers {
        let invalid = |why: &str| ToolError::Header {
            tool: name.to_owned(),
            header: header.clone(),
            why: why.to_owned(),
        };
        if RESERVED
            .iter()
            .any(|reserved| header.eq_ignore_ascii_case(reserved))
        {
            return Err(invalid("it belongs to the connection; leave it out"));
        }
        let (header, value) = value.header(header).map_err(invalid)?;
        map.insert(header, value);
    }
    Ok(map)
}

/// Takes out the values of headers and of the address's query, should a server repeat them.
fn redactor(headers: &[(String, Secret)], url: &Url) -> Redactor {
    let headers = headers.iter().flat_map(|(name, value)| {
        let echoes = value.echoes();
        echoes.map(|value| (name.clone(), value.to_owned()))
    });
    Redactor::new(headers.chain(secret_parameters(url)))
}

fn secret_parameters(url: &Url) -> Vec<(String, String)> {
    const SECRET_WORDS: [&str; 6] = ["key", "token", "secret", "password", "sig", "auth"];
    url.query_pairs()
        .filter(|(name, _)| SECRET_WORDS.iter().any(|word| name.to_lowercase().contains(word)))
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect()
}
