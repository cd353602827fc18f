//! Choice among the models of a task: its own, or a stronger one once runs have refuted what came of those before it.
//!
//! By verdicts alone: what a model says of itself decides nothing.

use super::call::{AskedModel, ModelIndex, Reply};
use super::progress::Progress;
use super::task::{ModelSettings, Task};

/// The model that the next call of a task goes to.
#[must_use]
pub fn model_for(task: &Task, progress: &Progress) -> ModelIndex {
    rung(task, progress)
        .checked_sub(1)
        .map_or(ModelIndex::Own, ModelIndex::Escalation)
}

/// Number of stronger models that have taken over.
fn rung(task: &Task, progress: &Progress) -> usize {
    let refuted = progress.memory.refuted;
    task.escalation
        .iter()
        .take_while(|one| one.after <= refuted)
        .count()
}

impl Task {
    /// The settings of one of its models.
    #[must_use]
    pub fn settings_of(&self, index: ModelIndex) -> &ModelSettings {
        match index {
            ModelIndex::Own => None,
            ModelIndex::Escalation(index) => self.escalation.get(index).map(|one| &one.model),
        }
        .unwrap_or(&self.model)
    }

    /// Every model, each with the place of its settings in the spec.
    pub fn models(&self) -> impl Iterator<Item = (ModelIndex, &ModelSettings)> {
        let stronger = self.escalation.iter().enumerate();
        let stronger = stronger.map(|(index, one)| (ModelIndex::Escalation(index), &one.model));
        std::iter::once((ModelIndex::Own, &self.model)).chain(stronger)
    }

    /// The model that the next call goes to, with its name where that is another than the task's own.
    #[must_use]
    pub fn asked_model(&self, progress: &Progress) -> AskedModel {
        let index = model_for(self, progress);
        let is_other = index != ModelIndex::Own;
        AskedModel {
            index,
            other: is_other.then(|| self.settings_of(index).name.clone()),
        }
    }
}

impl Progress {
    /// Goes on with a stronger model than `asked`, which begins with nothing held against it; says whether there is one.
    pub(super) fn escalate(&mut self, task: &Task, asked: ModelIndex) -> bool {
        if model_for(task, self) == asked {
            let Some(next) = task.escalation.get(rung(task, self)) else {
                return false;
            };
            self.memory.refuted = next.after;
        }
        self.memory.tried.clear();
        self.memory.after_reclassification = None;
        self.rejections.clear();
        self.fix_tries = 0;
        if let Some(agent) = &mut self.agent {
            agent.same_failures = 0;
        }
        true
    }

    /// Goes to the next stronger model, if there is one, after two replies in a row that are of no use.
    pub(super) fn leave_unusable(&mut self, task: &Task) {
        if self.rejections.len() > 1 || self.fix_tries > 1 {
            self.escalate(task, model_for(task, self));
        }
    }

    /// Counts an answer of another model than the task's own.
    pub fn count_answer(&mut self, reply: &Reply) {
        let Some(name) = &reply.model else { return };
        let usage = self.other_models.entry(name.clone()).or_default();
        usage.calls += 1;
        usage.tokens.input = usage.tokens.input.saturating_add(reply.usage.input);
        usage.tokens.output = usage.tokens.output.saturating_add(reply.usage.output);
    }
}

#[cfg(test)]
mod tests;
