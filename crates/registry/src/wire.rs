//! Requests to a registry: with whose credentials, to which addresses, and how much of an answer is read.
//!
//! The registry itself is asked wherever it is: a task's image names it, and the settings may say which. Where a registry sends whoever asks
//! (for a token, to where a blob lies), is the registry's word alone, and passes the gate.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use http::header::{AUTHORIZATION, LOCATION, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, ClientBuilder, RequestBuilder, Response, Url};

use super::credentials::Login;
use super::error::RegistryError;
use super::failure::RequestFailure;
use super::target::{Access, PushTarget};
use super::token::{self, Challenge};
use codegen_egress::{EgressEntry, EgressGate, OpenedEntries, Refused};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const READ_TIMEOUT: Duration = Duration::from_mins(1);
/// A request that is answered with little has this long.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
const LARGEST_TOKEN: u64 = 64 * 1024;
const LARGEST_ERROR: u64 = 16 * 1024;
const MOST_REDIRECTS: usize = 5;
/// Time for which a registry that asks for nothing is taken to go on so.
const OPEN: Duration = Duration::from_mins(1);
/// More than any client has repositories: beyond it everything is forgotten.
const MOST_GRANTED: usize = 512;

/// Operation that a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Operation {
    Pull,
    Push,
}

impl Operation {
    const fn actions(self) -> &'static str {
        match self {
            Self::Pull => "pull",
            Self::Push => "pull,push",
        }
    }
}

/// Connections to registries, and what they granted.
pub(super) struct Wire {
    /// To the registry that is named.
    own: Client,
    /// To where it sends.
    restricted: OnceLock<Result<Client, String>>,
    certificates: Vec<Certificate>,
    gate: EgressGate,
    trusted: Vec<EgressEntry>,
    insecure: Vec<String>,
    granted: Mutex<HashMap<Grantee, Granted>>,
}

/// Host, repository and what is to be done there.
type Grantee = (String, String, Operation);

#[derive(Clone)]
struct Granted {
    authorization: Option<HeaderValue>,
    until: Option<Instant>,
}

impl Wire {
    /// Connections; fails when a certificate authority cannot be read.
    pub fn new(access: &Access) -> Result<Self, RegistryError> {
        let setup = |error: reqwest::Error| RegistryError::Setup(error.to_string());
        let mut certificates = Vec::new();
        for path in &access.authorities {
            let pem = std::fs::read(path)
                .map_err(|error| RegistryError::Setup(format!("cannot read {}: {error}", path.display())))?;
            certificates.extend(Certificate::from_pem_bundle(&pem).map_err(setup)?);
        }
        let trusted: Vec<EgressEntry> = access.trusted_origins.clone();
        let entries: Vec<EgressEntry> = trusted.iter().cloned().chain(token::well_known()).collect();
        let allowed = OpenedEntries {
            entries: &entries,
            setting: token::SETTING,
        };
        Ok(Self {
            own: with_settings(Client::builder(), &certificates)
                .build()
                .map_err(setup)?,
            // Made when a registry first sends to another address: most never do.
            restricted: OnceLock::new(),
            gate: EgressGate::new(allowed, access.closed.clone()),
            certificates,
            trusted,
            insecure: access.insecure_hosts.clone(),
            granted: Mutex::default(),
        })
    }

    /// The address of a part of the target's repository.
    pub fn url(&self, target: &PushTarget, part: &str) -> Result<Url, RequestFailure> {
        let repository = target.reference.repository();
        self.registry(target)?
            .join(&format!("/v2/{repository}/{part}"))
            .map_err(|_| RequestFailure::Form("no address for this"))
    }

    fn registry(&self, target: &PushTarget) -> Result<Url, RequestFailure> {
        let host = target.reference.resolve_registry();
        let is_insecure = self.insecure.iter().any(|insecure| insecure == host);
        let scheme = if is_insecure { "http" } else { "https" };
        Url::parse(&format!("{scheme}://{host}/"))
            .map_err(|_| RequestFailure::Form("no address for this host"))
    }

    /// Asks, and follows to where the registry says that it lies. The answer is one of success.
    pub async fn get(
        &self,
        target: &PushTarget,
        method: &Method,
        url: Url,
        headers: &HeaderMap,
    ) -> Result<Response, RequestFailure> {
        let mut url = url;
        // By hand: each address is judged before it is asked.
        for _ in 0..=MOST_REDIRECTS {
            let request = Box::pin(self.request(target, Operation::Pull, method.clone(), &url)).await?;
            let response = send(request.headers(headers.clone()), &url).await?;
            if !response.status().is_redirection() {
                return self.succeeded(target, response).await;
            }
            url = location(&response)?;
        }
        Err(RequestFailure::Sent(
            "it sends whoever asks from one address to the next without an end".to_owned(),
        ))
    }

