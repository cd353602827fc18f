//! Memory by which the loop notices that it repeats itself.

use std::collections::BTreeSet;

use codegen_api::status::ErrorType;

use super::bounds::bounded_signatures;
use super::diagnosis::Diagnosis;
use super::digest::sha256_hex_of_parts;
use super::progress::{Progress, Recurrence, Tried};

/// Failed runs with the same failures after a reclassification before the task stops.
pub const MAX_RECURRENCES: u32 = 3;

impl Progress {
    /// Remembers what fails; says why going on would repeat itself, if it would.
    pub(super) fn remember_failing(&mut self, failing: &BTreeSet<String>) -> Option<String> {
        let failing = &bounded_signatures(failing);
        for signature in failing {
            if let Some(tried) = self.memory.tried.get_mut(signature) {
                tried.failed += 1;
            }
        }
        self.memory
            .tried
            // What fails no longer is forgotten: when it fails again, its fixes count from the start.
            .retain(|signature, _| failing.contains(signature));
        self.memory.failing.clone_from(failing);
        match &mut self.memory.after_reclassification {
            Some(recurrence) if recurrence.failing == *failing => recurrence.times += 1,
            other => *other = None,
        }
        let recurrences = self.memory.after_reclassification.as_ref().map_or(0, |r| r.times);
        // Syntax trees and not texts: a program that differs in comments alone is the same.
        if !self.memory.seen.insert(self.state_hash(failing)) {
            return Some("the same program, suite and packages fail in the same way as before".into());
        }
        (recurrences >= MAX_RECURRENCES).then(|| {
            format!("the same failures came back {recurrences} times after they were blamed on program and tests in turn")
        })
    }

    fn state_hash(&self, failing: &BTreeSet<String>) -> String {
        let packages = self.build.wanted.pip.iter().chain(&self.build.wanted.apt);
        let cases = self.documents.cases.as_ref().map(|cases| &cases.sha256);
        let sources = [&self.memory.solution_tree, &self.memory.tests_tree]
            .into_iter()
            .chain(cases);
        // Cases are part of the state: after a case was corrected the same program may well pass.
        let parts: Vec<&str> = sources
            .chain(packages)
            .chain(failing)
            .map(String::as_str)
            .collect();
        sha256_hex_of_parts(&parts)[..16].to_owned()
    }

    /// Remembers as what each failure is fixed now.
    pub(super) fn remember_diagnosis(&mut self, diagnosis: &Diagnosis) {
        let failing = &self.memory.failing;
        let known = |signature: &str| failing.contains(signature);
        // Fixes of others say nothing of a failure that was left out: it counts as one without a diagnosis.
        let diagnosed = |signature: &str| {
            let mut failures = diagnosis.failures.iter();
            failures.any(|failure| failure.signature == signature)
        };
        self.memory.tried.retain(|signature, _| diagnosed(signature));
        for failure in diagnosis
            .failures
            .iter()
            .filter(|failure| known(&failure.signature))
        {
            let tried = self
                .memory
                .tried
                .entry(failure.signature.clone())
                .or_insert(Tried {
                    as_type: failure.diagnosis.error_type,
                    fixes: 0,
                    failed: 1,
                });
            // Another type begins anew: fixes of the one side say nothing about the other.
            if tried.as_type != failure.diagnosis.error_type {
                tried.as_type = failure.diagnosis.error_type;
                tried.fixes = 0;
            }
        }
        // Counted from the first reclassification on; a later one must not start it again.
        if diagnosis.reclassified() && self.memory.after_reclassification.is_none() {
            self.memory.after_reclassification = Some(Recurrence {
                failing: self.memory.failing.clone(),
                times: 0,
            });
        }
    }

    /// Counts a verified fix against every failure that was blamed on its type.
    pub(super) fn count_fix(&mut self, error_type: ErrorType) {
        for tried in self
            .memory
            .tried
            .values_mut()
            .filter(|tried| tried.as_type == error_type)
        {
            tried.fixes += 1;
        }
    }
}
