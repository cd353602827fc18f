//! What a program promises before any test is run: its options, its outputs, functions, a main guard.
//!
//! What the rehearsal shows anyway is left to it: whether an output is written, by whatever helper, loop or computed path.

use std::collections::BTreeSet;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, Expr, Stmt};

use crate::api::values::{Input, Output, ValueType};

use super::Module;
use super::fold::Bindings;
use super::rule::{Finding, Rule};
use super::syntax::{Mentions, dotted};

/// Folder that outputs are written to.
const OUTPUTS: &str = "/var/outputs";

/// What a program lacks, each as a sentence for the model; empty when it meets the contract.
#[must_use]
pub fn violations(module: &Module, inputs: &[Input], outputs: &[Output]) -> Vec<Finding> {
    let facts = Facts::of(module);
    let mut found = Vec::new();
    if !inputs.is_empty() {
        found.extend(
            options(&facts, inputs)
                .into_iter()
                .map(|what| nowhere(Rule::Options, what)),
        );
    }
    let missing = outputs
        .iter()
        .filter_map(|output| missing_output(&facts, &output.name));
    found.extend(missing.map(|what| nowhere(Rule::OutputsNamed, what)));
    found.extend(shape(module));
    found.extend(facts.destructive);
    found
}

const fn nowhere(rule: Rule, what: String) -> Finding {
    Finding { line: 0, rule, what }
}

fn options(facts: &Facts, inputs: &[Input]) -> Vec<String> {
    let unnamed = inputs
        .iter()
        .filter(|input| !stands_in(facts.module, &input.name));
    if !facts.has_argparse {
        // Another parser of options may do as well: the rehearsal shows it.
        if unnamed.count() == 0 {
            return Vec::new();
        }
        let names: Vec<_> = inputs.iter().map(|input| format!("`--{}`", input.name)).collect();
        let names = names.join(", ");
        return vec![format!(
            "Read the options with `argparse`; each as `--name value`: {names}."
        )];
    }
    inputs.iter().filter_map(|input| option(facts, input)).collect()
}

fn option(facts: &Facts, input: &Input) -> Option<String> {
    let option = format!("--{}", input.name);
    if facts.options.contains(&option) {
        return facts
            .boolean_fault(&option)
            .filter(|_| input.type_ == ValueType::Bool);
    }
    let canonical = option.replace('_', "-").to_lowercase();
    let similar = facts
        .options
        .iter()
        .find(|known| known.replace('_', "-").to_lowercase() == canonical);
    if let Some(known) = similar {
        return Some(format!(
            "The option is called `{option}`, but the program declares `{known}`; write `{option}` exactly."
        ));
    }
    let may_be_computed = facts.computes_options && stands_in(facts.module, &input.name);
    (!may_be_computed).then(|| {
        format!("The option `{option}` is missing; declare it with `parser.add_argument(\"{option}\", ...)`.")
    })
}

fn missing_output(facts: &Facts, name: &str) -> Option<String> {
    if stands_in(facts.module, name) {
        return None;
    }
    let wanted = format!("{OUTPUTS}/{name}");
    let with_ending = format!("{wanted}.");
    Some(
        match facts.paths.iter().find(|path| path.starts_with(&with_ending)) {
            Some(path) => format!(
                "The output `{name}` goes to `{wanted}` without an ending, but the program writes `{path}`."
            ),
            None => format!(
                "The name of the output `{name}` stands nowhere in the program; write it to `\"{wanted}\"`."
            ),
        },
    )
}

/// Whether a name stands in the source as a word of its own, with underscores or hyphens; `name.csv` is another one.
fn stands_in(module: &Module, name: &str) -> bool {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let source = module.source();
    [name.to_owned(), name.replace('-', "_"), name.replace('_', "-")]
        .iter()
        .any(|name| {
            source.match_indices(name.as_str()).any(|(at, _)| {
                let mut after = source[at + name.len()..].chars();
                let has_ending = |mut rest: std::str::Chars| {
                    rest.next() == Some('.') && rest.next().is_some_and(char::is_alphanumeric)
                };
                !source[..at].chars().next_back().is_some_and(is_word)
                    && !has_ending(after.clone())
                    && !after.next().is_some_and(is_word)
            })
        })
}

