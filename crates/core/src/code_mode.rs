//! A question to an agent of code mode: the state of its answer, and what is next. Pure, as everything here.
//!
//! ```text
//! Writing  -- a reply with a program -->  Running  -- a value -->  Succeeded
//!    ^                                      |
//!    |______ what was wrong with it ________|        a limit, an outcome that nobody knows -->  Failed
//! ```
//!
//! A program that makes a call about which a person decides ends there, and runs again from its beginning once somebody has.

mod agent_status;
mod approval;
mod conversation;
mod machine;
mod program;
mod progress;
mod question;
mod request;
mod resolve;
mod status;
mod tools;

pub use agent_status::{held, resolved, unresolved};
pub use approval::{asked, call_hash, check_required, is_approved, is_cut, refusal};
pub use codegen_code_mode::prompt::Evidence;
pub use conversation::{CONVERSATION, conversation, conversation_document, conversation_file};
pub use machine::{AnswerOutcome, ProgramOutcome, QuestionDecision, advance, allow_call, decide, in_time};
pub use program::{FileHandle, LONGEST_INLINE, handles, program_tool, run_inputs, run_result};
pub use progress::{
    AwaitedCall, FailedProgram, QuestionProgress, QuestionStage, QuestionStop, QuestionStopReason, Waits,
};
pub use question::{Question, QuestionLimits, SourcedTool, ToolOrigin, UnresolvedTool};
pub use request::request;
pub use resolve::{QuestionResolveError, messages, model, question};
pub use status::{Answer, QuestionStatusContext, status};
pub use tools::{command_line, http_tool, mcp_tools};

#[cfg(any(test, feature = "test-support"))]
#[allow(
    missing_docs,
    clippy::must_use_candidate,
    clippy::unwrap_used,
    reason = "fixtures of tests"
)]
pub mod test_support;
