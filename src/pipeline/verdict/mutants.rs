//! What mutants of the program say of its suite: three or more of one function, and none of them noticed.
//!
//! A share of all mutants would refuse good suites, for some changes make no difference that anybody asks for.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::api::status::MutantCounts;
use crate::pipeline::mutants::{Mutant, MutantOutcome, MutantPhase, MutantReport};
use crate::pipeline::python::mutants::SHOWN_PER_FUNCTION;
use crate::pipeline::sandbox::PhaseReport;

use super::{CheckSource, FailedCheck, int, unusual};

/// Functions that are named as evidence.
const NAMED: usize = 2;

/// How many were noticed; `None` where none was run.
pub(super) fn count(done: Option<&PhaseReport>) -> Option<MutantCounts> {
    let report = done?.mutants.as_ref()?;
    let survived = report
        .results
        .iter()
        .filter(|result| result.outcome == MutantOutcome::Survived);
    let total = int(report.results.len());
    // Without any result there is nothing to count, but what was left out is said.
    (total > 0 || report.not_run > 0).then(|| MutantCounts {
        total,
        caught: total - int(survived.count()),
        not_run: i32::try_from(report.not_run).unwrap_or(i32::MAX),
    })
}

/// Why the suite is to be written again, where it is to be.
pub(super) fn doubt(asked: &MutantPhase, done: Option<&PhaseReport>) -> Option<FailedCheck> {
    let report = done?.mutants.as_ref()?;
    let unnoticed = unnoticed(asked, report);
    // Asked for again once: the second suite is taken as it is.
    if !asked.decides || unnoticed.is_empty() {
        return None;
    }
    let names: Vec<String> = unnoticed
        .iter()
        .take(NAMED)
        .map(|(function, _)| format!("`{function}`"))
        .collect();
    let mut message = format!(
        "no test notices when {} is wrong: assert on results that a wrong one does not give. Every test passed with each of these \
         changes of solution.py alone",
        names.join(" or ")
    );
    let survivors = unnoticed
        .into_iter()
        .take(NAMED)
        .flat_map(|(_, mutants)| mutants.into_iter().take(SHOWN_PER_FUNCTION));
    for mutant in survivors {
        let _ = write!(
            message,
            "; `{}` line {}: {}",
            mutant.function, mutant.line, mutant.what
        );
    }
    Some(FailedCheck {
        source: CheckSource::Mutants,
        detail: unusual("test suite", &message),
    })
}

