//! Verdict on a program: computed from the report alone, never from an exit code or a word in the output.

mod findings;
mod rehearsal;
mod session;
mod suite;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use codegen_api::status::{CaseCounts, RehearsalResult, RehearsalStatus, SuiteStrength, TestCounts};

use super::cases::CasesJudged;
use super::checks::Break;
pub use super::failed_check::{CheckSource, FailedCheck};
use super::python::near_misses::NearMissCounts;
use super::sandbox::{Job, MAX_OUTPUT_BYTES, Phase, PhaseEnd, PhaseName, PhaseReport, Report, TestFailure};
pub use findings::{BrokenOutput, OutputTooLarge, RehearsalFindings, StoredOutput};
use rehearsal::{judge_program, rehearsal_status};
use session::judge_session;
pub use suite::SuiteRole;

/// Acceptance tests of which it is recorded why they failed.
const MOST_ACCEPTANCE_FAILURES: usize = 20;

/// Result of a run of tests and rehearsal.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// Counts of the generated suite; `None` when tests are skipped.
    pub tests: Option<TestCounts>,
    /// Strength of the generated suite, by its session without the program's bodies; `None` where that was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<SuiteStrength>,
    /// Counts of the acceptance tests; `None` without any.
    pub acceptance: Option<TestCounts>,
    /// True where the acceptance tests had the program in their own process, where it could have changed what they find.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub acceptance_imports: bool,
    /// Counts of the plan's cases; `None` without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cases: Option<CaseCounts>,
    /// Counts of the user's examples; `None` without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub examples: Option<CaseCounts>,
    /// End of the rehearsal.
    pub rehearsal: RehearsalStatus,
    /// Exit code of the last phase that ended by itself.
    pub exit_code: Option<i32>,
    /// Everything that must be fixed.
    pub failed: Vec<FailedCheck>,
    /// Cases that failed and only report.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reported: Vec<FailedCheck>,
    /// Failures of cases that are held back. None of them reaches a prompt of a model that writes the program while they are held.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<FailedCheck>,
    /// Numbers of the cases whose failure shows what they state.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub seen: BTreeSet<usize>,
    /// Near misses of a program that passed, on the cases that decided; `None` where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near_misses: Option<NearMissCounts>,
    /// Broken constraints of which it is to be decided whether they speak of the output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubtful: Vec<Break>,
    /// Outputs that could not be checked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub too_large: Vec<OutputTooLarge>,
    /// True where the rehearsal wrote to a disk.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_on_disk: bool,
}

impl Verdict {
    /// Reports whether everything holds.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.failed.is_empty() && self.too_large.is_empty()
    }

    /// Says why it is open whether everything holds, and what to do, where nothing is wrong of what could be checked.
    #[must_use]
    pub fn unchecked(&self) -> Option<String> {
        self.failed.is_empty().then(|| explain(&self.too_large)).flatten()
    }

    /// Returns the failure for which another suite is asked for; `None` where none is.
    #[must_use]
    pub fn asks_for_a_stronger_suite(&self) -> Option<&FailedCheck> {
        self.failed
            .iter()
            .find(|check| check.source == CheckSource::Vacuity)
    }

    /// Reports whether nothing fails but a case that is held back. It may be wrong itself, and nobody else could say so.
    #[must_use]
    pub fn only_held_fails(&self) -> bool {
        !self.failed.is_empty()
            && self
                .failed
                .iter()
                .all(|check| check.source == CheckSource::HeldCase)
    }

    /// Shows what is known of a case that was held back and is no longer.
    pub fn show_held(&mut self, is_shown: impl Fn(&str) -> bool) {
        let held = std::mem::take(&mut self.held);
        let (shown, held): (Vec<_>, Vec<_>) = held.into_iter().partition(|check| is_shown(&check.detail.id));
        self.held = held;
        if shown.is_empty() {
            return;
        }
        // One at a time is held back.
        self.failed.retain(|check| check.source != CheckSource::HeldCase);
        self.failed.extend(shown.into_iter().map(|check| FailedCheck {
            source: CheckSource::SettledCase,
            ..check
        }));
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
            let tests = match self.suite {
                None | Some(SuiteStrength::FailsWhenEmptied) => tests,
                Some(SuiteStrength::PassesWhenEmptied) => {
                    format!("{tests} (also without the program's bodies)")
                }
                Some(SuiteStrength::NotShown) => format!("{tests} (not shown that they can fail)"),
                Some(SuiteStrength::NoSuite) => "no usable test".to_owned(),
            };
            let tests = self.cases.map_or_else(
                || tests.clone(),
                |cases| format!("{} of {} cases and {tests}", cases.passed, cases.total),
            );
            let rehearsal = match self.rehearsal.result {
                RehearsalResult::Passed => "the rehearsal on the samples passed",
                RehearsalResult::Failed | RehearsalResult::Skipped => "no rehearsal",
            };
            return format!(
                "{tests}, {rehearsal}{}{}",
                self.acceptance_words(),
                self.reported_words()
            );
        }
        let more = if self.failed.len() > 1 {
            format!(" (and {} more)", self.failed.len() - 1)
        } else {
            String::new()
        };
        // What could not be checked is named only where nothing is wrong of what could.
        let first = self.failed.first().map(FailedCheck::headline);
        let first = first.or_else(|| explain(&self.too_large)).unwrap_or_default();
        format!("{first}{more}")
    }

    /// Says what the cases that only report found.
    fn reported_words(&self) -> String {
        let Some(first) = self.reported.first() else {
            return String::new();
        };
        let more = match self.reported.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        format!("; reported, and deciding nothing: {}{more}", first.headline())
    }

    /// Says what the acceptance tests are worth.
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

