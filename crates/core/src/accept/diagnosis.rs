//! Checks of diagnoses: each cause must be a failure that occurred, and each function and package that it names must be possible.

use std::collections::BTreeSet;

use super::packages::same_package;
use super::{Accepted, Facts, Refusal};
use crate::diagnosis::{Diagnosis, diagnose};
use crate::prompts::listed;
use crate::python::functions::functions;
use crate::python::{Module, suite};
use crate::reply::DiagnosisReply;
use codegen_api::status::ErrorType;

impl Facts<'_> {
    pub(super) fn diagnosis(&self, reply: &DiagnosisReply) -> Result<Accepted, Refusal> {
        let Some(verdict) = &self.material.verdict else {
            return Err("There is no failure to diagnose.".into());
        };
        let checks = listed(verdict);
        let mut failures = Vec::with_capacity(checks.len());
        let mut declared = self.progress.build.declared.clone();
        for (index, check) in checks.iter().enumerate() {
            let number = index + 1;
            // What is left out is asked about again if it still fails after the fixes of the others.
            let Some(row) = reply.failures.iter().find(|row| row.failure == number) else {
                continue;
            };
            let after = self.task.limits.reclassify_after;
            // The count of verified fixes decides here, and not the model: it may blame the same side for ever.
            let mut failure = diagnose(check, row.clone(), &self.progress.memory.tried, after);
            if failure.diagnosis.error_type == ErrorType::Environment {
                // Checked before the next build is paid for.
                self.check_environment(number, &failure.packages, &failure.system_packages)?;
                declared.pip.extend(failure.packages.iter().cloned());
                declared.apt.extend(failure.system_packages.iter().cloned());
            }
            failure.functions = self.existing_functions(
                failure.diagnosis.error_type,
                &failure.functions,
                &failure.diagnosis.test,
            );
            failures.push(failure);
        }
        if failures.is_empty() {
            return Err(format!(
                "None of the failures has a diagnosis; diagnose each of the {} by its number.",
                checks.len()
            )
            .into());
        }
        for names in [&mut declared.pip, &mut declared.apt] {
            let mut known = BTreeSet::new();
            names.retain(|name| known.insert(name.clone()));
        }
        let wanted = self.wanted_now(&declared)?;
        Ok(Accepted::Diagnosis {
            diagnosis: Diagnosis { failures },
            declared,
            wanted,
        })
    }

    fn check_environment(&self, number: usize, pip: &[String], apt: &[String]) -> Result<(), Refusal> {
        if pip.is_empty() && apt.is_empty() {
            return Err(format!(
                "Failure {number} is of type environment but names no package; name it, or choose another type."
            ).into());
        }
        let built = self.progress.build.built.as_ref().map(|built| &built.packages);
        let there = |have: &[String], names: &[String]| {
            names
                .iter()
                .all(|name| have.iter().any(|there| same_package(there, name)))
        };
        // Names of installed packages would bring the same build and the same failure.
        if built.is_some_and(|built| there(&built.pip, pip) && there(&built.apt, apt)) {
            let names = [pip, apt].concat().join(", ");
            return Err(format!(
                "Failure {number}: {names} is installed already; the cause is another package, or another type."
            ).into());
        }
        Ok(())
    }

    /// The named functions that exist; for a test error at least the failing test itself.
    fn existing_functions(&self, error_type: ErrorType, named: &[String], test: &str) -> Vec<String> {
        let source = match error_type {
            ErrorType::Logic => &self.material.solution,
            ErrorType::TestError => &self.material.tests,
            ErrorType::Environment => return Vec::new(),
        };
        let Ok(module) = Module::parse(source) else {
            return Vec::new();
        };
        let mut known: Vec<String> = Vec::new();
        for name in named {
            if let Some(name) = resolve(error_type, &module, name)
                && !known.contains(&name)
            {
                known.push(name);
            }
        }
        // A diagnosis that names no test means the one that failed.
        if known.is_empty() && error_type == ErrorType::TestError {
            known.extend(suite::resolve(&module, test));
        }
        known
    }
}

/// Qualified name of a function that a diagnosis names, when it is there.
fn resolve(error_type: ErrorType, module: &Module, named: &str) -> Option<String> {
    match error_type {
        ErrorType::TestError => suite::resolve(module, named),
        ErrorType::Logic | ErrorType::Environment => {
            // Models write `solution.mean()` as well as `mean`.
            let name = named.trim_end_matches("()").trim_start_matches("solution.");
            functions(module)
                .into_iter()
                .find(|function| function.qualname == name || function.name() == name)
                .map(|function| function.qualname)
        }
    }
}
