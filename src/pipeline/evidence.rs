//! What speaks for a program that passed, and how strong it is.

use crate::api::case::CaseMode;
use crate::api::status::{CaseEvidence, EvidenceStatus, EvidenceStrength};

use super::progress::Progress;

/// The evidence of the last attempt; `None` before the first one.
#[must_use]
pub fn evidence(progress: &Progress) -> Option<EvidenceStatus> {
    let attempt = progress.attempts.last()?;
    let counted = attempt.cases.unwrap_or_default();
    let cases = progress.cases.clone().map(|cases| CaseEvidence {
        total: counted.total,
        passed: counted.passed,
        ..cases
    });
    let decide = |cases: &CaseEvidence| cases.mode == CaseMode::Require && cases.total > 0;
    let has_examples = attempt.examples.is_some_and(|counts| counts.total > 0);
    let has_acceptance = attempt.acceptance_tests.is_some_and(|counts| counts.total > 0);
    let strength = if cases.as_ref().is_some_and(decide) || has_examples || has_acceptance {
        EvidenceStrength::Independent
    } else if attempt.tests.is_some() {
        EvidenceStrength::SuiteOnly
    } else {
        EvidenceStrength::None
    };
    Some(EvidenceStatus {
        strength,
        cases,
        examples: attempt.examples,
        acceptance_tests: attempt.acceptance_tests,
        suite: attempt.tests,
        mutants: attempt.mutants,
        rehearsal: progress.rehearsal.as_ref().map(|rehearsal| rehearsal.result),
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::api::status::{AttemptStatus, CaseCounts, TestCounts};
    use crate::pipeline::test_support::start;

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
        evidence(&progress).unwrap().strength
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
            strength(|attempt, suite| attempt.acceptance_tests = suite),
            EvidenceStrength::Independent
        );
        assert_eq!(
            strength(|attempt, _| attempt.examples = Some(ONE)),
            EvidenceStrength::Independent
        );
        assert_eq!(evidence(&start()), None);
    }
}
