//! What whoever installs the operator says of code mode.

use codegen_interpreter::{Pool, Settings};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::egress::Entry;

/// The most memory that an agent may give its programs, as its definition says.
const LARGEST_PROGRAM: u64 = 512 * 1024 * 1024;

/// What code mode may do, whatever an agent says.
#[derive(Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct CodeModeSettings {
    /// Origins of tools (HTTP endpoints, MCP servers) that may be called although they are private or without TLS
    /// (`http://docs-mcp.tools:8080`). Public hosts may be called in any case.
    #[schemars(with = "Vec<String>")]
    pub allowed_endpoints: Vec<Entry>,
    /// Programs that run at once. Each may take the memory that its agent gives it (50 MiB by default) of the operator's Pod.
    pub max_interpreters: usize,
}

impl Default for CodeModeSettings {
    fn default() -> Self {
        Self {
            allowed_endpoints: Vec::new(),
            max_interpreters: 4,
        }
    }
}

impl CodeModeSettings {
    /// The processes that run programs; none is started before the first program.
    #[must_use]
    pub fn interpreter(&self) -> Pool {
        Pool::new(Settings {
            workers: self.max_interpreters,
            memory_bytes: LARGEST_PROGRAM,
            ..Settings::default()
        })
    }

    /// The field that has a value without a sense, and what to write.
    pub(super) fn unusable(&self) -> Option<(&'static str, &'static str)> {
        (self.max_interpreters == 0).then_some((
            "codeMode.maxInterpreters",
            "with 0 no program would ever run: write 1 or more",
        ))
    }
}
