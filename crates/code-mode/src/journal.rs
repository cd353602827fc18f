//! The journal of a program's calls. After a kill the program runs again from its beginning, and what it calls is answered from here, up
//! to the call that was in flight.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::lines::cut;
use crate::signature::Effect;

/// A call of a program: its tool and its arguments, and nothing of when it was made.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Call {
    /// Its place among the calls of the program, counted from 1.
    pub number: u32,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
}

/// Outcome of a call.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum CallOutcome {
    /// A value.
    Returned(Value),
    /// An exception, which the program can catch.
    Raised {
        /// Its kind (`ValueError`).
        kind: String,
        /// Its message.
        message: String,
    },
}

/// An entry of the journal; entries are only ever added.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub enum JournalEntry {
    /// A call that is about to be made, and which nobody may make a second time.
    Begun(Call),
    /// A call that was begun and not sent after all.
    Withdrawn(Call),
    /// A person has approved of the call in this place; it was not made yet.
    Approved(Approved),
    /// A call with what it came to.
    Ended(CallEnd),
}

/// A call with what it came to.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct CallEnd {
    /// The call.
    #[serde(flatten)]
    pub call: Call,
    /// Outcome of the call.
    pub outcome: CallOutcome,
    /// True where an earlier program of the same run made it, and this one got what that got.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_copy: bool,
    /// True where a person refused it, so that it was not made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_refused: bool,
    /// Time at which it was made, RFC 3339.
    pub started_at: String,
    /// Time at which its outcome was there, RFC 3339.
    pub ended_at: String,
}

/// A call that a person has approved of.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Approved {
    /// Its place among the calls of the program, counted from 1.
    pub number: u32,
    /// Hash of the call that was shown, hex.
    pub hash: String,
    /// Name of the person who has approved.
    pub decided_by: String,
}

/// The journal of one program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Journal {
    calls: BTreeMap<u32, Recorded>,
    approved: BTreeMap<u32, String>,
}

#[derive(Clone, Debug, PartialEq)]
enum Recorded {
    Begun(Call),
    Ended(CallEnd),
}

/// Entry of the journal for a call that a program makes.
#[derive(Clone, Debug, PartialEq)]
pub enum JournalLookup<'a> {
    /// It was not made.
    New,
    /// It came to this.
    Ended(&'a CallOutcome),
    /// It was begun, and nobody recorded what it came to.
    InFlight,
}

/// A program that makes another call than the one that is recorded in its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the journal does not fit the program: its call {number} was recorded as {recorded} and is now {made}; \
     the program must make the same calls every time that it runs"
)]
pub struct JournalMismatch {
    /// Place of the call.
    pub number: u32,
    /// As it was recorded.
    pub recorded: String,
    /// As it is made now.
    pub made: String,
}

impl Journal {
    /// The journal with these entries, in the order in which they were written.
    #[must_use]
    pub fn new(entries: impl IntoIterator<Item = JournalEntry>) -> Self {
        let mut journal = Self::default();
        for entry in entries {
            journal.add(entry);
        }
        journal
    }

    /// Adds an entry. What a call came to stays as it was first recorded.
    pub fn add(&mut self, entry: JournalEntry) {
        let number = match &entry {
            JournalEntry::Begun(call) | JournalEntry::Withdrawn(call) => call.number,
            JournalEntry::Ended(ended) => ended.call.number,
            JournalEntry::Approved(approved) => approved.number,
        };
        match (self.calls.get(&number), entry) {
            (_, JournalEntry::Approved(approved)) => {
                self.approved.insert(number, approved.hash);
            }
            (Some(Recorded::Ended(_)), _) | (Some(Recorded::Begun(_)), JournalEntry::Begun(_)) => {}
            (None, JournalEntry::Begun(call)) => {
                self.calls.insert(number, Recorded::Begun(call));
            }
            (_, JournalEntry::Withdrawn(_)) => {
                self.calls.remove(&number);
            }
            (_, JournalEntry::Ended(ended)) => {
                self.calls.insert(number, Recorded::Ended(ended));
            }
        }
    }

