//! What a program promises before any test is run: its options, its outputs, functions, a main guard (S02).

use std::collections::BTreeSet;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, Expr, Stmt};

use crate::api::values::{Input, Output, ValueType};

use super::Module;
use super::fold::Bindings;
use super::syntax::{dotted, is_main_guard};

/// Folder that outputs are written to.
const OUTPUTS: &str = "/var/outputs";

/// What a program lacks, each as a sentence for the model; empty when it keeps the contract.
#[must_use]
pub fn violations(module: &Module, inputs: &[Input], outputs: &[Output]) -> Vec<String> {
    let facts = Facts::of(module);
    let mut found = Vec::new();
    if !inputs.is_empty() {
        options(&facts, inputs, &mut found);
    }
    for output in outputs {
        found.extend(missing_output(
            &facts,
            &output.name,
            output.type_ == ValueType::Dir,
        ));
    }
    found.extend(shape(module));
    found.extend(facts.destructive.iter().cloned());
    found
}

fn options(facts: &Facts, inputs: &[Input], found: &mut Vec<String>) {
    if !facts.has_argparse {
        let names: Vec<_> = inputs.iter().map(|input| format!("`--{}`", input.name)).collect();
        found.push(format!(
            "Read the options with `argparse`; each as `--name value`: {}.",
            names.join(", ")
        ));
        return;
    }
    for input in inputs {
        let option = format!("--{}", input.name);
        if facts.options.contains(&option) {
            if input.type_ == ValueType::Bool {
                found.extend(facts.boolean_fault(&option));
            }
            continue;
        }
        let canonical = option.replace('_', "-").to_lowercase();
        let similar = facts
            .options
            .iter()
            .find(|known| known.replace('_', "-").to_lowercase() == canonical);
        found.push(match similar {
            Some(known) => format!("The option is called `{option}`, but the program declares `{known}`; write `{option}` exactly."),
            None => format!("The option `{option}` is missing; declare it with `parser.add_argument(\"{option}\", ...)`."),
        });
    }
}

fn missing_output(facts: &Facts, name: &str, is_dir: bool) -> Option<String> {
    let wanted = format!("{OUTPUTS}/{name}");
    let inside = format!("{wanted}/");
    if facts.paths.contains(&wanted) || is_dir && facts.paths.iter().any(|path| path.starts_with(&inside)) {
        return None;
    }
    let with_ending = format!("{wanted}.");
    Some(
        match facts.paths.iter().find(|path| path.starts_with(&with_ending)) {
            Some(path) => format!(
                "The output `{name}` goes to `{wanted}` without an ending, but the program writes `{path}`."
            ),
            None => {
                format!("The output `{name}` is not written; write it to the literal path `\"{wanted}\"`.")
            }
        },
    )
}

/// Functions at the top, a main guard, and nothing that runs at import.
fn shape(module: &Module) -> Vec<String> {
    let body = module.body();
    let mut found = Vec::new();
    let functions: BTreeSet<&str> = body
        .iter()
        .filter_map(Stmt::as_function_def_stmt)
        .map(|f| f.name.as_str())
        .collect();
    if functions.is_empty() {
        found.push(
            "Put the work into functions at the top of the module, so that tests can import them.".to_owned(),
        );
    }
    if !body.iter().any(is_main_guard) {
        found.push(
            "Call the program under `if __name__ == \"__main__\":` at the end of the module.".to_owned(),
        );
    }
    for stmt in body {
        let line = module.line(ruff_text_size::Ranged::start(stmt));
        let mut running = Running {
            functions: &functions,
            call: None,
        };
        match stmt {
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => continue,
            _ if is_main_guard(stmt) => continue,
            Stmt::Expr(_) => running.visit_stmt(stmt),
            _ => {
                // A constant may be computed by a local function, but options are not read at import.
                running.functions = &EMPTY;
                running.visit_stmt(stmt);
            }
        }
        if let Some(call) = running.call {
            found.push(format!(
                "Line {line} calls `{call}` while the module is imported; move it under the main guard."
            ));
        }
    }
    found
}

static EMPTY: BTreeSet<&str> = BTreeSet::new();

/// A call that starts the program.
struct Running<'a> {
    functions: &'a BTreeSet<&'a str>,
    call: Option<String>,
}

impl<'a> Visitor<'a> for Running<'_> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Call(call) = expr {
            let name = match call.func.as_ref() {
                Expr::Attribute(attribute) if attribute.attr.as_str() == "parse_args" => {
                    Some("parse_args".to_owned())
                }
                function => dotted(function)
                    .filter(|name| name == "sys.exit" || self.functions.contains(name.as_str())),
            };
            self.call = self.call.take().or(name);
        }
        visitor::walk_expr(self, expr);
    }
}

/// What the calls of a program say.
struct Facts<'a> {
    bindings: Bindings<'a>,
    module: &'a Module,
    has_argparse: bool,
    options: BTreeSet<String>,
    /// Options whose `action` takes no value, and options with `type=bool`.
    flags: BTreeSet<String>,
    bool_types: BTreeSet<String>,
    /// Paths below `/var/outputs`, without a slash at the end.
    paths: BTreeSet<String>,
    destructive: Vec<String>,
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
            flags: BTreeSet::new(),
            bool_types: BTreeSet::new(),
            paths: BTreeSet::new(),
            destructive: Vec::new(),
        };
        facts.visit_body(module.body());
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
            _ => matches!(path.trim_end_matches('/'), OUTPUTS | "/var" | ""),
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
        if !targets.iter().any(is_hit) && !is_removal(&command) {
            return;
        }
        let line = self.module.line(ruff_text_size::Ranged::start(call));
        self.destructive.push(match fault {
            Fault::Creates => {
                format!("Line {line} creates `{OUTPUTS}`, which exists; use `exist_ok=True` or leave it out.")
            }
            Fault::Removes | Fault::Command => {
                format!("Line {line} deletes or replaces `{OUTPUTS}`; never do that, write files into it.")
            }
        });
    }
}

#[derive(Clone, Copy)]
enum Fault {
    Removes,
    Creates,
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
    let may_exist = call
        .arguments
        .find_keyword("exist_ok")
        .is_some_and(|keyword| !is_false(&keyword.value));
    let first = call.arguments.args.first();
    let receiver = call
        .func
        .as_attribute_expr()
        .map(|attribute| attribute.value.as_ref());
    match function {
        "rmtree" | "removedirs" => Some((first?, Fault::Removes)),
        "rmdir" | "remove" | "unlink" | "rename" | "replace" | "move" => Some((
            first.filter(|_| receiver_is_module(receiver)).or(receiver)?,
            Fault::Removes,
        )),
        "mkdir" | "makedirs" if !may_exist => Some((
            first.filter(|_| receiver_is_module(receiver)).or(receiver)?,
            Fault::Creates,
        )),
        "system" | "run" | "call" | "check_call" | "check_output" | "Popen" => Some((first?, Fault::Command)),
        _ => None,
    }
}

fn receiver_is_module(receiver: Option<&Expr>) -> bool {
    receiver.is_none_or(|expr| matches!(dotted(expr).as_deref(), Some("os" | "shutil")))
}

fn is_false(expr: &Expr) -> bool {
    expr.as_boolean_literal_expr()
        .is_some_and(|literal| !literal.value)
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
        if let Expr::Call(call) = expr {
            if call
                .func
                .as_attribute_expr()
                .is_some_and(|attribute| attribute.attr.as_str() == "add_argument")
            {
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
