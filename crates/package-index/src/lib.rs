//! Asks a package index what it has of a package: one request, remembered for minutes.
//!
//! Only answers are interpreted here; whose fault it is that there is none is for whoever asks.

mod judge;
mod page;
mod wheel;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Certificate, Client, StatusCode, Url};
use thiserror::Error;
use tokio::sync::Semaphore;

pub use self::judge::PackageFinding;
use codegen_core::causes::with_causes;
use codegen_core::digest::sha256_hex;
use codegen_core::python::requirement::Requirement;
use codegen_egress::{EgressGate, Refused};

/// The index of whoever names none.
pub const PYPI: &str = "https://pypi.org/simple";

/// Longest time of one question, from resolving the host to the last byte.
const DEADLINE: Duration = Duration::from_secs(10);
/// Time for which an answer holds. What is published meanwhile is seen after that.
const ANSWER_CACHED_FOR: Duration = Duration::from_mins(5);
/// More answers than any cluster needs within that time: beyond it everything is forgotten.
const MOST_ANSWERS: usize = 4_096;
/// More kinds of authorities than any cluster's indexes have: beyond it every client is made anew.
const MOST_CLIENTS: usize = 64;
/// Largest page, bytes after decompression: ten times that of a package with thousands of files.
const LARGEST_PAGE: usize = 16 * 1024 * 1024;
/// Pages in memory at once.
const PAGES_AT_ONCE: usize = 4;
/// Forms of a page: that of PEP 691 if there is one, else that of PEP 503.
const FORMS: &str =
    "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1";

/// Question to an index.
#[derive(Clone, Debug)]
pub struct IndexQuery<'a> {
    /// Its address (`https://pypi.org/simple`), maybe with user and password.
    pub index: &'a str,
    /// The package, and which versions will do.
    pub requirement: &'a Requirement,
    /// Python that it must run on (`3.12`).
    pub python: &'a str,
    /// Processor architecture (`x86_64`).
    pub architecture: &'a str,
    /// Days that a release must have been there.
    pub min_release_age_days: u32,
    /// Certificate authorities that are trusted for this question alone, PEM.
    pub authorities: Option<&'a str>,
}

/// An index that gave no answer.
#[derive(Error, Clone, Debug, PartialEq, Eq)]
pub enum IndexError {
    /// No request is sent to it.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// It is no address.
    #[error("{0} is no address of a package index")]
    Address(String),
    /// It wants to see credentials, or others.
    #[error("{index} answers {status}")]
    Credentials {
        /// Its address.
        index: String,
        /// Its answer.
        status: StatusCode,
    },
    /// It answers in a way that no index does.
    #[error("{index} does not answer as a package index does: {why}")]
    NoIndex {
        /// Its address.
        index: String,
        /// Description of its answer.
        why: String,
    },
    /// It does not answer, or says that it cannot for now.
    #[error("{index} does not answer: {why}")]
    Unreachable {
        /// Its address.
        index: String,
        /// Description of the failure.
        why: String,
    },
}

impl IndexError {
    /// Reports whether it may answer the next time, without anything being changed.
    #[must_use]
    pub const fn passes(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }
}

/// Asks indexes, and remembers what they said; one for all tasks.
pub struct PackageIndex {
    /// Decides which are asked; none: all are.
    gate: Option<EgressGate>,
    /// Further certificate authorities, PEM files.
    authorities: Vec<PathBuf>,
    deadline: Duration,
    /// By the digest of the authorities of a question; made at the first one, since reading the system's certificates takes a while.
    clients: Mutex<HashMap<String, Client>>,
    cache: Mutex<HashMap<Key, (Instant, PackageFinding)>>,
    places: Semaphore,
}

/// Everything that an answer depends on.
type Key = [String; 6];

impl PackageIndex {
    /// Asks whom `gate` lets it ask.
    #[must_use]
    pub fn new(gate: Option<EgressGate>, authorities: Vec<PathBuf>) -> Self {
        Self {
            gate,
            authorities,
            deadline: DEADLINE,
            clients: Mutex::default(),
            cache: Mutex::default(),
            places: Semaphore::new(PAGES_AT_ONCE),
        }
    }

    /// Asks the index what it has of a package.
    pub async fn ask(&self, question: &IndexQuery<'_>) -> Result<PackageFinding, IndexError> {
        let key = [
            question.index.to_owned(),
            question.requirement.to_string(),
            question.python.to_owned(),
            question.architecture.to_owned(),
            question.min_release_age_days.to_string(),
            trusted(question),
        ];
        if let Some(answer) = self.cached(&key) {
            return Ok(answer);
        }
        // Closed by nobody.
        let _place = self.places.acquire().await;
        // Whoever waited for a place may find that the same was asked meanwhile.
        if let Some(answer) = self.cached(&key) {
            return Ok(answer);
        }
        // Over the whole question, with the body: an index may send a byte a minute.
        let asked = tokio::time::timeout(self.deadline, self.fetch(question)).await;
        let files = asked.unwrap_or_else(|_| {
            Err(IndexError::Unreachable {
                index: shown(question.index),
                why: format!("no answer within {} s", self.deadline.as_secs_f64()),
            })
        })?;
        let answer = match files {
            Some(files) => judge::judge(&files, question, Timestamp::now()),
            None => PackageFinding::NoProject,
        };
        let mut answers = self.answers();
        if answers.len() >= MOST_ANSWERS {
            answers.clear();
        }
        answers.insert(key, (Instant::now(), answer.clone()));
        Ok(answer)
    }

