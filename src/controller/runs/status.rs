//! Status of a run at each point. Pure.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::controller::record::cache::terminal;
use codegen_api::conditions::run_reason;
use codegen_api::run_status::{Finding, RunOutputStatus};
use codegen_api::values::ValueType;
use codegen_api::{CodeGenRun, CodeGenRunStatus};
use codegen_core::bounds::{cut, message_shown};
use codegen_core::run::{RunFailure, TypedOutput, duration};
use codegen_core::stage::Stage;
use codegen_core::status::{Hold, ReadyState, conditions};

/// Result that another run has for the same inputs.
pub struct AdoptedRun {
    /// Its name.
    pub from: String,
    /// Its outputs.
    pub outputs: Vec<TypedOutput>,
    /// Findings in its data.
    pub findings: Vec<Finding>,
}

/// Stage of a run that has not begun.
const PENDING: &str = "Pending";
/// Stage of a run that has.
const RUNNING: &str = "Running";
/// Most bytes of a status as JSON.
const MOST_BYTES: usize = 32 * 1024;
/// Bytes of the last lines of a program.
const LAST_LINES: usize = 4_000;

/// Share of what people read that stays, where all of it is too much: bytes of values, number and bytes of findings.
const STEPS: [(usize, usize, usize); 3] = [(1024, 32, 400), (256, 16, 200), (64, 4, 100)];

/// The terminal stage that the run is in.
#[must_use]
pub fn ended_in(run: &CodeGenRun) -> Option<Stage> {
    terminal(run.status.as_ref()?.stage.as_deref()?)
}

/// Writes the status of one object at one moment.
#[derive(Clone, Copy)]
pub struct Writer {
    /// Generation of the spec.
    pub generation: Option<i64>,
    /// Time of the write.
    pub now: Timestamp,
}

impl Writer {
    /// A status that says what holds the run.
    #[must_use]
    pub fn held(self, before: CodeGenRunStatus, hold: &Hold) -> CodeGenRunStatus {
        let stage = if before.snapshot.is_some() {
            RUNNING
        } else {
            PENDING
        };
        self.said(before, stage, hold.until.into(), hold.reason, &hold.message)
    }

    /// The program is under way.
    #[must_use]
    pub fn running(self, before: CodeGenRunStatus) -> CodeGenRunStatus {
        let message = match before.executions {
            0 => "the program runs".to_owned(),
            times => format!("the program runs, for the {} time", ordinal(times + 1)),
        };
        self.said(
            before,
            RUNNING,
            ReadyState::Working,
            run_reason::RUNNING,
            &message,
        )
    }

    /// The program ended well.
    #[must_use]
    pub fn succeeded(
        self,
        before: CodeGenRunStatus,
        outputs: Vec<RunOutputStatus>,
        seconds: f64,
    ) -> CodeGenRunStatus {
        let message = in_words(&outputs, &before.findings);
        let status = CodeGenRunStatus {
            outputs,
            exit_code: Some(0),
            duration: Some(duration(seconds)),
            completed_at: Some(Time(self.now)),
            ..before
        };
        self.success(status, run_reason::PROGRAM_SUCCEEDED, &message)
    }

    /// Another run has written the same already.
    #[must_use]
    pub fn adopted(
        self,
        before: CodeGenRunStatus,
        adopted: &AdoptedRun,
        outputs: Vec<RunOutputStatus>,
    ) -> CodeGenRunStatus {
        let words = in_words(&outputs, &adopted.findings);
        let message = format!("as in the run {}: {words}", adopted.from);
        let status = CodeGenRunStatus {
            outputs,
            findings: adopted.findings.clone(),
            adopted_from: Some(adopted.from.clone()),
            started_at: Some(Time(self.now)),
            completed_at: Some(Time(self.now)),
            ..before
        };
        self.success(status, run_reason::OUTPUTS_ADOPTED, &message)
    }