/// Says what to do about outputs that are too large.
fn explain(too_large: &[OutputTooLarge]) -> Option<String> {
    let OutputTooLarge { output, bytes } = too_large.first()?;
    let size = bytes.map_or_else(|| "is too large".to_owned(), |bytes| format!("has {bytes} bytes"));
    let more = match too_large.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more are too large)"),
    };
    Some(format!(
        "the output {output} {size}{more}: a File or a Dir is checked up to 1 GiB and 10,000 files, an output of another type up to \
         {MAX_OUTPUT_BYTES} bytes; declare a long text as a File, give smaller samples, or ask in the prompt for less to be written"
    ))
}

/// Judges a run, in as many jobs as it took. `skipped_rehearsal` says why there was none.
#[must_use]
pub fn judge(
    runs: &[(&Job, &Report)],
    acceptance: Option<&Report>,
    findings: &RehearsalFindings,
    skipped_rehearsal: Option<&str>,
    cases: CasesJudged,
) -> Verdict {
    let PhasesJudged {
        tests,
        mut failed,
        suite,
        was_cut_off,
        program_code,
    } = PhasesJudged::of(runs, findings);
    failed.extend(cases.failed);
    let acceptance = acceptance.map(|report| {
        let (counts, found) = judge_session(report.phases.first());
        if !found.is_empty() {
            failed.push(acceptance_failure(counts));
        }
        counts
    });
    let skipped =
        skipped_rehearsal.or(was_cut_off.then_some("not reached: the tests used up the time of the run"));
    let too_large = findings.too_large.clone();
    let rehearsal = rehearsal_status(&failed, findings, skipped);
    let exit_code = exit_code(&failed, program_code);
    Verdict {
        tests,
        suite,
        acceptance,
        cases: cases.cases,
        examples: cases.examples,
        acceptance_imports: false,
        rehearsal,
        exit_code,
        failed,
        reported: cases.reported,
        held: cases.held,
        seen: cases.seen,
        near_misses: None,
        doubtful: Vec::new(),
        too_large,
        is_on_disk: false,
    }
}

/// Results of the jobs' phases, cases and acceptance tests aside.
#[derive(Default)]
struct PhasesJudged {
    /// Counts of the generated suite.
    tests: Option<TestCounts>,
    /// Faults that suite and rehearsal found.
    failed: Vec<FailedCheck>,
    /// Strength of the suite, by its session without the program's bodies.
    suite: Option<SuiteStrength>,
    /// True where the job ended before the rehearsal, by a failure of what came before it.
    was_cut_off: bool,
    /// Exit code of the rehearsal.
    program_code: Option<i32>,
}

impl PhasesJudged {
    fn of(runs: &[(&Job, &Report)], findings: &RehearsalFindings) -> Self {
        let mut judged = Self::default();
        for (job, report) in runs {
            for (index, phase) in job.phases.iter().enumerate() {
                judged.add(phase, report.phases.get(index), findings);
            }
        }
        judged
    }

    /// Adds a phase, which may not have been reached.
    fn add(&mut self, phase: &Phase, done: Option<&PhaseReport>, findings: &RehearsalFindings) {
        match phase {
            Phase::Tests(asked) if asked.name == PhaseName::Tests => {
                let (counts, found) = judge_session(done);
                self.tests = Some(counts);
                self.failed.extend(found);
            }
            // The session before it has ended the job, and its own failure is reported.
            Phase::Tests(_) if done.is_none() && !self.failed.is_empty() => {}
            Phase::Tests(_) => self.suite = Some(suite::strength(done)),
            Phase::Commands(_) => {}
            // Cases are judged by what they wrote, apart from the phases.
            Phase::Program(program) if program.name == PhaseName::Case => {}
            // What came before has ended the job, and its own failure says so.
            Phase::Program(_) if done.is_none() && !self.failed.is_empty() => self.was_cut_off = true,
            Phase::Program(program) => {
                let end = done.map(|done| &done.end);
                if let (PhaseName::Rehearsal, Some(PhaseEnd::Exited(code))) = (program.name, end) {
                    self.program_code = Some(*code);
                }
                self.failed.extend(judge_program(done, findings));
            }
        }
    }
}

/// Lists why acceptance tests failed, which no model learns.
#[must_use]
pub fn acceptance_failures(report: &Report) -> Vec<TestFailure> {
    let (_, found) = judge_session(report.phases.first());
    found
        .into_iter()
        .take(MOST_ACCEPTANCE_FAILURES)
        .map(|check| check.detail)
        .collect()
}

/// The exit code of a run: a failing task must not look like one that ended well.
fn exit_code(failed: &[FailedCheck], of_program: Option<i32>) -> Option<i32> {
    if failed.is_empty() {
        return Some(0);
    }
    of_program.filter(|code| *code != 0).or(Some(1))
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

#[cfg(test)]
mod tests;
