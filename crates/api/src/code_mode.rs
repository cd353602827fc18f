//! Code mode: an agent with tools, and the questions that it is asked.

mod agent;
mod run;
mod tool;

pub use agent::{
    AgentTools, CodeModeAgent, CodeModeAgentSpec, CodeModeAgentStatus, CodeModeLimits, DEFAULT_MAX_RETRIES,
    Skill, ToolStatus,
};
pub use run::{
    AnswerStatus, CodeModeAttempt, CodeModeRun, CodeModeRunSpec, CodeModeRunStatus, HistoryMessage,
    PendingCall, RunRef,
};
pub use tool::{HttpMethod, HttpTool, McpTool, ProgramImage, ToolHeader, ToolSource, UnknownOutcome};
