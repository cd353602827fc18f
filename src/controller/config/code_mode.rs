//! What whoever installs the operator says of code mode.

use std::borrow::Cow;

use codegen_interpreter::{Pool, Settings};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::api::quantity;
use crate::egress::Entry;

/// The most memory that an agent may give its programs, as its definition says.
const LARGEST_PROGRAM: u64 = 512 * 1024 * 1024;

/// The least.
const SMALLEST_PROGRAM: u64 = 8 * 1024 * 1024;

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
    /// The memory that all programs that run at once may take together of the operator's Pod, whatever their agents say (`512Mi`). A
    /// program that would not fit alone is refused, and one that does not fit beside the others waits.
    pub interpreter_memory: InterpreterMemory,
}

impl Default for CodeModeSettings {
    fn default() -> Self {
        Self {
            allowed_endpoints: Vec::new(),
            max_interpreters: 4,
            interpreter_memory: InterpreterMemory::default(),
        }
    }
}

/// Bytes, written as a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterpreterMemory(pub u64);

impl Default for InterpreterMemory {
    fn default() -> Self {
        Self(LARGEST_PROGRAM)
    }
}

impl<'de> Deserialize<'de> for InterpreterMemory {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        quantity::bytes(&text).map(Self).map_err(D::Error::custom)
    }
}

impl Serialize for InterpreterMemory {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}Mi", self.0 / (1024 * 1024)))
    }
}

impl JsonSchema for InterpreterMemory {
    fn schema_name() -> Cow<'static, str> {
        "InterpreterMemory".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?(Ki|Mi|Gi|k|M|G)$"})
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
        if self.max_interpreters == 0 {
            return Some((
                "codeMode.maxInterpreters",
                "with 0 no program would ever run: write 1 or more",
            ));
        }
        (self.interpreter_memory.0 < SMALLEST_PROGRAM).then_some((
            "codeMode.interpreterMemory",
            "no agent gives a program less than 8Mi, so none would ever run: write 50Mi for each program that is to run at once",
        ))
    }
}
