//! Diagnoses: what a failure is blamed on, and when the blame changes sides.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use codegen_api::status::{ErrorType, FailureDiagnosis};

use super::failed_check::{CheckSource, FailedCheck};
use super::progress::Tried;
use super::reply::DiagnosisRow;

/// Failures of one run, diagnosed.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Diagnosis {
    /// One entry a failure.
    pub failures: Vec<DiagnosedFailure>,
}

/// One failure, diagnosed.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct DiagnosedFailure {
    /// Signature by which the failure is recognised as the same as another.
    pub signature: String,
    /// Diagnosis that the status shows.
    pub diagnosis: FailureDiagnosis,
    /// Functions of the program (logic) or tests (test error) that must change.
    pub functions: Vec<String>,
    /// True where a case is blamed: it is worked out again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub blames_case: bool,
    /// pip packages to add.
    pub packages: Vec<String>,
    /// apt packages to add.
    pub system_packages: Vec<String>,
}

impl Diagnosis {
    /// Failures of one type.
    pub fn of(&self, error_type: ErrorType) -> impl Iterator<Item = &DiagnosedFailure> {
        self.failures
            .iter()
            .filter(move |failure| failure.diagnosis.error_type == error_type)
    }

    /// The kinds of fix that follow, in the order in which they are made: environment, logic, test error.
    #[must_use]
    pub fn fixes(&self) -> Vec<ErrorType> {
        // In this order: without a package no other fix can be tried, and the suite is fixed against the program as it then is.
        [ErrorType::Environment, ErrorType::Logic, ErrorType::TestError]
            .into_iter()
            .filter(|error_type| self.of(*error_type).any(|failure| !failure.blames_case))
            .collect()
    }

    /// Cases that are blamed, by name.
    #[must_use]
    pub fn blamed_cases(&self) -> Vec<String> {
        let blamed = self.failures.iter().filter(|failure| failure.blames_case);
        blamed.map(|failure| failure.diagnosis.test.clone()).collect()
    }

    /// Takes the blame from cases that turned out right, and from those that decide nothing any more.
    pub fn settle_cases(&mut self, confirmed: &[String]) {
        self.failures
            .retain(|failure| !failure.blames_case || confirmed.contains(&failure.diagnosis.test));
        // It is the program's fault from here on, since a second answer that saw no program confirmed the case.
        for failure in self.failures.iter_mut().filter(|failure| failure.blames_case) {
            failure.blames_case = false;
            failure.diagnosis.error_type = ErrorType::Logic;
            failure.diagnosis.reclassified_from = Some(ErrorType::TestError);
            failure.diagnosis.root_cause =
                "The case was worked out again from the task alone, with the same result.".into();
            failure.diagnosis.suggested_fix = "Make the program give that result.".into();
            // What the model named for a test error are tests, and no functions of the program.
            failure.functions.clear();
        }
    }

    /// Reports whether any failure changed sides.
    #[must_use]
    pub fn reclassified(&self) -> bool {
        self.failures
            .iter()
            .any(|failure| failure.diagnosis.reclassified_from.is_some())
    }

    /// Functions named for one type, in order, without repeats.
    #[must_use]
    pub fn functions(&self, error_type: ErrorType) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for name in self.of(error_type).flat_map(|failure| &failure.functions) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }
}

