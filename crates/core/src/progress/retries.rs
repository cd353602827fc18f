//! Further tries of a task: the state has the last ones, the record those before.

use serde::{Deserialize, Serialize};

use super::Progress;
use crate::digest::sha256_hex_of_parts;
use codegen_api::retry::RetryStatus;

/// Further tries that are documents of the record and not in the state any more: the first ones.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct EarlierRetries {
    /// Number of earlier retries.
    pub count: u32,
    /// Digest of their hints, each with those before it; empty where there was none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hints: String,
}

impl EarlierRetries {
    pub(super) fn is_none(&self) -> bool {
        *self == Self::default()
    }

    fn add(&mut self, retry: &RetryStatus) {
        self.count += 1;
        if let Some(hint) = &retry.hint {
            self.hints = sha256_hex_of_parts(&[&self.hints, hint]);
        }
    }
}

/// Name of the document that a further try becomes, by its number, counted from 1.
#[must_use]
pub fn retry_document(number: u32) -> String {
    format!("documents/retry-{number:04}.json")
}

impl Progress {
    /// Further tries so far.
    #[must_use]
    pub fn retries_so_far(&self) -> usize {
        usize::try_from(self.earlier_retries.count).unwrap_or(usize::MAX) + self.retries.len()
    }

    /// Leaves the last `most` tries in the state.
    pub(crate) fn bound_retries(&mut self, most: usize) {
        let surplus = self.retries.len().saturating_sub(most);
        for retry in self.retries.drain(..surplus) {
            self.earlier_retries.add(&retry);
        }
    }

    /// The tries that `next` has no more in its state, each with the name of the document that it becomes.
    pub fn leaving_retries<'a>(&'a self, next: &Self) -> impl Iterator<Item = (String, &'a RetryStatus)> {
        let first = self.earlier_retries.count;
        let leaving = next.earlier_retries.count.saturating_sub(first);
        (first + 1..=first + leaving)
            .map(retry_document)
            .zip(&self.retries)
    }
}
