//! A question for tests.

use std::collections::BTreeSet;

use serde_json::json;

use super::question::{Question, QuestionLimits, SourcedTool, ToolOrigin};
use crate::test_support::task;
use codegen_code_mode::prompt::Persona;
use codegen_code_mode::signature::{Effect, Tool};

/// A tool that takes a number and gives one.
pub fn sourced(name: &str, effect: Effect) -> SourcedTool {
    let parameters = json!({"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"], "additionalProperties": false});
    SourcedTool {
        tool: Tool {
            name: name.to_owned(),
            description: String::new(),
            parameters,
            result: Some(json!({"type": "integer"})),
            effect,
            is_loosened: false,
        },
        origin: ToolOrigin::Task {
            name: name.to_owned(),
            program: String::new(),
        },
        retries_unknown: false,
    }
}

/// A question to an agent with these tools.
pub fn question(tools: Vec<SourcedTool>) -> Question {
    Question {
        namespace: "default".to_owned(),
        agent: "shop".to_owned(),
        model: task().model,
        persona: Persona::default(),
        tools,
        require_approval: BTreeSet::new(),
        history: Vec::new(),
        message: "How much?".to_owned(),
        limits: QuestionLimits {
            max_retries: 2,
            max_tool_calls: 50,
            interpreter_ms: 20_000,
            memory_bytes: 50 * 1024 * 1024,
            tool_seconds: 60.0,
            max_tokens: 100_000,
            max_model_calls: 10,
            deadline_seconds: 3_600.0,
        },
    }
}