/// One row of the model's reply as a diagnosis of `check`.
///
/// A failure whose verified fixes of one type, `after` in a row, left it as it was and that is blamed on the same type again
/// changes sides, `logic` to `test_error` and back; each failure for itself. What no suite can be blamed for stays `logic`.
#[must_use]
pub fn diagnose(
    check: &FailedCheck,
    row: DiagnosisRow,
    tried: &BTreeMap<String, Tried>,
    after: u32,
) -> DiagnosedFailure {
    let signature = check.signature();
    let blames_case = row.error_type == ErrorType::TestError && check.source == CheckSource::Case;
    let mut error_type = match row.error_type {
        ErrorType::TestError if blames_case => ErrorType::TestError,
        // The rehearsal, examples and acceptance tests are not the model's: it cannot excuse the program by them.
        ErrorType::TestError if !check.source.suite_may_be_wrong() => ErrorType::Logic,
        named => named,
    };
    let mut reclassified_from = None;
    let mut root_cause = row.root_cause;
    if let Some(tried) = tried.get(&signature)
        && tried.as_type == error_type
        && tried.fixes >= after
        // Only there may another side be at fault.
        && check.source.suite_may_be_wrong()
        && let Some(other) = other_side(error_type)
    {
        reclassified_from = Some(error_type);
        let was = name(error_type);
        root_cause = format!(
            "The test failed {} times, the last {} after a fix of type {was}; it may be a {} instead. {root_cause}",
            tried.failed,
            tried.fixes,
            name(other),
        );
        error_type = other;
    }
    let flipped = reclassified_from.is_some();
    DiagnosedFailure {
        signature,
        diagnosis: FailureDiagnosis {
            test: check.detail.id.clone(),
            error: check.headline(),
            expected: row.expected,
            actual: row.actual,
            root_cause,
            suggested_fix: row.suggested_fix,
            error_type,
            reclassified_from,
        },
        // Named for the other side, they say nothing about this one.
        blames_case,
        functions: if flipped { Vec::new() } else { row.functions },
        packages: row.packages,
        system_packages: row.system_packages,
    }
}

/// The diagnosis of failing acceptance tests, made without a model: it may learn their count and nothing else.
#[must_use]
pub fn of_acceptance(check: &FailedCheck) -> DiagnosedFailure {
    DiagnosedFailure {
        signature: check.signature(),
        diagnosis: FailureDiagnosis {
            test: check.detail.id.clone(),
            error: check.detail.message.clone(),
            expected: "Tests that you cannot see pass as well.".into(),
            actual: check.detail.message.clone(),
            root_cause: "The program does not do everything that the task asks for.".into(),
            suggested_fix:
                "Compare the program with every sentence of the task, the constraints and the data.".into(),
            error_type: ErrorType::Logic,
            reclassified_from: None,
        },
        functions: Vec::new(),
        blames_case: false,
        packages: Vec::new(),
        system_packages: Vec::new(),
    }
}

/// The diagnosis of a case that fails again although its agent takes the program for right: the case may be wrong.
#[must_use]
pub fn of_doubtful_case(check: &FailedCheck) -> DiagnosedFailure {
    DiagnosedFailure {
        signature: check.signature(),
        diagnosis: FailureDiagnosis {
            test: check.detail.id.clone(),
            error: check.headline(),
            expected: "The result that the case states.".into(),
            actual: check.detail.message.clone(),
            root_cause: "Nothing but cases fails, and this one failed before.".into(),
            suggested_fix: "Work the case out again from the task alone.".into(),
            error_type: ErrorType::TestError,
            reclassified_from: None,
        },
        functions: Vec::new(),
        blames_case: true,
        packages: Vec::new(),
        system_packages: Vec::new(),
    }
}

/// Reports whether nothing fails but what no model may see: acceptance tests and the user's examples.
#[must_use]
pub fn only_acceptance(failed: &[FailedCheck]) -> bool {
    !failed.is_empty() && failed.iter().all(|check| check.source.is_hidden())
}

const fn other_side(error_type: ErrorType) -> Option<ErrorType> {
    match error_type {
        ErrorType::Logic => Some(ErrorType::TestError),
        ErrorType::TestError => Some(ErrorType::Logic),
        ErrorType::Environment => None,
    }
}

/// The type's name in prompts and status.
#[must_use]
pub const fn name(error_type: ErrorType) -> &'static str {
    match error_type {
        ErrorType::Logic => "logic",
        ErrorType::Environment => "environment",
        ErrorType::TestError => "test_error",
    }
}
