//! Output of the programs of a question, and their calls.

use std::fmt::Write as _;

use jiff::Timestamp;

use crate::cli::args::LogsArgs;
use crate::cli::ask::follow_question;
use crate::cli::cluster::Cluster;
use crate::cli::command::CommandError;
use crate::cli::progress::ProgressPrinter;
use crate::cli::recorded::{AnsweringProgram, RecordedQuestion, question_from_cluster};
use crate::cli::text::{cut, seconds, with_line_end};
use codegen_api::CodeModeRun;
use codegen_code_mode::journal::{CallEnd, CallOutcome};

/// Widest line about a call.
const CALL_COLUMNS: usize = 200;

/// Reads what the question `name` left of the programs that are meant.
pub(super) async fn logs(
    name: &str,
    args: &LogsArgs,
    progress: &ProgressPrinter,
) -> Result<String, CommandError> {
    if args.run.is_some() {
        let message = "--run names a run of a task's program: the runs of a question are CodeGenRuns of its own, which kubectl get codegenruns lists";
        return Err(CommandError::usage(message));
    }
    let cluster = Cluster::connect(&args.record.cluster).await?;
    if args.follow {
        // A watch waits for ever for what is not there.
        cluster.get::<CodeModeRun>(name).await?;
        follow_question(&cluster, name, progress).await?;
    }
    let question = question_from_cluster(&cluster, name).await?;
    printed(&question, args.attempt, args.all || args.follow).await
}

async fn printed(
    question: &RecordedQuestion,
    number: Option<u32>,
    all: bool,
) -> Result<String, CommandError> {
    let programs = match question.readable()?.programs().await? {
        programs if all && !programs.is_empty() => programs,
        _ => vec![question.program(number).await?],
    };
    let texts: Vec<String> = programs.iter().map(text).collect();
    Ok(texts.join("\n"))
}

/// A program with its calls and what it printed.
fn text(program: &AnsweringProgram) -> String {
    let came_to = match &program.error {
        _ if program.has_answered => "answered".to_owned(),
        Some(error) => cut(error, CALL_COLUMNS),
        None => "has not ended".to_owned(),
    };
    let mut text = format!("==> program {}: {came_to} <==\n", program.number);
    for call in &program.calls {
        let _ = writeln!(text, "{}", line(call));
    }
    for call in &program.in_flight {
        let made = cut(&call.to_string(), CALL_COLUMNS);
        let _ = writeln!(text, "call {}: {made}: nobody knows what it came to", call.number);
    }
    text.push_str(&with_line_end(&program.printed));
    text
}

fn line(ended: &CallEnd) -> String {
    let made = cut(&ended.call.to_string(), CALL_COLUMNS);
    let came_to = match &ended.outcome {
        CallOutcome::Returned(value) => format!("-> {value}"),
        CallOutcome::Raised { kind, message } => format!("raised {kind}: {message}"),
    };
    let took = match took(ended) {
        _ if ended.is_copy => " (from an earlier program)".to_owned(),
        _ if ended.is_refused => " (was not made)".to_owned(),
        Some(took) => format!(" ({})", seconds(took)),
        None => String::new(),
    };
    format!(
        "call {}: {made} {}{took}",
        ended.call.number,
        cut(&came_to, CALL_COLUMNS)
    )
}

fn took(ended: &CallEnd) -> Option<f64> {
    let started: Timestamp = ended.started_at.parse().ok()?;
    let finished: Timestamp = ended.ended_at.parse().ok()?;
    Some(finished.duration_since(started).as_secs_f64())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cli::recorded::fixture::seen;
    use crate::controller::tests::code_mode::Shop;

    #[tokio::test]
    async fn the_logs_of_a_question_have_its_calls_and_what_its_program_printed() {
        let mut shop = Shop::new("print('from', 'the till')\nawait till() + 1").await;
        shop.ask("ask", &json!({}));
        shop.settle("ask").await;
        let question = question_from_cluster(&seen(&shop.world), "ask").await.unwrap();
        let text = printed(&question, None, false).await.unwrap();
        let (first, rest) = text.split_once('\n').unwrap();
        assert_eq!(first, "==> program 1: answered <==");
        assert!(rest.starts_with("call 1: till() -> 20 ("), "{rest}");
        assert!(rest.ends_with("s)\nfrom the till\n"), "{rest}");
        let absent = printed(&question, Some(3), false).await.unwrap_err();
        assert_eq!(absent.to_string(), "ask has no program 3: recorded are 1");
    }

    #[tokio::test]
    async fn every_program_that_failed_is_shown_with_what_was_wrong() {
        let mut shop = Shop::new("print('so far')\nawait till()\n1 // 0").await;
        shop.ask("ask", &json!({}));
        shop.settle("ask").await;
        let question = question_from_cluster(&seen(&shop.world), "ask").await.unwrap();
        let all = printed(&question, None, true).await.unwrap();
        assert_eq!(all.matches("ZeroDivisionError").count(), 3, "{all}");
        assert_eq!(all.matches("so far\n").count(), 3, "{all}");
        let last = printed(&question, None, false).await.unwrap();
        assert!(last.starts_with("==> program 3: "), "{last}");
    }

    #[test]
    fn what_a_tool_gave_begins_no_line_of_its_own_and_is_cut() {
        let ended: CallEnd = serde_json::from_value(json!({
            "number": 1, "tool": "till", "arguments": {"day": "x\u{1b}[2J\ncall 2: refund()"},
            "outcome": {"raised": {"kind": "ValueError", "message": "no\n".repeat(1_000)}},
            "startedAt": "2026-01-01T00:00:00Z", "endedAt": "2026-01-01T00:00:01Z",
        }))
        .unwrap();
        let line = line(&ended);
        assert!(!line.contains(['\n', '\u{1b}']) && line.len() < 500, "{line}");
    }
}
