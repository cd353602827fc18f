//! Whether a reply can be used, and what it says when it can.
//!
//! Everything a reply must keep is checked here, before anything runs: a refusal is a sentence that goes back to the model.

use std::collections::BTreeSet;

use crate::api::case::Case;
use crate::api::status::{ErrorType, PlanStatus};

use super::bounds::too_many;
use super::call::{CallKind, Reply};
use super::cases::{self, Access, CaseSet, NO_CASE, reference, usable};
use super::diagnosis::{Diagnosis, diagnose};
use super::machine::MAX_REJECTIONS;
use super::progress::Progress;
use super::prompts::{Material, listed};
use super::python::Module;
use super::python::contract::violations;
use super::python::functions::functions;
use super::python::merge::{changed_names, merge, tree_hash};
use super::python::packages::{Sources, detect};
use super::python::requirement::{Requirement, normalized};
use super::python::rule::{Finding, Rule};
use super::python::suite;
use super::python::tampering::{solution_findings, suite_findings};
use super::reply::{
    CasesReply, CodeReply, ConstraintsReply, DiagnosisReply, EnvironmentReply, PackageManager, PlanReply,
    ReplyFault, SourceReply, parse,
};
use super::sandbox::Packages;
use super::task::Task;

/// Functions of a file: what they call is looked up again and again.
const MOST_FUNCTIONS: usize = 1_000;
/// Rows of checks in one reply.
const MOST_CHECKS: usize = 256;

/// How names of pip packages begin among the replaced ones; apt may know the same name.
const PIP: &str = "pip:";
/// How names of apt packages begin among the replaced ones.
const APT: &str = "apt:";

/// What a usable reply says.
#[derive(Clone, Debug, PartialEq)]
pub enum Accepted {
    /// The plan, and the cases that it brings.
    Plan(PlanStatus, CaseSet),
    /// Rows that the data module turns into checks.
    Constraints(ConstraintsReply),
    /// Program or suite.
    Source(AcceptedSource),
    /// Second answers to the cases that are blamed, in order.
    Cases(Vec<Case>),
    /// A diagnosis of every failure.
    Diagnosis {
        /// What it says.
        diagnosis: Diagnosis,
        /// Packages that it adds to the declared ones.
        declared: Packages,
        /// What is wanted then.
        wanted: Packages,
    },
    /// Replacements of packages.
    Environment {
        /// What is replaced by what.
        replaced: Vec<(String, String)>,
        /// What is wanted then.
        wanted: Packages,
    },
}

/// Source that passed every check that needs no run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedSource {
    /// The whole file.
    pub source: String,
    /// Hash of its syntax tree.
    pub tree: String,
    /// Functions that changed; empty for a first version.
    pub changed: Vec<String>,
    /// Packages that replies declared so far.
    pub declared: Packages,
    /// What program and suite need now.
    pub wanted: Packages,
}

/// Why a reply is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It cannot be used at all.
    Reply(String),
    /// It is code that breaks rules.
    Rules {
        /// Which, in the order of the documentation.
        rules: BTreeSet<Rule>,
        /// What is wrong, for the model.
        reason: String,
    },
    /// It is a fix that was not applied.
    NotApplied(String),
}

impl Refusal {
    fn of(what: &str, findings: &[Finding]) -> Self {
        let places: Vec<String> = findings.iter().map(ToString::to_string).collect();
        Self::Rules {
            rules: findings.iter().map(|finding| finding.rule).collect(),
            reason: format!("{what}: {}", places.join(" ")),
        }
    }

    /// Of a fix: it is asked for again in words of its own.
    fn of_fix(self) -> Self {
        match self {
            Self::Reply(reason) | Self::Rules { reason, .. } | Self::NotApplied(reason) => {
                Self::NotApplied(reason)
            }
        }
    }
}

impl From<String> for Refusal {
    fn from(reason: String) -> Self {
        Self::Reply(reason)
    }
}

impl From<ReplyFault> for Refusal {
    fn from(fault: ReplyFault) -> Self {
        Self::Reply(fault.0)
    }
}

/// Reads and checks a reply.
pub fn accept(
    task: &Task,
    progress: &Progress,
    material: &Material,
    kind: CallKind,
    reply: &Reply,
) -> Result<Accepted, Refusal> {
    let facts = Facts {
        task,
        progress,
        material,
    };
    match kind {
        CallKind::Plan => facts.plan(parse(reply)?),
        CallKind::Constraints => Ok(Accepted::Constraints(facts.constraints(parse(reply)?)?)),
        CallKind::Code => facts.code(parse(reply)?),
        CallKind::Tests => facts.tests(&parse(reply)?),
        CallKind::Diagnosis => facts.diagnosis(&parse(reply)?),
        CallKind::FixCode => facts.fix_code(parse(reply)),
        CallKind::FixTests => facts.fix_tests(parse(reply)),
        CallKind::Cases => facts.cases(&parse(reply)?),
        CallKind::FixEnvironment => facts.fix_environment(parse(reply)?),
    }
}

