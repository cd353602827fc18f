//! Checks of the plan and of the reading of constraints.

use std::collections::BTreeSet;

use super::{Accepted, Facts, Refusal};
use crate::call::FaultClass;
use crate::cases;
use crate::machine::MAX_REJECTIONS;
use crate::reply::{ConstraintsReply, PlanReply};
use codegen_api::status::PlanStatus;

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
        let was_asked = rejections.iter().any(|fault| fault.class == FaultClass::NoCase);
        // A task can be without cases, so the plan is refused for that reason only once, and never as the last try.
        if let Some(fault) = set.lack(self.task)
            && !was_asked
            && rejections.len() + 1 < MAX_REJECTIONS
        {
            return Err(fault.into());
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
            return Err(format!(
                "There are {} rows, and at most {MOST_CHECKS} are used: leave out what another row says.",
                reply.checks.len()
            )
            .into());
        }
        let named: BTreeSet<usize> = reply.checks.iter().map(|row| row.constraint).collect();
        if let Some(beyond) = named.iter().find(|number| **number >= count) {
            return Err(format!(
                "There is no constraint {beyond}: they are numbered 0 to {}.",
                count - 1
            )
            .into());
        }
        match (0..count).find(|number| !named.contains(number)) {
            Some(missing) => {
                Err(format!("Constraint {missing} has no row; give it one, of kind none if need be.").into())
            }
            None => Ok(reply),
        }
    }
}
