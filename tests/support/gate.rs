//! A model server that answers when the test says so: what happens between a request and its reply is up to the test.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::Replies;

/// Longest wait for something that must happen.
pub const PATIENCE: Duration = Duration::from_mins(2);

/// The server. It ends with the test.
pub struct Gate {
    /// Its base address, as `--model-url` takes it.
    pub url: String,
    arrivals: Receiver<Arrival>,
}

/// A request that waits for its reply. Dropped, it is answered by the end of the connection.
pub struct Arrival {
    /// Kind of the call.
    pub kind: String,
    go: Sender<()>,
}

impl Arrival {
    /// Lets the reply go out.
    pub fn answer(self) {
        self.go.send(()).unwrap();
    }
}

impl Gate {
    /// A server that has the replies of a file.
    pub fn open(file: &Path) -> Self {
        let replies = Arc::new(Replies::read(file));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (arrived, arrivals) = mpsc::channel();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, arrived, replies) = (stream.unwrap(), arrived.clone(), Arc::clone(&replies));
                thread::spawn(move || serve(stream, &arrived, &replies));
            }
        });
        Self { url, arrivals }
    }

    /// The next request.
    pub fn arrival(&self) -> Arrival {
        self.arrivals.recv_timeout(PATIENCE).expect("a request")
    }

    /// Answers requests of these kinds in this order.
    pub fn answer(&self, kinds: &[&str]) {
        for kind in kinds {
            let arrival = self.arrival();
            assert_eq!(arrival.kind, *kind);
            arrival.answer();
        }
    }

    /// Whether a request waits that nobody has looked at.
    pub fn is_idle(&self) -> bool {
        self.arrivals.try_recv().is_err()
    }
}

fn serve(mut stream: TcpStream, arrived: &Sender<Arrival>, replies: &Replies) {
    let Some(body) = request_body(&mut stream) else {
        return;
    };
    let kind = body["response_format"]["json_schema"]["name"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let (go, may_go) = mpsc::channel();
    let arrival = Arrival {
        kind: kind.clone(),
        go,
    };
    // An error means that the test is over, or gave this request up.
    if arrived.send(arrival).is_err() || may_go.recv().is_err() {
        return;
    }
    let reply = replies.next(&kind).expect("a reply of this kind");
    let answer = json!({
        "choices": [{"message": {"role": "assistant", "content": reply.to_string()}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10},
    })
    .to_string();
    let length = answer.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    // The program may be gone by now.
    let _ = stream.write_all((head + &answer).as_bytes());
}

fn request_body(stream: &mut TcpStream) -> Option<Value> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 8192];
    loop {
        match stream.read(&mut chunk) {
            Ok(0) | Err(_) => return None,
            Ok(read) => bytes.extend_from_slice(&chunk[..read]),
        }
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
        let length: usize = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length:"))?
            .trim()
            .parse()
            .ok()?;
        if bytes.len() >= end + 4 + length {
            return serde_json::from_slice(&bytes[end + 4..end + 4 + length]).ok();
        }
    }
}
