//! Whether a program passed: computed from the report alone, never from an exit code or a word in the output.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::api::status::{CaseCounts, MutantCounts, RehearsalResult, RehearsalStatus, TestCounts};

use super::cases::CasesJudged;
pub use super::failed_check::{CheckSource, FailedCheck};
use super::failed_check::{last_exception, limit_name, tail};
use super::sandbox::{
    Job, MAX_OUTPUT_BYTES, MAX_OUTPUTS_BYTES, Phase, PhaseEnd, PhaseName, PhaseReport, ProgramPhase, Report,
    Sentinels, TestFailure, TestOutcome, TestReport,
};

/// What a run of tests and rehearsal showed.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// Counts of the generated suite; `None` when tests are skipped.
    pub tests: Option<TestCounts>,
    /// Mutants that the generated suite noticed; `None` where none was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mutants: Option<MutantCounts>,
    /// Counts of the acceptance tests; `None` without any.
    pub acceptance: Option<TestCounts>,
    /// Whether the acceptance tests had the program in their own process, where it could have changed what they find.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub acceptance_imports: bool,
    /// Counts of the plan's cases; `None` without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cases: Option<CaseCounts>,
    /// Counts of the user's examples; `None` without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub examples: Option<CaseCounts>,
    /// How the rehearsal ended.
    pub rehearsal: RehearsalStatus,
    /// Exit code of the last phase that ended by itself.
    pub exit_code: Option<i32>,
    /// Everything that must be mended.
    pub failed: Vec<FailedCheck>,
    /// Outputs that nobody could look at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub too_large: Vec<TooLarge>,
}

/// An output that is too large to be brought back from its sandbox, so that nothing is known of it.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct TooLarge {
    /// Its name.
    pub output: String,
    /// Its size; not told where the samples are private, for a program may write as many bytes as a value says.
    pub bytes: Option<u64>,
}

impl Verdict {
    /// Whether everything holds.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.failed.is_empty() && self.too_large.is_empty()
    }

    /// Why it is not known whether everything holds, and what to do, where nothing is wrong of what could be looked at.
    #[must_use]
    pub fn unchecked(&self) -> Option<String> {
        self.failed.is_empty().then(|| explain(&self.too_large)).flatten()
    }

    /// The failing set by signature.
    #[must_use]
    pub fn failing(&self) -> BTreeSet<String> {
        self.failed.iter().map(FailedCheck::signature).collect()
    }

    /// The verdict in one sentence.
    #[must_use]
    pub fn summary(&self) -> String {
        if self.passed() {
            let tests = self.tests.map_or_else(
                || "tests skipped".to_owned(),
                |t| format!("{} tests passed", t.passed),
            );
            let tests = match self.mutants {
                Some(mutants) => format!("{tests}, mutants {}/{}", mutants.caught, mutants.total),
                None => tests,
            };
            let tests = self.cases.map_or_else(
                || tests.clone(),
                |cases| format!("{} of {} cases and {tests}", cases.passed, cases.total),
            );
            let rehearsal = match self.rehearsal.result {
                RehearsalResult::Passed => "the rehearsal on the samples passed",
                RehearsalResult::Failed | RehearsalResult::Skipped => "no rehearsal",
            };
            return format!("{tests}, {rehearsal}{}", self.acceptance_words());
        }
        let more = if self.failed.len() > 1 {
            format!(" (and {} more)", self.failed.len() - 1)
        } else {
            String::new()
        };
        let first = self.failed.first().map(FailedCheck::headline);
        let first = first.or_else(|| explain(&self.too_large)).unwrap_or_default();
        format!("{first}{more}")
    }

    /// What the acceptance tests are worth.
    fn acceptance_words(&self) -> String {
        let Some(acceptance) = self.acceptance else {
            return String::new();
        };
        let how = if self.acceptance_imports {
            "with the program imported, which is weaker than to run it"
        } else {
            "with the program run apart from them"
        };
        format!(", {} acceptance tests passed {how}", acceptance.passed)
    }
}

/// What to do about outputs that are too large.
fn explain(too_large: &[TooLarge]) -> Option<String> {
    let TooLarge { output, bytes } = too_large.first()?;
    let size = bytes.map_or_else(|| "is too large".to_owned(), |bytes| format!("has {bytes} bytes"));
    let more = match too_large.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more are too large)"),
    };
    Some(format!(
        "the output {output} {size}{more}, and at most {MAX_OUTPUT_BYTES} bytes of one output and {MAX_OUTPUTS_BYTES} of all \
         together are brought back and checked: give smaller samples, or ask in the prompt for less to be written"
    ))
}

