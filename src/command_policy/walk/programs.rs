//! Programs: which rule a name has, and whether its arguments keep it.

mod archives;
mod awk;
mod built_in;
mod builtins;
mod checks;
mod find;
mod python;
mod sed;
mod shells;
mod wrappers;
mod xargs;

use super::Walk;
use crate::denial::Denial;
use crate::options::{Parsed, Value};
use crate::paths::{NOWHERE, is_readable, is_root, is_writable};
use crate::rules::{Found, Outputs, Reading, RefusingRule, SafeRule};
use crate::scope::Scope;
use crate::script::{Argument, Check, Program, ProgramCall, Redirection, Requirement, Run};
pub(super) use built_in::built_in;

/// Options of cp that copy a link as a link.
const COPIES_LINKS: [&str; 7] = ["a", "d", "P", "r", "R", "archive", "recursive"];

/// A command before it is settled.
pub(super) struct Call<'a> {
    pub(super) name: &'a str,
    pub(super) arguments: Vec<Argument>,
    pub(super) environment: Vec<(String, Argument)>,
    pub(super) redirections: &'a [Redirection],
}

impl Walk<'_> {
    /// Settles a command by its name.
    pub(super) fn call(
        &mut self,
        name: &str,
        arguments: Vec<Argument>,
        environment: Vec<(String, Argument)>,
        redirections: &[Redirection],
        scope: &Scope,
    ) -> Result<Run, Denial> {
        if is_script(name) {
            let file = std::iter::once(Argument::from(name));
            let arguments = file.chain(arguments).collect();
            return self.call("python", arguments, environment, redirections, scope);
        }
        let placed = if name.contains('/') {
            self.rules.at(name).ok_or_else(|| at_a_path(name))?
        } else {
            name.to_owned()
        };
        let call = Call {
            name: &placed,
            arguments,
            environment,
            redirections,
        };
        self.settle(call, scope)
    }

    /// Settles a program of the table that is given nothing but arguments.
    pub(super) fn listed(&mut self, name: &str, arguments: Vec<Argument>) -> Result<Run, Denial> {
        self.call(name, arguments, Vec::new(), &[], &Scope::new())
    }

    fn settle(&mut self, mut call: Call<'_>, scope: &Scope) -> Result<Run, Denial> {
        let rules = self.rules;
        let rule = match rules.program(call.name) {
            Found::Safe(rule) => rule,
            Found::Denied(rule) => return Err(refused(call.name, rule)),
            Found::Unlisted => return Err(unlisted(call.name)),
            Found::Intercepted(rule) => {
                self.count(&rule.rule)?;
                self.intercept(rule);
                return Ok(self.program_call(&call, Vec::new(), Vec::new()));
            }
        };
        self.count(&rule.rule)?;
        for (name, value) in &scope.exported {
            if !call.environment.iter().any(|(given, _)| given == name) {
                call.environment
                    .push((name.clone(), Argument::Text(value.clone())));
            }
        }
        let checks = match rule.arguments {
            Reading::Any => Vec::new(),
            Reading::Archive => {
                call.arguments = archives::plain_arguments(&call)?;
                let checks = archives::check(rule, &call, scope)?;
                archives::confine_links(&mut call, checks)
            }
            Reading::Options => {
                call.arguments = rule.options.with_outputs_apart(call.arguments);
                check_options(rule, &call, scope)?
            }
            Reading::Awk => awk::check(rule, &call, scope)?,
            Reading::Builtin => return self.builtin_call(&call, scope),
            Reading::Find => {
                let action = find::Action::of(&call.arguments, rules);
                let checks = find::check(&call, &action, scope)?;
                call.arguments = find::with_path(call.arguments, &action, rules);
                checks
            }
            Reading::Python => self.python(rule, &call, scope)?,
            Reading::Sed => sed::check(rule, &call, scope)?,
            Reading::Shell => return self.shell(&call, scope),
            Reading::Wrapper => return self.wrapper(call, scope),
            Reading::Xargs => return self.xargs(rule, call, scope),
        };
        let is_python = rule.arguments == Reading::Python;
        let paths = if is_python {
            Vec::new()
        } else {
            rules.paths(call.name)
        };
        Ok(self.program_call(&call, paths, checks))
    }

    #[expect(clippy::unused_self, reason = "beside the methods that call it")]
    fn program_call(&self, call: &Call<'_>, paths: Vec<String>, checks: Vec<Check>) -> Run {
        Run::Program(ProgramCall {
            program: Program {
                name: call.name.to_owned(),
                paths,
            },
            arguments: call.arguments.clone(),
            environment: call.environment.clone(),
            timeout: None,
            checks,
        })
    }
}

/// Whether a name is the path of a Python file, which needs no right to be executed here.
fn is_script(name: &str) -> bool {
    let is_python = std::path::Path::new(name)
        .extension()
        .is_some_and(|ending| ending == "py");
    is_python && name.contains('/') && !name.starts_with('-')
}

