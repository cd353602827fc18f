//! Counts the near misses of a program that cases reject: how far they tell it from those, which is what speaks for the cases themselves.

use crate::pipeline::python::near_misses::{Mistake, NearMissCounts};
use crate::pipeline::sandbox::PhaseReport;
use crate::pipeline::task::Task;

use super::CaseExecution;
use super::judge::holds;

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
        let is_rejected = ran
            .iter()
            .any(|(case, phase)| phase.is_some_and(|phase| !holds(task, case, Some(phase))));
        if is_rejected {
            counts.rejected += 1;
        } else if ran.iter().all(|(_, phase)| phase.is_some()) {
            counts.survivors.insert(mistake);
        } else {
            continue;
        }
        counts.total += 1;
    }
    counts
}
