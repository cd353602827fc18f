//! Questions to whoever sits at the terminal.

use tokio::sync::oneshot;

/// Shows what is asked about, and waits for a yes or anything else. May block.
pub(crate) type AskYes = fn(&str) -> bool;

/// Runs a question, which may wait for a key for ever, on its own thread; `None` where it ended without an answer.
pub(super) async fn on_a_thread<A: Send + 'static>(ask: impl FnOnce() -> A + Send + 'static) -> Option<A> {
    let (answered, answer) = oneshot::channel();
    // A thread of its own: a runtime waits for its blocking ones.
    std::thread::spawn(move || answered.send(ask()));
    answer.await.ok()
}
