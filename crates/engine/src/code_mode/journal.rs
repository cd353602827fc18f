//! The journal of a program in the store: segments, each written once.

use std::mem;

use crate::documents::{from_bytes, to_bytes};
use crate::{EngineError, damaged};
use codegen_code_mode::journal::{Journal, JournalEntry};
use codegen_ledger::{Created, Store};

/// Bytes of entries that are written before more are buffered.
const SEGMENT_BYTES: usize = 64 * 1024;
/// MiB of the calls of one program with what they gave. All of them are in memory while it runs.
pub(super) const MOST_MEBIBYTES: usize = 16;

/// The journal of one program, open for more.
///
/// What tools gave that can be asked again is buffered and written together; a call that must not be made twice is written before it is
/// made, with everything buffered before it.
pub(super) struct OpenJournal<'a, S> {
    store: &'a S,
    attempt: u32,
    segments: u32,
    journal: Journal,
    buffered: Vec<JournalEntry>,
    buffered_bytes: usize,
    bytes: usize,
}

impl<'a, S: Store> OpenJournal<'a, S> {
    /// Reads what is recorded.
    pub async fn open(store: &'a S, attempt: u32) -> Result<Self, EngineError> {
        let mut segments = 0;
        let mut length = 0;
        let mut journal = Journal::default();
        while let Some(bytes) = store.read(&name(attempt, segments + 1)).await? {
            segments += 1;
            length += bytes.len();
            let entries: Vec<JournalEntry> = from_bytes(&name(attempt, segments), &bytes)?;
            for entry in entries {
                journal.add(entry);
            }
        }
        Ok(Self {
            store,
            attempt,
            segments,
            journal,
            buffered: Vec::new(),
            buffered_bytes: 0,
            bytes: length,
        })
    }

    /// Returns the entries that are recorded or buffered.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Reports whether the journal holds as much as it may. The same program with the same outcomes finds the same at the same call.
    pub fn is_full(&self) -> bool {
        self.bytes >= MOST_MEBIBYTES * 1024 * 1024
    }

    /// Buffers an entry; nothing of it needs to be recorded before the program goes on.
    pub async fn buffer(&mut self, entry: JournalEntry) -> Result<(), EngineError> {
        self.add(entry)?;
        if self.buffered_bytes < SEGMENT_BYTES {
            return Ok(());
        }
        self.flush().await
    }

    /// Writes an entry, with everything buffered before it.
    pub async fn write(&mut self, entry: JournalEntry) -> Result<(), EngineError> {
        self.add(entry)?;
        self.flush().await
    }

    fn add(&mut self, entry: JournalEntry) -> Result<(), EngineError> {
        let length = to_bytes("an entry of the journal", &entry)?.len();
        self.buffered_bytes += length;
        self.bytes += length;
        self.journal.add(entry.clone());
        self.buffered.push(entry);
        Ok(())
    }

    /// Writes what is buffered.
    pub async fn flush(&mut self) -> Result<(), EngineError> {
        if self.buffered.is_empty() {
            return Ok(());
        }
        let name = name(self.attempt, self.segments + 1);
        let bytes = to_bytes(&name, &self.buffered)?;
        match self.store.create(&name, &bytes).await? {
            Created::New => {}
            // Of a write whose reply was lost.
            Created::Existed(existed) if existed == bytes => {}
            Created::Existed(_) => {
                return Err(damaged(&name, "another process writes to the same journal"));
            }
        }
        self.segments += 1;
        self.buffered_bytes = 0;
        mem::take(&mut self.buffered);
        Ok(())
    }
}

/// Name of a segment.
pub(super) fn name(attempt: u32, segment: u32) -> String {
    format!("journal/{attempt:04}-{segment:04}.json")
}
