//! The table of rules, as data.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::options::Options;

/// Why a table of rules is not used.
#[derive(thiserror::Error, Debug)]
pub enum RulesError {
    /// It is not of the form of a table.
    #[error("the command rules cannot be read ({0}): correct rules.yaml")]
    Malformed(String),
    /// A program has two rules.
    #[error("the program {program} is in the rules {first} and {second}: keep it in one")]
    Ambiguous {
        /// The program.
        program: String,
        /// One rule.
        first: String,
        /// The other.
        second: String,
    },
    /// An example has another class or rule than its place says.
    #[error("rule {rule}: the example {example:?} {problem}: correct the rule or the example")]
    Example {
        /// The rule.
        rule: String,
        /// The command.
        example: String,
        /// What it came to.
        problem: String,
    },
}

/// How the arguments of a program are judged.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Reading {
    /// Nothing that it can be told does harm.
    Any,
    /// It packs or unpacks files.
    Archive,
    /// It is given listed options alone, and writes to the operands that the rule names.
    Options,
    Awk,
    Builtin,
    Find,
    Python,
    Sed,
    Shell,
    Wrapper,
    Xargs,
}

/// Operands that a program writes to.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq, Default)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Outputs {
    #[default]
    None,
    All,
    Last,
    Second,
    /// All, and none may be a folder that holds everything.
    AllBelow,
}

/// A rule under which programs run.
#[derive(Deserialize, Debug, Clone)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct SafeRule {
    pub(crate) rule: String,
    pub(crate) programs: Vec<String>,
    pub(crate) arguments: Reading,
    #[serde(default)]
    pub(crate) options: Options,
    #[serde(default)]
    pub(crate) outputs: Outputs,
    #[serde(rename = "match")]
    pub(crate) matches: Vec<String>,
    #[serde(rename = "no_match")]
    pub(crate) differs: Vec<String>,
}

/// A rule under which programs and modules of Python do not run.
#[derive(Deserialize, Debug, Clone)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct RefusingRule {
    pub(crate) rule: String,
    #[serde(default)]
    pub(crate) programs: Vec<String>,
    #[serde(default)]
    pub(crate) modules: Vec<String>,
    pub(crate) reason: String,
    #[serde(rename = "match")]
    pub(crate) matches: Vec<String>,
    #[serde(rename = "no_match")]
    pub(crate) differs: Vec<String>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Table {
    assignments: BTreeSet<String>,
    folders: Vec<String>,
    interpreters: Vec<String>,
    safe: Vec<SafeRule>,
    intercepted: Vec<RefusingRule>,
    denied: Vec<RefusingRule>,
}

/// Which programs run, how their arguments are judged, and which do not run for which reason.
#[derive(Debug, Clone)]
pub struct Rules {
    pub(crate) safe: Vec<SafeRule>,
    pub(crate) intercepted: Vec<RefusingRule>,
    pub(crate) denied: Vec<RefusingRule>,
    assignments: BTreeSet<String>,
    folders: Vec<String>,
    interpreters: Vec<String>,
    by_program: BTreeMap<String, usize>,
}