/// What the rehearsal's outputs are worth, as found by the data module.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct RehearsalFindings {
    /// Outputs that are missing, of another type, or break a constraint.
    pub faults: Vec<Fault>,
    /// Values of the outputs that are what they should be: output and value, of files and folders their size.
    #[serde(default)]
    pub values: Vec<(String, String)>,
    /// Files and folders that nobody could look at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub too_large: Vec<TooLarge>,
}

/// What is wrong with an output.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Fault {
    /// Name of the output.
    pub output: String,
    /// What is wrong, values quoted.
    pub problem: String,
    /// What is wrong, without any value.
    pub without_values: String,
}

impl RehearsalFindings {
    /// What may be told where the samples are private.
    #[must_use]
    pub fn told(&self) -> Self {
        let faults = self.faults.iter().map(|fault| Fault {
            problem: fault.without_values.clone(),
            ..fault.clone()
        });
        Self {
            faults: faults.collect(),
            values: Vec::new(),
            too_large: self
                .too_large
                .iter()
                .map(|large| TooLarge {
                    bytes: None,
                    ..large.clone()
                })
                .collect(),
        }
    }
}

/// Judges a run, in as many jobs as it took. `skipped_rehearsal` says why there was none.
#[must_use]
pub fn judge(
    runs: &[(&Job, &Report)],
    acceptance: Option<(&Sentinels, &Report)>,
    findings: &RehearsalFindings,
    skipped_rehearsal: Option<&str>,
    cases: CasesJudged,
) -> Verdict {
    let mut failed = Vec::new();
    let mut tests = None;
    let mut proof = None;
    let mut mutants = None;
    let mut weakness = None;
    let mut reached = true;
    let mut program_code = None;
    let phases = runs.iter().flat_map(|(job, report)| {
        job.phases
            .iter()
            .enumerate()
            .map(|(index, phase)| (phase, report.phases.get(index)))
    });
    for (phase, done) in phases {
        if let (
            Phase::Program(ProgramPhase {
                name: PhaseName::Rehearsal,
                ..
            }),
            Some(PhaseReport {
                end: PhaseEnd::Exited(code),
                ..
            }),
        ) = (phase, done)
        {
            program_code = Some(*code);
        }
        match phase {
            Phase::Tests(asked) if asked.name == PhaseName::Tests => {
                let (counts, found) = judge_session(&asked.sentinels, done);
                tests = Some(counts);
                failed.extend(found);
            }
            Phase::Tests(_) if done.is_none() && !failed.is_empty() => {}
            Phase::Tests(asked) => proof = doubt(&asked.sentinels, done),
            Phase::Mutants(asked) => {
                mutants = mutants::count(done);
                weakness = mutants::doubt(asked, done);
            }
            Phase::Program(program) if program.name == PhaseName::Case => {}
            // What came before has ended the job, and its own failure says so.
            Phase::Program(_) if done.is_none() && !failed.is_empty() => reached = false,
            Phase::Program(_) => failed.extend(judge_program(done, findings)),
        }
    }
    let suite_failed = failed.iter().any(|check| check.source != CheckSource::Rehearsal);
    failed.extend(cases.failed);
    if !suite_failed {
        failed.extend(proof);
    }
    let acceptance = acceptance.map(|(sentinels, report)| {
        let (counts, found) = judge_session(sentinels, report.phases.first());
        if !found.is_empty() {
            failed.push(acceptance_failure(counts));
        }
        counts
    });
    if failed.is_empty() {
        failed.extend(weakness);
    }
    let skipped =
        skipped_rehearsal.or((!reached).then_some("not reached: the tests used up the time of the run"));
    let too_large = findings.too_large.clone();
    let rehearsal = rehearsal_status(&failed, &too_large, skipped);
    // A session of tests always ends with 1: one sentinel must fail.
    let exit_code = if failed.is_empty() {
        Some(0)
    } else {
        program_code.filter(|code| *code != 0).or(Some(1))
    };
    Verdict {
        tests,
        mutants,
        acceptance,
        cases: cases.cases,
        examples: cases.examples,
        acceptance_imports: false,
        rehearsal,
        exit_code,
        failed,
        too_large,
    }
}

