//! Checks of program and suite, as a first version and as a fix.

use std::collections::BTreeSet;

use super::{Accepted, AcceptedSource, Facts, Refusal};
use crate::call::ReplyFault;
use crate::python::contract::unnamed;
use crate::python::functions::functions;
use crate::python::merge::{changed_names, merge, tree_hash};
use crate::python::{Module, suite};
use crate::reply::{CodeReply, SourceReply};
use crate::sandbox::Packages;
use codegen_api::status::ErrorType;

/// Functions of a file: what they call is resolved again and again.
const MOST_FUNCTIONS: usize = 1_000;

impl Facts<'_> {
    pub(super) fn code(&self, reply: CodeReply) -> Result<Accepted, Refusal> {
        let module = parse_source("solution.py", &reply.code)?;
        self.check_solution(&module)?;
        let declared = Packages {
            pip: reply.packages,
            apt: reply.system_packages,
        };
        let wanted = self.wanted(&[&module], &declared)?;
        Ok(Accepted::Source(AcceptedSource {
            tree: tree_hash(&module),
            source: reply.code,
            changed: Vec::new(),
            declared,
            wanted,
        }))
    }

    pub(super) fn tests(&self, reply: &SourceReply) -> Result<Accepted, Refusal> {
        let suite = parse_source("test_solution.py", &reply.code)?;
        Self::check_suite(&suite)?;
        Ok(self.accepted_suite(&suite, Vec::new())?)
    }

    pub(super) fn fix_code(&self, reply: Result<SourceReply, ReplyFault>) -> Result<Accepted, Refusal> {
        // A fix that cannot be read is a fix that was not applied: it counts for the ultimatum and not as an unusable reply.
        let patch = reply.map_err(Refusal::NotApplied)?.code;
        self.merged_code(&patch)
            .map_err(|reason| Refusal::NotApplied(reason.into()))
    }

    fn merged_code(&self, patch: &str) -> Result<Accepted, String> {
        let before = stored(&self.material.solution)?;
        // The patch alone first, so that an error names its line there and not in the merged file.
        parse_source("the answer", patch)?;
        let merged = merge(&before, patch).map_err(|fault| fault.to_string())?;
        let after = parse_source("solution.py", &merged.source)?;
        self.check_solution(&after)?;
        let changed = changed_names(&before, &after);
        let named = self.material.diagnosis.functions(ErrorType::Logic);
        // A fix that leaves a diagnosed function as it was cannot be a fix of it.
        check_applied(&named, &changed)?;
        let tests = self.stored_tests()?;
        let modules: Vec<&Module> = std::iter::once(&after).chain(&tests).collect();
        let declared = self.progress.build.declared.clone();
        let wanted = self.wanted(&modules, &declared)?;
        let tree = tree_hash(&after);
        let changed = changed.into_iter().collect();
        Ok(Accepted::Source(AcceptedSource {
            source: merged.source,
            tree,
            changed,
            declared,
            wanted,
        }))
    }

    pub(super) fn fix_tests(&self, reply: Result<SourceReply, ReplyFault>) -> Result<Accepted, Refusal> {
        let patch = reply.map_err(Refusal::NotApplied)?.code;
        self.patched_tests(&patch)
            .map_err(|reason| Refusal::NotApplied(reason.into()))
    }

    fn patched_tests(&self, patch: &str) -> Result<Accepted, String> {
        let before = stored(&self.material.tests)?;
        parse_source("the answer", patch)?;
        let named = self.material.diagnosis.functions(ErrorType::TestError);
        let source = suite::patch(&before, patch, &named).map_err(|fault| fault.to_string())?;
        let after = parse_source("test_solution.py", &source)?;
        Self::check_suite(&after)?;
        let changed = changed_names(&before, &after);
        if changed.is_empty() {
            return Err("The answer leaves the suite as it was.".into());
        }
        self.accepted_suite(&after, changed.into_iter().collect())
    }

    pub(super) fn check_solution(&self, module: &Module) -> Result<(), String> {
        let missing = unnamed(module.source(), &self.task.inputs, &self.task.outputs);
        if missing.is_empty() {
            return Ok(());
        }
        Err(format!("solution.py is not complete: {}", missing.join(" ")))
    }

    pub(super) fn check_suite(suite: &Module) -> Result<(), String> {
        if suite::may_have_tests(suite) {
            return Ok(());
        }
        Err("The suite has no test: write functions whose names start with test_.".into())
    }

    fn accepted_suite(&self, suite: &Module, changed: Vec<String>) -> Result<Accepted, String> {
        let solution = stored(&self.material.solution)?;
        let declared = self.progress.build.declared.clone();
        let wanted = self.wanted(&[&solution, suite], &declared)?;
        let tree = tree_hash(suite);
        Ok(Accepted::Source(AcceptedSource {
            source: suite.source().to_owned(),
            tree,
            changed,
            declared,
            wanted,
        }))
    }

    pub(super) fn stored_tests(&self) -> Result<Option<Module>, String> {
        if self.material.tests.is_empty() {
            Ok(None)
        } else {
            stored(&self.material.tests).map(Some)
        }
    }
}

pub(super) fn parse_source(what: &str, source: &str) -> Result<Module, String> {
    // Some models fence code although the schema asks for it bare.
    if source.trim_start().starts_with("```") {
        return Err("The code stands inside a fence of backticks; give the bare source.".into());
    }
    if source.trim().is_empty() {
        return Err("The code is empty.".into());
    }
    let module = Module::parse(source).map_err(|fault| format!("{what} does not parse: {fault}."))?;
    // What a function calls is resolved for each of them, so their number bounds the time of that.
    let functions = functions(&module).len();
    if functions > MOST_FUNCTIONS {
        return Err(format!(
            "{what} has {functions} functions, and at most {MOST_FUNCTIONS} are read: write fewer."
        ));
    }
    Ok(module)
}

pub(super) fn stored(source: &str) -> Result<Module, String> {
    Module::parse(source).map_err(|fault| format!("The stored program does not parse: {fault}."))
}

fn check_applied(named: &[String], changed: &BTreeSet<String>) -> Result<(), String> {
    if changed.is_empty() {
        return Err("The answer leaves the program as it was.".into());
    }
    let untouched: Vec<&str> = named
        .iter()
        .filter(|name| !changed.contains(*name))
        .map(String::as_str)
        .collect();
    if untouched.is_empty() {
        return Ok(());
    }
    Err(format!(
        "These functions must change and are as they were: {}.",
        untouched.join(", ")
    ))
}
