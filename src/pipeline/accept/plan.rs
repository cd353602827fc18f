//! What the plan and the reading of constraints must keep.

use std::collections::BTreeSet;

use super::{Accepted, Facts, Refusal};
use crate::api::status::PlanStatus;
use crate::pipeline::cases::{self, NO_CASE};
use crate::pipeline::machine::MAX_REJECTIONS;
use crate::pipeline::reply::{ConstraintsReply, PlanReply};

/// Rows of checks in one reply.
// Each row becomes a check of every value of a file.
const MOST_CHECKS: usize = 256;

impl Facts<'_> {
    pub(super) fn plan(&self, reply: PlanReply) -> Result<Accepted, Refusal> {
        let PlanReply {
            description,
            approach,
            libraries,
            cases,
            unstable,
        } = reply;
        let set = cases::planned(self.task, cases, unstable, &self.material.forms);
        // Asked once: there are tasks of which no case can be stated.
        let rejections = &self.progress.rejections;
        let was_asked = rejections.iter().any(|reason| reason.starts_with(NO_CASE));
        // A task can be without cases, so the plan is refused for that reason only once, and never as the last try.
        if let Some(reason) = set.lack(self.task)
            && !was_asked
            && rejections.len() + 1 < MAX_REJECTIONS
        {
            return Err(Refusal::Reply(reason));
        }
        let plan = PlanStatus {
            description,
            approach,
            libraries,
            cases: set.lines(),
        };
        Ok(Accepted::Plan(plan, set))
    }

    pub(super) fn constraints(&self, reply: ConstraintsReply) -> Result<ConstraintsReply, Refusal> {
        let count = self.task.constraints.len();
        if reply.checks.len() > MOST_CHECKS {
            return Err(Refusal::Reply(format!(
                "There are {} rows, and at most {MOST_CHECKS} are used: leave out what another row says.",
                reply.checks.len()
            )));
        }
        let named: BTreeSet<usize> = reply.checks.iter().map(|row| row.constraint).collect();
        if let Some(beyond) = named.iter().find(|number| **number >= count) {
            return Err(Refusal::Reply(format!(
                "There is no constraint {beyond}: they are numbered 0 to {}.",
                count - 1
            )));
        }
        match (0..count).find(|number| !named.contains(number)) {
            Some(missing) => Err(Refusal::Reply(format!(
                "Constraint {missing} has no row; give it one, of kind none if need be."
            ))),
            None => Ok(reply),
        }
    }
}
