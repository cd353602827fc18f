//! Simple commands: assignments, words, redirections.

use std::collections::BTreeSet;

use brush_parser::ast::{
    Assignment, AssignmentName, AssignmentValue, CommandPrefixOrSuffixItem as Item, SimpleCommand,
};

use super::folders::Folders;
use super::{Walk, redirections};
use crate::denial::Denial;
use crate::paths::{HOME, absolute, is_folder_of_ours};
use crate::scope::Scope;
use crate::script::{Argument, Builtin, BuiltinCall, Command, Run};
use crate::words;

impl Walk<'_> {
    pub(super) fn simple(
        &mut self,
        simple: &SimpleCommand,
        scope: &mut Scope,
    ) -> Result<(Command, Folders), Denial> {
        let mut redirected = Vec::new();
        let mut assigned = Vec::new();
        let mut arguments: Vec<Argument> = Vec::new();
        for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
            match item {
                Item::AssignmentWord(assignment, _) => assigned.push(assignment_of(assignment, scope)?),
                Item::IoRedirect(redirection) => redirected.extend(redirections::settle(redirection, scope)?),
                Item::Word(word) => arguments.extend(words::arguments(&word.value, scope)?),
                Item::ProcessSubstitution(..) => return Err(redirections::process_substitution()),
            }
        }
        if let Some(word) = &simple.word_or_name {
            arguments.extend(words::arguments(&word.value, scope)?);
        }
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            match item {
                Item::AssignmentWord(_, word) | Item::Word(word) => {
                    arguments.extend(words::arguments(&word.value, scope)?);
                }
                Item::IoRedirect(redirection) => redirected.extend(redirections::settle(redirection, scope)?),
                Item::ProcessSubstitution(..) => return Err(redirections::process_substitution()),
            }
        }
        let mut folders = Folders::of(scope);
        let run = match arguments.first() {
            None => self.assign(assigned, scope)?,
            Some(name) => {
                let name = name.text().map(str::to_owned).ok_or_else(|| {
                    Denial::syntax("the name of a command is not settled before it runs: write the name")
                })?;
                arguments.remove(0);
                for (variable, _) in &assigned {
                    self.check_variable(variable)?;
                }
                match name.as_str() {
                    "cd" => self.cd(&arguments, scope, &mut folders)?,
                    "export" => self.export(&arguments, scope)?,
                    _ => self.call(&name, arguments, assigned, &redirected, scope)?,
                }
            }
        };
        let command = Command {
            run,
            redirections: redirected,
        };
        Ok((command, folders))
    }

    /// Variables of the command itself: what they are is settled here, so nothing is left to run.
    fn assign(&mut self, assigned: Vec<(String, Argument)>, scope: &mut Scope) -> Result<Run, Denial> {
        for (name, value) in assigned {
            let Some(value) = value.text() else {
                return Err(Denial::syntax(format!(
                    "{name} is not settled before the command runs: write its value"
                )));
            };
            self.set(&name, value, scope)?;
        }
        self.builtin(Builtin::True, Vec::new())
    }

    fn set(&mut self, name: &str, value: &str, scope: &mut Scope) -> Result<(), Denial> {
        if !scope.is_unconditional {
            return Err(Denial::syntax(format!(
                "{name} is assigned where it depends on another command: assign it in a command of its own before"
            )));
        }
        if self.rules.is_assignable(name) {
            // Of programs only where it is exported, which it may have been before.
            if scope.exported.contains_key(name) {
                scope.exported.insert(name.to_owned(), value.to_owned());
            }
        } else if is_reserved(name) {
            return Err(self.not_assignable(name));
        }
        scope.loops.remove(name);
        scope.variables.insert(name.to_owned(), value.to_owned());
        Ok(())
    }

    fn export(&mut self, arguments: &[Argument], scope: &mut Scope) -> Result<Run, Denial> {
        for argument in arguments {
            let text = argument.text().filter(|text| !text.starts_with('-'));
            let Some(text) = text else {
                return Err(Denial::syntax("export is run with NAME=VALUE alone"));
            };
            let (name, value) = match text.split_once('=') {
                Some((name, value)) => (name, value.to_owned()),
                None => (text, scope.variables.get(text).cloned().unwrap_or_default()),
            };
            self.check_variable(name)?;
            self.set(name, &value, scope)?;
            scope.exported.insert(name.to_owned(), value);
        }
        self.builtin(Builtin::True, Vec::new())
    }

    /// Whether a program may be given a variable.
    pub(super) fn check_variable(&self, name: &str) -> Result<(), Denial> {
        if self.rules.is_assignable(name) {
            Ok(())
        } else {
            Err(self.not_assignable(name))
        }
    }

    fn not_assignable(&self, name: &str) -> Denial {
        Denial::new(
            "variables",
            format!(
                "{name} is not a variable that a command may set (these are: {}): pass it as an argument",
                self.rules.assignable()
            ),
        )
    }

    fn cd(&mut self, arguments: &[Argument], scope: &Scope, folders: &mut Folders) -> Result<Run, Denial> {
        let target = match arguments {
            [] => HOME,
            [target] => target
                .text()
                .filter(|text| !text.starts_with('-') && !text.is_empty())
                .ok_or_else(|| {
                    Denial::syntax("cd is run with one folder that is written out: write its path")
                })?,
            _ => return Err(Denial::syntax("cd is run with one folder")),
        };
        let targets = scope.folders.iter().map(|folder| absolute(folder, target));
        let (inside, outside): (BTreeSet<String>, BTreeSet<String>) =
            targets.partition(|folder| is_folder_of_ours(folder));
        if let (true, Some(outside)) = (inside.is_empty(), outside.first()) {
            return Err(Denial::path(format!(
                "cd does not lead to {outside}: stay in /sandbox, /var/inputs, /var/outputs or /tmp, and write the path where a file elsewhere is read"
            )));
        }
        // To the others it fails when it runs.
        folders.success = inside;
        self.builtin(Builtin::Cd, vec![target.into()])
    }

    pub(super) fn builtin(&mut self, name: Builtin, arguments: Vec<Argument>) -> Result<Run, Denial> {
        self.count("builtins")?;
        Ok(Run::Builtin(BuiltinCall { name, arguments }))
    }
}

fn assignment_of(assignment: &Assignment, scope: &Scope) -> Result<(String, Argument), Denial> {
    match (&assignment.name, &assignment.value) {
        (AssignmentName::VariableName(name), AssignmentValue::Scalar(word)) if !assignment.append => {
            Ok((name.clone(), words::value(&word.value, scope)?))
        }
        _ => Err(Denial::syntax(
            "arrays and += are not run: write the values, or a small Python file",
        )),
    }
}

/// Names that mean something to shells or the loader, whoever sets them.
pub(super) fn is_reserved(name: &str) -> bool {
    let upper = name
        .chars()
        .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    upper
        && ([
            "PATH",
            "IFS",
            "ENV",
            "BASH",
            "SHELL",
            "HOME",
            "PWD",
            "OLDPWD",
            "CDPATH",
            "GLOBIGNORE",
            "PS4",
        ]
        .contains(&name)
            || ["LD_", "BASH_", "PYTHON", "PYTEST_", "PIP_", "GIT_"]
                .iter()
                .any(|start| name.starts_with(start)))
}