/// What a name leads to.
pub(crate) enum Found<'r> {
    Safe(&'r SafeRule),
    Intercepted(&'r RefusingRule),
    Denied(&'r RefusingRule),
    Unlisted,
}

impl Rules {
    /// Reads a table, without trying its examples.
    pub(crate) fn parse(text: &str) -> Result<Self, RulesError> {
        let table: Table =
            serde_saphyr::from_str(text).map_err(|error| RulesError::Malformed(error.to_string()))?;
        let mut first: BTreeMap<&str, &str> = BTreeMap::new();
        let safe = table.safe.iter().map(|rule| (&rule.rule, &rule.programs));
        let refusing = table.intercepted.iter().chain(&table.denied);
        for (rule, programs) in safe.chain(refusing.map(|rule| (&rule.rule, &rule.programs))) {
            for program in programs {
                if let Some(other) = first.insert(program, rule) {
                    return Err(RulesError::Ambiguous {
                        program: program.clone(),
                        first: other.to_owned(),
                        second: rule.clone(),
                    });
                }
            }
        }
        let mut by_program = BTreeMap::new();
        for (index, rule) in table.safe.iter().enumerate() {
            by_program.extend(rule.programs.iter().map(|program| (program.clone(), index)));
        }
        Ok(Self {
            safe: table.safe,
            intercepted: table.intercepted,
            denied: table.denied,
            assignments: table.assignments,
            folders: table.folders,
            interpreters: table.interpreters,
            by_program,
        })
    }

    /// The same rules, with further programs that do not run. Nothing that is denied or unlisted becomes safe by it.
    #[must_use]
    pub fn with_denied(mut self, programs: Vec<String>) -> Self {
        self.denied.insert(
            0,
            RefusingRule {
                rule: "administrator".to_owned(),
                modules: programs.clone(),
                programs,
                reason: "the administrator of this cluster has denied it: use another command, or a small Python file"
                    .to_owned(),
                matches: Vec::new(),
                differs: Vec::new(),
            },
        );
        self
    }

    /// The rule of a program.
    pub(crate) fn program(&self, name: &str) -> Found<'_> {
        let lists = |rule: &&RefusingRule| rule.programs.iter().any(|program| program == name);
        if let Some(rule) = self.denied.iter().find(lists) {
            return Found::Denied(rule);
        }
        if let Some(rule) = self.intercepted.iter().find(lists) {
            return Found::Intercepted(rule);
        }
        self.by_program
            .get(name)
            .and_then(|index| self.safe.get(*index))
            .map_or(Found::Unlisted, Found::Safe)
    }

    /// The rule of a module of Python that does not run as usual.
    pub(crate) fn module(&self, name: &str) -> Found<'_> {
        let top = name.split('.').next().unwrap_or_default();
        let lists = |rule: &&RefusingRule| rule.modules.iter().any(|module| module == top);
        if let Some(rule) = self.denied.iter().find(lists) {
            return Found::Denied(rule);
        }
        self.intercepted
            .iter()
            .find(lists)
            .map_or(Found::Unlisted, Found::Intercepted)
    }

    /// Whether programs may be given a variable.
    pub(crate) fn is_assignable(&self, variable: &str) -> bool {
        self.assignments.contains(variable)
    }

    /// The variables that programs may be given, for reasons.
    pub(crate) fn assignable(&self) -> String {
        self.assignments.iter().cloned().collect::<Vec<_>>().join(", ")
    }

    /// Where a program of the table lies. `None` for the interpreter of the environment.
    pub(crate) fn paths(&self, program: &str) -> Vec<String> {
        self.folders
            .iter()
            .map(|folder| format!("{folder}/{program}"))
            .collect()
    }

    /// The name of the program of the table whose real place a path is.
    pub(crate) fn at(&self, path: &str) -> Option<String> {
        if self.interpreters.iter().any(|interpreter| interpreter == path) {
            return Some("python".to_owned());
        }
        let (folder, name) = path.rsplit_once('/')?;
        let is_listed = self.folders.iter().any(|listed| listed == folder);
        let is_python = matches!(self.program(name), Found::Safe(rule) if rule.arguments == Reading::Python);
        (is_listed && !is_python).then(|| name.to_owned())
    }

    /// The rule of a program that runs.
    pub(crate) fn safe(&self, program: &str) -> Option<&SafeRule> {
        match self.program(program) {
            Found::Safe(rule) => Some(rule),
            Found::Intercepted(_) | Found::Denied(_) | Found::Unlisted => None,
        }
    }

    /// Whether a table has a program, as the first word of what is executed.
    #[must_use]
    pub fn lists(&self, program: &str) -> bool {
        matches!(self.program(program), Found::Safe(_))
    }
}