/// Counts of a pytest session, and why it did not pass. Passed means: the session ended, both sentinels told the truth, at
/// least one other test was collected, and every collected test passed.
fn judge_session(sentinels: &Sentinels, phase: Option<&PhaseReport>) -> (TestCounts, Vec<FailedCheck>) {
    let Some(phase) = phase else {
        return (
            TestCounts::default(),
            vec![session(
                "the test run never started: an earlier phase used up its limits",
            )],
        );
    };
    let empty = TestReport::default();
    let report = phase.tests.as_ref().unwrap_or(&empty);
    let counts = count(report, sentinels);
    let mut failed: Vec<FailedCheck> = report
        .collection_errors
        .iter()
        .map(|detail| FailedCheck {
            source: CheckSource::Collection,
            detail: detail.clone(),
        })
        .collect();
    for result in report.results.iter().filter(|r| !is_sentinel(&r.id, sentinels)) {
        failed.extend(judge_result(result));
    }
    if failed.is_empty() {
        failed.extend(judge_honesty(sentinels, phase, report, counts));
    }
    (counts, failed)
}

fn judge_result(result: &super::sandbox::TestResult) -> Option<FailedCheck> {
    let detail = match result.outcome {
        TestOutcome::Passed => return None,
        TestOutcome::Failed | TestOutcome::Error => {
            let mut detail = result.failure.clone().unwrap_or_default();
            detail.id.clone_from(&result.id);
            detail
        }
        TestOutcome::Skipped => unusual(&result.id, "the test was skipped; a skipped test has not passed"),
        TestOutcome::XFailed | TestOutcome::XPassed => unusual(
            &result.id,
            "the test is marked as expected to fail; such a test proves nothing",
        ),
    };
    Some(FailedCheck {
        source: CheckSource::Test,
        detail,
    })
}

fn judge_honesty(
    sentinels: &Sentinels,
    phase: &PhaseReport,
    report: &TestReport,
    counts: TestCounts,
) -> Option<FailedCheck> {
    let ended = match &phase.end {
        PhaseEnd::TimedOut => Some(format!("the tests did not end within {:.0} s", phase.seconds)),
        PhaseEnd::LimitHit(kind) => Some(format!(
            "the tests used more {} than the sandbox allows",
            limit_name(*kind)
        )),
        PhaseEnd::Signaled(signal) => Some(format!("signal {signal} ended the test session")),
        PhaseEnd::Exited(_) => None,
    };
    if let Some(message) = ended {
        return Some(session(&message));
    }
    if counts.total == 0 && report.session_exit.is_some() {
        return Some(session(
            "no test was collected: a suite needs functions whose names start with test_",
        ));
    }
    let outcome = |name: &str| {
        report
            .results
            .iter()
            .find(|result| result.id == name)
            .map(|result| result.outcome)
    };
    let honest = outcome(&sentinels.must_pass) == Some(TestOutcome::Passed)
        && outcome(&sentinels.must_fail) == Some(TestOutcome::Failed)
        && report.session_exit == Some(1);
    if !honest || counts.passed != counts.total || !each_once(report) {
        return Some(session(&format!(
            "the test session ended before it was over or did not tell the truth: {} of {} tests were reported as passed. \
             Nothing may end the process or reach into the test runner",
            counts.passed, counts.total
        )));
    }
    None
}

/// Whether every collected test has one result and nothing else has any.
fn each_once(report: &TestReport) -> bool {
    let results: BTreeSet<&str> = report.results.iter().map(|result| result.id.as_str()).collect();
    let collected: BTreeSet<&str> = report.collected.iter().map(String::as_str).collect();
    results.len() == report.results.len() && results == collected
}

