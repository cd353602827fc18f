//! The tools of an agent: what they are called with, and what those come to that change files and need no sandbox.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Value, json};

use super::workspace::{MAX_BYTES, Workspace, relative};
use crate::conversation::{ModelTool, ToolCall};

/// Lines that `Read` gives where the call names no limit.
const READ_LINES: usize = 2_000;
/// Characters of a line that `Read` gives.
const LINE_CHARS: usize = 2_000;

/// The tools, with the names and inputs that models know from coding agents.
pub static TOOLS: LazyLock<Vec<ModelTool>> = LazyLock::new(|| {
    let text = |description: &str| json!({"type": "string", "description": description});
    let number = |description: &str| json!({"type": "integer", "description": description});
    let object = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    vec![
        ModelTool {
            name: "Bash",
            description: "Runs a command line in the sandbox, in the workspace, and gives its output and exit code. `pytest` runs the \
                          task's own tests. There is no network and nothing can be installed: write packages into packages.txt.",
            input_schema: object(
                json!({
                    "command": text("The command line."),
                    "timeout": number("Milliseconds that it may take."),
                    "description": text("What it does, in a few words."),
                }),
                json!(["command"]),
            ),
        },
        ModelTool {
            name: "Read",
            description: "Reads a text file of the workspace, with line numbers.",
            input_schema: object(
                json!({
                    "file_path": text("The file."),
                    "offset": number("First line, counted from 1."),
                    "limit": number("Number of lines."),
                }),
                json!(["file_path"]),
            ),
        },
        ModelTool {
            name: "Write",
            description: "Writes a file of the workspace, whole.",
            input_schema: object(
                json!({"file_path": text("The file."), "content": text("Its content.")}),
                json!(["file_path", "content"]),
            ),
        },
        ModelTool {
            name: "Edit",
            description: "Replaces a text in a file of the workspace that was read or written before. The text must occur exactly once, \
                          unless all its places are meant.",
            input_schema: object(
                json!({
                    "file_path": text("The file."),
                    "old_string": text("The text, with its white space."),
                    "new_string": text("What takes its place."),
                    "replace_all": {"type": "boolean", "description": "Whether all its places are meant."},
                }),
                json!(["file_path", "old_string", "new_string"]),
            ),
        },
    ]
});

/// A call that can be understood.
#[derive(Debug, PartialEq)]
pub(super) enum ToolUse {
    Bash(Bash),
    Read(ReadArguments),
    Write(Write),
    Edit(Edit),
}

#[derive(Deserialize, Debug, PartialEq)]
pub(super) struct Bash {
    pub command: String,
    /// Milliseconds.
    pub timeout: Option<f64>,
}

#[derive(Deserialize, Debug, PartialEq)]
pub(super) struct ReadArguments {
    file_path: String,
    offset: Option<usize>,
    limit: Option<usize>,
}

#[derive(Deserialize, Debug, PartialEq)]
pub(super) struct Write {
    file_path: String,
    content: String,
}

#[derive(Deserialize, Debug, PartialEq)]
pub(super) struct Edit {
    file_path: String,
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: bool,
}

impl ToolUse {
    pub fn of(call: &ToolCall) -> Result<Self, String> {
        fn input<T: for<'a> Deserialize<'a>>(call: &ToolCall) -> Result<T, String> {
            if call.input.is_string() {
                return Err(format!(
                    "The input of {} cannot be used: it is no JSON, as where a reply was cut. Call it again, with less at a time.",
                    call.name
                ));
            }
            T::deserialize(&call.input)
                .map_err(|error| format!("The input of {} cannot be used: {}.", call.name, in_words(&error)))
        }
        fn in_words(error: &serde_json::Error) -> String {
            let text = error.to_string();
            let text = text.replace("expected f64", "expected a number");
            text.replace("expected usize", "expected a whole number")
        }
        match call.name.as_str() {
            "Bash" => input(call).map(Self::Bash),
            "Read" => input(call).map(Self::Read),
            "Write" => input(call).map(Self::Write),
            "Edit" => input(call).map(Self::Edit),
            other => Err(format!(
                "There is no tool {other:?}: the tools are Bash, Read, Write and Edit."
            )),
        }
    }
}

/// The files, and what of them the agent has seen: path and digest as it was then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AgentFiles {
    pub workspace: Workspace,
    seen: BTreeMap<String, String>,
}

impl AgentFiles {
    pub fn read(&mut self, asked: &ReadArguments) -> Result<String, String> {
        let path = relative(&asked.file_path)?;
        let text = self.workspace.text(&path)?;
        if text.is_empty() {
            self.see(&path);
            return Ok(format!("{path} is empty."));
        }
        let first = asked.offset.unwrap_or(1).max(1);
        let most = asked.limit.unwrap_or(READ_LINES);
        let mut shown = String::new();
        for (index, line) in text.lines().enumerate().skip(first - 1).take(most) {
            let line: String = line.chars().take(LINE_CHARS).collect();
            // Writing to a string cannot fail.
            let _ = writeln!(shown, "{:>6}\t{line}", index + 1);
        }
        if shown.is_empty() {
            return Err(format!(
                "{path} has {} lines, and none from line {first} on.",
                text.lines().count()
            ));
        }
        self.see(&path);
        Ok(shown)
    }

    pub fn write(&mut self, asked: &Write) -> Result<String, String> {
        let path = relative(&asked.file_path)?;
        let was_there = self.workspace.get(&path).is_some();
        self.workspace.put(&path, asked.content.clone().into_bytes())?;
        self.see(&path);
        let what = if was_there {
            "was written anew"
        } else {
            "was written"
        };
        Ok(format!("{path} {what} ({} bytes).", asked.content.len()))
    }

    pub fn edit(&mut self, asked: &Edit) -> Result<String, String> {
        let path = relative(&asked.file_path)?;
        let text = self.workspace.text(&path)?;
        match self.seen.get(&path) {
            None => return Err(format!("{path} was not read yet: read it first.")),
            Some(seen) if *seen != self.workspace.digest(&path) => {
                return Err(format!("{path} has changed since it was read: read it again."));
            }
            Some(_) => {}
        }
        if asked.old_string.is_empty() {
            return Err(
                "old_string is empty: name the text that is replaced, or write the file whole.".to_owned(),
            );
        }
        if asked.old_string == asked.new_string {
            return Err("old_string and new_string are the same: nothing would change.".to_owned());
        }
        let places = text.matches(&asked.old_string).count();
        match places {
            0 => {
                return Err(format!(
                    "old_string was not found in {path}: it must be there as it stands, white space included."
                ));
            }
            1 => {}
            _ if asked.replace_all => {}
            _ => {
                return Err(format!(
                    "old_string stands {places} times in {path}: add what is around it, or set replace_all."
                ));
            }
        }
        // Before the text is made: many places times a long text are more than any memory.
        let removed = places * asked.old_string.len();
        let bytes = (text.len() - removed).saturating_add(places.saturating_mul(asked.new_string.len()));
        if bytes > MAX_BYTES {
            return Err(format!(
                "{path} would have {bytes} bytes, and the workspace has room for {MAX_BYTES}."
            ));
        }
        let edited = text.replace(&asked.old_string, &asked.new_string);
        self.workspace.put(&path, edited.into_bytes())?;
        self.see(&path);
        let places = if places == 1 {
            String::new()
        } else {
            format!(" in {places} places")
        };
        Ok(format!("{path} was edited{places}."))
    }

    fn see(&mut self, path: &str) {
        self.seen.insert(path.to_owned(), self.workspace.digest(path));
    }
}
