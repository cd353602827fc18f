//! Counts the near misses of a program that cases reject: how far they tell it from those, which is what speaks for the cases themselves.

use crate::python::near_misses::{Mistake, NearMissCounts};
use crate::sandbox::PhaseReport;
use crate::task::Task;

use super::judge::holds;
use super::{CaseExecution, CaseOrigin};

/// A case, and what a near miss came to there; `None` where the sandbox ended before.
pub type CaseTrial<'a> = (&'a CaseExecution, Option<&'a PhaseReport>);

/// Counts near misses, each with the cases that it was run on and what it came to there. One of which some cases were not reached counts
/// where another rejects it. Cases that reject the program with another text that does the same (no mistake) tell nothing of it apart:
/// it knows its own text.
#[must_use]
pub fn count_near_misses<'a>(
    task: &Task,
    runs: impl IntoIterator<Item = (Option<Mistake>, Vec<CaseTrial<'a>>)>,
) -> NearMissCounts {
    let mut counts = NearMissCounts::default();
    let mut same = Rejected::default();
    for (mistake, ran) in runs {
        let rejected = Rejected::of(task, &ran);
        let Some(mistake) = mistake else {
            same = rejected;
            continue;
        };
        let Rejected { by_plan, by_examples } = rejected.but(&same);
        if by_plan == Some(false) {
            counts.passed_by_plan.insert(mistake);
        }
        match (by_plan, by_examples) {
            (Some(true), _) | (_, Some(true)) => counts.rejected += 1,
            (Some(false), Some(false)) => {
                counts.survivors.insert(mistake);
            }
            _ => continue,
        }
        counts.total += 1;
    }
    counts
}

/// Rejection of a near miss, by cases of the plan and by examples.
#[derive(Default)]
struct Rejected {
    by_plan: Option<bool>,
    by_examples: Option<bool>,
}

impl Rejected {
    fn of(task: &Task, ran: &[CaseTrial<'_>]) -> Self {
        let (examples, planned): (Vec<_>, Vec<_>) = ran
            .iter()
            .partition(|(case, _)| case.origin == CaseOrigin::Example);
        Self {
            by_plan: is_rejected(task, &planned),
            by_examples: is_rejected(task, &examples),
        }
    }

    /// Without those that also reject what is no mistake.
    fn but(self, same: &Self) -> Self {
        let without = |rejected, same| match same {
            Some(true) => Some(false),
            _ => rejected,
        };
        Self {
            by_plan: without(self.by_plan, same.by_plan),
            by_examples: without(self.by_examples, same.by_examples),
        }
    }
}

/// Reports whether one of the cases rejects it; `None` where none did and some were not reached.
fn is_rejected(task: &Task, ran: &[&CaseTrial<'_>]) -> Option<bool> {
    let rejects = |(case, phase): &&CaseTrial<'_>| phase.is_some_and(|phase| !holds(task, case, Some(phase)));
    let is_reached = ran.iter().all(|(_, phase)| phase.is_some());
    ran.iter()
        .any(rejects)
        .then_some(true)
        .or(is_reached.then_some(false))
}
