//! A task with everything that is recorded of it. Pure.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::de::DeserializeOwned;

use crate::cli::command::CommandError;
use codegen_api::retry::RetryStatus;
use codegen_api::status::CodeGenTaskStatus;
use codegen_api::{CodeGenAgent, CodeGenTask};
use codegen_core::agent::AgentStep;
use codegen_core::progress::{Progress, retry_document};
use codegen_core::task::Task;
use codegen_engine::agent::is_step;
use codegen_engine::attempt::AttemptRecord;
use codegen_engine::results::source_of;
use codegen_ledger::{Entry, MemoryStore};

/// Place of the record of a task.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::cli) enum Place {
    /// At an API server: the task as it stands there, and its agent, where that may be read.
    Cluster {
        object: Box<CodeGenTask>,
        agent: Option<Box<CodeGenAgent>>,
    },
    /// In the folder of its results.
    Folder(PathBuf),
}

/// A task with what is recorded of it.
#[derive(Clone, Debug)]
pub(in crate::cli) struct RecordedTask {
    /// Its name.
    pub name: String,
    /// Place from which it was read.
    pub place: Place,
    /// As it stands.
    pub status: CodeGenTaskStatus,
    /// Progress; `None` before it has begun, and where another version wrote it.
    pub progress: Option<Progress>,
    /// The task as it was resolved; in a cluster it is recorded when the task ends.
    pub task: Option<Task>,
    /// Replies, programs, suites and test reports by their names in the record.
    pub documents: BTreeMap<String, Vec<u8>>,
    /// Reason that the documents cannot be read, and whom to ask; `None` where they were.
    pub withheld: Option<String>,
    /// The notice of records that were made elsewhere; `None` of this user's own, and of those of a cluster.
    pub foreign: Option<String>,
    /// True where what the tests printed may hold data that no model was to see, so that it stays in the cluster.
    pub is_private: bool,
}

/// The program and the suite that an attempt ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::cli) struct Sources {
    /// The program.
    pub solution: String,
    /// The suite; empty where there was none.
    pub tests: String,
}

impl RecordedTask {
    /// The name that commands take: `penguin-masses`, `codegen-out/penguin-masses`.
    pub fn argument(&self) -> String {
        match &self.place {
            Place::Cluster { .. } => self.name.clone(),
            // What has no slash would be taken for a name.
            Place::Folder(folder) if folder.components().count() == 1 => format!("{}/", folder.display()),
            Place::Folder(folder) => folder.display().to_string(),
        }
    }

    /// The documents, or why they cannot be read.
    pub fn readable(&self) -> Result<&Self, CommandError> {
        readable(self.withheld.as_ref()).map(|()| self)
    }

    /// Every recorded call in order.
    pub fn entries(&self) -> Result<Vec<Entry>, CommandError> {
        let calls = self.documents.iter().filter(|(name, _)| is_call(name));
        let mut entries: Vec<Entry> = calls
            .map(|(name, bytes)| read_json(name, bytes))
            .collect::<Result<_, _>>()?;
        entries.sort_by_key(|entry| entry.sequence);
        Ok(entries)
    }

    /// The recorded steps of an agent's turns.
    pub fn steps(&self) -> Result<Vec<AgentStep>, CommandError> {
        let steps = self.documents.iter().filter(|(name, _)| is_step(name));
        steps.map(|(name, bytes)| read_json(name, bytes)).collect()
    }

    /// Every further try in order; where the documents cannot be read, those that the status has.
    pub fn retries(&self) -> Result<Vec<RetryStatus>, CommandError> {
        let progress = self.progress.as_ref().filter(|_| self.withheld.is_none());
        let earlier = progress.map_or(0, |progress| progress.earlier_retries.count);
        let read = |number| {
            let name = retry_document(number);
            let bytes = self.documents.get(&name).ok_or_else(|| {
                let message = format!("{name}, a further try of {}, is missing in its record", self.name);
                CommandError::usage(message)
            })?;
            read_json(&name, bytes)
        };
        let mut all = (1..=earlier).map(read).collect::<Result<Vec<_>, _>>()?;
        all.extend(self.status.retries.iter().cloned());
        Ok(all)
    }

    /// Numbers of the attempts whose report is recorded, in order.
    pub fn attempts(&self) -> Vec<u32> {
        let number = |name: &String| {
            let number = name.strip_prefix("documents/run-")?.strip_suffix(".json")?;
            number.parse().ok()
        };
        // By number and not by name: the ten thousandth has a longer name.
        let mut numbers: Vec<u32> = self.documents.keys().filter_map(number).collect();
        numbers.sort_unstable();
        numbers
    }

