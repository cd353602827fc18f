//! What second answers to cases must keep.

use super::{Accepted, Facts, Refusal};
use crate::pipeline::cases::{Access, reference, usable};
use crate::pipeline::reply::CasesReply;

impl Facts<'_> {
    pub(super) fn cases(&self, reply: &CasesReply) -> Result<Accepted, Refusal> {
        let mut answers = Vec::with_capacity(self.material.blamed.len());
        for (index, blamed) in self.material.blamed.iter().enumerate() {
            let number = index + 1;
            let mut case = blamed.run.case.clone();
            let answer = reply
                .cases
                .iter()
                // By number and not by place: models leave out cases and change their order.
                .find(|answer| answer.case == number)
                // An answer with fewer lines cannot be held against the case line by line.
                .filter(|answer| answer.values.len() == case.expect.len())
                .ok_or_else(|| {
                    Refusal::Reply(format!(
                        "Case {number} has {} lines: answer each of them.",
                        case.expect.len()
                    ))
                })?;
            case.refused = answer.refused;
            for (expectation, value) in case.expect.iter_mut().zip(&answer.values) {
                // A reference would make the case hold whatever the program writes.
                if *value != expectation.value && reference(self.task, value).is_some() {
                    return Err(Refusal::Reply(format!(
                        "Case {number} is answered with {value}, which is whatever the program writes: work the value out."
                    )));
                }
                expectation.value.clone_from(value);
            }
            // Of inputs that must be refused nothing else is worked out.
            if let Some(why) = usable(self.task, &case, &[], Access::Exposed).filter(|_| !case.refused) {
                return Err(Refusal::Reply(format!("Case {number} cannot be used: {why}.")));
            }
            answers.push(case);
        }
        Ok(Accepted::Cases(answers))
    }
}
