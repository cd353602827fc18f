//! Evidence for a program that passed, and its strength.

use codegen_api::case::CaseMode;
use codegen_api::status::{CaseCounts, CaseEvidence, EvidenceStatus, EvidenceStrength};

use super::approval::has_approved_plan;
use super::budget::allow_another_call;
use super::cases::examples_are_vacuous;
use super::progress::Progress;
use super::python::near_misses::NearMissCounts;
use super::scope::not_applied;
use super::task::Task;
use super::verdict::SuiteRole;

/// Reason for which evidence is not independent where there is nothing of the kind.
const NOTHING: &str =
    "no case, example or acceptance test checked it: give spec.examples or spec.acceptanceTests";
/// Reason where there are acceptance tests and nothing else.
const IN_PROCESS: &str = "its acceptance tests import the program, which can change there what they find: have them run it by the \
                          fixture program, or give spec.examples";
/// Reason where there are cases or examples.
const VACUOUS: &str = "its cases and examples also hold for a program that does the same whatever it is given (corrected ones do not \
                       count): give two spec.examples with different results, or spec.acceptanceTests";

/// The evidence of the last attempt; `None` before the first one.
#[must_use]
pub fn evidence(task: &Task, progress: &Progress) -> Option<EvidenceStatus> {
    let attempt = progress.attempts.last()?;
    let counted = attempt.cases.unwrap_or_default();
    let cases = progress.cases.clone().map(|cases| CaseEvidence {
        total: counted.total,
        passed: counted.passed,
        seen: i32::try_from(progress.seen_cases.len()).unwrap_or(i32::MAX),
        ..cases
    });
    let has_acceptance = attempt.acceptance_tests.is_some_and(|counts| counts.total > 0);
    let is_shown = has_cases(progress) && !are_vacuous(task, progress);
    let near_misses = progress.near_misses.as_ref().filter(|counts| counts.total > 0);
    let are_weak = near_misses.is_some_and(NearMissCounts::is_weak);
    let strength = if has_acceptance && progress.acceptance_is_apart || is_shown && !are_weak {
        EvidenceStrength::Independent
    } else if is_shown {
        EvidenceStrength::Weak
    } else if attempt.tests.is_some() || has_acceptance {
        EvidenceStrength::SuiteOnly
    } else {
        EvidenceStrength::None
    };
    Some(EvidenceStatus {
        strength,
        cases,
        examples: attempt.examples.map(|counts| of(counts.passed, counts.total)),
        acceptance_tests: attempt
            .acceptance_tests
            .map(|counts| of(counts.passed, counts.total)),
        suite: attempt.tests.map(|counts| of(counts.passed, counts.total)),
        suite_strength: attempt.suite_strength,
        rehearsal: progress.rehearsal.as_ref().map(|rehearsal| rehearsal.result),
        near_misses: near_misses.map(|counts| format!("{}/{}", counts.rejected, counts.total)),
        cases_lack: near_misses.map(NearMissCounts::unseen).unwrap_or_default(),
        constraints_not_applied: not_applied(&progress.constraints),
    })
}

/// Returns the reason for which evidence is not independent, in a sentence that says what to do.
#[must_use]
pub fn doubt(task: &Task, progress: &Progress) -> String {
    let near_misses = progress.near_misses.as_ref().filter(|counts| counts.is_weak());
    if let Some(counts) = near_misses.filter(|_| has_cases(progress) && !are_vacuous(task, progress)) {
        return format!(
            "its cases also hold for {} of {} near misses of it: give spec.examples with {}",
            counts.total - counts.rejected,
            counts.total,
            counts.unseen().join(", ")
        );
    }
    let why = if has_cases(progress) {
        VACUOUS
    } else if task.acceptance_tests.is_some() {
        IN_PROCESS
    } else {
        NOTHING
    };
    why.to_owned()
}

/// Reports whether something decides in which the program has no hand: cases or examples that are not vacuous, acceptance tests that it
/// runs apart from.
#[must_use]
pub fn has_proof(task: &Task, progress: &Progress) -> bool {
    let plan = progress.plan.as_ref().filter(|_| cases_decide(progress));
    let is_planned = plan.is_some_and(|plan| !plan.cases.is_empty());
    let has_cases = is_planned || !task.examples.is_empty();
    has_cases && !are_vacuous(task, progress) || progress.acceptance_is_apart
}

impl Progress {
    /// Returns the role of a suite that finds no fault: it is asked for again once, while an attempt and a call are left for it.
    #[must_use]
    pub fn suite_role(&self, task: &Task) -> SuiteRole {
        let is_left = self.attempts_of_try() < task.limits.max_iterations;
        if is_left && !self.memory.suite_asked && allow_another_call(task, self).is_ok() {
            SuiteRole::AskAgain
        } else if has_proof(task, self) {
            SuiteRole::MayBeLeftOut
        } else {
            SuiteRole::AsItIs
        }
    }
}

impl Progress {
    /// Reports whether more cases are asked for: too many near misses survive those that there are, and nobody approved of these. A
    /// passed program is tested again only while an attempt and a call are left.
    #[must_use]
    pub fn needs_more_cases(&self, task: &Task) -> bool {
        let is_too_few = self
            .near_misses
            .as_ref()
            .is_some_and(NearMissCounts::needs_more_cases);
        is_too_few
            && cases_decide(self)
            && !has_approved_plan(task, self)
            && !self.memory.cases_asked
            && self.attempts_of_try() < task.limits.max_iterations
            && allow_another_call(task, self).is_ok()
    }
}

