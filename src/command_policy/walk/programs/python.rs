//! Python: programs of the workspace, and modules that stand for commands.

use super::{Call, checks, refused};
use crate::denial::Denial;
use crate::options::Value;
use crate::rules::{Found, SafeRule};
use crate::scope::Scope;
use crate::script::{Argument, Check, Part, Requirement, Target};
use crate::walk::Walk;

/// Modules that run a module or a file.
const RUNS_OTHERS: [&str; 6] = ["cProfile", "coverage", "pdb", "profile", "runpy", "trace"];

impl Walk<'_> {
    /// What the sandbox keeps in is run; modules that install, and tests, are found.
    pub(super) fn python(
        &mut self,
        rule: &SafeRule,
        call: &Call<'_>,
        scope: &Scope,
    ) -> Result<Vec<Check>, Denial> {
        let end = own_arguments(&call.arguments);
        let own = &call.arguments[..end];
        let parsed = rule.options.parse(call.name, own)?;
        for given in &parsed.options {
            let text = given.value.as_ref().and_then(Value::text);
            match given.name.as_str() {
                "m" => {
                    let module =
                        text.ok_or_else(|| Denial::syntax("the module after -m is not settled: write it"))?;
                    check_inner(module, &call.arguments[end..], scope)?;
                    self.module(module, &call.arguments[end..])?;
                }
                "c" if matches!(&given.value, Some(Value::Word(code)) if scope.is_unknown(code)) => {
                    return Err(not_literal());
                }
                "c" => self.code(text),
                _ => {}
            }
        }
        let is_process = |operand: &&Argument| matches!(operand, Argument::Parts(parts) if matches!(parts.as_slice(), [Part::Process(_)]));
        if parsed.operands.first().is_some_and(is_process) {
            return Err(not_literal());
        }
        let file = parsed.operands.first().and_then(|operand| operand.text());
        if let Some(file) = file {
            let name = file.rsplit('/').next().unwrap_or_default();
            match self.rules.program(name) {
                Found::Intercepted(rule) => self.intercept(rule),
                Found::Denied(rule) if file.contains("/bin/") => return Err(refused(name, rule)),
                _ => {}
            }
            let installed = file
                .split_once("-packages/")
                .map(|(_, path)| path.trim_start_matches('/'));
            if let Some(module) = installed.and_then(|path| path.split(['/', '.']).next()) {
                self.module(module, &[])?;
            }
        }
        let reads_program = !parsed.has(&["c", "m"])
            && parsed
                .operands
                .first()
                .is_none_or(|file| file.text() == Some("-"));
        for redirection in call.redirections {
            if let Target::Data(data) = &redirection.to {
                if reads_program && scope.is_unknown(data) {
                    return Err(not_literal());
                }
                self.code(data.text());
            }
        }
        // A file of the workspace, and no program that is installed.
        let file = parsed.operands.first().filter(|file| file.text().is_none());
        let file = file.map(|file| (*file, Requirement::Below));
        checks::of(call.name, own, file.as_slice(), scope)
    }

    fn module(&mut self, module: &str, arguments: &[Argument]) -> Result<(), Denial> {
        let rules = self.rules;
        // A module that runs another one: coverage, cProfile, trace.
        let inner = arguments.iter().zip(arguments.iter().skip(1));
        let mut modules: Vec<&str> = vec![module];
        modules.extend(
            inner
                .filter(|(flag, _)| matches!(flag.text(), Some("-m" | "--module")))
                .filter_map(|(_, name)| name.text()),
        );
        let attached = arguments.iter().filter_map(Argument::text);
        modules.extend(attached.filter_map(|text| {
            let name = text.strip_prefix("-m").or_else(|| text.strip_prefix("--module="));
            name.filter(|name| !name.is_empty())
        }));
        for module in modules {
            match rules.module(module) {
                Found::Denied(rule) => return Err(refused(&format!("python -m {module}"), rule)),
                Found::Intercepted(rule) => self.intercept(rule),
                _ => {}
            }
        }
        Ok(())
    }

    /// Code that starts the tests is a request for them.
    fn code(&mut self, code: Option<&str>) {
        if code.is_some_and(|code| code.contains("pytest.main") || code.contains("pytest.console_main"))
            && let Found::Intercepted(rule) = self.rules.module("pytest")
        {
            self.intercept(rule);
        }
    }
}

/// A module that runs another one gets it written out, as it gets what stands before its file.
fn check_inner(module: &str, arguments: &[Argument], scope: &Scope) -> Result<(), Denial> {
    let top = module.split('.').next().unwrap_or_default();
    if !RUNS_OTHERS.contains(&top) {
        return Ok(());
    }
    let ending = |argument: &Argument| {
        let ending = std::path::Path::new(argument.text()?).extension()?;
        Some(ending == "py")
    };
    let is_file = |argument: &&Argument| ending(argument) == Some(true);
    let before_file = arguments.iter().take_while(|argument| !is_file(argument));
    let mut is_module = false;
    for argument in before_file {
        let (beginning, is_whole) = argument.beginning();
        let is_attached = beginning.starts_with("-m") || beginning.starts_with("--module=");
        let is_process = matches!(argument, Argument::Parts(parts) if parts.iter().any(|part| matches!(part, Part::Process(_))));
        if is_process || scope.is_unknown(argument) || !is_whole && (is_module || is_attached) {
            return Err(not_literal());
        }
        is_module = matches!(beginning, "-m" | "--module");
    }
    Ok(())
}

fn not_literal() -> Denial {
    Denial::syntax(
        "the program for python is not written out: write it in quotes, or as a file, and give it what it needs as arguments, as in python FILE \"$NAME\"",
    )
}

/// How many arguments are the interpreter's own: to the value of `-c` or `-m`, or to the file. What follows is the program's.
fn own_arguments(arguments: &[Argument]) -> usize {
    let mut at = 0;
    while let Some(argument) = arguments.get(at) {
        at += 1;
        let (beginning, _) = argument.beginning();
        let Some(letters) = beginning.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            return at;
        };
        if letters.starts_with('-') {
            continue;
        }
        // The first letter with a value takes the rest of its word, or the next.
        if let Some((index, letter)) = letters
            .char_indices()
            .find(|(_, letter)| "cmWX".contains(*letter))
        {
            at += usize::from(index + 1 == letters.len());
            if matches!(letter, 'c' | 'm') {
                return at.min(arguments.len());
            }
        }
    }
    arguments.len()
}
