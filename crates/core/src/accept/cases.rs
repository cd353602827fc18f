//! Checks of second answers to cases.

use super::{Accepted, Facts, Refusal};
use crate::cases::{self, CaseData, reference, usable};
use crate::reply::{CaseAnswer, CasesReply, MoreCasesReply};
use codegen_api::case::Case;

impl Facts<'_> {
    pub(super) fn cases(&self, reply: &CasesReply) -> Result<Accepted, Refusal> {
        let mut answers = Vec::with_capacity(self.material.blamed.len());
        for (index, blamed) in self.material.blamed.iter().enumerate() {
            let number = index + 1;
            let answer = reply
                .cases
                .iter()
                // By number and not by place: models leave out cases and change their order.
                .find(|answer| answer.case == number)
                .filter(|answer| is_whole(&blamed.run.case, answer))
                .ok_or_else(|| {
                    Refusal::from(format!(
                        "Case {number} has {} lines: answer each of them.",
                        blamed.run.case.expect.len()
                    ))
                })?;
            let case = self.answered(&blamed.run.case, answer)?;
            answers.push(case);
        }
        Ok(Accepted::Cases(answers))
    }

    /// The cases of the plan and those of this reply that can be used.
    pub(super) fn more_cases(&self, reply: MoreCasesReply) -> Result<Accepted, Refusal> {
        let known = self.material.cases.clone();
        let (before, unusable) = (known.cases.len(), known.unusable.len());
        let set = cases::extended(self.task, known, reply.cases, &self.material.forms);
        if set.cases.len() > before {
            return Ok(Accepted::MoreCases(set));
        }
        let why = match set.unusable.get(unusable..) {
            None | Some([]) => "it brings none that is new".to_owned(),
            Some(reasons) => reasons.join("; "),
        };
        Err(format!("No case of the reply can be used: {why}. Give at least one that can.").into())
    }

    /// The case with the second answer in place of the first.
    fn answered(&self, case: &Case, answer: &CaseAnswer) -> Result<Case, Refusal> {
        let number = answer.case;
        let mut case = case.clone();
        if answer.values.is_empty() || answer.refused && !case.refused {
            // Of inputs that must be refused no result is worked out, and the lines of a refusal say nothing of a result.
            case.expect.clear();
        }
        case.refused = answer.refused;
        for (expectation, value) in case.expect.iter_mut().zip(&answer.values) {
            // A reference would make the case hold whatever the program writes.
            if *value != expectation.value && reference(self.task, value).is_some() {
                return Err(format!(
                    "Case {number} is answered with {value}, which is whatever the program writes: work the value out."
                ).into());
            }
            expectation.value.clone_from(value);
        }
        let states_a_result = !case.refused && !case.expect.is_empty();
        match usable(self.task, &case, &[], CaseData::Exposed).filter(|_| states_a_result) {
            Some(why) => Err(format!("Case {number} cannot be used: {why}.").into()),
            None => Ok(case),
        }
    }
}

/// Reports whether an answer has a value for each line of its case, or needs none because it says that the inputs must be refused, or that
/// they must not be and the case was wrong about that.
fn is_whole(case: &Case, answer: &CaseAnswer) -> bool {
    answer.values.len() == case.expect.len() || answer.values.is_empty() && (answer.refused || case.refused)
}
