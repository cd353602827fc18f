//! The cluster's registry behind a server that fails as registries do.
#![allow(dead_code, reason = "each suite uses a part of this")]

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::server::{Connection, Head, answer, serve, trusting, variable};

/// What happens to a request instead of what should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is answered so, once its body is read.
    Answer {
        status: &'static str,
        headers: &'static [(&'static str, &'static str)],
        body: &'static str,
    },
    /// Half of its body is passed on; then this is the answer.
    FailHalfWay,
    /// Half of its body is passed on; then both connections end.
    CutHalfWay,
    /// Its answer comes byte by byte, each after this pause.
    SlowAnswer(Duration),
    /// Its body is read byte by byte, each after this pause.
    SlowBody(Duration),
}

/// What the registry says when its disk is full.
pub const FULL: Fault = Fault::Answer {
    status: "500 Internal Server Error",
    headers: &[("Content-Type", "application/json")],
    body: r#"{"errors":[{"code":"UNKNOWN","message":"unknown error","detail":"write /var/lib/registry/docker/registry/v2/repositories/x/_uploads/1/data: no space left on device"}]}"#,
};
/// What it says while it is being mended.
pub const DOWN: Fault = Fault::Answer {
    status: "503 Service Unavailable",
    headers: &[],
    body: "the storage is being moved",
};

/// Says which requests fail, and how.
type Rule = Arc<dyn Fn(&Head) -> Option<Fault> + Send + Sync>;

/// The registry, as a host without TLS.
pub struct FaultyRegistry {
    address: SocketAddr,
    rule: Arc<Mutex<Rule>>,
    requests: Arc<Mutex<Vec<String>>>,
}

/// Whether a request is one of a push.
pub fn is_write(head: &Head) -> bool {
    matches!(head.method.as_str(), "POST" | "PUT" | "PATCH")
}

/// Whether a request brings the content of a blob.
pub fn is_upload(head: &Head) -> bool {
    head.method == "PUT" && head.target.contains("/blobs/uploads/")
}

impl FaultyRegistry {
    pub async fn start() -> Self {
        let none: Rule = Arc::new(|_| None);
        let rule = Arc::new(Mutex::new(none));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (rules, log) = (rule.clone(), requests.clone());
        let address = serve(None, move |head, connection| {
            log.lock()
                .unwrap()
                .push(format!("{} {}", head.method, head.target));
            let fault = rules.lock().unwrap()(&head);
            async move {
                // Whoever asked may be gone, which is their matter.
                let _ = respond(head, connection, fault).await;
            }
        })
        .await;
        Self {
            address,
            rule,
            requests,
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on these requests fail so.
    pub fn fail(&self, rule: impl Fn(&Head) -> Option<Fault> + Send + Sync + 'static) {
        *self.rule.lock().unwrap() = Arc::new(rule);
    }

    /// From now on all is well.
    pub fn recover(&self) {
        self.fail(|_| None);
    }

    /// Methods and paths so far.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

async fn respond(head: Head, mut client: Connection, fault: Option<Fault>) -> std::io::Result<()> {
    let length = head.length();
    if let Some(Fault::Answer {
        status,
        headers,
        body,
    }) = fault
    {
        drain(&mut client, length).await?;
        answer(&mut client, status, headers, body.as_bytes()).await;
        return Ok(());
    }
    let mut registry = connect().await?;
    // It gives its addresses as the client knows it.
    registry
        .write_all(&head.forwarded(&head.target, &[("X-Forwarded-Proto", "http")]))
        .await?;
    match fault {
        Some(Fault::FailHalfWay) => {
            copy(&mut (&mut client).take(length / 2), &mut registry).await?;
            drain(&mut client, length - length / 2).await?;
            answer(&mut client, "500 Internal Server Error", &[], b"").await;
            return Ok(());
        }
        Some(Fault::CutHalfWay) => {
            copy(&mut (&mut client).take(length / 2), &mut registry).await?;
            return Ok(());
        }
        Some(Fault::SlowBody(pause)) => {
            for _ in 0..length {
                tokio::time::sleep(pause).await;
                registry.write_u8(client.read_u8().await?).await?;
            }
        }
        _ => {
            copy(&mut (&mut client).take(length), &mut registry).await?;
        }
    }
    registry.flush().await?;
    if let Some(Fault::SlowAnswer(pause)) = fault {
        while let Ok(byte) = registry.read_u8().await {
            tokio::time::sleep(pause).await;
            client.write_u8(byte).await?;
            client.flush().await?;
        }
    } else {
        // A registry that hangs up without a farewell has said what it had to say.
        let _ = copy(&mut registry, &mut client).await;
    }
    client.shutdown().await
}

async fn drain(client: &mut Connection, length: u64) -> std::io::Result<()> {
    copy(&mut client.take(length), &mut tokio::io::sink())
        .await
        .map(drop)
}

async fn connect() -> std::io::Result<Connection> {
    let registry: SocketAddr = variable("CODEGEN_E2E_REGISTRY")
        .parse()
        .expect("a registry that is named by its address");
    let connector = TlsConnector::from(Arc::new(trusting(variable("CODEGEN_E2E_REGISTRY_CA").as_ref())));
    let stream = TcpStream::connect(registry).await?;
    Ok(Box::new(
        connector
            .connect(ServerName::IpAddress(registry.ip().into()), stream)
            .await?,
    ))
}
