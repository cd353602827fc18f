//! Choices among cases, as of the one that is held back from whoever writes the program. They must be the same at each repetition, also of
//! a task that is replayed, and neither a program nor its author can know them.

use std::collections::BTreeSet;

use crate::digest::sha256_hex_of_parts;
use crate::task::Task;
use codegen_api::case::{Case, CaseMode};

use super::CaseSet;

/// Cases that are left, of which one is held back.
const LEAST: usize = 3;

/// The place of a case in an order that follows from all that it states: a program sees its inputs alone, and its author nothing of a
/// case that never failed.
pub(super) fn rank(case: &Case) -> String {
    // Strings and lists always are JSON.
    sha256_hex_of_parts(&["choice", &serde_json::to_string(case).unwrap_or_default()])
}

impl CaseSet {
    /// Number of the case of which the program's author learns no more than that it failed: one that was neither shown (`self.seen`) nor
    /// worked out again.
    pub(super) fn held(&self, task: &Task) -> Option<usize> {
        if task.cases != CaseMode::Require || self.deciding().count() < LEAST {
            return None;
        }
        let unseen = self
            .deciding()
            .filter(|(number, _)| !self.is_revised(*number) && !self.seen.contains(number));
        unseen
            .min_by_key(|(_, case)| rank(case))
            .map(|(number, _)| number)
    }

    /// Returns those of these numbers that still decide.
    #[must_use]
    pub fn still_deciding(&self, numbers: &BTreeSet<usize>) -> BTreeSet<usize> {
        let deciding = self.deciding().map(|(number, _)| number);
        deciding.filter(|number| numbers.contains(number)).collect()
    }
}
