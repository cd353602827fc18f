//! The generated suite: whether it finds faults, and what follows where it does not. It proves nothing, so it ends no task.

use crate::sandbox::{PhaseEnd, PhaseReport};
use codegen_api::status::SuiteStrength;

use super::session::judge_session;
use super::{CheckSource, FailedCheck, Verdict, exit_code, unusual};

/// Treatment of a suite that finds no fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuiteRole {
    /// It is asked for again, which happens once.
    AskAgain,
    /// It is used as it is, and left out where none of its tests runs: something else decides.
    MayBeLeftOut,
    /// It is used as it is.
    AsItIs,
}

/// Judges a suite by its session against the program with all bodies emptied.
pub(super) fn strength(phase: Option<&PhaseReport>) -> SuiteStrength {
    let (_, failed) = judge_session(phase);
    // Only tests that fail show it; a session that broke off says nothing.
    let fails = failed.iter().any(|check| check.source != CheckSource::Session);
    let forced =
        phase.is_some_and(|phase| matches!(phase.end, PhaseEnd::Signaled(_) | PhaseEnd::LimitHit(_)));
    if fails || forced {
        SuiteStrength::FailsWhenEmptied
    } else if failed.is_empty() {
        SuiteStrength::PassesWhenEmptied
    } else {
        SuiteStrength::NotShown
    }
}

impl Verdict {
    /// Takes the suite for what it is: `role` says what is made of one that finds no fault. Only where nothing else is at fault is
    /// another one asked for.
    pub fn hold_suite(&mut self, role: SuiteRole) {
        let is_of_suite = |check: &FailedCheck| check.source.suite_may_be_wrong();
        let others_fail = !self.failed.iter().all(is_of_suite);
        let doubt = if self.is_without_test() {
            // Nothing of it can be fixed test by test.
            if role != SuiteRole::AsItIs || others_fail {
                self.failed.retain(|check| !is_of_suite(check));
            }
            if role == SuiteRole::MayBeLeftOut {
                self.tests = None;
                self.suite = Some(SuiteStrength::NoSuite);
            }
            Some(
                "no test of the suite runs, so it proves nothing: write tests that are collected and that nothing skips",
            )
        } else {
            self.suite.and_then(weakness)
        };
        if role == SuiteRole::AskAgain && self.failed.is_empty() {
            self.failed.extend(doubt.map(|message| FailedCheck {
                source: CheckSource::Vacuity,
                detail: unusual("test suite", message),
            }));
        }
        self.exit_code = exit_code(&self.failed, self.exit_code);
    }

    /// Reports whether the session came to its end and no test of the suite was executed: none was collected, or all are skipped.
    fn is_without_test(&self) -> bool {
        let is_idle = self.tests.is_some_and(|tests| tests.total == tests.skipped);
        // Of a session that broke off nobody knows what it would have collected.
        is_idle
            && self
                .failed
                .iter()
                .all(|check| check.source != CheckSource::Session)
    }
}

/// Says why a suite of this strength should be another one.
const fn weakness(strength: SuiteStrength) -> Option<&'static str> {
    match strength {
        SuiteStrength::FailsWhenEmptied | SuiteStrength::NoSuite => None,
        SuiteStrength::PassesWhenEmptied => Some(
            "every test also passes when the bodies of all functions are removed, so the suite proves nothing: \
             assert on results that only a working program gives",
        ),
        SuiteStrength::NotShown => Some(
            "the tests did not come to an end when the bodies of all functions are removed, so it is not shown that they can fail: \
             keep them short and give every loop an end",
        ),
    }
}
