//! Checks of answers about constraints on outputs.

use super::{Accepted, Facts, Refusal};
use crate::reply::ScopeReply;

impl Facts<'_> {
    pub(super) fn scope(&self, reply: &ScopeReply) -> Result<Accepted, Refusal> {
        let asked = self.material.verdict.iter().flat_map(|verdict| &verdict.doubtful);
        let mut answers = Vec::new();
        for (index, one) in asked.enumerate() {
            let line = index + 1;
            let answer = reply.answers.iter().find(|answer| answer.line == line);
            let Some(answer) = answer else {
                return Err(format!("Line {line} has no answer: answer each.").into());
            };
            answers.push((one.clone(), answer.holds));
        }
        Ok(Accepted::Scope(answers))
    }
}
