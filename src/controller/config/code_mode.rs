//! Settings of code mode for the whole operator, by whoever installs it.

use std::borrow::Cow;

use codegen_interpreter::Interpreter;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use codegen_api::quantity;
use codegen_egress::EgressEntry;

/// The least memory that an agent may give its programs, as its definition says.
const SMALLEST_PROGRAM: u64 = 8 * 1024 * 1024;

/// Bounds on code mode, whatever an agent says.
#[derive(Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct CodeModeSettings {
    /// Origins of tools (HTTP endpoints, MCP servers) that may be called although they are private or without TLS
    /// (`http://docs-mcp.tools:8080`). Public hosts may be called in any case.
    #[schemars(with = "Vec<String>")]
    pub allowed_endpoints: Vec<EgressEntry>,
    /// Programs that run at once; others wait.
    pub max_interpreters: usize,
    /// The most memory that an agent may give each program, of the operator's Pod (`128Mi`). Programs get 50 MiB where their agent says
    /// nothing.
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
        Self(128 * 1024 * 1024)
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
    pub fn interpreter(&self) -> Interpreter {
        Interpreter {
            memory_bytes: self.interpreter_memory.0,
            ..Interpreter::default()
        }
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
            "no agent gives a program less than 8Mi, so none would ever run: write 50Mi or more",
        ))
    }
}
