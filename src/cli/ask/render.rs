//! Lines about the events of a question. Pure.

use crate::cli::paint::{Mark, PaintedLine};
use crate::cli::render::{Rendered, approval_awaited, decided, named_paragraph, step};
use crate::cli::summary::calls_by_tool;
use crate::cli::text::{count, seconds, shell_word, thousands};
use crate::local::code_mode::runner::QuestionOutcome;
use codegen_api::code_mode::CodeModeRunStatus;
use codegen_core::code_mode::QuestionStage;
use codegen_engine::code_mode::Happened;

/// Calls of one program that get a line of their own; the others are counted at the end.
const LISTED_CALLS: u32 = 20;
/// Lines of an error.
const ERROR_LINES: usize = 4;

/// The lines of one event.
pub(super) fn happened(event: &Happened) -> Rendered {
    match event {
        Happened::CallStarted { attempt } => Rendered::running(format!("the model writes program {attempt}")),
        Happened::CallFinished {
            tokens,
            seconds: took,
        } => {
            let text = format!("{:>6} tokens   {}", thousands(*tokens), seconds(*took));
            Rendered::line(Mark::Done, "program", &text).while_running("the program is checked and runs")
        }
        Happened::ProgramFailed { attempt, error } => {
            named_paragraph(Mark::Warning, &format!("program {attempt}"), error, ERROR_LINES)
        }
        Happened::ApprovalAwaited(asked) => approval_awaited(asked),
        Happened::Decided(decision) => {
            decided(decision).while_running("the program runs again, up to the call")
        }
        Happened::CallRefused { number, tool, .. } => Rendered::line(
            Mark::Warning,
            &format!("call {number}"),
            &format!("{tool} was not called"),
        )
        .while_running(format!("the program runs, after call {number}")),
        Happened::ToolCalled {
            number,
            tool,
            raised,
            seconds: took,
            ..
        } => {
            let name = format!("call {number}");
            let shown = match raised {
                _ if *number > LISTED_CALLS => Rendered::default(),
                None => Rendered::line(Mark::Done, &name, &format!("{tool}   {}", seconds(*took))),
                Some(raised) => named_paragraph(
                    Mark::Warning,
                    &name,
                    &format!("{tool} raised {raised}"),
                    ERROR_LINES,
                ),
            };
            shown.while_running(format!("the program runs, after call {number}"))
        }
    }
}

/// Says what a question came to in all.
pub(super) fn spent(mark: Mark, status: &CodeModeRunStatus) -> Vec<PaintedLine> {
    let number = |number: i64| u64::try_from(number).unwrap_or_default();
    let tokens = status.tokens.map_or(0, |tokens| tokens.total);
    // Those that came: one that the model was asked for in vain is none.
    let programs = count(number(status.model_calls.into()), "program");
    let spent = format!("{programs}, {} tokens", thousands(number(tokens)));
    vec![
        step(mark, "spent", &spent),
        step(Mark::Detail, "calls", &calls_by_tool(&status.tool_calls)),
    ]
}

/// Says what it came to in all, and where its files are.
pub(super) fn end(ended: &QuestionOutcome) -> Vec<PaintedLine> {
    let status = &ended.status;
    let mark = match ended.stage {
        QuestionStage::Succeeded => Mark::Done,
        QuestionStage::Failed => Mark::Failed,
        QuestionStage::Writing | QuestionStage::Running => Mark::Warning,
    };
    let mut lines = spent(mark, status);
    if !ended.unknown.is_empty() {
        let unknown = format!("{}: nobody knows what came of it", calls_by_tool(&ended.unknown));
        lines.push(step(Mark::Warning, "unknown", &unknown));
    }
    lines.push(step(Mark::Detail, "files", &shell_word(&ended.folder)));
    lines
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::cli::paint::paint;

    fn lines(event: &Happened) -> Vec<String> {
        happened(event)
            .lines
            .iter()
            .map(|line| paint(line, false))
            .collect()
    }

    fn call(number: u32, raised: Option<&str>) -> Happened {
        Happened::ToolCalled {
            attempt: 1,
            number,
            tool: "exchange_rate".to_owned(),
            raised: raised.map(str::to_owned),
            seconds: 0.25,
        }
    }

    #[test]
    fn a_call_is_a_line_with_its_time_and_one_that_failed_with_its_reason() {
        assert_eq!(lines(&call(3, None)), ["✓ call 3        exchange_rate   0.2 s"]);
        assert_eq!(
            lines(&call(4, Some("ValueError: no such base"))),
            ["! call 4        exchange_rate raised ValueError: no such base"]
        );
    }

    /// The first line at the end of a question after some replies of the model.
    fn spent(replies: i32) -> String {
        let ended = QuestionOutcome {
            stage: QuestionStage::Writing,
            status: CodeModeRunStatus {
                attempt: 1,
                model_calls: replies,
                ..CodeModeRunStatus::default()
            },
            answer: None,
            conversation: None,
            code: None,
            folder: "out".into(),
            notices: Vec::new(),
            unknown: BTreeMap::new(),
            recording: String::new(),
            stopped: None,
        };
        paint(&end(&ended)[0], false)
    }

    #[test]
    fn a_program_that_the_model_was_asked_for_in_vain_is_not_counted() {
        assert_eq!(spent(0), "! spent         0 programs, 0 tokens");
        assert_eq!(spent(1), "! spent         1 program, 0 tokens");
    }

    #[test]
    fn a_program_with_many_calls_does_not_fill_the_terminal() {
        assert_eq!(lines(&call(21, None)), Vec::<String>::new());
        assert!(happened(&call(21, None)).running.is_some());
    }
}
