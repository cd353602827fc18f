//! The folder of a question: frozen when it is asked, so that the same command goes on with the same agent.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::error::{AskError, stopped};
use crate::local::folder::{QUESTION, RevisionFolder, TaskFolder};
use crate::pipeline::code_mode::Question;

/// A question as it was when it was asked.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub(super) struct Frozen {
    /// What its calls are known by to the servers of its tools.
    pub name: String,
    /// What the agent was, but for its model.
    pub agent: Option<String>,
    /// What its programs were, by the name of their task.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub programs: BTreeMap<String, String>,
    /// The question.
    pub question: Question,
}

/// What an earlier command froze, with its folder.
pub(super) fn earlier(folder: &TaskFolder, hash: &str) -> Result<Option<(RevisionFolder, Frozen)>, AskError> {
    let Some(run) = folder.existing(hash)? else {
        return Ok(None);
    };
    let Some(bytes) = run.read(QUESTION)? else {
        return Ok(None);
    };
    let frozen = serde_json::from_slice(&bytes).map_err(|error| stopped(&error))?;
    Ok(Some((run, frozen)))
}

/// Freezes a question in a folder of its own.
pub(super) fn freeze(folder: &TaskFolder, hash: &str, frozen: &Frozen) -> Result<RevisionFolder, AskError> {
    let staging = folder.staging()?;
    let run = folder.revision(hash, &staging)?;
    let bytes = serde_json::to_vec_pretty(frozen).map_err(|error| stopped(&error))?;
    run.write(QUESTION, &bytes)?;
    Ok(run)
}