    /// One request, whose answer is one of success. What it brings is not sent to a second address.
    pub async fn put(
        &self,
        target: &PushTarget,
        method: Method,
        url: &Url,
        with: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Result<Response, RequestFailure> {
        let request = Box::pin(self.request(target, Operation::Push, method, url)).await?;
        let response = send(with(request), url).await?;
        self.succeeded(target, response).await
    }

    /// Reports whether something is there, which is not to be fetched.
    pub async fn has(&self, target: &PushTarget, url: &Url) -> Result<bool, RequestFailure> {
        let request = Box::pin(self.request(target, Operation::Pull, Method::HEAD, url)).await?;
        let response = send(request, url).await?;
        match response.status() {
            StatusCode::NOT_FOUND => Ok(false),
            // It lies somewhere, then.
            status if status.is_redirection() => Ok(true),
            _ => self.succeeded(target, response).await.map(|_| true),
        }
    }

    /// A request with what its receiver may see, where that may be asked at all.
    async fn request(
        &self,
        target: &PushTarget,
        operation: Operation,
        method: Method,
        url: &Url,
    ) -> Result<RequestBuilder, RequestFailure> {
        // Credentials are for the registry's own origin; where it sends, nothing of them goes along.
        if url.origin() != self.registry(target)?.origin() {
            return Ok(self.restricted_client(url)?.request(method, url.clone()));
        }
        let request = self.own.request(method, url.clone());
        Ok(match self.authorization(target, operation).await? {
            Some(authorization) => request.header(AUTHORIZATION, authorization),
            None => request,
        })
    }

    /// The client for addresses that only the registry names: it may reach fewer of them.
    fn restricted_client(&self, url: &Url) -> Result<&Client, RequestFailure> {
        self.gate.check_url(url).map_err(|refused| sent(&refused))?;
        let made = self.restricted.get_or_init(|| {
            let client = with_settings(self.gate.client_builder(), &self.certificates).build();
            client.map_err(|error| error.to_string())
        });
        made.as_ref().map_err(|error| RequestFailure::Sent(error.clone()))
    }

    /// The credentials that the registry wants, requested where no cached ones serve.
    pub async fn authorization(
        &self,
        target: &PushTarget,
        operation: Operation,
    ) -> Result<Option<HeaderValue>, RequestFailure> {
        let key = grantee(target, operation);
        let known = self.granted().get(&key).cloned();
        if let Some(known) = known
            && known.until.is_none_or(|until| Instant::now() < until)
        {
            return Ok(known.authorization);
        }
        let granted = in_time(ANSWER_TIMEOUT, self.grant(target, operation)).await?;
        let authorization = granted.authorization.clone();
        let mut all = self.granted();
        if all.len() >= MOST_GRANTED {
            all.clear();
        }
        all.insert(key, granted);
        Ok(authorization)
    }

    async fn grant(&self, target: &PushTarget, operation: Operation) -> Result<Granted, RequestFailure> {
        let registry = self.registry(target)?;
        let version = registry
            .join("/v2/")
            .map_err(|_| RequestFailure::Form("no address"))?;
        let response = send(self.own.get(version.clone()), &version).await?;
        let asked = response.headers().get_all(WWW_AUTHENTICATE).into_iter();
        let challenge = token::challenge(asked.filter_map(|value| value.to_str().ok()));
        let open = |serves: Duration| Granted {
            authorization: None,
            until: Some(Instant::now() + serves),
        };
        match (challenge, &target.login) {
            // A registry that fails says nothing of what it wants.
            (None, _) if response.status().is_server_error() => Ok(open(Duration::ZERO)),
            (None, _) | (Some(Challenge::Basic), None) => Ok(open(OPEN)),
            (Some(Challenge::Basic), Some(login)) => Ok(Granted {
                authorization: Some(login.header()),
                until: None,
            }),
            // Without a login too: public repositories give tokens to everybody.
            (Some(Challenge::Bearer { realm, service }), login) => {
                let mut url = token::service(&registry, &realm, &self.trusted)?;
                if let Some(service) = service {
                    url.query_pairs_mut().append_pair("service", &service);
                }
                let repository = target.reference.repository();
                let scope = format!("repository:{repository}:{}", operation.actions());
                url.query_pairs_mut().append_pair("scope", &scope);
                self.token(&registry, url, login.as_ref()).await
            }
        }
    }

    async fn token(
        &self,
        registry: &Url,
        url: Url,
        login: Option<&Login>,
    ) -> Result<Granted, RequestFailure> {
        let client = if url.origin() == registry.origin() {
            &self.own
        } else {
            self.restricted_client(&url)?
        };
        let mut request = client.get(url.clone());
        if let Some(login) = login {
            request = request.header(AUTHORIZATION, login.header());
        }
        let response = send(request, &url).await?;
        if response.status() != StatusCode::OK {
            return Err(failure(response).await);
        }
        let token = token::token(&body(response, LARGEST_TOKEN).await?)?;
        let header = HeaderValue::from_str(&format!("Bearer {}", token.text));
        let mut header = header.map_err(|_| RequestFailure::Form("a token that cannot be sent"))?;
        header.set_sensitive(true);
        Ok(Granted {
            authorization: Some(header),
            until: Some(Instant::now() + token.serves),
        })
    }

    async fn succeeded(&self, target: &PushTarget, response: Response) -> Result<Response, RequestFailure> {
        if response.status().is_success() {
            return Ok(response);
        }
        if response.status() == StatusCode::UNAUTHORIZED {
            // What was granted serves no longer.
            for operation in [Operation::Pull, Operation::Push] {
                self.granted().remove(&grantee(target, operation));
            }
        }
        Err(failure(response).await)
    }

    fn granted(&self) -> std::sync::MutexGuard<'_, HashMap<Grantee, Granted>> {
        self.granted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn grantee(target: &PushTarget, operation: Operation) -> Grantee {
    let reference = &target.reference;
    (
        reference.resolve_registry().to_owned(),
        reference.repository().to_owned(),
        operation,
    )
}

/// Redirects are followed by hand: each address is judged, and credentials are no part of the next request. Blobs are packed, and
/// their digest is of what is packed.
fn with_settings(builder: ClientBuilder, certificates: &[Certificate]) -> ClientBuilder {
    builder
        .redirect(Policy::none())
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(READ_TIMEOUT)
        // A blob that the client unpacked would not have its digest.
        .no_gzip()
        .tls_certs_merge(certificates.to_vec())
        .user_agent(concat!("codegen-operator/", env!("CARGO_PKG_VERSION")))
}

async fn send(request: RequestBuilder, url: &Url) -> Result<Response, RequestFailure> {
    let response = Box::pin(request.send()).await;
    response.map_err(|error| match Refused::within(&error) {
        Some(refused) => RequestFailure::Sent(sent_to(&url.origin().ascii_serialization(), &refused)),
        None => error.into(),
    })
}

fn sent(refused: &Refused) -> RequestFailure {
    RequestFailure::Sent(sent_to(&refused.origin, refused))
}

fn sent_to(origin: &str, refused: &Refused) -> String {
    format!(
        "it sends whoever asks to {origin}, but {}: where that is right, have {origin} added to {} of the operator",
        refused.why, refused.setting
    )
}

/// The address that an answer names.
pub(super) fn location(response: &Response) -> Result<Url, RequestFailure> {
    let place = response
        .headers()
        .get(LOCATION)
        .and_then(|place| place.to_str().ok());
    place
        .and_then(|place| response.url().join(place).ok())
        .ok_or(RequestFailure::Form("no address to go on to"))
}

/// The whole body, where it has no more than so many bytes.
pub(super) async fn body(mut response: Response, most: u64) -> Result<Vec<u8>, RequestFailure> {
    // Before anything is read, where the registry announces the size.
    if response.content_length().is_some_and(|length| length > most) {
        return Err(RequestFailure::Large(most));
    }
    let mut bytes = Vec::new();
    while let Some(part) = response.chunk().await? {
        if (bytes.len() + part.len()) as u64 > most {
            return Err(RequestFailure::Large(most));
        }
        bytes.extend_from_slice(&part);
    }
    Ok(bytes)
}

/// Reads what an answer that is none of success says. Where its text does not end, or not in time, the status is all there is.
async fn failure(response: Response) -> RequestFailure {
    let status = response.status();
    // What it says is only quoted; a body that does not come must not hide the status.
    let said = in_time(ANSWER_TIMEOUT, Box::pin(body(response, LARGEST_ERROR))).await;
    RequestFailure::of_answer(status, &said.unwrap_or_default())
}

pub(super) async fn in_time<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, RequestFailure>>,
) -> Result<T, RequestFailure> {
    let done = tokio::time::timeout(limit, work).await;
    done.unwrap_or_else(|_| Err(RequestFailure::Late(limit.as_secs())))
}

#[cfg(test)]
mod tests {
    use futures::future::{Either, select};
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn who_waits_for_an_answer_that_does_not_come_is_let_go_after_its_time() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        // It takes connections, and nobody reads what comes.
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", silent.local_addr().unwrap());
        let client = Client::builder().no_proxy().build().unwrap();
        let ask = async || {
            let answer = client.get(&url).send().await;
            answer.map_err(RequestFailure::from)
        };
        let with = Box::pin(in_time(Duration::from_millis(100), ask()));
        match select(Box::pin(ask()), with).await {
            // The other one waits on.
            Either::Right((Err(RequestFailure::Late(_)), _)) => {}
            Either::Right((ended, _)) | Either::Left((ended, _)) => panic!("{ended:?}"),
        }
    }
}