/// Functions or classes at the top, a main guard, and nothing that starts the program at import.
fn shape(module: &Module) -> Vec<Finding> {
    let body = module.body();
    let mut found = Vec::new();
    let mut missing = |what: &str| found.push(nowhere(Rule::Importable, what.to_owned()));
    if !body
        .iter()
        .any(|stmt| matches!(stmt, Stmt::FunctionDef(_) | Stmt::ClassDef(_)))
    {
        missing("Put the work into functions at the top of the module, so that tests can import them.");
    }
    if !body.iter().any(asks_for_its_name) {
        missing("Call the program under `if __name__ == \"__main__\":` at the end of the module.");
    }
    let starting = starting(body);
    for stmt in body {
        let mut running = Running {
            starting: &starting,
            call: None,
        };
        match stmt {
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => continue,
            _ if asks_for_its_name(stmt) => continue,
            _ => running.visit_stmt(stmt),
        }
        if let Some(call) = running.call {
            found.push(Finding {
                line: module.line(ruff_text_size::Ranged::start(stmt)),
                rule: Rule::Importable,
                what: format!(
                    "`{call}` is called while the module is imported; move it under the main guard."
                ),
            });
        }
    }
    found
}

/// `if __name__ == "__main__":`, however it is put.
fn asks_for_its_name(stmt: &Stmt) -> bool {
    let Stmt::If(branch) = stmt else { return false };
    let mut mentions = Mentions::default();
    mentions.visit_expr(&branch.test);
    mentions.names.contains("__name__")
}

/// Functions that read the options of the command line, themselves or by another one; and `main`.
fn starting(body: &[Stmt]) -> BTreeSet<&str> {
    let functions: Vec<(&str, Mentions)> = body
        .iter()
        .filter_map(Stmt::as_function_def_stmt)
        .map(|function| (function.name.as_str(), Mentions::of(&function.body)))
        .collect();
    let mut starting: BTreeSet<&str> = functions
        .iter()
        .filter(|(name, mentions)| {
            *name == "main"
                || mentions.attributes.contains("parse_args")
                || mentions.attributes.contains("argv")
        })
        .map(|(name, _)| *name)
        .collect();
    loop {
        let before = starting.len();
        for (name, mentions) in &functions {
            if mentions.names.iter().any(|called| starting.contains(called)) {
                starting.insert(name);
            }
        }
        if starting.len() == before {
            return starting;
        }
    }
}

/// A call that starts the program.
struct Running<'a> {
    starting: &'a BTreeSet<&'a str>,
    call: Option<String>,
}

impl<'a> Visitor<'a> for Running<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        // What is defined below a condition does not run by that.
        if !matches!(stmt, Stmt::FunctionDef(_) | Stmt::ClassDef(_)) {
            visitor::walk_stmt(self, stmt);
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Call(call) = expr {
            let name = match call.func.as_ref() {
                Expr::Attribute(attribute) if attribute.attr.as_str() == "parse_args" => {
                    Some("parse_args".to_owned())
                }
                function => dotted(function).filter(|name| self.starting.contains(name.as_str())),
            };
            self.call = self.call.take().or(name);
        }
        if !expr.is_lambda_expr() {
            visitor::walk_expr(self, expr);
        }
    }
}

/// What the calls of a program say.
struct Facts<'a> {
    bindings: Bindings<'a>,
    module: &'a Module,
    has_argparse: bool,
    options: BTreeSet<String>,
    /// Whether an option has a name that cannot be seen.
    computes_options: bool,
    /// How often `add_argument` is named and not called there and then: `add = parser.add_argument`.
    passed_on: i32,
    /// Options whose `action` takes no value, and options with `type=bool`.
    flags: BTreeSet<String>,
    bool_types: BTreeSet<String>,
    /// Paths below `/var/outputs`, without a slash at the end.
    paths: BTreeSet<String>,
    destructive: Vec<Finding>,
}

impl<'a> Facts<'a> {
    fn of(module: &'a Module) -> Self {
        let mut facts = Self {
            bindings: Bindings::of(module.body()),
            module,
            has_argparse: super::imports::imports(module)
                .iter()
                .any(|import| import.module == "argparse"),
            options: BTreeSet::new(),
            computes_options: false,
            passed_on: 0,
            flags: BTreeSet::new(),
            bool_types: BTreeSet::new(),
            paths: BTreeSet::new(),
            destructive: Vec::new(),
        };
        facts.visit_body(module.body());
        facts.computes_options |= facts.passed_on > 0;
        facts
    }

    fn boolean_fault(&self, option: &str) -> Option<String> {
        if self.flags.contains(option) {
            Some(format!(
                "The option `{option}` takes a value (`{option} true`); do not declare it as a flag without one."
            ))
        } else if self.bool_types.contains(option) {
            Some(format!(
                "`type=bool` makes every text true; convert the value of `{option}` from `true` and `false` with a function."
            ))
        } else {
            None
        }
    }

    fn strings(&self, expr: &Expr) -> BTreeSet<String> {
        self.bindings.strings(expr)
    }

