//! Places of a task's contents in the store.

use serde::{Deserialize, Serialize};

use crate::digest::sha256_hex;

/// A content in the store.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Document {
    /// Its name in the store.
    pub name: String,
    /// SHA-256 of its bytes, hex.
    pub sha256: String,
    /// Its size.
    pub bytes: u64,
}

impl Document {
    /// These bytes under a name.
    #[must_use]
    pub fn of(name: String, bytes: &[u8]) -> Self {
        Self {
            name,
            sha256: sha256_hex(bytes),
            bytes: bytes.len() as u64,
        }
    }

    /// Returns why these bytes, read under its name, are not its content; `None` where they are. Somebody may have replaced them.
    #[must_use]
    pub fn differs(&self, bytes: &[u8]) -> Option<&'static str> {
        (sha256_hex(bytes) != self.sha256).then_some("its SHA-256 is not the recorded one")
    }
}

/// Places of the contents in the store.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Documents {
    /// The data context as it goes into prompts.
    pub context: Option<Document>,
    /// The samples' profiles and inferred schemas.
    pub profiles: Option<Document>,
    /// The constraints as checks.
    pub checks: Option<Document>,
    /// The cases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cases: Option<Document>,
    /// The present program.
    pub solution: Option<Document>,
    /// The present suite.
    pub tests: Option<Document>,
    /// The last run.
    pub run: Option<Document>,
    /// The last diagnosis.
    pub diagnosis: Option<Document>,
}
