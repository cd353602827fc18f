//! A way to the API server that does harm.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use fastrand::Rng;
use futures::stream::unfold;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// Events in a watch before it ends, where watches are what fails.
const EVENTS: usize = 3;

/// Which requests meet a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    All,
    Writes,
    Deletions,
    Watches,
}

/// What goes wrong on the way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// Nothing.
    None,
    /// A share of the requests is answered so, and goes no further.
    Refuse { status: u16, share: f64, which: Which },
    /// A share of the replies ends in the middle, watches after a moment: the request was done.
    Cut { share: f64 },
    /// The write that says that a task has succeeded is done, and its reply lost.
    CutEnds,
    /// Watches come late and begin anew again and again, and lists of tasks are the ones before the last.
    Stale { late: Duration },
    /// Nothing gets through, and nobody says so.
    BlackHole,
}

/// The proxy; it ends with the test's threads.
pub struct Proxy {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    upstream: String,
    client: reqwest::Client,
    fault: watch::Sender<Fault>,
    random: Mutex<Rng>,
    met: Mutex<BTreeMap<String, usize>>,
    lists: Mutex<HashMap<String, Bytes>>,
}

impl Proxy {
    /// In front of the API server `upstream` with this authority.
    pub async fn start(upstream: &str, authority: &Path, seed: u64) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let authority = reqwest::Certificate::from_pem(&std::fs::read(authority).unwrap()).unwrap();
        let client = reqwest::Client::builder()
            .tls_certs_only([authority])
            .no_proxy()
            .no_gzip()
            .http1_only()
            .build()
            .unwrap();
        let shared = Arc::new(Shared {
            upstream: upstream.trim_end_matches('/').to_owned(),
            client,
            fault: watch::Sender::new(Fault::None),
            random: Mutex::new(Rng::with_seed(seed)),
            met: Mutex::default(),
            lists: Mutex::default(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(pass).with_state(Arc::clone(&shared));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, shared }
    }

    /// From now on.
    pub fn set(&self, fault: Fault) {
        self.shared.fault.send_replace(fault);
    }

    /// How many requests met which fault.
    pub fn met(&self) -> BTreeMap<String, usize> {
        self.shared.met.lock().unwrap().clone()
    }
}

impl Shared {
    fn fault(&self) -> Fault {
        *self.fault.borrow()
    }

    fn draws(&self, share: f64) -> bool {
        self.random.lock().unwrap().f64() < share
    }

    fn count(&self, what: &str) {
        *self.met.lock().unwrap().entry(what.to_owned()).or_default() += 1;
    }

