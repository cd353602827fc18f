//! Messages between a worker and its host: frames of a length (four bytes, little endian) and so many bytes of JSON.
//!
//! Every message type is generic over its values: the host has JSON, the worker writes and reads the interpreter's own objects
//! without a copy between.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// Levels of lists and objects that a value may have. Below what `serde_json` reads, with room for the messages that hold it.
pub const MOST_LEVELS: usize = 100;

/// Bytes before a message that hold its length.
pub const LENGTH_BYTES: usize = size_of::<u32>();

/// From the host to a worker.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub enum ToWorker<V = Value> {
    /// Run a program.
    Run(Program),
    /// The outcomes of all calls of the last batch.
    Answer {
        /// One for each call.
        results: Vec<WorkerReply<V>>,
    },
}

/// A program to run.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Its source.
    pub code: String,
    /// Names of the tools that it can call.
    pub functions: Vec<String>,
    /// Limits of the run.
    pub limits: WorkerLimits,
}

/// Limits of one run of a program.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerLimits {
    /// Time of the interpreter in milliseconds. While the program waits for its tools, none passes. Default 30,000.
    pub time_ms: u64,
    /// Memory of the program with its values, in bytes. Default 50 MiB.
    pub memory_bytes: u64,
    /// Depth of calls. Default 256.
    pub recursion: u32,
    /// Bytes of `print` that are retained. Default 64 KiB.
    pub print_bytes: u64,
    /// Bytes as JSON of the arguments of calls that go out together, of one reply, and of the final value. Default 8 MiB.
    pub value_bytes: u64,
}

impl Default for WorkerLimits {
    fn default() -> Self {
        Self {
            time_ms: 30_000,
            memory_bytes: 50 * 1024 * 1024,
            recursion: 256,
            print_bytes: 64 * 1024,
            value_bytes: 8 * 1024 * 1024,
        }
    }
}

/// The outcome of the call with this number.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct WorkerReply<V = Value> {
    /// The call's number.
    pub id: u32,
    /// Outcome of the call.
    pub outcome: ReplyOutcome<V>,
}

/// Outcome of a call.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub enum ReplyOutcome<V = Value> {
    /// The tool's result.
    Return(V),
    /// An exception that the program can catch.
    Raise {
        /// Its type. One that the interpreter has not becomes a `RuntimeError` whose message starts with it.
        kind: String,
        /// Message for the program.
        message: String,
    },
}

/// Event of a program's run, from a worker to the host.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub enum WorkerEvent<V = Value> {
    /// It waits for these calls, in the order in which it made them.
    Calls(Vec<WorkerCall<V>>),
    /// It came to its end.
    Finished(ProgramEnd<V>),
    /// An exception ended it.
    Raised(Raised),
}

/// A call of a tool.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct WorkerCall<V = Value> {
    /// Its number in this run, from 0. The same program with the same outcomes numbers its calls alike.
    pub id: u32,
    /// The tool.
    pub name: String,
    /// Arguments by position.
    pub args: Vec<V>,
    /// Arguments by name.
    pub kwargs: BTreeMap<String, V>,
}

/// The end of a program.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(bound(deserialize = "V: Deserialize<'de>"))]
pub struct ProgramEnd<V = Value> {
    /// The value of its last expression; nothing where JSON has no such value or it is too large.
    #[serde(
        default = "Option::default",
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub value: Option<V>,
    /// The value as `str()` gives it, cut where it is long.
    pub text: String,
    /// Part of the text that is missing; nothing where it is whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<Cut>,
    /// Text that the program printed, cut where it is long.
    pub printed: String,
}

/// A text that was cut.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Bytes of the whole text; nothing where it was not written out to its end.
    pub whole_bytes: Option<u64>,
}

/// An exception that nothing in the program caught, or that its source could not be compiled.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub struct Raised {
    /// Type of the exception: `SyntaxError`, `NotImplementedError` for syntax that the interpreter has not, `TimeoutError` and
    /// `MemoryError` for limits that were met, or any other of Python.
    pub kind: String,
    /// Its message.
    pub message: String,
    /// The traceback as Python prints it, with the message.
    pub traceback: String,
    /// Line of the program, from 1.
    pub line: Option<u32>,
    /// Text that the program printed until then, cut where it is long.
    pub printed: String,
}

/// A value that stands there counts, `null` too.
fn present<'de, D: Deserializer<'de>, V: Deserialize<'de>>(deserializer: D) -> Result<Option<V>, D::Error> {
    V::deserialize(deserializer).map(Some)
}

/// The message as a frame.
pub fn to_frame(message: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut frame = vec![0; LENGTH_BYTES];
    serde_json::to_writer(&mut frame, message)?;
    let length = u32::try_from(frame.len() - LENGTH_BYTES).map_err(serde::ser::Error::custom)?;
    frame[..LENGTH_BYTES].copy_from_slice(&length.to_le_bytes());
    Ok(frame)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read_again(finished: &ProgramEnd) -> ProgramEnd {
        let frame = to_frame(finished).unwrap();
        serde_json::from_slice(&frame[LENGTH_BYTES..]).unwrap()
    }

    #[test]
    fn a_null_that_the_program_returned_differs_from_a_value_that_json_has_not() {
        for value in [Some(Value::Null), None, Some(json!([1]))] {
            let finished = ProgramEnd {
                cut: None,
                value,
                text: String::new(),
                printed: String::new(),
            };
            assert_eq!(read_again(&finished), finished);
        }
    }

    #[test]
    fn a_frame_starts_with_the_length_of_its_message() {
        let frame = to_frame(&json!({"a": 1})).unwrap();
        assert_eq!(frame, *b"\x07\0\0\0{\"a\":1}");
    }
}
