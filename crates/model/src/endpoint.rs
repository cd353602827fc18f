//! One address of a model server: how it is reached, how it is named in messages, what its refusals mean.

use reqwest::header::HeaderMap;
use std::time::Instant;

use reqwest::{Client, Url};

use super::options::{ModelOptions, NamedIn};
use super::{ModelError, Secret, SharedClient};
use codegen_core::redact::Redactor;
use codegen_egress::EgressGate;

/// Bytes of a server's answer that a message may hold.
const LONGEST_EXCERPT: usize = 500;

/// An address with the headers that every request to it carries.
#[derive(Debug)]
pub(super) struct Endpoint {
    pub url: Url,
    pub headers: HeaderMap,
    /// The address as messages show it: no query, no credentials.
    pub shown: String,
    model: String,
    /// Places where address and name are set, for messages.
    pub named: NamedIn,
    key_source: String,
    redactor: Redactor,
    /// Gate for the addresses that are connected to.
    pub gate: Option<EgressGate>,
    shared: SharedClient,
}

impl Endpoint {
    /// The endpoint `path` under the base address. `own_headers` are the protocol's; a user's header of the same name
    /// takes their place.
    pub fn new(
        options: &ModelOptions,
        path: &str,
        own_headers: &[(&'static str, Secret)],
    ) -> Result<Self, ModelError> {
        let settings = &options.settings;
        let base = settings.base_url.trim_end_matches('/');
        let mut url = Url::parse(&format!("{base}/{path}"))
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
            .ok_or_else(|| ModelError::InvalidSettings {
                field: options.named.address.to_owned(),
                detail: "it is not an http or https address such as https://api.openai.com/v1".to_owned(),
            })?;
        if let Some(gate) = &options.gate {
            gate.check_url(&url)?;
        }
        if !settings.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&settings.query);
        }
        // The protocol's own first, so that those of the user replace them.
        let mut headers = HeaderMap::new();
        for (name, value) in own_headers {
            insert_header(&mut headers, name, value)?;
        }
        for (name, value) in &options.headers {
            insert_header(&mut headers, name, value)?;
        }
        Ok(Self {
            shown: without_credentials(&url),
            redactor: redactor(options, &url),
            url,
            headers,
            model: settings.name.clone(),
            named: options.named,
            key_source: match &options.api_key {
                Some(_) => options.key_source.clone(),
                None => format!("none was sent ({})", options.key_source),
            },
            gate: options.gate.clone(),
            shared: options.client.clone(),
        })
    }

    /// The client that speaks to it: `make` makes one where no other call has.
    pub fn client<E>(&self, make: impl FnOnce() -> Result<Client, E>) -> Result<Client, E> {
        match self.url.scheme() {
            "https" => self.shared.get(Instant::now(), make),
            // Made at once, without certificates.
            _ => make(),
        }
    }

    /// The beginning of a server's text on one line, without secrets.
    pub fn excerpt(&self, text: &str) -> String {
        match self.redactor.excerpt(text, LONGEST_EXCERPT) {
            empty if empty.is_empty() => "an empty answer".to_owned(),
            excerpt => excerpt,
        }
    }

    /// The message inside an error body, or the beginning of the body where there is none.
    pub fn explanation(&self, body: &str) -> String {
        self.excerpt(error_message(body).as_deref().unwrap_or(body))
    }

    /// Returns the error that an answer other than 2xx means, when no repeat would change it.
    pub fn rejection(&self, status: u16, body: &[u8], location: Option<&str>) -> ModelError {
        let text = String::from_utf8_lossy(body);
        let endpoint = self.shown.clone();
        if let (300..=399, Some(location)) = (status, location) {
            return ModelError::Redirected {
                endpoint,
                address_from: self.named.address,
                location: self.redirect_target(location),
            };
        }
        let detail = self.explanation(&text);
        let model = self.model.clone();
        match status {
            401 | 403 => ModelError::Unauthorized {
                endpoint,
                status,
                key_source: self.key_source.clone(),
                detail,
            },
            402 => ModelError::QuotaExhausted {
                endpoint,
                status,
                detail,
            },
            429 if is_quota_exhausted(&text) => ModelError::QuotaExhausted {
                endpoint,
                status,
                detail,
            },
            404 => ModelError::NotFound {
                endpoint,
                address_from: self.named.address,
                model_from: self.named.model,
                model,
                detail,
            },
            400 | 413 | 422 if is_context_too_long(status, &text) => ModelError::ContextTooLong {
                endpoint,
                model,
                detail,
            },
            _ if looks_like_html(&text) => ModelError::WebPage {
                endpoint,
                address_from: self.named.address,
                status,
                detail,
            },
            _ => ModelError::Rejected {
                endpoint,
                status,
                detail,
            },
        }
    }

