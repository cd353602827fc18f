//! Fixtures of the model tests: a request, options for a loopback server, pauses that take no time.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Map, json};

use super::http::Pause;
use super::{ModelOptions, Secret};
use codegen_api::model::Provider;
use codegen_core::call::{AskedModel, CallKind, Request};
use codegen_core::task::ModelSettings;

pub(super) const KEY: &str = "sk-test-0123456789";

pub(super) fn request() -> Request {
    Request {
        kind: CallKind::Plan,
        system: "You write programs.".to_owned(),
        prefix: "Task: count penguins.".to_owned(),
        instruction: "Plan the program.".to_owned(),
        schema: json!({
            "type": "object",
            "properties": {"description": {"type": "string"}},
            "required": ["description"],
            "additionalProperties": false,
        }),
        max_output_tokens: 800,
        model: AskedModel::default(),
        conversation: None,
    }
}

pub(super) fn options(provider: Provider, base_url: &str) -> ModelOptions {
    let settings = ModelSettings {
        provider,
        name: "test-model".to_owned(),
        base_url: base_url.to_owned(),
        api_key_secret_ref: None,
        parameters: Map::new(),
        headers: Vec::new(),
        query: BTreeMap::new(),
    };
    ModelOptions {
        api_key: Some(Secret::new(KEY)),
        ..ModelOptions::new(settings)
    }
}

/// Pauses that end at once, and the list of those that were asked for.
pub(super) fn no_pause() -> (Pause, Arc<Mutex<Vec<Duration>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&asked);
    let pause: Pause = Arc::new(move |pause| {
        log.lock().unwrap().push(pause);
        Box::pin(std::future::ready(()))
    });
    (pause, asked)
}

/// A server that sends one of `answers` to each connection in turn and cuts it. Returns its base address.
pub(super) fn raw_server(answers: Vec<Vec<u8>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for answer in answers {
            let Ok((mut stream, _)) = listener.accept() else {
                return;
            };
            read_request(&mut stream);
            let _ = stream.write_all(&answer);
        }
    });
    address
}

fn read_request(stream: &mut std::net::TcpStream) {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count) = stream.read(&mut buffer) {
        request.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&request);
        let length = text
            .lines()
            .find_map(|line| {
                line.to_lowercase()
                    .strip_prefix("content-length: ")
                    .map(str::to_owned)
            })
            .and_then(|length| length.parse::<usize>().ok());
        let body = text.find("\r\n\r\n").map(|end| request.len() - end - 4);
        if count == 0 || (body.is_some() && body >= length) {
            return;
        }
    }
}