    fn argument(&mut self, call: &ast::ExprCall) {
        let options: BTreeSet<String> = call
            .arguments
            .args
            .iter()
            .flat_map(|arg| self.strings(arg))
            .filter(|text| text.starts_with("--"))
            .collect();
        // `add_argument(*names)`, `add_argument("--" + field.name)`.
        self.computes_options |= call.arguments.args.is_empty()
            || call.arguments.args.iter().any(|arg| self.strings(arg).is_empty());
        let keyword = |name| call.arguments.find_keyword(name).map(|keyword| &keyword.value);
        let action = keyword("action").map(|action| match dotted(action) {
            Some(path) => BTreeSet::from([path]),
            None => self.strings(action),
        });
        let takes_none =
            |action: &String| action.starts_with("store_") || action.ends_with("BooleanOptionalAction");
        if action.is_some_and(|actions| actions.iter().any(takes_none)) {
            self.flags.extend(options.iter().cloned());
        }
        if keyword("type").and_then(dotted).as_deref() == Some("bool") {
            self.bool_types.extend(options.iter().cloned());
        }
        self.options.extend(options);
    }

    fn destruction(&mut self, call: &ast::ExprCall) {
        let Some((target, fault)) = destructive(call) else {
            return;
        };
        let targets = self.strings(target);
        let is_hit = |path: &String| match fault {
            Fault::Command => is_removal(path),
            Fault::Removes => matches!(path.trim_end_matches('/'), OUTPUTS | "/var" | ""),
        };
        let command = match target {
            Expr::List(list) => {
                let words: Vec<_> = list
                    .elts
                    .iter()
                    .filter_map(|word| self.strings(word).pop_first())
                    .collect();
                words.join(" ")
            }
            _ => String::new(),
        };
        // A helper that is also called with another folder is left to the run.
        let is_certain = !targets.is_empty() && targets.iter().all(is_hit);
        if is_certain || is_removal(&command) {
            self.destructive.push(Finding {
                line: self.module.line(ruff_text_size::Ranged::start(call)),
                rule: Rule::OutputsKept,
                what: format!("`{OUTPUTS}` is deleted or replaced; never do that, write files into it."),
            });
        }
    }
}

#[derive(Clone, Copy)]
enum Fault {
    Removes,
    Command,
}

fn is_removal(command: &str) -> bool {
    let mut words = command.split_whitespace();
    let is_rm = words.any(|word| matches!(word.rsplit('/').next(), Some("rm" | "rmdir" | "mv")));
    is_rm && words.any(|word| word.trim_end_matches(['/', '*', ';', '\'', '"']) == OUTPUTS)
}

/// The argument of a call that a folder could be lost by.
fn destructive(call: &ast::ExprCall) -> Option<(&Expr, Fault)> {
    let function = match call.func.as_ref() {
        Expr::Attribute(attribute) => attribute.attr.as_str(),
        Expr::Name(name) => name.id.as_str(),
        _ => return None,
    };
    let first = call.arguments.args.first();
    let receiver = call
        .func
        .as_attribute_expr()
        .map(|attribute| attribute.value.as_ref());
    match function {
        "rmtree" | "removedirs" => Some((first?, Fault::Removes)),
        // Of a text.
        "replace" if call.arguments.args.len() > 1 && !receiver_is_module(receiver) => None,
        "rmdir" | "remove" | "unlink" | "rename" | "replace" | "move" => Some((
            first.filter(|_| receiver_is_module(receiver)).or(receiver)?,
            Fault::Removes,
        )),
        "system" | "run" | "call" | "check_call" | "check_output" | "Popen" => Some((first?, Fault::Command)),
        _ => None,
    }
}

fn receiver_is_module(receiver: Option<&Expr>) -> bool {
    receiver.is_none_or(|expr| matches!(dotted(expr).as_deref(), Some("os" | "shutil")))
}

impl<'a> Visitor<'a> for Facts<'a> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if matches!(
            expr,
            Expr::StringLiteral(_) | Expr::FString(_) | Expr::BinOp(_) | Expr::Call(_)
        ) {
            let below = self.strings(expr).into_iter().map(|path| simplified(&path));
            self.paths
                .extend(below.filter(|path| path.starts_with("/var/outputs/")));
        }
        let adds = |expr: &Expr| {
            expr.as_attribute_expr()
                .is_some_and(|attribute| attribute.attr.as_str() == "add_argument")
        };
        self.passed_on += i32::from(adds(expr));
        if let Expr::Call(call) = expr {
            if adds(&call.func) {
                self.passed_on -= 1;
                self.argument(call);
            }
            self.destruction(call);
        }
        visitor::walk_expr(self, expr);
    }
}

/// A path without doubled or trailing slashes.
fn simplified(path: &str) -> String {
    let parts: Vec<_> = path.split('/').filter(|part| !part.is_empty()).collect();
    format!(
        "{}{}",
        if path.starts_with('/') { "/" } else { "" },
        parts.join("/")
    )
}

#[cfg(test)]
mod tests;
