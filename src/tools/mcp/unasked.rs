//! What a server sends without being asked, counted: each request of it is held until the server has taken the answer, and tools that it lists are held by the client.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio_util::sync::CancellationToken;

use super::fault::Fault;

/// Requests of a server whose answers it has not taken.
const MOST_UNANSWERED: usize = 100;
/// Requests of a server in one session, which for one that pings every five seconds is half a day.
const MOST_REQUESTS: usize = 10_000;
/// Replies of a server to nothing that it was asked, in one session.
const MOST_STRAY: usize = 10;

/// What a server has sent in one session.
#[derive(Debug, Default)]
struct Tally {
    requests: usize,
    stray: usize,
    /// Requests of this client that have no reply.
    awaited: BTreeSet<String>,
}

impl Tally {
    fn sent(&mut self, message: &ClientJsonRpcMessage) {
        if let JsonRpcMessage::Request(request) = message {
            self.awaited.insert(request.id.to_string());
        }
    }

    /// Why no more is taken of the server. `unanswered` are its requests of before this message whose answers it has not taken.
    fn received(&mut self, message: &ServerJsonRpcMessage, unanswered: usize) -> Result<(), Fault> {
        match message {
            JsonRpcMessage::Request(_) => self.requests += 1,
            // Servers may write the number of a request as a text.
            JsonRpcMessage::Response(response) if !self.awaited.remove(&response.id.to_string()) => {
                self.stray += 1;
            }
            JsonRpcMessage::Error(error) => {
                let id = error.id.as_ref();
                self.awaited
                    .remove(&id.map(ToString::to_string).unwrap_or_default());
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Notification(_) => {}
        }
        let asks = matches!(message, JsonRpcMessage::Request(_));
        if (asks && unanswered >= MOST_UNANSWERED) || self.requests > MOST_REQUESTS {
            return Err(Fault::Unasked("requests"));
        }
        if self.stray > MOST_STRAY {
            return Err(Fault::Unasked("replies"));
        }
        Ok(())
    }
}

/// Whether a session was left for what its server sent without being asked.
#[derive(Clone, Debug, Default)]
pub(super) struct Left {
    fault: Arc<OnceLock<Fault>>,
    now: CancellationToken,
}

impl Left {
    pub fn fault(&self) -> Option<Fault> {
        self.fault.get().cloned()
    }

    fn leave(&self, fault: Fault) {
        let _ = self.fault.set(fault);
        self.now.cancel();
    }
}

/// A transport that ends where its server sends too much that nobody asked for.
pub(super) struct Counted<T> {
    inner: T,
    tally: Tally,
    unanswered: Arc<AtomicUsize>,
    left: Left,
}

impl<T> Counted<T> {
    pub fn new(inner: T, left: Left) -> Self {
        Self {
            inner,
            tally: Tally::default(),
            unanswered: Arc::default(),
            left,
        }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Counted<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.tally.sent(&message);
        let is_answer = matches!(message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
        let answer = is_answer.then(|| Answer(Arc::clone(&self.unanswered)));
        let sending = self.inner.send(message);
        let left = self.left.now.clone();
        async move {
            let _answer = answer;
            tokio::select! {
                biased;
                // Nobody waits for an answer to be taken where nothing is taken of the server either.
                () = left.cancelled() => Ok(()),
                sent = sending => sent,
            }
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        if self.left.now.is_cancelled() {
            return None;
        }
        let message = self.inner.receive().await?;
        let unanswered = self.unanswered.load(Ordering::SeqCst);
        if let Err(fault) = self.tally.received(&message, unanswered) {
            self.left.leave(fault);
            return None;
        }
        if matches!(message, JsonRpcMessage::Request(_)) {
            self.unanswered.fetch_add(1, Ordering::SeqCst);
        }
        Some(message)
    }

    /// It ends by being dropped, which follows. That of HTTP would wait for ever to hand on what it has, for nobody takes it any more.
    async fn close(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// An answer on its way; dropped when the server has it, or will not get it.
struct Answer(Arc<AtomicUsize>);

impl Drop for Answer {
    fn drop(&mut self) {
        let one_less = |unanswered: usize| unanswered.checked_sub(1);
        let _ = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn received(tally: &mut Tally, message: Value, unanswered: usize) -> Result<(), String> {
        let message = serde_json::from_value(message).unwrap();
        let taken = tally.received(&message, unanswered);
        taken.map_err(|fault| fault.to_string())
    }

    fn ping(id: usize) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "method": "ping"})
    }

    fn reply(id: impl Into<Value>) -> Value {
        json!({"jsonrpc": "2.0", "id": id.into(), "result": {"tools": []}})
    }

    fn asked(tally: &mut Tally, id: usize) {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"});
        tally.sent(&serde_json::from_value(request).unwrap());
    }

    #[test]
    fn a_server_that_asks_before_it_takes_answers_is_left_and_one_that_takes_them_is_not() {
        let mut tally = Tally::default();
        for id in 0..MOST_REQUESTS - 1 {
            received(&mut tally, ping(id), id % MOST_UNANSWERED).unwrap();
        }
        let left = received(&mut tally, ping(0), MOST_UNANSWERED).unwrap_err();
        assert!(left.contains("requests that nobody asked for"), "{left}");
    }

    #[test]
    fn a_server_that_asks_for_ever_is_left_although_it_takes_each_answer() {
        let mut tally = Tally::default();
        let taken = (0..=MOST_REQUESTS).position(|id| received(&mut tally, ping(id), 0).is_err());
        assert_eq!(taken, Some(MOST_REQUESTS));
    }

    #[test]
    fn replies_to_nothing_are_counted_and_those_that_were_asked_for_are_not() {
        let mut tally = Tally::default();
        for id in 0..1_000 {
            asked(&mut tally, id);
            let id = if id % 2 == 0 {
                json!(id)
            } else {
                json!(id.to_string())
            };
            received(&mut tally, reply(id), 0).unwrap();
        }
        // Each a second time.
        let taken = (0..1_000).position(|id| received(&mut tally, reply(id), 0).is_err());
        assert_eq!(taken, Some(MOST_STRAY));
    }
}
