//! How far cases tell a program from near misses of it: what speaks for the cases themselves.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::pipeline::python::near_misses::Mistake;
use crate::pipeline::sandbox::PhaseReport;
use crate::pipeline::task::Task;

use super::CaseExecution;
use super::judge::holds;

/// Near misses of which it can be said whether few or many survive.
const LEAST: usize = 3;
/// Of near misses this share must be told apart, else further cases are asked for: calibrated on the examples.
const ENOUGH: (usize, usize) = (2, 3);
/// Below this share the cases prove little.
const LITTLE: (usize, usize) = (2, 5);

/// A case, and what a near miss came to there; `None` where the sandbox ended before.
pub type Ran<'a> = (&'a CaseExecution, Option<&'a PhaseReport>);

/// Near misses of a program that passed, and how many of them the cases reject.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct NearMissCounts {
    /// Near misses that were run on the cases.
    pub total: usize,
    /// Those that some case rejects.
    pub told_apart: usize,
    /// What the others do wrong.
    pub survivors: BTreeSet<Mistake>,
}

impl NearMissCounts {
    /// Counts near misses, each with the cases that it was run on and what it came to there. One of which some cases were not reached counts
    /// where another rejects it.
    #[must_use]
    pub fn of<'a>(task: &Task, runs: impl IntoIterator<Item = (Mistake, Vec<Ran<'a>>)>) -> Self {
        let mut counts = Self::default();
        for (mistake, ran) in runs {
            let is_rejected = ran
                .iter()
                .any(|(case, phase)| phase.is_some_and(|phase| !holds(task, case, Some(phase))));
            if is_rejected {
                counts.told_apart += 1;
            } else if ran.iter().all(|(_, phase)| phase.is_some()) {
                counts.survivors.insert(mistake);
            } else {
                continue;
            }
            counts.total += 1;
        }
        counts
    }

    /// Whether too many survive, so that further cases are asked for.
    #[must_use]
    pub const fn needs_more_cases(&self) -> bool {
        self.is_below(ENOUGH)
    }

    /// Whether so many survive that the cases prove little.
    #[must_use]
    pub const fn is_weak(&self) -> bool {
        self.is_below(LITTLE)
    }

    const fn is_below(&self, (part, of): (usize, usize)) -> bool {
        self.total >= LEAST && self.told_apart * of < self.total * part
    }

    /// What no case has, in words.
    #[must_use]
    pub fn unseen(&self) -> Vec<String> {
        self.survivors.iter().map(Mistake::to_string).collect()
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::too_few_to_say(0, 2, false, false)]
    #[case::none(0, 3, true, true)]
    #[case::a_third(2, 6, true, true)]
    #[case::two_fifths(2, 5, true, false)]
    #[case::more_than_half(5, 8, true, false)]
    #[case::two_thirds(6, 9, false, false)]
    #[case::all(8, 8, false, false)]
    fn a_share_decides_whether_cases_are_enough_and_whether_they_are_weak(
        #[case] told_apart: usize,
        #[case] total: usize,
        #[case] needs_more: bool,
        #[case] is_weak: bool,
    ) {
        let counts = NearMissCounts {
            total,
            told_apart,
            ..NearMissCounts::default()
        };
        assert_eq!(
            (counts.needs_more_cases(), counts.is_weak()),
            (needs_more, is_weak)
        );
    }
}