/// Reports whether cases or examples decided the last attempt.
fn has_cases(progress: &Progress) -> bool {
    let is_any = |counts: &CaseCounts| counts.total > 0;
    progress.attempts.last().is_some_and(|attempt| {
        // Cases that only report decide nothing, so they are no evidence either.
        let decide = attempt.cases.filter(|_| cases_decide(progress));
        decide.iter().chain(&attempt.examples).any(is_any)
    })
}

fn cases_decide(progress: &Progress) -> bool {
    let mode = progress.cases.as_ref().map(|cases| cases.mode);
    mode == Some(CaseMode::Require)
}

fn are_vacuous(task: &Task, progress: &Progress) -> bool {
    let known = progress.cases.as_ref().map(|cases| cases.vacuous);
    known.unwrap_or_else(|| examples_are_vacuous(task))
}

fn of(passed: i32, total: i32) -> String {
    format!("{passed}/{total}")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::test_support::{start, task};
    use codegen_api::status::{AttemptStatus, TestCounts};

    const ONE: CaseCounts = CaseCounts { total: 1, passed: 1 };

    fn with(mode: CaseMode, change: impl FnOnce(&mut AttemptStatus)) -> EvidenceStrength {
        let mut progress = start();
        progress.cases = Some(CaseEvidence {
            mode,
            ..CaseEvidence::default()
        });
        let mut attempt = AttemptStatus::default();
        change(&mut attempt);
        progress.attempts = vec![attempt];
        evidence(&task(), &progress).unwrap().strength
    }

    #[rstest]
    #[case::cases(CaseMode::Require, Some(ONE), EvidenceStrength::Independent)]
    #[case::cases_that_only_report(CaseMode::Report, Some(ONE), EvidenceStrength::None)]
    #[case::no_case(CaseMode::Require, None, EvidenceStrength::None)]
    fn cases_count_where_they_decide(
        #[case] mode: CaseMode,
        #[case] cases: Option<CaseCounts>,
        #[case] expected: EvidenceStrength,
    ) {
        assert_eq!(with(mode, |attempt| attempt.cases = cases), expected);
    }

    #[test]
    fn cases_that_any_program_passes_are_no_evidence_and_acceptance_tests_beside_them_are() {
        let mut progress = start();
        progress.cases = Some(CaseEvidence {
            vacuous: true,
            ..CaseEvidence::default()
        });
        progress.attempts = vec![AttemptStatus {
            cases: Some(ONE),
            ..AttemptStatus::default()
        }];
        let strength = |progress: &Progress| evidence(&task(), progress).unwrap().strength;
        assert_eq!(strength(&progress), EvidenceStrength::None);
        assert!(doubt(&task(), &progress).contains("whatever it is given"));
        progress.acceptance_is_apart = true;
        progress.attempts[0].acceptance_tests = Some(TestCounts {
            total: 1,
            passed: 1,
            ..TestCounts::default()
        });
        assert_eq!(strength(&progress), EvidenceStrength::Independent);
    }

    #[rstest]
    #[case::a_result("2", EvidenceStrength::Independent)]
    #[case::nothing("", EvidenceStrength::None)]
    fn examples_of_a_task_whose_plan_brings_no_case_are_held_against_constants(
        #[case] value: &str,
        #[case] expected: EvidenceStrength,
    ) {
        let example = json!({"about": "a", "expect": [{"output": "stdout", "value": value}]});
        let task = Task {
            examples: vec![serde_json::from_value(example).unwrap()],
            ..task()
        };
        let mut progress = start();
        progress.attempts = vec![AttemptStatus {
            examples: Some(ONE),
            ..AttemptStatus::default()
        }];
        assert_eq!(evidence(&task, &progress).unwrap().strength, expected);
    }

    #[rstest]
    #[case::that_run_the_program(true, EvidenceStrength::Independent)]
    #[case::that_import_the_program(false, EvidenceStrength::SuiteOnly)]
    fn acceptance_tests_are_independent_of_a_program_that_is_not_in_their_process(
        #[case] is_apart: bool,
        #[case] expected: EvidenceStrength,
    ) {
        let mut progress = start();
        progress.acceptance_is_apart = is_apart;
        progress.attempts = vec![AttemptStatus {
            acceptance_tests: Some(TestCounts {
                total: 3,
                passed: 3,
                ..TestCounts::default()
            }),
            ..AttemptStatus::default()
        }];
        assert_eq!(evidence(&task(), &progress).unwrap().strength, expected);
        assert_eq!(has_proof(&task(), &progress), is_apart);
    }

    #[test]
    fn what_the_user_brings_is_independent_and_a_suite_alone_is_not() {
        let suite = Some(TestCounts {
            total: 3,
            passed: 3,
            ..TestCounts::default()
        });
        let strength = |change: fn(&mut AttemptStatus, Option<TestCounts>)| {
            with(CaseMode::Off, |attempt| change(attempt, suite))
        };
        assert_eq!(
            strength(|attempt, suite| attempt.tests = suite),
            EvidenceStrength::SuiteOnly
        );
        assert_eq!(
            strength(|attempt, _| attempt.examples = Some(ONE)),
            EvidenceStrength::Independent
        );
        assert_eq!(evidence(&task(), &start()), None);
    }
}
