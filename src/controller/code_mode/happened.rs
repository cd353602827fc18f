//! Happenings of a question, told in the log, as Events and in metrics.

use kube::ResourceExt as _;

use crate::controller::context::Context;
use codegen_api::approval::ApprovalDecision;
use codegen_api::code_mode::CodeModeRun;
use codegen_core::code_mode::Question;
use codegen_engine::code_mode::Happened;

/// Reports what happened to the question of `object`.
pub fn report(context: &Context, object: &CodeModeRun, question: &Question, happened: &Happened) {
    let (namespace, run) = (&question.namespace, object.name_any());
    let metrics = context.metrics.code_mode();
    match happened {
        Happened::CallStarted { attempt } => {
            tracing::info!(namespace, run, attempt, "the model is asked for a program");
        }
        Happened::CallFinished { tokens, seconds } => {
            tracing::info!(namespace, run, tokens, seconds, "the model has answered");
        }
        Happened::ProgramFailed { attempt, error } => {
            metrics.program_failed();
            // What a program says may hold data of its tools.
            tracing::info!(namespace, run, attempt, bytes = error.len(), "a program failed");
            context.events.program_failed(object, *attempt, error);
        }
        Happened::ApprovalAwaited(asked) => {
            tracing::info!(
                namespace,
                run,
                hash = asked.hash,
                "a call waits until a person has decided"
            );
            context.events.call_awaits_approval(object, asked);
        }
        Happened::Decided(decision) => {
            let approves = decision.decision == ApprovalDecision::Approve;
            tracing::info!(
                namespace,
                run,
                hash = decision.hash,
                approves,
                "a person has decided about a call"
            );
            context.events.call_decided(object, decision);
        }
        Happened::CallRefused {
            attempt,
            number,
            tool,
        } => {
            tracing::info!(namespace, run, attempt, number, tool, "a call was refused");
        }
        Happened::ToolCalled {
            attempt,
            number,
            tool,
            raised,
            seconds,
        } => {
            let source = question.tool(tool).map_or("Builtin", |tool| tool.origin.as_str());
            let has_raised = raised.is_some();
            metrics.tool_called(source, has_raised);
            tracing::info!(
                namespace,
                run,
                attempt,
                number,
                tool,
                has_raised,
                seconds,
                "a tool was called"
            );
        }
    }
}