fn judge_program(phase: Option<&PhaseReport>, findings: &RehearsalFindings) -> Vec<FailedCheck> {
    let failure = |exception: &str, message: String, text: &str| FailedCheck {
        source: CheckSource::Rehearsal,
        detail: TestFailure {
            id: "rehearsal".into(),
            exception: exception.into(),
            message,
            text: tail(text, 2_000),
            ..TestFailure::default()
        },
    };
    let Some(phase) = phase else {
        return vec![failure(
            "",
            "the program never started: an earlier phase used up its limits".into(),
            "",
        )];
    };
    match &phase.end {
        PhaseEnd::Exited(0) => findings
            .faults
            .iter()
            .map(|fault| {
                failure(
                    "",
                    format!("output {}: {}", fault.output, fault.problem),
                    &phase.stderr,
                )
            })
            .collect(),
        PhaseEnd::Exited(code) => {
            let (exception, message) = last_exception(&phase.stderr);
            let message = if message.is_empty() {
                format!("the program ended with exit code {code}")
            } else {
                message
            };
            vec![failure(&exception, message, &phase.stderr)]
        }
        PhaseEnd::Signaled(signal) => vec![failure(
            "",
            format!("signal {signal} ended the program"),
            &phase.stderr,
        )],
        PhaseEnd::TimedOut => {
            vec![failure(
                "",
                format!("the program did not end within {:.0} s", phase.seconds),
                &phase.stderr,
            )]
        }
        PhaseEnd::LimitHit(kind) => {
            let message = format!(
                "the program used more {} than the sandbox allows",
                limit_name(*kind)
            );
            vec![failure("", message, &phase.stderr)]
        }
    }
}

fn count(report: &TestReport, sentinels: &Sentinels) -> TestCounts {
    let mut counts = TestCounts {
        total: int(report
            .collected
            .iter()
            .filter(|id| !is_sentinel(id, sentinels))
            .count()),
        ..TestCounts::default()
    };
    for result in report.results.iter().filter(|r| !is_sentinel(&r.id, sentinels)) {
        match result.outcome {
            TestOutcome::Passed => counts.passed += 1,
            TestOutcome::Failed | TestOutcome::Error => counts.failed += 1,
            TestOutcome::Skipped | TestOutcome::XFailed | TestOutcome::XPassed => counts.skipped += 1,
        }
    }
    let broken = int(report.collection_errors.len());
    counts.total += broken;
    counts.failed += broken;
    counts
}

fn rehearsal_status(
    failed: &[FailedCheck],
    too_large: &[TooLarge],
    skipped: Option<&str>,
) -> RehearsalStatus {
    if let Some(why) = skipped {
        return RehearsalStatus {
            result: RehearsalResult::Skipped,
            message: Some(why.to_owned()),
        };
    }
    let fault = failed.iter().find(|check| check.source == CheckSource::Rehearsal);
    let message = fault
        .map(|check| check.detail.message.clone())
        .or_else(|| explain(too_large));
    RehearsalStatus {
        result: if message.is_some() {
            RehearsalResult::Failed
        } else {
            RehearsalResult::Passed
        },
        message,
    }
}

fn is_sentinel(id: &str, sentinels: &Sentinels) -> bool {
    id == sentinels.must_pass || id == sentinels.must_fail
}

fn session(message: &str) -> FailedCheck {
    FailedCheck {
        source: CheckSource::Session,
        detail: unusual("test session", message),
    }
}

/// Why the run against the program without bodies does not show that the suite can fail; `None` when it does.
fn doubt(sentinels: &Sentinels, phase: Option<&PhaseReport>) -> Option<FailedCheck> {
    let (_, failed) = judge_session(sentinels, phase);
    let fails = failed.iter().any(|check| check.source != CheckSource::Session);
    let forced =
        phase.is_some_and(|phase| matches!(phase.end, PhaseEnd::Signaled(_) | PhaseEnd::LimitHit(_)));
    if fails || forced {
        return None;
    }
    let message = if failed.is_empty() {
        "every test also passes when the bodies of all functions are removed, so the suite proves nothing: \
         assert on results that only a working program gives"
    } else {
        "the tests did not come to an end when the bodies of all functions are removed, so it is not shown that they can fail: \
         keep them short and give every loop an end"
    };
    Some(FailedCheck {
        source: CheckSource::Vacuity,
        detail: unusual("test suite", message),
    })
}

fn acceptance_failure(counts: TestCounts) -> FailedCheck {
    let missed = counts.total - counts.passed;
    let message = if counts.total == 0 {
        "the acceptance tests could not be run against the program".to_owned()
    } else {
        format!("{missed} of {} acceptance tests fail", counts.total)
    };
    FailedCheck {
        source: CheckSource::Acceptance,
        detail: unusual("acceptance tests", &message),
    }
}

fn unusual(id: &str, message: &str) -> TestFailure {
    TestFailure {
        id: id.into(),
        message: message.into(),
        ..TestFailure::default()
    }
}

fn int(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

mod mutants;
#[cfg(test)]
mod tests;