fn refused(name: &str, rule: &RefusingRule) -> Denial {
    Denial::new(&rule.rule, format!("{name} is not run: {}", rule.reason))
}

fn unlisted(name: &str) -> Denial {
    let spelled = if name.is_ascii() {
        format!("{name:?}")
    } else {
        format!("{name:?} (with characters that are not ASCII)")
    };
    Denial::new(
        "unlisted",
        format!(
            "the command {spelled} is not listed: use ls, cat, grep, sed, find and their like, or a small Python file"
        ),
    )
}

fn at_a_path(name: &str) -> Denial {
    let reason = format!(
        "{name} is not run: write the name of a listed command without its path; python runs files of the workspace"
    );
    Denial::new("unlisted", reason)
}

/// A pattern may be several files, the second of which would be written.
fn several(program: &str) -> Denial {
    Denial::path(format!(
        "{program} takes no pattern, whose second file it would write to: write the names"
    ))
}

/// Options that the rule lists, and operands that may be written.
fn check_options(rule: &SafeRule, call: &Call<'_>, scope: &Scope) -> Result<Vec<Check>, Denial> {
    let parsed = rule.options.parse(call.name, &call.arguments)?;
    let mut required = check_values(rule, call, &parsed, scope)?;
    let has_folder = parsed.has(&["t", "target-directory"]) && rule.options.writes("t");
    let operands = parsed.operands.as_slice();
    if rule.outputs == Outputs::Second && operands.iter().any(|operand| operand.is_pattern()) {
        return Err(several(call.name));
    }
    let written: &[&Argument] = match rule.outputs {
        Outputs::None => &[],
        Outputs::All | Outputs::AllBelow => operands,
        Outputs::Last if has_folder => &[],
        Outputs::Last => operands.last().map_or(&[], std::slice::from_ref),
        Outputs::Second => operands.get(1..2).unwrap_or_default(),
    };
    let requirement = match rule.outputs {
        Outputs::AllBelow => Requirement::Below,
        _ => Requirement::Writable,
    };
    for operand in written {
        check_target(call.name, operand, requirement, scope)?;
        required.push((*operand, requirement));
    }
    if call.name == "cp" && parsed.has(&COPIES_LINKS) {
        if operands.iter().any(|operand| scope.is_unknown(operand)) {
            return Err(Denial::path(
                "cp copies folders that are written out: write the path, or name the files, without -r and -a",
            ));
        }
        let read = operands.iter().flat_map(|operand| scope.outlines(operand));
        if let Some(path) = read.into_iter().find(|path| !is_readable(path, &scope.folders)) {
            return Err(Denial::path(format!(
                "cp does not copy {path} with its links: name the files, without -r and -a"
            )));
        }
    }
    if call.name == "hostname" && !operands.is_empty() {
        return Err(Denial::new("options", "hostname sets no name: write it alone"));
    }
    if call.name == "date"
        && operands
            .iter()
            .any(|operand| !operand.beginning().0.starts_with('+'))
    {
        return Err(Denial::new(
            "options",
            "date does not set the clock: write date +FORMAT",
        ));
    }
    checks::of(call.name, &call.arguments, &required, scope)
}

/// Values of options that are paths which are written.
fn check_values<'a>(
    rule: &SafeRule,
    call: &Call<'_>,
    parsed: &Parsed<'a>,
    scope: &Scope,
) -> Result<Vec<(&'a Argument, Requirement)>, Denial> {
    let mut required = Vec::new();
    for given in &parsed.options {
        match &given.value {
            _ if !rule.options.writes(&given.name) => {}
            Some(Value::Word(word)) => {
                check_target(call.name, word, Requirement::Writable, scope)?;
                required.push((*word, Requirement::Writable));
            }
            Some(Value::Rest(path)) => check_path(call.name, path, scope)?,
            None => {}
        }
    }
    Ok(required)
}

/// A path that is written. What is not settled of it is for the check when it is filled in.
fn check_target(
    program: &str,
    written: &Argument,
    requirement: Requirement,
    scope: &Scope,
) -> Result<(), Denial> {
    if scope.is_unknown(written) {
        return Scope::literal_folder(written).map_or(Ok(()), |folder| check_path(program, folder, scope));
    }
    for path in scope.outlines(written) {
        if path == NOWHERE || matches!(path.as_str(), "/dev/stdout" | "/dev/stderr") {
            continue;
        }
        check_path(program, &path, scope)?;
        if requirement == Requirement::Below && is_root(&path, &scope.folders) {
            return Err(Denial::path(format!(
                "{program} is not run on {path}, which holds everything: name what is in it"
            )));
        }
    }
    Ok(())
}

fn check_path(program: &str, path: &str, scope: &Scope) -> Result<(), Denial> {
    if path.is_empty() || !is_writable(path, &scope.folders) {
        return Err(Denial::path(format!(
            "{program} does not write to {path:?}: write to /sandbox, /var/outputs or /tmp"
        )));
    }
    Ok(())
}
