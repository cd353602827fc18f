//! Cases that a diagnosis blames for a failure: worked out again by a call that sees neither the program nor what it wrote.
//!
//! The same answer twice confirms the case. An answer that is what the program does corrects it. Two answers that differ from
//! one another and from the program settle nothing, and the case decides nothing any more. Nor does one that a person approved of
//! and that would have to be corrected: nobody approved of the other answer.

use crate::sandbox::PhaseReport;
use crate::task::Task;
use codegen_api::case::{Case, Check, Expectation};

use super::check;
use super::compare::{Tolerance, compare, same};
use super::judge::holds;
use super::{CaseExecution, CaseRevision, CaseSet};

/// A case that is blamed, and what the program made of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Blamed {
    /// The case as it ran.
    pub run: CaseExecution,
    /// Report of its run.
    pub phase: Option<PhaseReport>,
}

/// Results for the cases that were blamed.
#[derive(Clone, Debug, PartialEq)]
pub struct Revised {
    /// The cases from now on.
    pub set: CaseSet,
    /// Those that are right, by [`CaseExecution::id`]: the program is at fault.
    pub confirmed: Vec<String>,
}

/// Takes second answers, one for each blamed case in order. `are_approved` says whether a person approved of the plan's cases.
#[must_use]
pub fn revise(
    task: &Task,
    set: &CaseSet,
    blamed: &[Blamed],
    answers: &[Case],
    are_approved: bool,
) -> Revised {
    let mut next = set.clone();
    let mut confirmed = Vec::new();
    for (blamed, answer) in blamed.iter().zip(answers) {
        let revision = match judge(task, blamed, answer) {
            // What nobody approved of must not replace what somebody did.
            CaseRevision::Corrected if are_approved => CaseRevision::Dropped,
            revision => revision,
        };
        if revision == CaseRevision::Confirmed {
            confirmed.push(blamed.run.id());
        }
        let number = blamed.run.number().and_then(|number| number.checked_sub(1));
        if let Some(planned) = number.and_then(|index| next.cases.get_mut(index)) {
            planned.revision = Some(revision);
            if revision == CaseRevision::Corrected {
                planned.case = answer.clone();
            }
        }
    }
    Revised { set: next, confirmed }
}

fn judge(task: &Task, blamed: &Blamed, answer: &Case) -> CaseRevision {
    // In this order: an answer that equals the first confirms it, also where the program happens to agree with both.
    if is_same(task, &blamed.run.case, answer) {
        return CaseRevision::Confirmed;
    }
    let states_nothing = answer.expect.is_empty() && !answer.refused;
    let corrected = CaseExecution {
        case: answer.clone(),
        ..blamed.run.clone()
    };
    if states_nothing {
        CaseRevision::Dropped
    } else if holds(task, &corrected, blamed.phase.as_ref()) {
        CaseRevision::Corrected
    } else if answer.refused && blamed.run.case.refused && answer.expect.is_empty() {
        // Both answers refuse the inputs, and the program does not.
        CaseRevision::Confirmed
    } else {
        CaseRevision::Dropped
    }
}

/// Reports whether two answers to a case say the same.
fn is_same(task: &Task, first: &Case, second: &Case) -> bool {
    first.refused == second.refused
        && first.expect.len() == second.expect.len()
        && first
            .expect
            .iter()
            .zip(&second.expect)
            .all(|(one, other)| is_same_value(task, one, other))
}

fn is_same_value(task: &Task, first: &Expectation, second: &Expectation) -> bool {
    if first.value.trim() == second.value.trim() {
        return true;
    }
    let is_whole = matches!(first.check, Check::Equals | Check::SameRows) && first.at.is_empty();
    let Some(shape) = check::shape(task, first).filter(|_| is_whole) else {
        let tolerance = Tolerance::parse(&first.tolerance).unwrap_or_default();
        return same(first.value.trim(), second.value.trim(), &tolerance);
    };
    // The second answer is read as if a program had written it.
    compare(shape, first, &first.value, &second.value).is_ok()
}