    /// An answer of status 2xx that is not what the protocol says.
    pub fn malformed(&self, what: &str, body: &[u8]) -> ModelError {
        let text = String::from_utf8_lossy(body);
        if looks_like_html(&text) {
            return ModelError::WebPage {
                endpoint: self.shown.clone(),
                address_from: self.named.address,
                status: 200,
                detail: self.excerpt(&text),
            };
        }
        ModelError::Malformed {
            endpoint: self.shown.clone(),
            detail: format!("{what}: {}", self.excerpt(&text)),
        }
    }

    fn redirect_target(&self, location: &str) -> String {
        self.url.join(location).map_or_else(
            |_| "an unreadable address".to_owned(),
            |url| without_credentials(&url),
        )
    }
}

/// Reports whether a 429 says that waiting will not help.
pub(super) fn is_quota_exhausted(body: &str) -> bool {
    body.contains("insufficient_quota") || body.contains("billing_hard_limit")
}

fn is_context_too_long(status: u16, body: &str) -> bool {
    const SIGNS: [&str; 7] = [
        "context_length",
        "context length",
        "context window",
        "maximum context",
        "prompt is too long",
        "input is too long",
        "too many tokens",
    ];
    let body = body.to_lowercase();
    status == 413 || SIGNS.iter().any(|sign| body.contains(sign))
}

fn looks_like_html(body: &str) -> bool {
    let start: String = body
        .trim_start()
        .chars()
        .take(15)
        .collect::<String>()
        .to_lowercase();
    start.starts_with("<!doctype html") || start.starts_with("<html")
}

/// The message inside a JSON error body, in the shapes that servers use.
fn error_message(body: &str) -> Option<String> {
    let body: serde_json::Value = serde_json::from_str(body).ok()?;
    let candidates = ["/error/message", "/message", "/error", "/detail"];
    candidates
        .iter()
        .find_map(|path| body.pointer(path)?.as_str().map(str::to_owned))
}

fn insert_header(headers: &mut HeaderMap, name: &str, value: &Secret) -> Result<(), ModelError> {
    let (name, value) = value.header(name).map_err(|detail| ModelError::InvalidSettings {
        field: format!("the request header `{name}`"),
        detail: detail.to_owned(),
    })?;
    headers.insert(name, value);
    Ok(())
}

fn without_credentials(url: &Url) -> String {
    let mut shown = url.clone();
    shown.set_query(None);
    shown.set_fragment(None);
    // Both fail only for addresses without a host, which were refused above.
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    shown.to_string()
}

/// Takes out the key, the header values and those query values whose names sound secret, should a server echo them.
fn redactor(options: &ModelOptions, url: &Url) -> Redactor {
    const SECRET_WORDS: [&str; 6] = ["key", "token", "secret", "password", "sig", "auth"];
    let key = options
        .api_key
        .iter()
        .map(|key| ("API key".to_owned(), key.expose().to_owned()));
    let headers = options.headers.iter().flat_map(|(name, value)| {
        let echoes = value.echoes();
        echoes.map(|value| (name.clone(), value.to_owned()))
    });
    let query = options
        .settings
        .query
        .iter()
        .filter(|(name, _)| SECRET_WORDS.iter().any(|word| name.to_lowercase().contains(word)))
        .map(|(name, value)| (name.clone(), value.clone()));
    let password = url
        .password()
        .map(|password| ("password".to_owned(), password.to_owned()));
    Redactor::new(key.chain(headers).chain(query).chain(password))
}