    async fn through(&self) {
        let mut fault = self.fault.subscribe();
        let _ = fault.wait_for(|fault| *fault != Fault::BlackHole).await;
    }
}

fn is_watch(request: &Request) -> bool {
    let query = request.uri().query().unwrap_or_default();
    query
        .split('&')
        .any(|pair| matches!(pair, "watch=true" | "watch=1"))
}

fn lists_tasks(request: &Request) -> bool {
    request.method() == Method::GET && request.uri().path().ends_with("/codegentasks")
}

impl Which {
    fn is(self, request: &Request) -> bool {
        match self {
            Self::All => true,
            Self::Writes => request.method() != Method::GET,
            Self::Deletions => request.method() == Method::DELETE,
            Self::Watches => is_watch(request),
        }
    }
}

async fn pass(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (is_watch, is_list) = (is_watch(&request), lists_tasks(&request));
    match shared.fault() {
        Fault::BlackHole => {
            shared.count("swallowed requests");
            shared.through().await;
            return broken();
        }
        Fault::Refuse { status, share, which } if which.is(&request) && shared.draws(share) => {
            let is_write = request.method() != Method::GET;
            let what = if is_write { "writes" } else { "reads" };
            shared.count(&format!("{status} to {what}"));
            return refused(status);
        }
        Fault::Stale { .. } if is_watch && is_list && shared.draws(0.5) => {
            shared.count("watches that are too old");
            return too_old();
        }
        _ => {}
    }
    let path = request.uri().path().to_owned();
    let is_status = request.method() == Method::PUT && path.ends_with("/status");
    let Ok(answer) = forward(&shared, request).await else {
        return broken();
    };
    if shared.fault() == Fault::BlackHole {
        shared.count("swallowed replies");
        shared.through().await;
        return broken();
    }
    let mut response = Response::builder().status(answer.status().as_u16());
    if let Some(kind) = answer.headers().get(header::CONTENT_TYPE.as_str()) {
        response = response.header(header::CONTENT_TYPE, kind.as_bytes());
    }
    let body = match shared.fault() {
        Fault::Stale { .. } if is_list && !is_watch => {
            let Ok(now) = answer.bytes().await else {
                return broken();
            };
            let before = shared.lists.lock().unwrap().insert(path, now.clone());
            if before.is_some() {
                shared.count("stale lists");
            }
            Body::from(before.unwrap_or(now))
        }
        Fault::CutEnds if is_status => {
            let Ok(written) = answer.bytes().await else {
                return broken();
            };
            if String::from_utf8_lossy(&written).contains(r#""stage":"Succeeded""#) {
                shared.count("replies cut");
                return broken();
            }
            Body::from(written)
        }
        fault => {
            let is_cut = matches!(fault, Fault::Cut { share } if shared.draws(share));
            if is_cut {
                shared.count(if is_watch { "watches cut" } else { "replies cut" });
            }
            passed_on(shared, answer, is_cut, is_watch)
        }
    };
    response.body(body).unwrap()
}

async fn forward(shared: &Shared, request: Request) -> Result<reqwest::Response, reqwest::Error> {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let mut headers = parts.headers;
    for own in [
        header::HOST,
        header::CONNECTION,
        header::CONTENT_LENGTH,
        header::ACCEPT_ENCODING,
    ] {
        headers.remove(own);
    }
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let url = format!("{}{path}", shared.upstream);
    let request = shared
        .client
        .request(parts.method, url)
        .headers(headers)
        .body(body);
    request.send().await
}

/// The body as it comes: late, cut, or not as long as nothing gets through.
fn passed_on(shared: Arc<Shared>, answer: reqwest::Response, is_cut: bool, is_watch: bool) -> Body {
    let chunks = unfold(Some((shared, answer, 0_usize)), move |state| async move {
        let (shared, mut answer, number) = state?;
        if is_cut && (number > 0 || !is_watch) {
            return Some((Err(cut()), None));
        }
        let chunk = match answer.chunk().await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => return None,
            Err(_) => return Some((Err(cut()), None)),
        };
        match shared.fault() {
            Fault::BlackHole => {
                shared.count("swallowed events");
                shared.through().await;
                return Some((Err(cut()), None));
            }
            // The next one is refused or too old, or begins where this one has ended.
            Fault::Stale { .. }
            | Fault::Refuse {
                which: Which::Watches,
                ..
            } if is_watch && number >= EVENTS => return None,
            Fault::Stale { late } if is_watch => {
                shared.count("late events");
                tokio::time::sleep(late).await;
            }
            _ => {}
        }
        Some((Ok(chunk), Some((shared, answer, number + 1))))
    });
    Body::from_stream(chunks)
}

fn cut() -> std::io::Error {
    std::io::Error::from(std::io::ErrorKind::ConnectionReset)
}

/// A reply that ends before it has begun.
fn broken() -> Response {
    Body::from_stream(futures::stream::iter([Err::<Bytes, _>(cut())])).into_response()
}

fn refused(status: u16) -> Response {
    let status = StatusCode::from_u16(status).unwrap();
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": status.as_u16(),
        "reason": if status == StatusCode::TOO_MANY_REQUESTS { "TooManyRequests" } else { "InternalError" },
        "message": "the test wants it so",
    });
    let headers = [
        (header::RETRY_AFTER, "1"),
        (header::CONTENT_TYPE, "application/json"),
    ];
    (status, headers, body.to_string()).into_response()
}

fn too_old() -> Response {
    let event = json!({"type": "ERROR", "object": {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 410, "reason": "Expired",
        "message": "the test wants it so",
    }});
    ([(header::CONTENT_TYPE, "application/json")], format!("{event}\n")).into_response()
}
