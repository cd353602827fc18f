//! Results of commands, as the agent is told them.

use std::fmt::Write as _;

use jiff::Timestamp;

use super::step::{CallResult, CommandResult, CommandRun, DENIED, EarlyEnd, INTERCEPTED, NO_OUTPUT, SAFE};

/// Text about a command that was not run.
const NOT_BEGUN: &str = "This command was not run: the sandbox ended before it was its turn.";
/// Text about a command that was running when its sandbox ended.
const INTERRUPTED: &str = "The sandbox ended while this command ran.";
/// The exit code of a command that a signal killed which it cannot handle (128 + SIGKILL).
const KILLED: i32 = 137;
/// Text about commands whose sandbox left no report.
const LOST: &str = "The sandbox ended without a report: the limit of memory was met, or something ended all of its processes. What this \
                    command wrote and changed is lost: the files are as they were before.";

/// Text about a command that started pytest.
const TESTS: &str =
    "[pytest: the task's own tests run in its place, and what stands after it in this command is not run]";

/// Returns the results of commands as they are told: so many, up to one that asks for tests.
pub(super) fn command_results(
    run: &CommandRun,
    asked: usize,
    ended: Option<&EarlyEnd>,
    began: Timestamp,
    now: Timestamp,
) -> Vec<CallResult> {
    let asks = run
        .results
        .iter()
        .take(asked)
        .position(|done| done.asks_for_tests);
    // What comes after it is still to be run.
    let asked = asks.map_or(asked, |index| index + 1);
    let carrier = ended.and_then(|ended| carrier(run, asked, ended));
    let ended = ended.map(EarlyEnd::words);
    let ended = ended.as_deref();
    let result = |index: usize| {
        let done = run.results.get(index);
        let tells = carrier == Some(index);
        let mut text = match done {
            None if run.is_lost => LOST.to_owned(),
            done => command_text(done, ended),
        };
        if let Some(why) = ended.filter(|_| tells) {
            let _ = write!(text, "\n[{why}]");
        }
        if index + 1 == asked {
            for line in &run.left_out {
                // Writing to a string cannot fail.
                let _ = write!(text, "\n[not taken into the workspace: {line}]");
            }
        }
        let asks_for_tests = done.is_some_and(|done| done.asks_for_tests);
        let class = match done {
            Some(done) if done.asks_for_tests => INTERCEPTED,
            Some(done) if !done.denied.is_empty() => DENIED,
            _ => SAFE,
        };
        let is_error = tells || class == DENIED || done.is_none_or(CommandResult::has_failed);
        let (started_at, finished_at) = done.and_then(CommandResult::times).unwrap_or((began, now));
        CallResult {
            tool: "Bash".to_owned(),
            what: String::new(),
            class: class.to_owned(),
            text,
            is_error: is_error && !asks_for_tests,
            is_partial: asks_for_tests,
            exit: done
                .filter(|done| !done.interrupted && !done.asks_for_tests)
                .map(|done| done.exit),
            bytes: done.map_or(0, |done| done.bytes),
            started_at,
            finished_at: finished_at.min(now).max(started_at),
        }
    };
    (0..asked).map(result).collect()
}

/// Finds the ended command that is told why its sandbox ended: the last, where it was killed, whichever of the two was seen first. A limit
/// that no command is told of otherwise was met by the last that failed, or by a process of a pipe that ended well.
fn carrier(run: &CommandRun, asked: usize, ended: &EarlyEnd) -> Option<usize> {
    let results = &run.results;
    let last = results.len().checked_sub(1)?;
    if results[last].exit == KILLED {
        return Some(last);
    }
    let is_told = results.len() < asked || results[last].interrupted;
    match ended {
        EarlyEnd::Limit(_) if !is_told => results.iter().rposition(CommandResult::has_failed).or(Some(last)),
        EarlyEnd::Limit(_) | EarlyEnd::Other(_) => None,
    }
}

/// Returns the output of a command and how it ended; `ended` says why the sandbox ended early.
fn command_text(done: Option<&CommandResult>, ended: Option<&str>) -> String {
    let Some(done) = done else {
        return ended.map_or_else(|| NOT_BEGUN.to_owned(), |why| format!("{NOT_BEGUN} {why}"));
    };
    if done.interrupted {
        let why = ended.unwrap_or_default();
        let text = format!("{INTERRUPTED} {why} What it wrote is lost, and the files are as it left them.");
        return text.replace("  ", " ");
    }
    let mut text = done.output.trim_end().to_owned();
    // Where the command has thrown away what was said to it.
    for line in done.denied.iter().filter(|line| !done.output.contains(*line)) {
        let _ = write!(text, "\n[{line}]");
    }
    if text.is_empty() && !done.asks_for_tests {
        NO_OUTPUT.clone_into(&mut text);
    }
    let text = text.trim_start_matches('\n');
    if done.asks_for_tests {
        format!("{text}\n{TESTS}").trim_start().to_owned()
    } else if done.timed_out {
        format!("{text}\n[ended after {:.1} s: its time was over]", done.seconds)
    } else if done.exit != 0 {
        format!("{text}\n[exit code {}]", done.exit)
    } else {
        text.to_owned()
    }
}
