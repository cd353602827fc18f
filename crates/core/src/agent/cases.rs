//! Cases of the plan that an agent's program fails: which of them may be wrong themselves.

use std::collections::BTreeSet;

use crate::failed_check::CheckSource;
use crate::verdict::Verdict;

/// Cases that are worked out again before the agent is told of their failure once more: nothing but cases fails, the agent was told
/// of these before (`reported`), and nobody worked them out again yet (`rechecked`). One that is held back, where nothing else fails.
#[must_use]
pub fn doubtful(verdict: &Verdict, reported: &BTreeSet<String>, rechecked: &BTreeSet<String>) -> Vec<String> {
    // Of what is held back it is told nothing, and a case may be wrong: at once.
    if verdict.only_held_fails() {
        let held = verdict.held.iter().map(|check| check.detail.id.clone());
        return held.filter(|case| !rechecked.contains(case)).collect();
    }
    // While anything else fails, the program is not yet what its agent takes for right.
    if !verdict.failed.iter().all(|check| check.source.is_case()) {
        return Vec::new();
    }
    let unsettled = verdict
        .failed
        .iter()
        .filter(|check| check.source == CheckSource::Case);
    unsettled
        .map(|check| check.detail.id.clone())
        .filter(|case| reported.contains(case) && !rechecked.contains(case))
        .collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::agent::reported_cases;
    use crate::test_support::{failed, verdict};

    fn names(all: &[&str]) -> BTreeSet<String> {
        all.iter().map(|name| (*name).to_owned()).collect()
    }

    #[rstest]
    #[case::heard_of_the_first_time(&[], &[], &[CheckSource::Case], false)]
    #[case::heard_of_again(&["case 0"], &[], &[CheckSource::Case], true)]
    #[case::worked_out_already(&["case 0"], &["case 0"], &[CheckSource::Case], false)]
    #[case::settled(&["case 0"], &[], &[CheckSource::SettledCase], false)]
    #[case::beside_a_settled_one(&["case 0"], &[], &[CheckSource::Case, CheckSource::SettledCase], true)]
    #[case::beside_a_test(&["case 0"], &[], &[CheckSource::Case, CheckSource::Test], false)]
    #[case::beside_the_rehearsal(&["case 0"], &[], &[CheckSource::Case, CheckSource::Rehearsal], false)]
    #[case::beside_an_acceptance_test(&["case 0"], &[], &[CheckSource::Case, CheckSource::Acceptance], false)]
    #[case::beside_an_example(&["case 0"], &[], &[CheckSource::Case, CheckSource::Example], false)]
    fn a_case_is_doubtful_where_nothing_but_cases_fails_and_its_agent_heard_of_it(
        #[case] reported: &[&str],
        #[case] rechecked: &[&str],
        #[case] failing: &[CheckSource],
        #[case] is_doubtful: bool,
    ) {
        let failing = failing.iter().enumerate();
        let failing = failing.map(|(index, source)| failed(*source, &format!("case {index}"), "got 3"));
        let verdict = verdict(failing.collect());
        let doubtful = doubtful(&verdict, &names(reported), &names(rechecked));
        assert_eq!(doubtful == ["case 0"], is_doubtful, "{doubtful:?}");
        assert!(is_doubtful || doubtful.is_empty());
    }

    #[test]
    fn an_agent_has_heard_of_the_cases_that_it_was_shown() {
        let failing = (0..12).map(|index| failed(CheckSource::Case, &format!("case {index}"), "got 3"));
        let verdict = verdict(failing.collect());
        let reported = reported_cases(&verdict);
        assert_eq!(reported.len(), 8);
        let doubtful = doubtful(&verdict, &reported.iter().cloned().collect(), &BTreeSet::new());
        assert_eq!(doubtful, reported);
    }
    #[test]
    fn a_case_that_is_held_back_is_doubtful_at_once_where_nothing_else_fails() {
        let full = failed(CheckSource::Case, "case 2 (ties)", "expected 8");
        let mut held = verdict(vec![full.masked(2)]);
        held.held = vec![full];
        assert_eq!(doubtful(&held, &names(&[]), &names(&[])), ["case 2 (ties)"]);
        assert_eq!(doubtful(&held, &names(&[]), &names(&["case 2 (ties)"])), [""; 0]);
        held.failed.push(failed(CheckSource::Test, "t", "got 3"));
        assert_eq!(doubtful(&held, &names(&[]), &names(&[])), [""; 0]);
    }
}