    /// Returns the record of an attempt's tests; of the last one where none is named.
    pub fn attempt(&self, number: Option<u32>) -> Result<AttemptRecord, CommandError> {
        self.readable()?;
        let numbers = self.attempts();
        let nothing = || format!("no attempt of {} is recorded yet; {}", self.name, self.standing());
        let wanted = numbers[chosen(number, &numbers, (&self.name, "attempt"), nothing)?];
        let name = format!("documents/run-{wanted:04}.json");
        let bytes = self.documents.get(&name).map_or(&[][..], Vec::as_slice);
        read_json(&name, bytes)
    }

    /// The program and the suite that an attempt ran.
    pub async fn sources(&self, attempt: &AttemptRecord) -> Result<Sources, CommandError> {
        let store = <MemoryStore>::holding(self.documents.clone());
        let entries = self.entries()?;
        let source = async |what: &str| {
            let found = source_of(attempt, what, &store, &entries).await;
            found.map_err(CommandError::usage)
        };
        Ok(Sources {
            solution: source("solution").await?.unwrap_or_default(),
            tests: source("tests").await?.unwrap_or_default(),
        })
    }

    /// The program as it is now, which may not have passed, or not been run.
    pub fn program(&self) -> Option<String> {
        let document = self.progress.as_ref()?.documents.solution.as_ref()?;
        let bytes = self.documents.get(&document.name)?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }

    /// Says where it stands, in words.
    pub fn standing(&self) -> String {
        let (stage, reason) = (self.status.stage.as_deref(), self.status.reason.as_deref());
        standing(stage, reason, self.has_ended())
    }

    /// Reports whether nothing follows.
    pub fn has_ended(&self) -> bool {
        matches!(self.status.stage.as_deref(), Some("Succeeded" | "Failed"))
    }

    /// Name of its model, as it was when the task began, else as the manifest has it.
    pub fn model(&self) -> Option<&str> {
        if let Some(task) = &self.task {
            return Some(&task.model.name);
        }
        match &self.place {
            Place::Cluster { object, agent } => model_of(object, agent.as_deref()),
            Place::Folder(_) => None,
        }
    }
}

/// Name of a task's model by its manifest, and by its agent where that leaves it open.
pub(in crate::cli) fn model_of<'a>(
    object: &'a CodeGenTask,
    agent: Option<&'a CodeGenAgent>,
) -> Option<&'a str> {
    let own = object.spec.model.as_ref();
    let shared = agent.and_then(|agent| agent.spec.model.as_ref());
    let name = own
        .and_then(|model| model.name.as_deref())
        .or_else(|| shared.and_then(|model| model.name.as_deref()));
    name.filter(|name| !name.is_empty())
}

fn is_call(name: &str) -> bool {
    let call = name.strip_prefix("calls/");
    call.is_some_and(|name| !name.starts_with("prefix-"))
}

pub(super) fn read_json<T: DeserializeOwned>(name: &str, bytes: &[u8]) -> Result<T, CommandError> {
    serde_json::from_slice(bytes).map_err(|error| {
        CommandError::usage(format!(
            "{name} of the record cannot be read, another version may have made it: {error}"
        ))
    })
}

/// Refuses to show documents that cannot be read.
pub(super) fn readable(withheld: Option<&String>) -> Result<(), CommandError> {
    withheld.map_or(Ok(()), |why| Err(CommandError::usage(why)))
}

/// Says where a task or a question stands, in words.
pub(super) fn standing(stage: Option<&str>, reason: Option<&str>, has_ended: bool) -> String {
    let is = if has_ended { "ended" } else { "is" };
    let reason = reason.map(|reason| format!(": {reason}"));
    format!(
        "it {is} in stage {}{}",
        stage.unwrap_or("Pending"),
        reason.unwrap_or_default()
    )
}

/// The place of a number among those that are recorded of `what` an object has; the last one where none is named.
pub(super) fn chosen(
    number: Option<u32>,
    recorded: &[u32],
    (name, what): (&str, &str),
    nothing: impl FnOnce() -> String,
) -> Result<usize, CommandError> {
    let found = match number {
        Some(number) => recorded.iter().position(|other| *other == number),
        None => recorded.len().checked_sub(1),
    };
    found.ok_or_else(|| match number {
        Some(number) if !recorded.is_empty() => {
            let numbers: Vec<String> = recorded.iter().map(ToString::to_string).collect();
            CommandError::usage(format!(
                "{name} has no {what} {number}: recorded are {}",
                numbers.join(", ")
            ))
        }
        _ => CommandError::failed(nothing()),
    })
}
