//! `kubectl-codegen tests`: the tests of an attempt, or one of them with its traceback.

mod checks;

use serde_json::json;

use self::checks::{CheckEnd, CheckLine, checks, sections};
use super::args::{Color, ListFormat, TestsArgs};
use super::command::{self, CommandError, Printout, TASK_FAILED};
use super::recorded::{RecordedTask, read};
use super::summary::tests as counts;
use super::table::{Listing, cell};
use codegen_api::status::{AttemptStatus, FailureDiagnosis};
use codegen_core::stage::Stage;

/// Widest name and message of a table.
const NAME_COLUMNS: usize = 60;
const MESSAGE_COLUMNS: usize = 70;

/// Runs the command.
pub(super) fn run(args: &TestsArgs) -> i32 {
    command::run(Color::Auto, async |progress| {
        let task = Box::pin(read(&args.record.task, &args.record.cluster)).await?;
        show(&task, args)?.print(progress)
    })
}

/// What is printed, and a note for whoever reads it.
fn printout(text: String, note: Option<String>, passed: bool) -> Printout {
    Printout {
        text,
        notes: note.into_iter().collect(),
        code: if passed { 0 } else { TASK_FAILED },
    }
}

fn show(task: &RecordedTask, args: &TestsArgs) -> Result<Printout, CommandError> {
    match (&task.withheld, &args.test) {
        (None, None) => list(task, args),
        (None, Some(test)) => one(task, args, test),
        (Some(_), None) => by_status(task, args),
        (Some(_), Some(test)) => diagnosed(task, test),
    }
}

/// Returns the reason for which messages and tracebacks are not shown.
fn private(task: &RecordedTask) -> Option<String> {
    task.is_private.then(|| {
        "the task's exposure is SchemaOnly, so what its tests printed, which may hold its data, is not shown".to_owned()
    })
}

/// Everything that was checked in an attempt.
fn list(task: &RecordedTask, args: &TestsArgs) -> Result<Printout, CommandError> {
    let attempt = task.attempt(args.attempt)?;
    let mut found = checks(&attempt);
    let passed = attempt.verdict.passed();
    if args.failed {
        found.retain(|check| check.outcome != CheckEnd::Passed);
    }
    if task.is_private {
        for check in &mut found {
            check.hide();
        }
    }
    let about = json!({
        "task": task.name, "attempt": attempt.attempt, "passed": passed,
        // The sentence quotes the first failure.
        "summary": (!task.is_private).then(|| attempt.verdict.summary()),
    });
    let listing = Listing {
        header: vec!["KIND", "NAME", "OUTCOME", "MESSAGE"],
        rows: found.iter().map(|check| row(check, args.format)).collect(),
        names: found.iter().map(|check| check.name.clone()).collect(),
        items: found
            .iter()
            .map(|check| serde_json::to_value(check).unwrap_or_default())
            .collect(),
    };
    let mut text = listing.print(args.format, &about);
    if args.format == ListFormat::Table {
        let failed = found
            .iter()
            .filter(|check| check.outcome != CheckEnd::Passed)
            .count();
        let end = if passed { "passed" } else { "failed" };
        text = format!("attempt {} {end}\n{text}", attempt.attempt);
        if failed == 0 && args.failed {
            text = format!("attempt {} {end}; nothing in it failed\n", attempt.attempt);
        }
    }
    Ok(printout(text, private(task), passed))
}

fn row(check: &CheckLine, format: ListFormat) -> Vec<String> {
    vec![
        check.kind.to_owned(),
        cell(&check.name, NAME_COLUMNS, format),
        check.outcome.as_str().to_owned(),
        cell(
            check.message.as_deref().unwrap_or_default(),
            MESSAGE_COLUMNS,
            format,
        ),
    ]
}

