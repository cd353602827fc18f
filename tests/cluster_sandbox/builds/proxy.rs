//! An HTTP proxy of the test's own, that notes where it was asked to go.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncWriteExt as _, copy_bidirectional};
use tokio::net::TcpStream;

use super::server::{Connection, Head, answer, serve};

/// A proxy for plain requests and for tunnels.
pub struct Proxy {
    address: SocketAddr,
    targets: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    pub async fn start() -> Self {
        let targets = Arc::new(Mutex::new(Vec::new()));
        let log = targets.clone();
        let address = serve(None, move |head, connection| pass(head, connection, log.clone())).await;
        Self { address, targets }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The `host:port` of each request.
    pub fn targets(&self) -> Vec<String> {
        self.targets.lock().unwrap().clone()
    }
}

async fn pass(head: Head, mut client: Connection, targets: Arc<Mutex<Vec<String>>>) {
    let plain = head
        .target
        .strip_prefix("http://")
        .and_then(|rest| rest.split_once('/'));
    let is_tunnel = head.method == "CONNECT";
    let target = plain.map_or(head.target.as_str(), |(target, _)| target);
    targets.lock().unwrap().push(target.to_owned());
    let Ok(mut server) = TcpStream::connect(target).await else {
        return answer(&mut client, "502 Bad Gateway", &[], b"").await;
    };
    let first = if is_tunnel {
        client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await
    } else {
        let path = plain.map_or("/".to_owned(), |(_, path)| format!("/{path}"));
        server.write_all(&head.forwarded(&path, &[])).await
    };
    if first.is_ok() {
        // Whichever side ends it, ends it.
        let _ = copy_bidirectional(&mut client, &mut server).await;
    }
}
