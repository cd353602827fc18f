//! Servers of the tests: one that behaves as badly as it is asked to, below HTTP.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use codegen_model::RetryPolicy;

/// Tries as often as ever, without pauses to wait for.
pub(super) const QUICK: RetryPolicy = RetryPolicy {
    max_tries: 5,
    first_pause: Duration::from_millis(1),
    longest_pause: Duration::from_millis(1),
};

/// Conduct of a server on a connection once it has read the request.
#[derive(Clone)]
pub(super) enum Conduct {
    /// Sends these bytes and closes.
    Send(Vec<u8>),
    /// Reads nothing and says nothing.
    Hang,
    /// Sends these bytes, and then one more byte at a time for ever.
    Drip(Vec<u8>),
    /// Sends these bytes, and then as many as are taken.
    Flood(Vec<u8>),
}

/// A server that treats each connection in turn as it was asked to, and all further ones as the last.
pub(super) struct RawServer {
    pub url: String,
    pub requests: Arc<Mutex<Vec<String>>>,
    /// Bytes of floods that were taken.
    pub flooded: Arc<AtomicUsize>,
}

impl RawServer {
    pub async fn start(conducts: Vec<Conduct>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            requests: Arc::default(),
            flooded: Arc::default(),
        };
        let (requests, flooded) = (Arc::clone(&server.requests), Arc::clone(&server.flooded));
        tokio::spawn(async move {
            let mut conducts = conducts.into_iter();
            let mut last = Conduct::Hang;
            while let Ok((stream, _)) = listener.accept().await {
                last = conducts.next().unwrap_or(last);
                tokio::spawn(serve(
                    stream,
                    last.clone(),
                    Arc::clone(&requests),
                    Arc::clone(&flooded),
                ));
            }
        });
        server
    }

    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    conduct: Conduct,
    requests: Arc<Mutex<Vec<String>>>,
    flooded: Arc<AtomicUsize>,
) {
    let (bytes, more) = match &conduct {
        Conduct::Hang => {
            let _stream = stream;
            return std::future::pending().await;
        }
        Conduct::Send(bytes) => (bytes, &[][..]),
        Conduct::Drip(bytes) => (bytes, &b"x"[..]),
        Conduct::Flood(bytes) => (bytes, &[b'x'; 16_384][..]),
    };
    let request = read_request(&mut stream).await;
    requests.lock().unwrap().push(request);
    let _ = stream.write_all(bytes).await;
    while !more.is_empty() && stream.write_all(more).await.is_ok() {
        flooded.fetch_add(more.len(), Ordering::Relaxed);
        if more.len() == 1 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

async fn read_request(stream: &mut TcpStream) -> String {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        request.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&request).to_lowercase();
        let Some(end) = text.find("\r\n\r\n") else {
            continue;
        };
        let length = text
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let length = length.map_or(0, |length| length.trim().parse::<usize>().unwrap());
        if request.len() >= end + 4 + length {
            break;
        }
    }
    String::from_utf8_lossy(&request).into_owned()
}