struct Facts<'a> {
    task: &'a Task,
    progress: &'a Progress,
    material: &'a Material,
}

impl Facts<'_> {
    fn plan(&self, reply: PlanReply) -> Result<Accepted, Refusal> {
        let PlanReply {
            description,
            approach,
            libraries,
            cases,
            unstable,
            invariants,
        } = reply;
        let set = cases::planned(self.task, cases, unstable, invariants, &self.material.forms);
        // Asked once: there are tasks of which no case can be stated.
        let rejections = &self.progress.rejections;
        let was_asked = rejections.iter().any(|reason| reason.starts_with(NO_CASE));
        if let Some(reason) = set.lack(self.task)
            && !was_asked
            && rejections.len() + 1 < MAX_REJECTIONS
        {
            return Err(Refusal::Reply(reason));
        }
        let plan = PlanStatus {
            description,
            approach,
            libraries,
            cases: set.lines(),
        };
        Ok(Accepted::Plan(plan, set))
    }

    fn constraints(&self, reply: ConstraintsReply) -> Result<ConstraintsReply, Refusal> {
        let count = self.task.constraints.len();
        if reply.checks.len() > MOST_CHECKS {
            return Err(Refusal::Reply(format!(
                "There are {} rows, and at most {MOST_CHECKS} are used: leave out what another row says.",
                reply.checks.len()
            )));
        }
        let named: BTreeSet<usize> = reply.checks.iter().map(|row| row.constraint).collect();
        if let Some(beyond) = named.iter().find(|number| **number >= count) {
            return Err(Refusal::Reply(format!(
                "There is no constraint {beyond}: they are numbered 0 to {}.",
                count - 1
            )));
        }
        match (0..count).find(|number| !named.contains(number)) {
            Some(missing) => Err(Refusal::Reply(format!(
                "Constraint {missing} has no row; give it one, of kind none if need be."
            ))),
            None => Ok(reply),
        }
    }

    fn code(&self, reply: CodeReply) -> Result<Accepted, Refusal> {
        let module = parse_source("solution.py", &reply.code)?;
        self.check_solution(&module)?;
        let declared = Packages {
            pip: reply.packages,
            apt: reply.system_packages,
        };
        let wanted = self.wanted(&[&module], &declared).map_err(Refusal::Reply)?;
        Ok(Accepted::Source(AcceptedSource {
            tree: tree_hash(&module),
            source: reply.code,
            changed: Vec::new(),
            declared,
            wanted,
        }))
    }

    fn tests(&self, reply: &SourceReply) -> Result<Accepted, Refusal> {
        let suite = parse_source("test_solution.py", &reply.code).map_err(Refusal::Reply)?;
        Self::check_suite(&suite)?;
        self.accepted_suite(&suite, Vec::new()).map_err(Refusal::Reply)
    }

    fn diagnosis(&self, reply: &DiagnosisReply) -> Result<Accepted, Refusal> {
        let Some(verdict) = &self.material.verdict else {
            return Err(Refusal::Reply("There is no failure to diagnose.".into()));
        };
        let checks = listed(verdict);
        let mut failures = Vec::with_capacity(checks.len());
        let mut declared = self.progress.build.declared.clone();
        for (index, check) in checks.iter().enumerate() {
            let number = index + 1;
            let Some(row) = reply.failures.iter().find(|row| row.failure == number) else {
                return Err(Refusal::Reply(format!(
                    "Failure {number} has no diagnosis; diagnose each of the {}.",
                    checks.len()
                )));
            };
            let after = self.task.limits.reclassify_after;
            let mut failure = diagnose(check, row.clone(), &self.progress.memory.tried, after);
            if failure.diagnosis.error_type == ErrorType::Environment {
                self.check_environment(number, &failure.packages, &failure.system_packages)?;
                declared.pip.extend(failure.packages.iter().cloned());
                declared.apt.extend(failure.system_packages.iter().cloned());
            }
            failure.functions = self.known_functions(
                failure.diagnosis.error_type,
                &failure.functions,
                &failure.diagnosis.test,
            );
            failures.push(failure);
        }
        for names in [&mut declared.pip, &mut declared.apt] {
            let mut known = BTreeSet::new();
            names.retain(|name| known.insert(name.clone()));
        }
        let wanted = self.wanted_now(&declared).map_err(Refusal::Reply)?;
        Ok(Accepted::Diagnosis {
            diagnosis: Diagnosis { failures },
            declared,
            wanted,
        })
    }

    fn cases(&self, reply: &CasesReply) -> Result<Accepted, Refusal> {
        let mut answers = Vec::with_capacity(self.material.blamed.len());
        for (index, blamed) in self.material.blamed.iter().enumerate() {
            let number = index + 1;
            let mut case = blamed.run.case.clone();
            let answer = reply
                .cases
                .iter()
                .find(|answer| answer.case == number)
                .filter(|answer| answer.values.len() == case.expect.len())
                .ok_or_else(|| {
                    Refusal::Reply(format!(
                        "Case {number} has {} lines: answer each of them.",
                        case.expect.len()
                    ))
                })?;
            case.refused = answer.refused;
            for (expectation, value) in case.expect.iter_mut().zip(&answer.values) {
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

    fn check_environment(&self, number: usize, pip: &[String], apt: &[String]) -> Result<(), Refusal> {
        if pip.is_empty() && apt.is_empty() {
            return Err(Refusal::Reply(format!(
                "Failure {number} is of type environment but names no package; name it, or choose another type."
            )));
        }
        let built = self.progress.build.built.as_ref().map(|built| &built.packages);
        let there = |have: &[String], names: &[String]| {
            names
                .iter()
                .all(|name| have.iter().any(|there| same_package(there, name)))
        };
        if built.is_some_and(|built| there(&built.pip, pip) && there(&built.apt, apt)) {
            let names = [pip, apt].concat().join(", ");
            return Err(Refusal::Reply(format!(
                "Failure {number}: {names} is installed already; the cause is another package, or another type."
            )));
        }
        Ok(())
    }

    /// The named functions that exist; for a test error at least the failing test itself.
    fn known_functions(&self, error_type: ErrorType, named: &[String], test: &str) -> Vec<String> {
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
        if known.is_empty() && error_type == ErrorType::TestError {
            known.extend(suite::resolve(&module, test));
        }
        known
    }

    fn fix_code(&self, reply: Result<SourceReply, ReplyFault>) -> Result<Accepted, Refusal> {
        let patch = reply.map_err(|fault| Refusal::NotApplied(fault.0))?.code;
        self.merged_code(&patch).map_err(Refusal::of_fix)
    }

    fn merged_code(&self, patch: &str) -> Result<Accepted, Refusal> {
        let before = stored(&self.material.solution)?;
        parse_source("the answer", patch)?;
        let merged = merge(&before, patch).map_err(|fault| fault.to_string())?;
        let after = parse_source("solution.py", &merged.source)?;
        self.check_solution(&after)?;
        let changed = changed_names(&before, &after);
        let named = self.material.diagnosis.functions(ErrorType::Logic);
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

    fn fix_tests(&self, reply: Result<SourceReply, ReplyFault>) -> Result<Accepted, Refusal> {
        let patch = reply.map_err(|fault| Refusal::NotApplied(fault.0))?.code;
        self.patched_tests(&patch).map_err(Refusal::of_fix)
    }

    fn patched_tests(&self, patch: &str) -> Result<Accepted, Refusal> {
        let before = stored(&self.material.tests)?;
        parse_source("the answer", patch)?;
        let named = self.material.diagnosis.functions(ErrorType::TestError);
        let source = suite::patch(&before, patch, &named).map_err(|fault| fault.to_string())?;
        let after = parse_source("test_solution.py", &source)?;
        Self::check_suite(&after)?;
        let changed = changed_names(&before, &after);
        if changed.is_empty() {
            return Err(Refusal::Reply("The answer leaves the suite as it was.".into()));
        }
        Ok(self.accepted_suite(&after, changed.into_iter().collect())?)
    }

    fn fix_environment(&self, reply: EnvironmentReply) -> Result<Accepted, Refusal> {
        let build = &self.progress.build;
        let mut replaced = Vec::new();
        for row in reply.replacements {
            let (manager, known) = match row.manager {
                PackageManager::Pip => (
                    PIP,
                    build.wanted.pip.iter().find(|have| same_package(have, &row.name)),
                ),
                PackageManager::Apt => (APT, build.wanted.apt.iter().find(|have| **have == row.name)),
            };
            let Some(known) = known else {
                return Err(Refusal::Reply(format!(
                    "{} is none of the packages that were wanted.",
                    row.name
                )));
            };
            replaced.push((format!("{manager}{known}"), row.replacement));
        }
        let mut next = build.clone();
        next.replaced.extend(replaced.iter().cloned());
        let wanted = next.replace(&build.wanted);
        if wanted == build.wanted {
            return Err(Refusal::Reply(
                "The answer leaves the packages as they were.".into(),
            ));
        }
        for name in &wanted.pip {
            Requirement::parse(name).map_err(|fault| Refusal::Reply(format!("Package {name}: {fault}.")))?;
        }
        Ok(Accepted::Environment { replaced, wanted })
    }

    fn check_solution(&self, module: &Module) -> Result<(), Refusal> {
        let mut found = violations(module, &self.task.inputs, &self.task.outputs);
        found.extend(solution_findings(module));
        if found.is_empty() {
            Ok(())
        } else {
            Err(Refusal::of("solution.py breaks the contract", &found))
        }
    }

    fn check_suite(suite: &Module) -> Result<(), Refusal> {
        if !suite::may_have_tests(suite) {
            return Err(Refusal::Reply(
                "The suite has no test: write functions whose names start with test_.".into(),
            ));
        }
        let found = suite_findings(suite);
        if found.is_empty() {
            Ok(())
        } else {
            Err(Refusal::of("test_solution.py is not accepted", &found))
        }
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

    fn stored_tests(&self) -> Result<Option<Module>, String> {
        if self.material.tests.is_empty() {
            Ok(None)
        } else {
            stored(&self.material.tests).map(Some)
        }
    }

    fn wanted_now(&self, declared: &Packages) -> Result<Packages, String> {
        let solution = stored(&self.material.solution)?;
        let tests = self.stored_tests()?;
        let modules: Vec<&Module> = std::iter::once(&solution).chain(&tests).collect();
        self.wanted(&modules, declared)
    }

    fn wanted(&self, modules: &[&Module], declared: &Packages) -> Result<Packages, String> {
        // What the acceptance tests import must be there too; of them no more than the names of packages is used.
        let hidden = Module::parse(&self.material.acceptance_tests).ok();
        let modules: Vec<&Module> = modules.iter().copied().chain(&hidden).collect();
        let detected = detect(&Sources {
            modules: &modules,
            version: &self.task.image.python_version,
            declared,
            base: &Packages::default(),
        });
        if let Some(rejected) = detected.rejected.first() {
            return Err(format!("Package {}: {}.", rejected.given, rejected.reason));
        }
        let wanted = self.progress.build.replace(&detected.packages);
        match too_many(declared).or_else(|| too_many(&wanted)) {
            Some(why) => Err(why),
            None => Ok(wanted),
        }
    }
}

impl super::progress::Build {
    /// `packages` with the names that cannot be installed replaced.
    #[must_use]
    pub fn replace(&self, packages: &Packages) -> Packages {
        let replace = |manager: &str, names: &[String]| {
            let names: BTreeSet<String> = names
                .iter()
                .map(|name| self.replacement(manager, name))
                .filter(|name| !name.is_empty())
                .collect();
            names.into_iter().collect()
        };
        Packages {
            pip: replace(PIP, &packages.pip),
            apt: replace(APT, &packages.apt),
        }
    }

    /// What a name became, over as many replacements as there are.
    fn replacement(&self, manager: &str, name: &str) -> String {
        let mut now = name.to_owned();
        for _ in &self.replaced {
            match self.replaced.get(&format!("{manager}{now}")) {
                Some(next) if *next != now => now.clone_from(next),
                Some(_) | None => break,
            }
        }
        now
    }
}

fn parse_source(what: &str, source: &str) -> Result<Module, String> {
    if source.trim_start().starts_with("```") {
        return Err("The code stands inside a fence of backticks; give the bare source.".into());
    }
    if source.trim().is_empty() {
        return Err("The code is empty.".into());
    }
    let module = Module::parse(source).map_err(|fault| format!("{what} does not parse: {fault}."))?;
    let functions = functions(&module).len();
    if functions > MOST_FUNCTIONS {
        return Err(format!(
            "{what} has {functions} functions, and at most {MOST_FUNCTIONS} are read: write fewer."
        ));
    }
    Ok(module)
}

/// Qualified name of a function that a diagnosis names, when it is there.
fn resolve(error_type: ErrorType, module: &Module, named: &str) -> Option<String> {
    match error_type {
        ErrorType::TestError => suite::resolve(module, named),
        ErrorType::Logic | ErrorType::Environment => {
            let name = named.trim_end_matches("()").trim_start_matches("solution.");
            functions(module)
                .into_iter()
                .find(|function| function.qualname == name || function.name() == name)
                .map(|function| function.qualname)
        }
    }
}

/// Whether a requirement is of that package.
fn same_package(requirement: &str, name: &str) -> bool {
    let name_of =
        |text: &str| Requirement::parse(text).map_or_else(|_| normalized(text), |parsed| parsed.name);
    name_of(requirement) == name_of(name)
}

fn stored(source: &str) -> Result<Module, String> {
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

#[cfg(test)]
mod tests;
