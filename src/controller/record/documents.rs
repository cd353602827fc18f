//! Documents of running tasks and questions in memory, so that a step need not read again what the step before wrote.
//!
//! ```text
//! made, to be written now   -> hold   where the write failed: -> wrote, when a later one succeeds, in the order in which they were made
//! written, or read          -> put          up to a bound, then it is read again
//! unpacked from a result    -> buffer       whatever its size, for that Secret may go: at most what a packed record unfolds to
//! ```
//!
//! A store asks `held` before it writes anything else, and `get` before it reads.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most bytes that are remembered of one task; what goes beyond is read from the API server again.
const MOST_BYTES: usize = 1 << 20;

/// Documents with their names, in the order in which they were made.
type InOrder = Vec<(String, Vec<u8>)>;

/// Documents of one revision by name. They never change, so that what was read stays valid.
#[derive(Debug, Default)]
pub struct RevisionDocuments(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    recorded: BTreeMap<String, Vec<u8>>,
    unwritten: InOrder,
    /// True where all that is written is in memory: this process has written everything.
    are_all: bool,
}

impl RevisionDocuments {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the bytes of `name` that are in memory because they were written or read.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Vec<u8>> {
        self.state().recorded.get(name).cloned()
    }

    /// Reports whether a document that is not in memory does not exist.
    #[must_use]
    pub fn are_all(&self) -> bool {
        self.state().are_all
    }

    /// From here on what is remembered is everything, or need not be.
    pub fn set_all(&self, are_all: bool) {
        self.state().are_all = are_all;
    }

    /// Buffers `bytes`, however many: nothing else has them.
    pub fn buffer(&self, name: &str, bytes: Vec<u8>) {
        self.state().recorded.insert(name.to_owned(), bytes);
    }

    /// Remembers `bytes`, unless that is too much.
    pub fn put(&self, name: &str, bytes: &[u8]) {
        let mut state = self.state();
        let held: usize = state.recorded.values().map(Vec::len).sum();
        if held + bytes.len() <= MOST_BYTES {
            state.recorded.insert(name.to_owned(), bytes.to_vec());
        } else {
            state.are_all = false;
        }
    }

    /// Buffers what could not be written: a reply is paid for, and nothing else has it.
    pub fn hold(&self, name: &str, bytes: &[u8]) {
        let unwritten = &mut self.state().unwritten;
        if !unwritten.iter().any(|(held, _)| held == name) {
            unwritten.push((name.to_owned(), bytes.to_vec()));
        }
    }

    /// Returns the documents that could not be written, where `name` is among them.
    #[must_use]
    pub fn held(&self, name: &str) -> InOrder {
        let unwritten = &self.state().unwritten;
        if unwritten.iter().any(|(held, _)| held == name) {
            // All of them, since documents reach the API server in the order in which they were made.
            unwritten.clone()
        } else {
            Vec::new()
        }
    }

    /// It is written.
    pub fn wrote(&self, name: &str) {
        self.state().unwritten.retain(|(held, _)| held != name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_is_forgotten_and_nothing_else() {
        let documents = RevisionDocuments::default();
        documents.put("a", b"small");
        documents.set_all(true);
        documents.put("b", &vec![0; MOST_BYTES]);
        assert!(!documents.are_all());
        assert_eq!(documents.get("a").as_deref(), Some(b"small".as_slice()));
        assert_eq!(documents.get("b"), None);
    }

    #[test]
    fn what_could_not_be_written_is_buffered_in_order_until_it_is() {
        let documents = RevisionDocuments::default();
        documents.hold("prefix", b"1");
        documents.hold("entry", b"2");
        documents.hold("entry", b"2");
        assert!(documents.held("another").is_empty());
        let held: Vec<String> = documents
            .held("entry")
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(held, ["prefix", "entry"]);
        documents.wrote("prefix");
        documents.wrote("entry");
        assert!(documents.held("entry").is_empty());
    }
}