/// One test, or all of a parametrized one, whole.
fn one(task: &RecordedTask, args: &TestsArgs, test: &str) -> Result<Printout, CommandError> {
    let attempt = task.attempt(args.attempt)?;
    let number = attempt.attempt;
    if let Some(why) = private(task) {
        return Err(CommandError::failed(why));
    }
    let all = checks(&attempt);
    let found: Vec<&CheckLine> = all.iter().filter(|check| check.is_called(test)).collect();
    if found.is_empty() {
        return Err(CommandError::failed(format!(
            "attempt {number} has no test {test}: kubectl-codegen tests {} --attempt {number} lists them",
            task.argument()
        )));
    }
    let passed = found.iter().all(|check| check.outcome == CheckEnd::Passed);
    let sections = found.iter().map(|check| sections(check, number));
    Ok(printout(sections.collect(), None, passed))
}

/// The attempts as the status counts them, for whoever may read no more.
fn by_status(task: &RecordedTask, args: &TestsArgs) -> Result<Printout, CommandError> {
    let passed = |attempt: &AttemptStatus| {
        let is_last = task.status.attempts.last().map(|last| last.number) == Some(attempt.number);
        let stage = task
            .status
            .stage
            .as_deref()
            .and_then(|stage| stage.parse::<Stage>().ok());
        is_last && stage.is_some_and(Stage::has_passed)
    };
    let wanted = |attempt: &&AttemptStatus| {
        args.attempt
            .is_none_or(|number| i64::from(number) == i64::from(attempt.number))
            && !(args.failed && passed(attempt))
    };
    let attempts: Vec<&AttemptStatus> = task.status.attempts.iter().filter(wanted).collect();
    if attempts.is_empty() && task.status.attempts.is_empty() {
        return Err(CommandError::failed(format!(
            "{} has no attempt yet; {}",
            task.name,
            task.standing()
        )));
    }
    let row = |attempt: &&AttemptStatus| {
        vec![
            attempt.number.to_string(),
            if passed(attempt) { "passed" } else { "failed" }.to_owned(),
            counts(Some(attempt)),
            cell(
                attempt.summary.as_deref().unwrap_or_default(),
                MESSAGE_COLUMNS,
                args.format,
            ),
        ]
    };
    let listing = Listing {
        header: vec!["ATTEMPT", "OUTCOME", "COUNTS", "SUMMARY"],
        rows: attempts.iter().map(row).collect(),
        names: attempts
            .iter()
            .map(|attempt| attempt.number.to_string())
            .collect(),
        items: attempts
            .iter()
            .map(|attempt| serde_json::to_value(attempt).unwrap_or_default())
            .collect(),
    };
    let why = task.withheld.as_deref().unwrap_or_default();
    let text = listing.print(args.format, &json!({"task": task.name, "attempts": true}));
    let note = format!("these are the counts of the status; the tests themselves are not shown: {why}");
    // As where the tests themselves are shown, it is the last attempt that counts.
    let passed = attempts.last().is_none_or(|attempt| passed(attempt));
    Ok(printout(text, Some(note), passed))
}

/// Shows the diagnosis of a test in the status.
fn diagnosed(task: &RecordedTask, test: &str) -> Result<Printout, CommandError> {
    let all = task.status.attempts.iter().flat_map(|attempt| &attempt.diagnosis);
    let found: Vec<&FailureDiagnosis> = all
        .filter(|failure| checks::is_called(&failure.test, test))
        .collect();
    let why = task.withheld.clone().unwrap_or_default();
    if found.is_empty() {
        return Err(CommandError::usage(why));
    }
    let whole = |failure: &&FailureDiagnosis| {
        format!(
            "{}: {}\nexpected: {}\nactual: {}\ncause: {}\n",
            failure.test, failure.error, failure.expected, failure.actual, failure.root_cause
        )
    };
    let note = format!("this is the diagnosis of the status; the traceback is not shown: {why}");
    Ok(printout(found.iter().map(whole).collect(), Some(note), false))
}

#[cfg(test)]
mod tests;
