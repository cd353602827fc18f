//! Documents of running tasks in memory, so that a step need not read again what the step before wrote.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Most bytes that are remembered of one task; what goes beyond is read from the API server again.
const MOST_BYTES: usize = 1 << 20;

/// Documents of one run by name. They never change, so that what is known stays true.
#[derive(Debug, Default)]
pub struct Documents(Mutex<BTreeMap<String, Vec<u8>>>);

impl Documents {
    /// What is remembered of `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Vec<u8>> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(name)
            .cloned()
    }

    /// Remembers `bytes`, however much it is: nothing else has them.
    pub fn keep(&self, name: &str, bytes: Vec<u8>) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(name.to_owned(), bytes);
    }

    /// Remembers `bytes`, unless that is too much.
    pub fn put(&self, name: &str, bytes: &[u8]) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let held: usize = known.values().map(Vec::len).sum();
        if held + bytes.len() <= MOST_BYTES {
            known.insert(name.to_owned(), bytes.to_vec());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_is_forgotten_and_nothing_else() {
        let documents = Documents::default();
        documents.put("a", b"small");
        documents.put("b", &vec![0; MOST_BYTES]);
        assert_eq!(documents.get("a").as_deref(), Some(b"small".as_slice()));
        assert_eq!(documents.get("b"), None);
    }
}