/// Functions of which enough mutants were run and none was noticed, in order of what was asked.
fn unnoticed<'a>(asked: &'a MutantPhase, report: &MutantReport) -> Vec<(&'a str, Vec<&'a Mutant>)> {
    let outcomes: BTreeMap<&str, MutantOutcome> = report
        .results
        .iter()
        .map(|result| (result.id.as_str(), result.outcome))
        .collect();
    let mut functions: Vec<(&str, Vec<(&Mutant, MutantOutcome)>)> = Vec::new();
    for mutant in &asked.mutants {
        let Some(outcome) = outcomes.get(mutant.id.as_str()) else {
            continue;
        };
        match functions
            .iter_mut()
            .find(|(function, _)| *function == mutant.function)
        {
            Some((_, mutants)) => mutants.push((mutant, *outcome)),
            None => functions.push((&mutant.function, vec![(mutant, *outcome)])),
        }
    }
    functions
        .into_iter()
        .filter(|(_, mutants)| {
            // One or two survivors may be changes that nobody can notice; as many as are shown, and none caught, are not.
            mutants.len() >= SHOWN_PER_FUNCTION
                && mutants
                    .iter()
                    .all(|(_, outcome)| *outcome == MutantOutcome::Survived)
        })
        .map(|(function, mutants)| (function, mutants.into_iter().map(|(mutant, _)| mutant).collect()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::mutants::MutantResult;
    use crate::pipeline::sandbox::{Phase, PhaseName, TestOutcome};
    use crate::pipeline::test_support::{job, phase, report, session, test_job};
    use crate::pipeline::verdict::{RehearsalFindings, Verdict, judge};

    use MutantOutcome::{Caught, Survived, TimedOut};

    fn mutant(id: &str, function: &str) -> Mutant {
        Mutant {
            id: id.into(),
            function: function.into(),
            line: 7,
            what: format!("change {id}"),
            start: 0,
            end: 1,
            replacement: String::new(),
        }
    }

    fn judged(outcomes: &[(&str, MutantOutcome)], decides: bool) -> Verdict {
        let ids: Vec<String> = (0..outcomes.len()).map(|number| format!("m{number}")).collect();
        let asked = MutantPhase {
            solution: String::new(),
            tests: BTreeMap::new(),
            mutants: ids
                .iter()
                .zip(outcomes)
                .map(|(id, (function, _))| mutant(id, function))
                .collect(),
            most: 8,
            preload: Vec::new(),
            decides,
        };
        let mut done = phase(PhaseName::Mutants, 0);
        let results = ids
            .into_iter()
            .zip(outcomes)
            .map(|(id, (_, outcome))| MutantResult {
                id,
                outcome: *outcome,
            });
        done.mutants = Some(MutantReport {
            results: results.collect(),
            not_run: 1,
        });
        let mut phases = test_job(PhaseName::Tests).phases;
        phases.push(Phase::Mutants(asked));
        let suite = session(&[("test_solution.py::test_a", TestOutcome::Passed)]);
        let run = report(vec![suite, done]);
        judge(
            &[(&job(phases), &run)],
            None,
            &RehearsalFindings::default(),
            Some("none"),
            crate::pipeline::cases::CasesJudged::default(),
        )
    }

    #[test]
    fn three_unnoticed_mutants_of_one_function_send_the_suite_back_with_evidence() {
        let verdict = judged(
            &[("mean", Survived), ("mean", Survived), ("mean", Survived)],
            true,
        );
        let [check] = verdict.failed.as_slice() else {
            panic!("{verdict:?}");
        };
        assert_eq!(check.source, CheckSource::Mutants);
        assert!(
            check
                .detail
                .message
                .starts_with("no test notices when `mean` is wrong")
        );
        assert!(check.detail.message.contains("`mean` line 7: change m2"));
    }

    #[test]
    fn one_that_is_noticed_is_enough() {
        for noticed in [Caught, TimedOut] {
            let verdict = judged(
                &[
                    ("mean", Survived),
                    ("mean", noticed),
                    ("mean", Survived),
                    ("mean", Survived),
                ],
                true,
            );
            assert!(verdict.passed());
        }
    }

    #[test]
    fn unnoticed_mutants_of_several_functions_are_only_counted() {
        let verdict = judged(
            &[
                ("a", Survived),
                ("a", Survived),
                ("b", Survived),
                ("b", Survived),
                ("c", Caught),
            ],
            true,
        );
        assert!(verdict.passed());
        let counts = MutantCounts {
            total: 5,
            caught: 1,
            not_run: 1,
        };
        assert_eq!(verdict.mutants, Some(counts));
        assert!(verdict.summary().contains("mutants 1/5"), "{}", verdict.summary());
    }

    #[test]
    fn a_suite_that_was_asked_for_again_is_not_refused_for_its_mutants() {
        let verdict = judged(
            &[("mean", Survived), ("mean", Survived), ("mean", Survived)],
            false,
        );
        assert!(verdict.passed());
        assert_eq!(
            verdict.mutants.map(|counts| (counts.caught, counts.total)),
            Some((0, 3))
        );
    }

    #[test]
    fn evidence_names_two_functions_and_fits_a_message() {
        let four = |name| std::iter::repeat_n((name, Survived), 4);
        let all: Vec<_> = four("a").chain(four("b")).chain(four("c")).collect();
        let verdict = judged(&all, true);
        let message = &verdict.failed[0].detail.message;
        assert!(
            message.contains("`a` or `b`") && !message.contains("`c`"),
            "{message}"
        );
        assert_eq!(message.matches("line 7").count(), 2 * SHOWN_PER_FUNCTION);
    }
}
