//! Documents of running tasks in memory, so that a step need not read again what the step before wrote.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Most bytes that are remembered of one task; what goes beyond is read from the API server again.
const MOST_BYTES: usize = 1 << 20;

/// Documents of one revision by name. They never change, so that what was read stays valid.
#[derive(Debug, Default)]
pub struct Documents {
    known: Mutex<BTreeMap<String, Vec<u8>>>,
    /// What could not be written, in the order in which it was tried.
    unwritten: Mutex<Vec<(String, Vec<u8>)>>,
    /// What can be made again and is written with the end.
    deferred: Mutex<BTreeMap<String, Vec<u8>>>,
    /// What is written before the next document, or beside the end, in the order in which it was made.
    late: Mutex<Vec<(String, Vec<u8>)>>,
    /// Whether all that is written is in memory: this process has written everything.
    are_all: AtomicBool,
}

impl Documents {
    /// What is remembered of `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Vec<u8>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.get(name).cloned();
        drop(known);
        let deferred = || self.deferred.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |(late, _): &(String, Vec<u8>)| late == name;
        found
            .or_else(|| deferred().get(name).cloned())
            .or_else(|| Some(self.late().into_iter().find(is_it)?.1))
    }

    /// The same of what was written or read.
    #[must_use]
    pub fn recorded(&self, name: &str) -> Option<Vec<u8>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(name).cloned()
    }

    /// Remembers what is written with the end.
    pub fn defer(&self, name: &str, bytes: &[u8]) {
        let mut deferred = self.deferred.lock().unwrap_or_else(PoisonError::into_inner);
        deferred.insert(name.to_owned(), bytes.to_vec());
    }

    /// Everything that is written with the end.
    #[must_use]
    pub fn deferred(&self) -> BTreeMap<String, Vec<u8>> {
        self.deferred
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Remembers what is written before the next document, or beside the end.
    pub fn write_late(&self, name: &str, bytes: &[u8]) {
        let mut late = self.late.lock().unwrap_or_else(PoisonError::into_inner);
        late.push((name.to_owned(), bytes.to_vec()));
    }

    /// What is to be written before the next document, or beside the end.
    #[must_use]
    pub fn late(&self) -> Vec<(String, Vec<u8>)> {
        self.late.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether what is not remembered does not exist.
    #[must_use]
    pub fn are_all(&self) -> bool {
        self.are_all.load(Ordering::Relaxed)
    }

    /// From here on what is remembered is everything, or need not be.
    pub fn set_all(&self, are_all: bool) {
        self.are_all.store(are_all, Ordering::Relaxed);
    }

    /// Buffers `bytes`, however many: nothing else has them.
    pub fn buffer(&self, name: &str, bytes: Vec<u8>) {
        self.known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(name.to_owned(), bytes);
    }

    /// Remembers `bytes`, unless that is too much.
    pub fn put(&self, name: &str, bytes: &[u8]) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let held: usize = known.values().map(Vec::len).sum();
        if held + bytes.len() <= MOST_BYTES {
            known.insert(name.to_owned(), bytes.to_vec());
        } else {
            self.set_all(false);
        }
    }

    /// Buffers what could not be written: a reply is paid for, and nothing else has it.
    pub fn hold(&self, name: &str, bytes: &[u8]) {
        let mut unwritten = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner);
        if !unwritten.iter().any(|(held, _)| held == name) {
            unwritten.push((name.to_owned(), bytes.to_vec()));
        }
    }

    /// What could not be written, where `name` is among it.
    #[must_use]
    pub fn held(&self, name: &str) -> Vec<(String, Vec<u8>)> {
        let unwritten = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner);
        if unwritten.iter().any(|(held, _)| held == name) {
            // All of them, since documents reach the API server in the order in which they were made.
            unwritten.clone()
        } else {
            Vec::new()
        }
    }

    /// It is written.
    pub fn wrote(&self, name: &str) {
        for list in [&self.unwritten, &self.late] {
            let mut unwritten = list.lock().unwrap_or_else(PoisonError::into_inner);
            unwritten.retain(|(held, _)| held != name);
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
        documents.set_all(true);
        documents.put("b", &vec![0; MOST_BYTES]);
        assert!(!documents.are_all());
        assert_eq!(documents.get("a").as_deref(), Some(b"small".as_slice()));
        assert_eq!(documents.get("b"), None);
    }

    #[test]
    fn what_is_late_is_found_before_and_is_not_taken_for_recorded() {
        let documents = Documents::default();
        documents.write_late("journal", b"1");
        assert_eq!(documents.get("journal").as_deref(), Some(b"1".as_slice()));
        assert_eq!(documents.recorded("journal"), None);
        documents.put("journal", b"1");
        documents.wrote("journal");
        assert_eq!(documents.late(), []);
        assert_eq!(documents.recorded("journal").as_deref(), Some(b"1".as_slice()));
    }

    #[test]
    fn what_could_not_be_written_is_buffered_in_order_until_it_is() {
        let documents = Documents::default();
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