    /// Finds what is recorded of a call.
    pub fn find(&self, call: &Call) -> Result<JournalLookup<'_>, JournalMismatch> {
        let Some(recorded) = self.calls.get(&call.number) else {
            return Ok(JournalLookup::New);
        };
        if recorded.call() != call {
            return Err(JournalMismatch {
                number: call.number,
                recorded: recorded.call().to_string(),
                made: call.to_string(),
            });
        }
        Ok(match recorded {
            Recorded::Begun(_) => JournalLookup::InFlight,
            Recorded::Ended(ended) => JournalLookup::Ended(&ended.outcome),
        })
    }

    /// Reports whether a person has approved of the call in this place, whose hash it is.
    #[must_use]
    pub fn is_approved(&self, number: u32, hash: &str) -> bool {
        self.approved
            .get(&number)
            .is_some_and(|approved| approved == hash)
    }

    /// The calls that have ended, in their order.
    pub fn ended(&self) -> impl Iterator<Item = &CallEnd> {
        self.calls.values().filter_map(|recorded| match recorded {
            Recorded::Ended(ended) => Some(ended),
            Recorded::Begun(_) => None,
        })
    }

    /// The calls that were begun and have no outcome, in their order.
    pub fn in_flight(&self) -> impl Iterator<Item = &Call> {
        self.calls.values().filter_map(|recorded| match recorded {
            Recorded::Begun(call) => Some(call),
            Recorded::Ended(_) => None,
        })
    }

    /// The calls that were made: neither those that persons refused, nor those that an earlier program made.
    pub fn made(&self) -> impl Iterator<Item = &Call> {
        let is_made = |recorded: &&Recorded| match recorded {
            Recorded::Begun(_) => true,
            Recorded::Ended(ended) => !ended.is_copy && !ended.is_refused,
        };
        self.calls.values().filter(is_made).map(Recorded::call)
    }

    /// Counts the calls of each tool.
    #[must_use]
    pub fn made_by_tool(&self) -> BTreeMap<String, u32> {
        let mut made = BTreeMap::new();
        for call in self.made() {
            *made.entry(call.tool.clone()).or_default() += 1;
        }
        made
    }
}

impl Recorded {
    fn call(&self) -> &Call {
        match self {
            Self::Begun(call) => call,
            Self::Ended(ended) => &ended.call,
        }
    }
}

/// Calls of earlier programs of the same run that must not be made twice: the same call in the same order gets what the first one got.
#[derive(Clone, Debug, Default)]
pub struct Earlier {
    returned: BTreeMap<String, Vec<Value>>,
}

impl Earlier {
    /// Collects what tools that act once have returned in `journals`, in order.
    pub fn of<'a>(journals: impl IntoIterator<Item = &'a Journal>, effect: impl Fn(&str) -> Effect) -> Self {
        let mut returned: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for journal in journals {
            for ended in journal.ended() {
                if let CallOutcome::Returned(value) = &ended.outcome
                    && !ended.is_copy
                    && !effect(&ended.call.tool).is_repeatable()
                {
                    returned.entry(ended.call.key()).or_default().push(value.clone());
                }
            }
        }
        for values in returned.values_mut() {
            values.reverse();
        }
        Self { returned }
    }

    /// Takes what an equal call has returned, once for each time that it was made.
    pub fn take(&mut self, call: &Call) -> Option<Value> {
        self.returned.get_mut(&call.key())?.pop()
    }
}

impl Call {
    /// Tool and arguments alone.
    fn key(&self) -> String {
        format!("{} {}", self.tool, canonical(&self.arguments))
    }
}

/// Arguments as JSON in which the order of a program's keywords and keys makes no difference.
#[must_use]
pub fn canonical(arguments: &Map<String, Value>) -> String {
    let mut sorted = Value::Object(arguments.clone());
    sorted.sort_all_objects();
    sorted.to_string()
}

/// Characters of a call in a message.
const SHOWN_CHARS: usize = 200;

impl std::fmt::Display for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let arguments: Vec<_> = self
            .arguments
            .iter()
            .map(|(name, value)| format!("{name}={}", crate::types::literal(value)))
            .collect();
        let text = format!("{}({})", self.tool, arguments.join(", "));
        f.write_str(&cut(&text, SHOWN_CHARS, " ...)"))
    }
}

#[cfg(test)]
mod tests;
