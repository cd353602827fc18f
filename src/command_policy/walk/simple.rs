//! Simple commands: assignments, words, redirections.

use std::collections::BTreeSet;

use brush_parser::ast::{
    Assignment, AssignmentName, AssignmentValue, CommandPrefixOrSuffixItem as Item, IoRedirect, SimpleCommand,
};

use super::Walk;
use super::folders::Folders;
use super::programs::built_in;
use crate::denial::Denial;
use crate::effects;
use crate::paths::{HOME, absolute, is_folder_of_ours};
use crate::scope::{Content, Scope};
use crate::script::{Argument, Builtin, BuiltinCall, Command, Redirection, Run};
use crate::words;

impl Walk<'_> {
    pub(super) fn simple(
        &mut self,
        simple: &SimpleCommand,
        scope: &mut Scope,
    ) -> Result<(Command, Folders), Denial> {
        let mut redirections = Vec::new();
        let mut assignments = Vec::new();
        let mut arguments: Vec<Argument> = Vec::new();
        for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
            match item {
                Item::AssignmentWord(assignment, _) => assignments.push(assignment),
                Item::IoRedirect(redirection) => redirections.push(redirection),
                Item::Word(word) => arguments.extend(words::arguments(&word.value, scope, self)?),
                Item::ProcessSubstitution(kind, subshell) => {
                    arguments.push(self.process_path(kind, subshell, scope)?);
                }
            }
        }
        if let Some(word) = &simple.word_or_name {
            arguments.extend(words::arguments(&word.value, scope, self)?);
        }
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            match item {
                Item::AssignmentWord(_, word) | Item::Word(word) => {
                    arguments.extend(words::arguments(&word.value, scope, self)?);
                }
                Item::IoRedirect(redirection) => redirections.push(redirection),
                Item::ProcessSubstitution(kind, subshell) => {
                    arguments.push(self.process_path(kind, subshell, scope)?);
                }
            }
        }
        let (run, redirections, folders) = match arguments.split_first() {
            None => {
                let run = self.assign(&assignments, scope)?;
                // As in bash, variables are set before streams are.
                (run, self.all(&redirections, scope)?, Folders::of(scope))
            }
            Some((name, rest)) => {
                let redirections = self.all(&redirections, scope)?;
                let name = name.text().ok_or_else(|| {
                    Denial::syntax("the name of a command is not settled before it runs: write the name")
                })?;
                let assigned = self.environment(&assignments, scope)?;
                let before = self.interceptions;
                let (mut run, folders) = self.named(name, rest, assigned, &redirections, scope)?;
                if self.interceptions > before {
                    effects::mark(&mut run);
                }
                (run, redirections, folders)
            }
        };
        Ok((Command { run, redirections }, folders))
    }

    /// A command by its name, and the folders after it.
    fn named(
        &mut self,
        name: &str,
        arguments: &[Argument],
        assigned: Vec<(String, Argument)>,
        redirections: &[Redirection],
        scope: &mut Scope,
    ) -> Result<(Run, Folders), Denial> {
        if name != "read" {
            for (variable, _) in &assigned {
                self.check_variable(variable)?;
            }
        }
        let mut folders = Folders::of(scope);
        let run = match name {
            "read" => self.read(&assigned, arguments, scope)?,
            "cd" => self.cd(arguments, scope, &mut folders)?,
            "export" => self.export(arguments, scope)?,
            _ => {
                let is_alone = assigned.is_empty();
                let run = self.call(name, arguments.to_vec(), assigned, redirections, scope)?;
                if is_alone { built_in(name, run)? } else { run }
            }
        };
        Ok((run, folders))
    }

    fn all(&mut self, redirections: &[&IoRedirect], scope: &Scope) -> Result<Vec<Redirection>, Denial> {
        let mut settled = Vec::new();
        for redirection in redirections {
            settled.extend(self.redirection(redirection, scope)?);
        }
        Ok(settled)
    }

    fn assignment(&mut self, assignment: &Assignment, scope: &Scope) -> Result<(String, Argument), Denial> {
        match (&assignment.name, &assignment.value) {
            (AssignmentName::VariableName(name), AssignmentValue::Scalar(word)) if !assignment.append => {
                Ok((name.clone(), words::value(&word.value, scope, self)?))
            }
            _ => Err(Denial::syntax(
                "arrays and += are not run: write NAME=\"$NAME...\", the values, or a small Python file",
            )),
        }
    }

    /// Variables of the command itself. Each value may have those before it.
    fn assign(&mut self, assignments: &[&Assignment], scope: &mut Scope) -> Result<Run, Denial> {
        self.count("builtins")?;
        let mut assigned = Vec::new();
        for assignment in assignments {
            let (name, value) = self.assignment(assignment, scope)?;
            self.set(&name, &value, scope)?;
            assigned.push((name, value));
        }
        Ok(Run::Assign(assigned))
    }

    /// Variables of the process that a command starts. Each value may have those before it that are settled.
    fn environment(
        &mut self,
        assignments: &[&Assignment],
        scope: &Scope,
    ) -> Result<Vec<(String, Argument)>, Denial> {
        let mut inner = scope.clone();
        let mut assigned = Vec::new();
        for assignment in assignments {
            let (name, value) = self.assignment(assignment, &inner)?;
            inner.variables.remove(&name);
            if let Some(text) = value.text() {
                let content = Content::Text(text.to_owned());
                inner.variables.insert(name.clone(), content);
            }
            assigned.push((name, value));
        }
        Ok(assigned)
    }

    fn set(&mut self, name: &str, value: &Argument, scope: &mut Scope) -> Result<(), Denial> {
        if self.rules.is_assignable(name) {
            // What programs are given is settled here, where it is exported, which it may have been before.
            let text = value.text().filter(|_| scope.is_unconditional);
            let text = text.ok_or_else(|| {
                Denial::syntax(format!(
                    "{name}, which programs are given, depends on another command: write it before each program, as in {name}=VALUE COMMAND"
                ))
            })?;
            if scope.exported.contains_key(name) {
                scope.exported.insert(name.to_owned(), text.to_owned());
            }
        } else if is_reserved(name) {
            return Err(self.not_assignable(name));
        }
        let known = scope.content(value);
        self.note(name, known, scope);
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
                None => match scope.variables.get(text) {
                    Some(Content::Text(value)) => (text, value.clone()),
                    _ => (text, String::new()),
                },
            };
            self.check_variable(name)?;
            self.set(name, &value.as_str().into(), scope)?;
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
            // What bash itself changes.
            "SECONDS",
            "RANDOM",
            "SRANDOM",
            "LINENO",
            "UID",
            "EUID",
            "PPID",
            "GROUPS",
            "BASHPID",
            "EPOCHSECONDS",
            "EPOCHREALTIME",
        ]
        .contains(&name)
            || ["LD_", "BASH_", "PYTHON", "PYTEST_", "PIP_", "GIT_"]
                .iter()
                .any(|start| name.starts_with(start)))
}
