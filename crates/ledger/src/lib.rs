//! The record of a run: every model call with its reply, written before the run moves on, and what can be derived from it.
//!
//! A reply is stored under a name that follows from its place in the run, and never replaced. So whoever goes on with a run,
//! after a crash or on another machine, finds what was paid for.

mod below;
mod entry;
#[cfg(test)]
mod fixture;
mod folder;
mod memory;
mod seal;
mod store;

pub use below::{digest_below, read_below, refuse_links};
pub use entry::{Entry, Message, Prefix, Role, export_replies};
pub use folder::FolderStore;
pub use memory::MemoryStore;
#[cfg(any(test, feature = "test-support"))]
pub use memory::{FaultMoment, WriteFault};
pub use seal::{Key, KeyError, Seals};
pub use store::Store;
pub use store::{Created, StoreError};

use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;

use codegen_core::call::{CallKind, Reply, Request, request_hash};

/// The model calls of one run, in a store.
#[derive(Clone, Copy, Debug)]
pub struct Ledger<'a, S> {
    store: &'a S,
}

impl<'a, S: Store> Ledger<'a, S> {
    /// The ledger in `store`.
    #[must_use]
    pub const fn new(store: &'a S) -> Self {
        Self { store }
    }

    /// The call of that place in the run, when its reply was recorded.
    pub async fn find(&self, sequence: u32, kind: CallKind) -> Result<Option<Entry>, StoreError> {
        let entry: Option<Entry> = self.read_json(&Entry::name(sequence, kind)).await?;
        if let Some(entry) = &entry {
            // Whoever takes up a reply takes up what it names: a store may have to learn of both again.
            self.store.read(&Prefix::name(&entry.prefix)).await?;
        }
        Ok(entry)
    }

    /// Records a reply and returns what the ledger holds: this reply, or the one that was recorded before it.
    pub async fn record(
        &self,
        sequence: u32,
        request: &Request,
        reply: Reply,
        times: (Timestamp, Timestamp),
    ) -> Result<Entry, StoreError> {
        let entry = entry(sequence, request, reply, times);
        let prefix = Prefix::of(request);
        // The prefix first: an entry never names one that is not there.
        let name = Prefix::name(&prefix.id());
        if let Err(error) = self.store.create(&name, &to_json(&prefix)).await {
            // The reply is paid for: a store that lives on writes it when it is read.
            self.store
                .buffer(&Entry::name(sequence, request.kind), &to_json(&entry));
            return Err(error);
        }
        let (name, bytes) = (Entry::name(entry.sequence, entry.kind), to_json(&entry));
        match self.store.create(&name, &bytes).await? {
            Created::New => Ok(entry),
            // What another process recorded first counts, for its state may have moved on by that.
            Created::Existed(bytes) => from_json(&name, &bytes),
        }
    }

    /// The recorded calls from the first to `last`, in order. A place without a reply (a call that was lost) is left out.
    pub async fn entries(&self, last: u32) -> Result<Vec<Entry>, StoreError> {
        self.entries_of(CallKind::of_a_task(), last).await
    }

    /// The recorded calls of these kinds, from the first to `last`, in order.
    pub async fn entries_of(&self, kinds: &[CallKind], last: u32) -> Result<Vec<Entry>, StoreError> {
        let mut entries = Vec::new();
        for sequence in 1..=last {
            for kind in kinds {
                entries.extend(self.find(sequence, *kind).await?);
            }
        }
        Ok(entries)
    }

    /// Every message of every call in `entries`, in order: system text, request and reply of each.
    pub async fn conversation(&self, entries: &[Entry]) -> Result<Vec<Message>, StoreError> {
        let mut messages = Vec::with_capacity(entries.len() * 3);
        let mut known: Option<(&str, Prefix)> = None;
        for entry in entries {
            // Most calls of a run have the same prefix.
            if known.as_ref().is_none_or(|(id, _)| *id != entry.prefix) {
                let name = Prefix::name(&entry.prefix);
                let prefix = self.read_json(&name).await?.ok_or_else(|| StoreError::Damaged {
                    name,
                    detail: format!("it is gone, but call {} names it", entry.sequence),
                })?;
                known = Some((&entry.prefix, prefix));
            }
            messages.extend(known.iter().flat_map(|(_, prefix)| entry.messages(prefix)));
        }
        Ok(messages)
    }

    async fn read_json<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, StoreError> {
        let bytes = self.store.read(name).await?;
        bytes.map(|bytes| from_json(name, &bytes)).transpose()
    }
}

fn entry(
    sequence: u32,
    request: &Request,
    reply: Reply,
    (started_at, finished_at): (Timestamp, Timestamp),
) -> Entry {
    Entry {
        sequence,
        kind: request.kind,
        request_hash: request_hash(request),
        prefix: Prefix::of(request).id(),
        instruction: Entry::instruction_of(request),
        reply,
        started_at,
        finished_at,
    }
}

/// JSON with a line break at its end, for people who open the file. These types have string keys only, so that writing them
/// to memory cannot fail.
fn to_json<T: Serialize>(value: &T) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(value).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

fn from_json<T: DeserializeOwned>(name: &str, bytes: &[u8]) -> Result<T, StoreError> {
    serde_json::from_slice(bytes).map_err(|error| StoreError::Damaged {
        name: name.to_owned(),
        detail: error.to_string(),
    })
}

#[cfg(test)]
mod tests;