    /// The run failed.
    pub fn failed(
        self,
        before: CodeGenRunStatus,
        failure: &RunFailure,
        seconds: Option<f64>,
    ) -> CodeGenRunStatus {
        let status = CodeGenRunStatus {
            exit_code: failure.exit_code,
            limit: failure.limit.map(str::to_owned),
            last_lines: Some(cut(&failure.last_lines, LAST_LINES)).filter(|lines| !lines.is_empty()),
            duration: seconds.map(duration),
            completed_at: Some(Time(self.now)),
            ..before
        };
        let (stage, reason) = (Stage::Failed.as_str(), failure.reason.as_str());
        self.said(status, stage, ReadyState::Failed, reason, &failure.message)
    }

    fn success(self, status: CodeGenRunStatus, reason: &str, message: &str) -> CodeGenRunStatus {
        let stage = Stage::Succeeded.as_str();
        self.said(status, stage, ReadyState::Succeeded, reason, message)
    }

    fn said(
        self,
        before: CodeGenRunStatus,
        stage: &str,
        kind: ReadyState,
        reason: &str,
        message: &str,
    ) -> CodeGenRunStatus {
        // It may quote a program, or the name of a file that one wrote.
        let message = message_shown(message);
        let said = (reason, message.as_str());
        truncated_status(CodeGenRunStatus {
            conditions: conditions(kind, said, self.generation, &before.conditions, self.now),
            observed_generation: self.generation,
            stage: Some(stage.to_owned()),
            reason: Some(reason.to_owned()),
            message: Some(message),
            ..before
        })
    }
}

/// The status with as much of it as fits: what is long stands in Secrets as well.
fn truncated_status(mut status: CodeGenRunStatus) -> CodeGenRunStatus {
    for (value, findings, finding) in STEPS {
        if serde_json::to_vec(&status).map_or(0, |json| json.len()) <= MOST_BYTES {
            break;
        }
        for output in &mut status.outputs {
            output.value = output.value.take().filter(|text| text.len() <= value);
        }
        for input in &mut status.inputs {
            input.value = input.value.take().filter(|text| text.len() <= value);
        }
        status.findings.truncate(findings);
        for found in &mut status.findings {
            found.check = cut(&found.check, finding);
            for first in &mut found.first {
                *first = cut(first, finding);
            }
        }
        status.last_lines = status.last_lines.map(|lines| cut(&lines, value * 2));
    }
    status
}

/// `species = 3, summary (98 bytes)`.
fn in_words(outputs: &[RunOutputStatus], findings: &[Finding]) -> String {
    const NAMED: usize = 6;
    const LONGEST: usize = 40;
    let one = |output: &RunOutputStatus| match (&output.value, output.type_) {
        (Some(value), _) if value.len() <= LONGEST && !value.contains('\n') => {
            format!("{} = {value}", output.name)
        }
        _ if output.claim.is_some() => {
            let claim = output.claim.as_ref().map_or("", |claim| &claim.claim_name);
            format!("{} ({} bytes on the claim {claim})", output.name, output.bytes)
        }
        (_, ValueType::Dir) if output.files.len() != 1 => {
            format!("{} ({} files)", output.name, output.files.len())
        }
        _ => format!("{} ({} bytes)", output.name, output.bytes),
    };
    let mut words: Vec<String> = outputs.iter().take(NAMED).map(one).collect();
    match outputs.len().saturating_sub(NAMED) {
        0 => {}
        more => words.push(format!("{more} more")),
    }
    let mut words = if words.is_empty() {
        "the program ended well; the task declares no outputs".to_owned()
    } else {
        words.join(", ")
    };
    if let Some(first) = findings.first() {
        words = format!("{words}; {}", first.sentence());
    }
    words
}

