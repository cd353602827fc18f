//! A model in the test's process that counts what it is asked, and that can be out of order.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::serve::Listener;
use codegen_model::ReplyServer;
use futures::StreamExt as _;
use futures::stream::{iter, unfold};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

use crate::space::Space;

/// What is wrong with the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Nothing.
    None,
    /// Every connection ends at once: its client cannot know whether a request was read.
    Down,
    /// This status, and after which time to ask again.
    Status(u16, Option<&'static str>),
    /// The reply comes byte by byte.
    Slow(Duration),
    /// So many bytes instead of a reply.
    Endless(usize),
}

/// The server; it ends with the test's threads.
pub struct Model {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    trouble: Mutex<Trouble>,
    /// Requests that met trouble.
    met: Mutex<usize>,
}

impl Shared {
    fn trouble(&self) -> Trouble {
        *self.trouble.lock().unwrap()
    }

    fn count(&self) {
        *self.met.lock().unwrap() += 1;
    }
}

/// Closes what it accepts as long as the server is down.
struct Gate(TcpListener, Arc<Shared>);

impl Listener for Gate {
    type Io = TcpStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (TcpStream, SocketAddr) {
        loop {
            let accepted = Listener::accept(&mut self.0).await;
            if self.1.trouble() != Trouble::Down {
                return accepted;
            }
            self.1.count();
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// Requests for replies of one task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// All that were answered.
    pub requests: u64,
    /// Those that are not equal to an earlier one.
    pub distinct: u64,
}

impl Model {
    /// Serves `recording` to every one of `tasks`, each reply after `latency`, and makes the Secret `openai` for it.
    pub async fn start(space: &Space, recording: &str, tasks: &[&str], latency: Duration) -> Self {
        let mut server = ReplyServer::new(latency);
        for task in tasks {
            server.add(Some(task), recording).unwrap();
        }
        let shared = Arc::new(Shared {
            trouble: Mutex::new(Trouble::None),
            met: Mutex::default(),
        });
        let router = server
            .router()
            .layer(from_fn_with_state(Arc::clone(&shared), harm));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let gate = Gate(listener, Arc::clone(&shared));
        tokio::spawn(async move { axum::serve(gate, router).await });
        space.apply_objects(&[json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {
                "name": "openai",
                "labels": {"codegen-operator.dev/use": "model"},
                "annotations": {"codegen-operator.dev/hosts": address.to_string()},
            },
            "stringData": {"api-key": "recorded"},
        })]);
        Self { address, shared }
    }

    /// Where this task asks.
    pub fn base_url(&self, task: &str) -> String {
        format!("http://{}/{task}/v1", self.address)
    }

    /// From now on.
    pub fn set(&self, trouble: Trouble) {
        *self.shared.trouble.lock().unwrap() = trouble;
    }

    /// How many requests met trouble.
    pub fn met(&self) -> usize {
        *self.shared.met.lock().unwrap()
    }

    /// What this task has asked so far, and got an answer to.
    pub async fn asked(&self, task: &str) -> Asked {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let url = format!("http://{}/requests", self.address);
        let counts: Value = client.get(url).send().await.unwrap().json().await.unwrap();
        let kinds = counts[format!("/{task}/v1")]
            .as_object()
            .into_iter()
            .flat_map(|kinds| kinds.values());
        kinds.fold(Asked::default(), |sum, kind| Asked {
            requests: sum.requests + kind["requests"].as_u64().unwrap(),
            distinct: sum.distinct + kind["distinct"].as_u64().unwrap(),
        })
    }
}

async fn harm(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    if !request.uri().path().ends_with("/chat/completions") {
        return next.run(request).await;
    }
    let trouble = shared.trouble();
    if !matches!(trouble, Trouble::None | Trouble::Down) {
        shared.count();
    }
    match trouble {
        Trouble::None | Trouble::Down => next.run(request).await,
        Trouble::Status(status, after) => {
            let status = StatusCode::from_u16(status).unwrap();
            let mut response = (status, "{\"error\": {\"message\": \"out of order\"}}").into_response();
            if let Some(after) = after {
                let headers = response.headers_mut();
                headers.insert(header::RETRY_AFTER, after.parse().unwrap());
            }
            response
        }
        Trouble::Slow(pause) => {
            let (parts, body) = next.run(request).await.into_parts();
            let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
            let one_by_one = unfold((bytes, 0), move |(bytes, at)| async move {
                tokio::time::sleep(pause).await;
                let byte = bytes.get(at..=at).map(Bytes::copy_from_slice)?;
                Some((Ok::<_, std::io::Error>(byte), (bytes, at + 1)))
            });
            Response::from_parts(parts, Body::from_stream(one_by_one))
        }
        Trouble::Endless(bytes) => {
            const CHUNK: usize = 64 * 1024;
            let chunk = Bytes::from(vec![b' '; CHUNK]);
            let chunks = iter(std::iter::repeat_n(chunk, bytes / CHUNK)).map(Ok::<_, std::io::Error>);
            (
                [(header::CONTENT_TYPE, "application/json")],
                Body::from_stream(chunks),
            )
                .into_response()
        }
    }
}
