//! What came of a question.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::error::AskError;
use crate::api::code_mode::CodeModeRunStatus;
use crate::pipeline::code_mode::{Answer, Stage};

/// What came of a question.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Where it stands.
    pub stage: Stage,
    /// As a cluster would show it.
    pub status: CodeModeRunStatus,
    /// The answer, whole.
    pub answer: Option<Answer>,
    /// The conversation with the answer, as `--history` takes it.
    pub conversation: Option<Vec<u8>>,
    /// The present program, whole.
    pub code: Option<String>,
    /// Folder of the results.
    pub folder: PathBuf,
    /// What a person should know besides.
    pub notices: Vec<String>,
    /// Every reply so far, as `--replay` reads them.
    pub recording: String,
    /// How often each tool was called without that anybody knows what the calls came to.
    pub unknown: BTreeMap<String, i32>,
    /// Why it stopped before its end; none where it ended, or waits for something.
    pub stopped: Option<AskError>,
}

impl Ended {
    /// The answer for people.
    pub fn text(&self) -> Option<&str> {
        self.answer.as_ref().map(Answer::text)
    }

    /// The one document of `-o json`.
    pub fn document(&self) -> Value {
        let value = self.answer.as_ref().and_then(|answer| answer.value.clone());
        json!({
            "answer": self.text(),
            "value": value,
            "code": self.code,
            "attempts": self.status.attempt,
            "toolCalls": self.status.tool_calls,
            "tokens": self.status.tokens,
            "folder": self.folder.display().to_string(),
            "status": self.status,
        })
    }
}
