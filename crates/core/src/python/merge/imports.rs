//! Imports that a patch brings and a file lacks.

use std::collections::BTreeSet;

use ruff_python_ast::{self as ast, Stmt};

/// Import of one alias: level, module, name and the name it is bound to.
type Key = (u32, String, String, String);

fn key(level: u32, module: &str, alias: &ast::Alias) -> Key {
    let bound = alias.asname.as_ref().map(ToString::to_string).unwrap_or_default();
    (level, module.to_owned(), alias.name.to_string(), bound)
}

/// Everything imported at the top of a file.
pub(super) fn imported(body: &[Stmt]) -> BTreeSet<Key> {
    let mut keys = BTreeSet::new();
    for stmt in body {
        match stmt {
            Stmt::Import(import) => keys.extend(import.names.iter().map(|alias| key(0, "", alias))),
            Stmt::ImportFrom(from) => {
                let module = from.module.as_ref().map_or("", |module| module.as_str());
                keys.extend(from.names.iter().map(|alias| key(from.level, module, alias)));
            }
            _ => {}
        }
    }
    keys
}

/// The import statement for what is not imported yet, as text; `None` when everything is.
pub(super) fn missing(stmt: &Stmt, known: &BTreeSet<Key>) -> Option<String> {
    let list = |names: &[ast::Alias], level: u32, module: &str| {
        let new = names
            .iter()
            .filter(|alias| !known.contains(&key(level, module, alias)));
        let texts: Vec<_> = new
            .map(|alias| match &alias.asname {
                Some(bound) => format!("{} as {bound}", alias.name),
                None => alias.name.to_string(),
            })
            .collect();
        (!texts.is_empty()).then(|| texts.join(", "))
    };
    match stmt {
        Stmt::Import(import) => list(&import.names, 0, "").map(|names| format!("import {names}")),
        Stmt::ImportFrom(from) => {
            let module = from.module.as_ref().map_or("", |module| module.as_str());
            let dots = ".".repeat(from.level as usize);
            list(&from.names, from.level, module).map(|names| format!("from {dots}{module} import {names}"))
        }
        _ => None,
    }
}
