//! Counts the near misses of a program that cases reject: how far they tell it from those, which is what speaks for the cases themselves.

use crate::pipeline::python::near_misses::{Mistake, NearMissCounts};
use crate::pipeline::sandbox::PhaseReport;
use crate::pipeline::task::Task;

use super::judge::holds;
use super::{CaseExecution, Origin};

/// A case, and what a near miss came to there; `None` where the sandbox ended before.
pub type Ran<'a> = (&'a CaseExecution, Option<&'a PhaseReport>);

/// Counts near misses, each with the cases that it was run on and what it came to there. One of which some cases were not reached counts
/// where another rejects it.
#[must_use]
pub fn count_near_misses<'a>(
    task: &Task,
    runs: impl IntoIterator<Item = (Mistake, Vec<Ran<'a>>)>,
) -> NearMissCounts {
    let mut counts = NearMissCounts::default();
    for (mistake, ran) in runs {
        let (examples, planned): (Vec<_>, Vec<_>) =
            ran.iter().partition(|(case, _)| case.origin == Origin::Example);
        let by_plan = is_rejected(task, &planned);
        if by_plan == Some(false) {
            counts.passed_by_plan.insert(mistake);
        }
        match (by_plan, is_rejected(task, &examples)) {
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

/// Whether one of the cases rejects it; `None` where none did and some were not reached.
fn is_rejected(task: &Task, ran: &[&Ran<'_>]) -> Option<bool> {
    let rejects = |(case, phase): &&Ran<'_>| phase.is_some_and(|phase| !holds(task, case, Some(phase)));
    let is_reached = ran.iter().all(|(_, phase)| phase.is_some());
    ran.iter()
        .any(rejects)
        .then_some(true)
        .or(is_reached.then_some(false))
}