    fn answers(&self) -> MutexGuard<'_, HashMap<Key, (Instant, PackageFinding)>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cached(&self, key: &Key) -> Option<PackageFinding> {
        let answers = self.answers();
        let (since, answer) = answers.get(key)?;
        (since.elapsed() < ANSWER_CACHED_FOR).then(|| answer.clone())
    }

    /// The files of a project; `None` where the index knows no such project.
    async fn fetch(&self, question: &IndexQuery<'_>) -> Result<Option<Vec<page::File>>, IndexError> {
        let index = shown(question.index);
        let page = format!(
            "{}/{}/",
            question.index.trim_end_matches('/'),
            question.requirement.name
        );
        let url = Url::parse(&page).map_err(|_| IndexError::Address(index.clone()))?;
        if let Some(gate) = &self.gate {
            gate.check_url(&url)?;
        }
        let failed = |error: reqwest::Error| failure(&index, error);
        let request = self.client(&index, question)?.get(url).header(ACCEPT, FORMS);
        let mut response = request.send().await.map_err(failed)?;
        match response.status() {
            StatusCode::NOT_FOUND | StatusCode::GONE => return Ok(None),
            status @ (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => {
                return Err(IndexError::Credentials { index, status });
            }
            status if status.is_success() => {}
            status => {
                let why = status.to_string();
                return Err(match status {
                    StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS => {
                        IndexError::Unreachable { index, why }
                    }
                    status if status.is_server_error() => IndexError::Unreachable { index, why },
                    _ => IndexError::NoIndex { index, why },
                });
            }
        }
        let form = response.headers().get(CONTENT_TYPE);
        let form = form
            .and_then(|form| form.to_str().ok())
            .unwrap_or_default()
            .to_owned();
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            // Counted as it arrives: the announced length is that of the compressed page, if there is one at all.
            if body.len() + chunk.len() > LARGEST_PAGE {
                let why = format!("its page has more than {LARGEST_PAGE} bytes");
                return Err(IndexError::NoIndex { index, why });
            }
            body.extend_from_slice(&chunk);
        }
        page::read(&form, &body)
            .map(Some)
            .map_err(|why| IndexError::NoIndex { index, why })
    }

    fn client(&self, index: &str, question: &IndexQuery<'_>) -> Result<Client, IndexError> {
        let trusted = trusted(question);
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        // A client has its own connections and trust: questions with the same authorities share one.
        if let Some(client) = clients.get(&trusted) {
            return Ok(client.clone());
        }
        let failed = |why: String| IndexError::Unreachable {
            index: index.to_owned(),
            why,
        };
        let mut builder = match &self.gate {
            Some(gate) => gate.client_builder(),
            None => {
                Client::builder().user_agent(concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION")))
            }
        };
        for file in &self.authorities {
            let shown = file.display();
            let pem = std::fs::read(file).map_err(|error| failed(format!("cannot read {shown}: {error}")))?;
            let all = Certificate::from_pem_bundle(&pem);
            builder = builder
                .tls_certs_merge(all.map_err(|error| failed(format!("cannot read {shown}: {error}")))?);
        }
        if let Some(pem) = question.authorities {
            let all = Certificate::from_pem_bundle(pem.as_bytes());
            let all = all.map_err(|error| failed(format!("cannot read image.indexCABundle: {error}")))?;
            builder = builder.tls_certs_merge(all);
        }
        let client = builder.build().map_err(|error| {
            let why = with_causes(&error);
            failed(match question.authorities {
                Some(_) => format!("cannot take image.indexCABundle: {why}"),
                None => why,
            })
        })?;
        if clients.len() >= MOST_CLIENTS {
            clients.clear();
        }
        clients.insert(trusted, client.clone());
        Ok(client)
    }
}

/// Returns what a question trusts, as part of the cache's key.
fn trusted(question: &IndexQuery<'_>) -> String {
    question
        .authorities
        .map(|pem| sha256_hex(pem.as_bytes()))
        .unwrap_or_default()
}

fn failure(index: &str, error: reqwest::Error) -> IndexError {
    if let Some(refused) = Refused::within(&error) {
        return refused.into();
    }
    let index = index.to_owned();
    let is_redirect = error.is_redirect();
    // The address may hold a password.
    let why = with_causes(&error.without_url());
    if is_redirect {
        IndexError::NoIndex { index, why }
    } else {
        IndexError::Unreachable { index, why }
    }
}

/// An address without what may be secret in it.
#[must_use]
pub fn shown(index: &str) -> String {
    let Ok(mut url) = Url::parse(index) else {
        return "the package index".to_owned();
    };
    // Only an address without a host refuses these, and it has neither.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    // A query or fragment may carry a token.
    url.set_query(None);
    url.set_fragment(None);
    url.to_string().trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests;
