//! Differences between two files, by their trees: comments and formatting do not count, docstrings do.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use ruff_python_ast::comparable::ComparableExpr;
use ruff_python_ast::{self as ast, Stmt};
use sha2::{Digest, Sha256};

use super::super::Module;
use super::super::syntax::{assigned, is_import, is_main_guard, shape};
use crate::digest::hex;

/// Names of what differs: `mean`, `Table.rows`, `Table` (its head or fields), `LIMIT`, `<imports>`, `<main>`, `<module>`.
#[must_use]
pub fn changed_names(before: &Module, after: &Module) -> BTreeSet<String> {
    let (before, after) = (shapes(before), shapes(after));
    let names = before.keys().chain(after.keys());
    names
        .filter(|name| before.get(*name) != after.get(*name))
        .cloned()
        .collect()
}

/// SHA-256 of the tree, hex.
#[must_use]
pub fn tree_hash(module: &Module) -> String {
    let mut hash = Sha256::new();
    for stmt in module.body() {
        hash.update(shape(stmt));
        hash.update([0]);
    }
    hex(&hash.finalize())
}

/// The tree of each named part.
fn shapes(module: &Module) -> BTreeMap<String, String> {
    let mut shapes = BTreeMap::new();
    let mut add = |name: String, shape: &str| shapes.entry(name).or_insert_with(String::new).push_str(shape);
    for stmt in module.body() {
        match stmt {
            Stmt::FunctionDef(function) => add(function.name.to_string(), &shape(stmt)),
            Stmt::ClassDef(class) => {
                add(class.name.to_string(), &class_head(class));
                for member in &class.body {
                    match member {
                        Stmt::FunctionDef(method) => {
                            add(format!("{}.{}", class.name, method.name), &shape(member));
                        }
                        _ => add(class.name.to_string(), &shape(member)),
                    }
                }
            }
            _ if is_import(stmt) => add("<imports>".to_owned(), &shape(stmt)),
            _ if is_main_guard(stmt) => add("<main>".to_owned(), &shape(stmt)),
            _ => match assigned(stmt).as_slice() {
                [] => add("<module>".to_owned(), &shape(stmt)),
                names => names
                    .iter()
                    .for_each(|name| add((*name).to_owned(), &shape(stmt))),
            },
        }
    }
    shapes
}

fn class_head(class: &ast::StmtClassDef) -> String {
    let mut head = String::from("class");
    for decorator in &class.decorator_list {
        // Writing to a string cannot fail.
        let _ = write!(head, " {:?}", ComparableExpr::from(&decorator.expression));
    }
    if let Some(arguments) = &class.arguments {
        for base in &arguments.args {
            let _ = write!(head, " {:?}", ComparableExpr::from(base));
        }
        for keyword in &arguments.keywords {
            let _ = write!(
                head,
                " {:?}={:?}",
                keyword.arg.as_ref().map(ast::Identifier::as_str),
                ComparableExpr::from(&keyword.value)
            );
        }
    }
    head
}