fn ordinal(number: i32) -> String {
    match number {
        2 => "2nd".to_owned(),
        3 => "3rd".to_owned(),
        number => format!("{number}th"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use codegen_api::run_status::{DataSide, InputOrigin, RunInputStatus, Severity, StoredFile};
    use codegen_core::run::FailureReason;
    use codegen_core::status::Until;

    const WRITER: Writer = Writer {
        generation: Some(1),
        now: Timestamp::UNIX_EPOCH,
    };

    fn conditions_of(status: &CodeGenRunStatus) -> Vec<&str> {
        status
            .conditions
            .iter()
            .map(|condition| condition.status.as_str())
            .collect()
    }

    fn output(name: &str, type_: ValueType, value: Option<&str>) -> RunOutputStatus {
        RunOutputStatus {
            name: name.to_owned(),
            type_,
            value: value.map(str::to_owned),
            sha256: "0".repeat(64),
            bytes: 98,
            file_name: name.to_owned(),
            files: Vec::new(),
            claim: None,
        }
    }

    #[test]
    fn a_run_that_waits_is_pending_and_says_for_what() {
        let hold = Hold {
            reason: run_reason::TASK_NOT_FOUND,
            message: "create it".to_owned(),
            until: Until::Corrected,
        };
        let status = WRITER.held(CodeGenRunStatus::default(), &hold);
        assert_eq!(status.stage.as_deref(), Some("Pending"));
        assert_eq!(conditions_of(&status), ["False", "Unknown", "False", "True"]);
        assert_eq!(status.reason.as_deref(), Some("TaskNotFound"));
    }

    #[test]
    fn a_run_that_succeeded_says_its_outputs_in_a_sentence() {
        let outputs = vec![
            output("summary", ValueType::File, None),
            output("species", ValueType::Int, Some("3")),
        ];
        let status = WRITER.succeeded(CodeGenRunStatus::default(), outputs, 1.26);
        assert_eq!(status.message.as_deref(), Some("summary (98 bytes), species = 3"));
        assert_eq!(status.duration.as_deref(), Some("1.3s"));
        assert_eq!(conditions_of(&status), ["True", "True", "False", "False"]);
    }

    #[test]
    fn a_run_that_failed_says_exit_code_and_last_lines() {
        let failure = RunFailure {
            reason: FailureReason::ProgramFailed,
            message: "the program ended with exit code 3".to_owned(),
            exit_code: Some(3),
            limit: None,
            last_lines: "no such column".to_owned(),
        };
        let status = WRITER.failed(CodeGenRunStatus::default(), &failure, Some(61.4));
        assert_eq!(conditions_of(&status), ["False", "False", "False", "True"]);
        assert_eq!(
            (status.exit_code, status.duration.as_deref()),
            (Some(3), Some("1m1s"))
        );
        assert_eq!(status.last_lines.as_deref(), Some("no such column"));
    }

    #[test]
    fn the_longest_status_fits() {
        let text = "\u{1}".repeat(256);
        let input = |number: usize| RunInputStatus {
            name: format!("{number:063}"),
            type_: ValueType::String,
            from: InputOrigin::Given,
            value: Some(text.clone()),
            sha256: None,
            bytes: None,
            unchecked: false,
        };
        let finding = || Finding {
            severity: Severity::Warning,
            of: DataSide::Input,
            name: "n".repeat(63),
            column: "c".repeat(200),
            check: text.repeat(4),
            count: 1,
            first: vec![text.clone(); 3],
        };
        let outputs = (0..32)
            .map(|number| RunOutputStatus {
                files: (0..4)
                    .map(|file| StoredFile {
                        path: format!("folder/{file}"),
                        secret: "s".repeat(63),
                        key: format!("file.{file}"),
                    })
                    .collect(),
                ..output(
                    &format!("{number:063}"),
                    ValueType::String,
                    Some(&"\u{1}".repeat(1024)),
                )
            })
            .collect();
        let before = CodeGenRunStatus {
            inputs: (0..48).map(input).collect(),
            findings: (0..64).map(|_| finding()).collect(),
            ..CodeGenRunStatus::default()
        };
        let status = WRITER.succeeded(before, outputs, 1.0);
        let bytes = serde_json::to_vec(&status).unwrap().len();
        assert!(bytes <= 48 * 1024, "{bytes}");
        assert_eq!(status.outputs.len(), 32);
    }
}
